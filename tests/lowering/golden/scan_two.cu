// v3 = multiply(r0, r1) : complex64
// r0 = scan_add(x0) : complex64
// r1 = scan_multiply(x0) : complex64
// y0 = v3 : complex64
struct R0 {
  XP_STEP xp_c64 step(xp_c64 a, xp_c64 b) { return xp_add(a, b); }
};

struct R1 {
  XP_STEP xp_c64 step(xp_c64 a, xp_c64 b) { return xp_multiply(a, b); }
};

extern "C" __global__ void __launch_bounds__(256)
kernel(const __grid_constant__ xp_words words) {
  const long long* const w = words.w;
  typedef int idx;
  typedef unsigned uidx;
  const idx n0 = (idx)w[0];
  const idx n1 = (idx)w[1];
  const xp_c64* const p0 = (const xp_c64*)w[2];
  const idx a0_0 = (idx)w[3];
  xp_c64* const q0 = (xp_c64*)w[5];
  const idx b0_0 = (idx)w[6];
  const idx n = n1;
  const int thread = threadIdx.x & 31, warp = threadIdx.x >> 5;
  __shared__ xp_storage<xp_c64, 32> shared0;
  __shared__ xp_storage<xp_c64, 32> shared1;
  const idx unit = blockIdx.x, at = warp * 512;
  const int m = (int)(n - at < 512 ? n - at : 512);  // below 0 beyond the end
  uidx rest0_1 = (uidx)(unit);
  const idx i0 = (idx)rest0_1;
  const auto k0 = p0 + (i0 * a0_0);
  const auto y0 = q0 + (i0 * b0_0);
  xp_c64 a1[16];
  xp_c64 a2[16];
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int e = j * 128 + thread * 4;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const bool there = e + c < m;
      const idx r = at + (there ? e + c : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const xp_c64 x0 = k0[i1];
      a1[j * 4 + c] = x0;
      a2[j * 4 + c] = x0;
    }
  }
  xp_scan_tile<R0, 4>(a1, thread, warp, blockDim.x / 32, shared0.v());
  xp_scan_tile<R1, 4>(a2, thread, warp, blockDim.x / 32, shared1.v());
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int e = j * 128 + thread * 4;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const bool there = e + c < m;
      const idx r = at + (there ? e + c : m - 1);
      uidx rest1_2 = (uidx)(r);
      const idx i1 = (idx)rest1_2;
      const xp_c64 r0 = a1[j * 4 + c];
      const xp_c64 r1 = a2[j * 4 + c];
      const xp_c64 v3 = xp_multiply(r0, r1);
      if (there) y0[i1] = v3;
    }
  }
}
