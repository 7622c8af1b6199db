"""CUDA texts run by the host, without a GPU: a fiber for each thread of a block, a thread for each
block of a cluster. Elementary functions are the host's, so their bits may differ from CUDA's."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np

from cucudnn.lowering import dialect, render_cuda
from cucudnn.lowering.kernel import Bound
from cucudnn.lowering.memory import Buffer

OPENING = r"""
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <ucontext.h>
#include <vector>
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __shared__ static thread_local
struct position { int x; };
struct fiber { ucontext_t context; std::vector<char> stack; bool done = false; };
static position blockDim, gridDim;
static thread_local position threadIdx, blockIdx;
static thread_local ucontext_t scheduler;
static thread_local std::vector<fiber> fibers;
static thread_local int word[1024];
static thread_local char anchor[16];
static char* anchors[8];
static int cluster;
static std::barrier<>* all_blocks;
// Threads that are not done come here before one of them goes on: those of a block, or of a warp.
struct gate { int round = 0, here = 0, alive = 0; };
static thread_local gate block_gate, warp_gates[32];
static void pass(gate& g) {
  const int round = g.round;
  if (++g.here >= g.alive) { g.here = 0; ++g.round; return; }
  while (g.round == round) swapcontext(&fibers[threadIdx.x].context, &scheduler);
}
static void leave(gate& g) {
  if (--g.alive > 0 && g.here >= g.alive) { g.here = 0; ++g.round; }
}
static void __syncthreads() { pass(block_gate); }
static void __syncwarp() { pass(warp_gates[threadIdx.x / 32]); }
static int exchange(int v, int from) {
  word[threadIdx.x] = v;
  __syncwarp();
  const int found = word[from];
  __syncwarp();
  return found;
}
static int __shfl_down_sync(unsigned, int v, int d) {
  return exchange(v, threadIdx.x % 32 + d < 32 ? threadIdx.x + d : threadIdx.x);
}
static int __shfl_up_sync(unsigned, int v, int d) {
  return exchange(v, threadIdx.x % 32 >= d ? threadIdx.x - d : threadIdx.x);
}
static int __shfl_xor_sync(unsigned, int v, int d) { return exchange(v, threadIdx.x ^ d); }
static int __shfl_sync(unsigned, int v, int k) { return exchange(v, threadIdx.x / 32 * 32 + k); }
static void meet() {
  __syncthreads();
  if (threadIdx.x == 0) all_blocks->arrive_and_wait();
  __syncthreads();
}
static void* in_block(void* p, unsigned block) { return anchors[block] + ((char*)p - anchor); }
static unsigned atomicAdd(unsigned* p, unsigned v) { return (*p += v) - v; }
static void __threadfence() {}
template <class T> static T __ldcg(const T* p) { return *p; }
template <class To, class From> static To as(From v) {
  To result;
  memcpy(&result, &v, sizeof v);
  return result;
}
static int __float_as_int(float v) { return as<int>(v); }
static float __int_as_float(int v) { return as<float>(v); }
static unsigned __float_as_uint(float v) { return as<unsigned>(v); }
static float __uint_as_float(unsigned v) { return as<float>(v); }
static long long __double_as_longlong(double v) { return as<long long>(v); }
static double __longlong_as_double(long long v) { return as<double>(v); }
static int __ffs(unsigned v) { return __builtin_ffs(v); }
static float normal(float v) { return fabsf(v) < 0x1p-126f ? copysignf(0, v) : v; }
// An approximation within 1 ULP: the right one, or a neighbour of it, as the bits say.
static float about(double v, float of) {
  const float right = v;
  if (!(fabsf(right) < 0x1p127f) || normal(right) == 0) return normal(right);
  const unsigned bits = __float_as_uint(of) * 2654435761u >> 30;
  return normal(bits % 3 == 0 ? right : nextafterf(right, bits == 1 ? INFINITY : -INFINITY));
}
static float about_reciprocal(float b) { return about(1.0 / normal(b), b); }
static float about_root(float a) { return about(1.0 / sqrt((double)normal(a)), a); }
"""
CLOSING = r"""
static xp_words the_words;
static void thread_of_block() {
  kernel(the_words);
  const int me = threadIdx.x;
  fibers[me].done = true;
  leave(block_gate);
  leave(warp_gates[me / 32]);
  swapcontext(&fibers[me].context, &scheduler);
}
static void block(int number) {
  blockIdx.x = number;
  anchors[number % cluster] = anchor;
  all_blocks->arrive_and_wait();
  fibers = std::vector<fiber>(blockDim.x);
  block_gate = gate();
  block_gate.alive = blockDim.x;
  for (auto& g : warp_gates) g = gate();
  for (int i = 0; i < blockDim.x; ++i) ++warp_gates[i / 32].alive;
  for (auto& f : fibers) {
    f.stack.resize(1 << 16);
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.data();
    f.context.uc_stack.ss_size = f.stack.size();
    makecontext(&f.context, thread_of_block, 0);
  }
  for (bool some = true; some;) {
    some = false;
    for (int i = 0; i < blockDim.x; ++i) {
      if (fibers[i].done) continue;
      threadIdx.x = i;
      swapcontext(&scheduler, &fibers[i].context);
      some = true;
    }
  }
}
extern "C" void launch(const long long* w, int blocks, int threads, int together) {
  memcpy(the_words.w, w, sizeof the_words.w);
  blockDim.x = threads, gridDim.x = blocks, cluster = together;
  for (int first = 0; first < blocks; first += cluster) {
    std::barrier<> barrier(cluster);
    all_blocks = &barrier;
    std::vector<std::thread> running;
    for (int i = 0; i < cluster; ++i) running.emplace_back(block, first + i);
    for (auto& t : running) t.join();
  }
}
"""


def run(bound: Bound, folder: Path) -> list[np.ndarray]:
    """What a kernel for CUDA writes, from arguments in the host's memory."""
    kernel, text = bound.kernel, render_cuda.render(bound.kernel)
    text = re.sub(r'asm volatile\("barrier.*?\);', "meet();", text, flags=re.S)
    text = re.sub(r'asm volatile\("mapa.*?\);', "q = (T*)in_block(p, block);", text, flags=re.S)
    text = re.sub(r'asm\("rcp.*?\);', "r = about_reciprocal(b);", text)
    text = re.sub(r'asm\("rsqrt.*?"f"\((.*)\)\);', r"r = about_root(\1);", text)
    text = re.sub(r'asm\("mov.b32.*?\);|__builtin_assume\(.*\);', "", text)
    source, library = folder / "kernel.cpp", folder / "kernel.so"
    source.write_text(OPENING + text.replace('extern "C"', "static") + CLOSING)
    options = ["-O1", "-std=c++20", "-fPIC", "-shared", "-w", "-ffp-contract=off", "-pthread"]
    subprocess.run(["g++", *options, str(source), "-o", str(library)], check=True)
    memory = [np.full(n.nbytes, 0x55, np.uint8) for n in bound.outputs]
    packing = dialect.Packing(kernel, bound.launch, render_cuda.extra_words(kernel))
    grid = render_cuda.grid(kernel, bound.launch)
    tickets = np.zeros(max(1, grid.tickets), np.uint32)
    reductions = () if kernel.scan else kernel.reductions
    partial = [np.empty(16 * grid.blocks * kernel.columns, np.uint8) for _ in reductions]
    shared = [grid.parts, grid.span, *(m.ctypes.data for m in (tickets, *partial))]
    words = packing.words(
        [n.data for n in bound.arguments],
        [Buffer(m.ctypes.data, m.nbytes) for m in memory],
        [n.data for n in bound.scalars],
        shared if kernel.few else [],
    )
    address, _ = words.buffer_info()
    launch = ctypes.CDLL(str(library)).launch
    launch(ctypes.c_void_p(address), grid.blocks, grid.threads, kernel.cluster)
    assert not tickets.any()
    return [
        np.lib.stride_tricks.as_strided(m.view(n.dtype), n.shape, n.strides)
        for n, m in zip(bound.outputs, memory, strict=True)
    ]
