"""Kernels in a user's own C++, by the examples of CuPy's user guide and beyond."""

import inspect
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cucudnn as xp
from cucudnn.errors import CompileError, DeviceError
from cucudnn.lowering import threads
from cucudnn.lowering.toolchain import host_toolchain
from cucudnn.settings import current
from tests.conftest import GPU, NO_CUDA
from tests.support import check, foreign, pending, values

COMPILES = host_toolchain() is not None and current().compile != "never"
needs_compiler = pytest.mark.skipif(not COMPILES, reason="nothing compiles C++ for the CPU")


@pytest.fixture(autouse=True)
def _needs_compiler(request):
    on_cpu = "device" in request.fixturenames and request.getfixturevalue("device") == "cpu"
    if on_cpu and not COMPILES:
        pytest.skip("nothing compiles C++ for the CPU")


@pytest.fixture
def gpu():
    if NO_CUDA:
        pytest.skip(NO_CUDA)
    import cupy

    with xp.config(device=f"cuda:{GPU}"), cupy.cuda.Device(int(GPU)):
        yield f"cuda:{GPU}"


def grid(dtype=np.float32):
    return xp.arange(10, dtype=dtype).reshape(2, 5)


def squared_difference(kind="T", **options):
    return xp.ElementwiseKernel(
        f"{kind} x, {kind} y", f"{kind} z", "z = (x - y) * (x - y)", "squared_diff", **options
    )


L2NORM = xp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
ADD = r"""
extern "C" __global__
void my_add(const float* x1, const float* x2, float* y) {
    int tid = blockDim.x * blockIdx.x + threadIdx.x;
    y[tid] = x1[tid] + x2[tid];
}
"""


# --- elementwise kernels --------------------------------------------------------------------------


def test_elementwise_broadcasts_arrays_and_numbers(device):
    kernel = squared_difference("float32")
    x, y = grid(), xp.arange(5, dtype=np.float32)
    check(kernel(x, y), [[0, 0, 0, 0, 0], [25, 25, 25, 25, 25]])
    check(kernel(x, 5), [[25, 16, 9, 4, 1], [0, 1, 4, 9, 16]])
    check(kernel(x, np.float64(5)), [[25, 16, 9, 4, 1], [0, 1, 4, 9, 16]])
    assert kernel(x, y).dtype == np.float32
    assert kernel(x, y).device == device


def test_elementwise_writes_given_results(device):
    x, y, z = grid(), xp.arange(5, dtype=np.float32), xp.empty((2, 5), dtype=np.float32)
    result = squared_difference()(x, y, z)
    assert result is z
    check(z, [[0, 0, 0, 0, 0], [25, 25, 25, 25, 25]])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64", "float32", "float64"])
def test_elementwise_placeholders_take_the_type_of_the_arrays(device, dtype):
    kernel = xp.ElementwiseKernel(
        "T x, T y", "T z", "T diff = x - y; z = diff * diff;", "squared_diff_generic"
    )
    x, y = xp.arange(12, dtype=dtype).reshape(3, 4), xp.full((4,), 2, dtype=dtype)
    a, b = values(x), values(y)
    result = kernel(x, y)
    assert result.dtype == dtype
    check(result, (a - b) * (a - b))


def test_elementwise_of_complex_numbers(device):
    kernel = xp.ElementwiseKernel("T x, T y", "T z", "z = x * conj(y)", "inner")
    a = np.arange(5) + 1j * np.arange(5)[::-1]
    for dtype in (np.complex64, np.complex128):
        x = xp.asarray(a.astype(dtype))
        np.testing.assert_allclose(values(kernel(x, x + 1)), a * np.conj(a + 1), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_elementwise_of_half_precision(device, dtype):
    kernel = xp.ElementwiseKernel("T x, float32 y", "T z", "T sum = x + y; z = sum;", "add")
    x = xp.arange(7, dtype=dtype) / 8
    y = xp.arange(7, dtype=np.float32)
    result = kernel(x, y)
    assert result.dtype == dtype
    check(result, values(x + y.astype(dtype)))


def test_elementwise_of_several_types_and_results(device):
    kernel = xp.ElementwiseKernel(
        "X x, Y y", "X s, Y d", "s = x + y; d = x - y", "both", preamble="// nothing"
    )
    x, y = xp.arange(4, dtype=np.int32), xp.arange(4, dtype=np.float64)
    total, difference = kernel(x, y)
    assert (total.dtype, difference.dtype) == (np.int32, np.float64)
    check(total, [0, 2, 4, 6])
    check(difference, [0, 0, 0, 0])


def test_elementwise_types_come_from_results_too(device):
    kernel = xp.ElementwiseKernel("X x, Y y", "Z z", "z = (x - y) * (x - y)", "super_generic")
    x = xp.arange(4, dtype=np.float32)
    with pytest.raises(TypeError, match="Z"):
        kernel(x, x)
    z = xp.empty(4, dtype=np.int64)
    check(kernel(x, x + 3, z), [9, 9, 9, 9])


def test_elementwise_raw_arrays_are_indexed_by_the_body(device):
    kernel = xp.ElementwiseKernel(
        "T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse"
    )
    x = xp.arange(6.0)
    check(kernel(x, 10 * x), np.arange(6.0) + 10 * np.arange(6.0)[::-1])
    y = xp.arange(12.0).reshape(6, 2).T[:, ::2]  # in row-major order: 0, 4, 8, 1, 5, 9
    check(kernel(x, y), np.arange(6.0) + values(y).ravel()[::-1])


def test_elementwise_raw_arrays_have_shape_and_strides(device):
    kernel = xp.ElementwiseKernel(
        "raw T x", "int64 size, int64 extent, int64 stride, T corner",
        """
        ptrdiff_t last[] = {1, 2};
        size = x.size(); extent = x.shape()[1]; stride = x.strides()[1]; corner = x[last];
        """,
        "shown",
    )  # fmt: skip
    x = xp.arange(12.0).reshape(2, 6)[:, ::2]
    results = kernel(x, *(xp.zeros(1, dtype=d) for d in ("int64", "int64", "int64", "float64")))
    assert [float(r[0]) for r in results] == [6, 3, 16, 10]


def test_elementwise_size_says_how_many(device):
    kernel = xp.ElementwiseKernel("raw T x, int32 step", "raw T y", "y[i] = x[i * step]", "thin")
    x, y = xp.arange(10.0), xp.zeros(6)
    assert kernel(x, 2, y, size=4) is y
    check(y, [0, 2, 4, 6, 0, 0])
    check(kernel(x, 2, size=3), [0, 2, 4])
    with pytest.raises(ValueError, match=r"(?i)size"):
        kernel(x, 2)
    with pytest.raises(ValueError, match=r"(?i)size"):
        squared_difference()(x, x, size=4)
    with pytest.raises(ValueError, match=r"(?i)size"):
        squared_difference("float64")(1, 2)


def test_elementwise_keeps_axes_if_asked(device):
    kernel = xp.ElementwiseKernel(
        "T x", "int64 r, int64 c", "r = _ind.get()[0]; c = _ind.get()[1];", "where",
        reduce_dims=False,
    )  # fmt: skip
    rows, columns = kernel(grid())
    expected = np.indices((2, 5))
    check(rows, expected[0])
    check(columns, expected[1])


def test_elementwise_returns_as_asked(device):
    x = grid()
    assert isinstance(squared_difference(return_tuple=True)(x, x), tuple)
    z = xp.ones_like(x)
    assert squared_difference(no_return=True)(x, x, z) is None
    check(z, np.zeros((2, 5)))
    assert squared_difference()(x[:, :0], 1.0).shape == (2, 0)
    check(squared_difference()(xp.asarray(4.0), xp.asarray(1.0)), 9.0)


def test_elementwise_has_preamble_loop_prep_and_options(device):
    kernel = xp.ElementwiseKernel(
        "T x", "T y", "y = twice(x) + start + OFFSET", "prepared",
        preamble="template <typename U> __device__ U twice(U u) { return u + u; }",
        loop_prep="const T start = 3", after_loop="(void)start", options=("-DOFFSET=100",),
    )  # fmt: skip
    check(kernel(xp.arange(3)), [103, 105, 107])


def test_elementwise_return_and_continue_end_one_element(device):
    for word in ("return", "continue"):
        kernel = xp.ElementwiseKernel("T x", "T y", f"y = x; if (x > 2) {word}; y = -x;", "some")
        check(kernel(xp.arange(5)), [0, -1, -2, 3, 4])


def test_elementwise_adds_atomically(device):
    kernel = xp.ElementwiseKernel(
        "raw T x, raw int64 where", "raw T y", "atomicAdd(&y[where[i]], x[i])", "scatter_add",
        no_return=True,
    )  # fmt: skip
    n = 200_000
    x, where, y = xp.ones(n, dtype=np.float32), xp.arange(n) % 3, xp.zeros(3, dtype=np.float32)
    kernel(x, where, y, size=n)
    check(y, np.bincount(np.arange(n) % 3))


def test_elementwise_has_min_max_and_mathematics(device):
    kernel = xp.ElementwiseKernel(
        "T x", "T y", "y = max(min(x, T(2)), T(-1)) + rsqrt(x * x + 1) + exp(-abs(x))", "functions"
    )
    x = np.linspace(-3, 3, 7)
    expected = np.clip(x, -1, 2) + 1 / np.sqrt(x * x + 1) + np.exp(-np.abs(x))
    np.testing.assert_allclose(values(kernel(xp.asarray(x))), expected, rtol=1e-14)


def test_elementwise_takes_others_arrays(device):
    other = foreign(device)
    a, b = other.arange(6.0), other.zeros(6)
    result = squared_difference()(xp.full(6, 2.0), a)
    check(result, (np.arange(6.0) - 2) ** 2)
    assert squared_difference()(a, xp.full(6, 2.0), b) is b
    np.testing.assert_array_equal(b if device == "cpu" else b.get(), (np.arange(6.0) - 2) ** 2)
    shared = xp.asarray(b, copy=False)
    squared_difference()(a, a, shared)
    assert float(abs(b).sum()) == 0
    check(squared_difference()(xp.full(6, 2.0), np.arange(6.0)), (np.arange(6.0) - 2) ** 2)
    result = squared_difference()(np.full(6, 2.0), np.arange(6.0))
    assert result.device == device
    check(result, (np.arange(6.0) - 2) ** 2)


def test_numpy_arrays_are_not_written_on_a_gpu(gpu):
    x, y = xp.ones(3), np.zeros(3)
    with pytest.raises(TypeError):
        squared_difference()(x, 2.0, y)
    kernel = xp.ElementwiseKernel("T x, _non_const raw T y", "T z", "z = x; y[i] = -x", "both")
    with pytest.raises(TypeError):
        kernel(x, y)


def test_elementwise_takes_torch_tensors(device):
    torch = pytest.importorskip("torch")
    t = torch.arange(4.0, device=device, dtype=torch.float64)
    z = torch.zeros(4, device=device, dtype=torch.float64)
    assert squared_difference()(t, xp.ones(4), z) is z
    assert z.tolist() == [1, 0, 1, 4]


def test_elementwise_refuses_what_does_not_fit(device):
    kernel = squared_difference()
    x = grid()
    with pytest.raises(TypeError, match=r"(?i)arguments"):
        kernel(x)
    with pytest.raises(TypeError):
        kernel(x, x.astype(np.float64))
    with pytest.raises(TypeError):
        squared_difference("float32")(x.astype(np.float64), 1)
    with pytest.raises(TypeError):
        kernel(x, x, 5.0)
    with pytest.raises(TypeError):
        kernel(x, object())
    with pytest.raises(ValueError):  # noqa: PT011 - CuPy's own words on CUDA
        kernel(x, xp.zeros(4, dtype=np.float32))
    with pytest.raises(ValueError, match=r"(?i)shape"):
        kernel(x, x, xp.zeros(5, dtype=np.float32))
    with pytest.raises(ValueError, match="read-only"):
        kernel(x, x, xp.broadcast_to(xp.zeros(5, dtype=np.float32), (2, 5)))
    with pytest.raises(ValueError, match="block_size"):
        kernel(x, x, block_size=0)
    with pytest.raises(TypeError, match="unexpected"):
        kernel(x, x, other=1)


@needs_compiler
def test_numpy_arrays_that_cannot_be_used_where_they_are():
    swapped = np.arange(6.0).astype(">f8")
    odd = np.zeros(49, np.uint8)[1:].view(np.float64)
    odd[...] = np.arange(6.0)
    kernel = squared_difference()
    check(kernel(swapped, xp.full(6, 1.0, device="cpu")), (np.arange(6.0) - 1) ** 2)
    check(kernel(odd, xp.full(6, 1.0, device="cpu")), (np.arange(6.0) - 1) ** 2)
    with xp.config(device="cpu"):
        with pytest.raises(TypeError, match="byte order"):
            kernel(odd, 1.0, swapped)
        with pytest.raises(ValueError, match="aligned"):
            kernel(odd, 1.0, odd)


def test_definitions_are_checked():
    with pytest.raises(ValueError, match="type and a name"):
        xp.ElementwiseKernel("T", "T z", "z = 1")
    with pytest.raises(ValueError, match="'raw'|type and a name"):
        xp.ElementwiseKernel("cooked T x", "T z", "z = 1")
    with pytest.raises(ValueError, match="type and a name"):
        xp.ElementwiseKernel("T i", "T z", "z = i")
    with pytest.raises(TypeError, match="dtype"):
        xp.ElementwiseKernel("nothing x", "T z", "z = 1")
    with pytest.raises(ValueError, match="name"):
        xp.ElementwiseKernel("T x", "T z", "z = x", "no name")
    kernel = squared_difference()
    assert (kernel.nin, kernel.nout, kernel.nargs, kernel.name) == (2, 1, 3, "squared_diff")
    assert [p.name for p in kernel.in_params + kernel.out_params] == ["x", "y", "z"]
    assert "squared_diff" in repr(kernel)
    assert "l2norm" in repr(L2NORM)


@needs_compiler
def test_kernels_can_be_pickled():
    x = xp.arange(3.0, device="cpu")
    kernel = pickle.loads(pickle.dumps(squared_difference()))
    check(kernel(x, 1), [1, 0, 1])
    check(pickle.loads(pickle.dumps(L2NORM))(x), np.sqrt(5.0))


def test_a_text_that_the_compiler_refuses(device):
    kernel = xp.ElementwiseKernel("T x", "T y", "y = nothing_of_the_kind(x)", "wrong")
    with pytest.raises(CompileError, match="nothing_of_the_kind"):
        kernel(xp.ones(3))
    kernel = xp.ReductionKernel("T x", "T y", "nothing_of_the_kind", "a + b", "y = a", "0", "no")
    with pytest.raises(CompileError, match="nothing_of_the_kind"):
        kernel(xp.ones(3))
    if device != "cpu":
        code = 'extern "C" __global__ void f() { nothing_of_the_kind(); }'
        with pytest.raises(CompileError, match="nothing_of_the_kind"):
            xp.RawKernel(code, "f")(1, 1, ())
        for use in (
            xp.RawKernel(code, "f").compile,
            xp.RawModule(code=code).compile,
            lambda: xp.RawModule(code=code).get_function("f"),
            lambda: xp.RawKernel(code, "f").num_regs,
        ):
            with pytest.raises(CompileError, match="nothing_of_the_kind"):
                use()


def test_without_a_compiler_it_says_so():
    with xp.config(compile="never"):
        with pytest.raises(RuntimeError, match="squared_diff.*compiler"):
            squared_difference()(xp.ones(3, device="cpu"), 1.0)
        with pytest.raises(RuntimeError, match="l2norm.*compiler"):
            L2NORM(xp.ones(3, device="cpu"))


def test_devices_are_not_mixed(gpu):
    here, there = xp.ones(3, device="cpu"), xp.ones(3, device=gpu)
    for x, y in ((here, there), (there, here)):
        with pytest.raises(DeviceError, match="two devices"):
            squared_difference()(x, y)
    with pytest.raises(DeviceError, match="two devices"):
        L2NORM(here, there)


@needs_compiler
def test_no_number_of_threads_shows():
    x = xp.arange(300_000.0, device="cpu").reshape(3, 100_000)
    before = threads._chosen
    try:
        found = []
        for n in (1, 4):
            threads.set_num_threads(n)
            found.append((values(squared_difference()(x, 7.0)), values(L2NORM(x, axis=1))))
    finally:
        threads._chosen = before
        threads.set_num_threads(threads.get_num_threads())
        threads._chosen = before
    for one, many in zip(*found, strict=True):
        np.testing.assert_array_equal(one, many)


# --- laziness and aliasing ------------------------------------------------------------------------

INCREMENT = xp.ElementwiseKernel("", "T x", "x += 1", "increment", no_return=True)


def test_operands_are_evaluated(device):
    x = grid()
    y = (x + 1) * 2
    assert pending(y)
    check(squared_difference()(y, x), (np.arange(10.0).reshape(2, 5) + 2) ** 2)


def test_what_was_recorded_before_a_write_sees_the_old_values(device):
    x = xp.zeros(1000)
    before = x + 10
    corner = x[0]
    flipped = x[::-1]
    reader = flipped * 1
    INCREMENT(x)
    assert x.tolist() == [1.0] * 1000
    check(flipped, np.ones(1000))
    check(before, np.full(1000, 10.0))
    check(reader, np.zeros(1000))
    assert float(corner) == 0
    check(x + 10, np.full(1000, 11.0))


def test_a_reader_that_is_much_larger_keeps_the_old_memory(device):
    x = xp.zeros((1, 4))
    view = x[0]
    wide = xp.broadcast_to(x, (100_000, 4)) + 1
    INCREMENT(x)
    check(view, np.ones(4))
    assert float(wide.sum()) == 400_000


def test_a_write_through_a_view_is_seen_by_the_whole(device):
    x = xp.zeros((4, 6))
    INCREMENT(x[1::2, ::3])
    expected = np.zeros((4, 6))
    expected[1::2, ::3] = 1
    check(x, expected)
    INCREMENT(x.T)
    check(x, expected + 1)
    z = xp.zeros(3, dtype=np.complex128)
    INCREMENT(z.imag)
    check(z, np.full(3, 1j))


def test_a_result_that_is_an_operand_too(device):
    x = xp.arange(6.0)
    add = xp.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add")
    assert add(x, x, x) is x
    check(x, 2 * np.arange(6.0))
    add(x[:3], x[3:], x[:3])
    check(x, [6, 10, 14, 6, 8, 10])


def test_operands_marked_so_are_written(device):
    kernel = xp.ElementwiseKernel("T x, _non_const raw T y", "T z", "z = x; y[i] = -x", "both")
    x, y = xp.arange(3.0), xp.zeros(3)
    old = y + 0
    check(kernel(x, y), [0, 1, 2])
    check(y, [0, -1, -2])
    check(old, [0, 0, 0])


def test_lent_memory_is_not_written(device):
    x = xp.zeros(100_000)
    snapshot = np.asarray(x)
    INCREMENT(x)
    assert not snapshot.any()
    assert float(x.sum()) == 100_000


def test_shared_memory_is_written_where_it_is(device):
    memory = foreign(device).zeros(100_000)
    x = xp.asarray(memory, copy=False)
    before = x + 1
    INCREMENT(x)
    assert float(memory.sum()) == 100_000
    assert float(before.sum()) == 100_000
    assert float(x.sum()) == 100_000


def test_iteration_sees_the_write(device):
    x = xp.zeros(3)
    elements = iter(x)
    first = float(next(elements))
    INCREMENT(x)
    assert [first, *map(float, elements)] == [0, 1, 1]


def test_in_a_jitted_function(device):
    @xp.jit
    def function(x):
        INCREMENT(x)
        return squared_difference()(x, 3.0) + x

    x = xp.zeros(4)
    check(function(x), np.full(4, 5.0))
    check(x, np.ones(4))


@needs_compiler
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_elementwise_of_any_layout(data):
    x = np.arange(120).reshape(2, 3, 4, 5)
    cut = [data.draw(st.sampled_from([slice(None), slice(None, None, -1), slice(1, None, 2)]))
           for _ in range(4)]  # fmt: skip
    order = data.draw(st.permutations(range(4)))
    theirs = x[tuple(cut)].transpose(order)
    ours = xp.asarray(x, device="cpu")[tuple(cut)].transpose(*order)
    column = theirs[..., :1]
    result = squared_difference()(ours, ours[..., :1])
    np.testing.assert_array_equal(values(result), (theirs - column) ** 2)
    out = xp.zeros((5, 4, 3, 2), dtype=np.int64, device="cpu").transpose(3, 2, 1, 0)
    region = out[tuple(slice(n) for n in theirs.shape)] if max(theirs.shape) < 3 else None
    if region is not None and region.shape == theirs.shape:
        squared_difference()(ours, 1, region)
        np.testing.assert_array_equal(values(region), (theirs - 1) ** 2)


# --- reductions -----------------------------------------------------------------------------------


def test_reduction_of_the_user_guide(device):
    np.testing.assert_allclose(values(L2NORM(grid(), axis=1)), [5.477226, 15.9687195], rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, (0, 2), (1, 0), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduction_over_axes(device, axis, keepdims):
    a = np.random.default_rng(0).random((3, 40, 5))
    for view in (a, a[:, ::-1], a.transpose(2, 0, 1)):
        x = xp.asarray(a)
        x = x if view is a else x[:, ::-1] if view.shape == a.shape else x.transpose(2, 0, 1)
        result = L2NORM(x, axis=axis, keepdims=keepdims)
        expected = np.sqrt((view * view).sum(axis=axis, keepdims=keepdims))
        assert result.shape == expected.shape
        np.testing.assert_allclose(values(result), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 70_000, 300_001])
def test_reduction_of_any_length(device, n):
    total = xp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    check(total(xp.arange(n)), np.arange(n).sum())
    check(total(xp.arange(3 * n).reshape(n, 3), axis=0), np.arange(3 * n).reshape(n, 3).sum(0))


def test_reduction_of_two_operands_and_a_number(device):
    kernel = xp.ReductionKernel(
        "T x, T y, T scale", "T z", "scale * x * y", "a + b", "z = a + scale", "0", "dot"
    )
    x, y = grid(np.float64), xp.arange(5.0)
    expected = 2 * (np.arange(10.0).reshape(2, 5) @ np.arange(5.0)) + 2
    check(kernel(x, y, 2, axis=1), expected)
    check(kernel(x, y.reshape(1, 5), 2, axis=1), expected)


def test_reduction_writes_a_given_result(device):
    x = grid(np.float64)
    expected = np.sqrt((np.arange(10.0).reshape(2, 5) ** 2).sum(1))
    for keepdims in (False, True):
        y = xp.zeros((2, 1) if keepdims else 2)
        before = y + 1
        assert L2NORM(x, out=y, axis=1, keepdims=keepdims) is y
        np.testing.assert_allclose(values(y).ravel(), expected)
        assert float(before.sum()) == 2
        y[...] = 0
        assert L2NORM(x, y, axis=1, keepdims=keepdims) is y
        np.testing.assert_allclose(values(y).ravel(), expected)
    with pytest.raises(ValueError, match="out"):
        L2NORM(x, y, out=y)
    with pytest.raises(ValueError, match=r"(?i)shape"):
        L2NORM(x, out=xp.zeros(3), axis=1)
    with pytest.raises(TypeError, match="arguments"):
        L2NORM()


def test_reduction_of_structures(device):
    kernel = xp.ReductionKernel(
        "T x", "int64 y", "Pair<T>(x, _J)", "larger(a, b)", "y = a.index", None, "arg_max",
        reduce_type="Pair<T>",
        preamble="""
        template <typename U> struct Pair {
          U value; ptrdiff_t index;
          __device__ Pair() : value(), index(-1) {}
          __device__ Pair(U v, ptrdiff_t i) : value(v), index(i) {}
        };
        template <typename U> __device__ Pair<U> larger(Pair<U> a, Pair<U> b) {
          if (a.index < 0) return b;
          if (b.index < 0) return a;
          if (a.value != b.value) return a.value > b.value ? a : b;
          return a.index < b.index ? a : b;
        }
        """,
    )  # fmt: skip
    a = np.random.default_rng(0).permutation(3000).reshape(3, 1000)
    check(kernel(xp.asarray(a), axis=1), a.argmax(1))
    check(kernel(xp.asarray(a.astype(np.float32)), axis=0), a.argmax(0))
    with pytest.raises(ValueError, match="identity"):
        kernel(xp.zeros(0))


def test_reduction_of_a_wider_type(device):
    kernel = xp.ReductionKernel(
        "int8 x", "float64 y", "x", "a + b", "y = a / (double)_in_ind.size()", "0", "mean",
        reduce_type="long long",
    )  # fmt: skip
    check(kernel(xp.full(1000, 100, dtype=np.int8)), 100.0)


def test_reduction_with_a_raw_operand(device):
    kernel = xp.ReductionKernel(
        "T x, raw T w", "T y", "x * w[_j / _out_ind.size()]", "a + b", "y = a", "0", "weighted"
    )
    x, w = xp.arange(12.0).reshape(4, 3), xp.arange(4.0)
    check(kernel(x, w, axis=0), np.arange(4.0) @ np.arange(12.0).reshape(4, 3))
    with pytest.raises(NotImplementedError):
        kernel(x, w, axis=1)


@needs_compiler
def test_reduction_of_floats_is_accurate():
    total = xp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    a = np.random.default_rng(0).random(1 << 20, dtype=np.float32)
    error = abs(float(total(xp.asarray(a, device="cpu"))) - a.sum(dtype=np.float64))
    depth = 128 + 9 + 4
    assert error <= depth * np.finfo(np.float32).eps / 2 * a.sum(dtype=np.float64)


# --- raw kernels ----------------------------------------------------------------------------------


def test_raw_kernel_needs_a_gpu():
    kernel = xp.RawKernel(ADD, "my_add")
    x = xp.arange(25, dtype=xp.float32, device="cpu")
    for use in (
        lambda: kernel((5,), (5,), (x, x, x)),
        lambda: xp.RawModule(code=ADD).get_function("my_add"),
        lambda: kernel.attributes,
        lambda: kernel.compile(),
    ):
        with xp.config(device="cpu"), pytest.raises(DeviceError, match="CUDA device"):
            use()
    assert repr(kernel) == "<RawKernel my_add>"
    assert pickle.loads(pickle.dumps(kernel)).code == ADD


def test_raw_module_takes_code_or_a_path():
    with pytest.raises(TypeError, match="code or path"):
        xp.RawModule()
    with pytest.raises(TypeError, match="code or path"):
        xp.RawModule(code=ADD, path="x.cubin")
    with pytest.raises(ValueError, match="name_expressions"):
        xp.RawModule(path="x.cubin", name_expressions=("f<int>",))


def test_signatures_are_cupys():
    def names(function):
        return list(inspect.signature(function).parameters)

    assert names(xp.RawKernel)[:4] == ["code", "name", "options", "backend"]
    assert names(xp.RawModule)[:4] == ["code", "path", "options", "backend"]
    assert names(xp.ElementwiseKernel) == [
        "in_params", "out_params", "operation", "name", "reduce_dims", "preamble", "no_return",
        "return_tuple", "loop_prep", "after_loop", "options",
    ]  # fmt: skip
    assert names(xp.ReductionKernel) == [
        "in_params", "out_params", "map_expr", "reduce_expr", "post_map_expr", "identity", "name",
        "reduce_type", "reduce_dims", "preamble", "options",
    ]  # fmt: skip


@pytest.mark.cuda
def test_raw_kernel_of_the_user_guide(gpu):
    kernel = xp.RawKernel(ADD, "my_add")
    x1 = xp.arange(25, dtype=xp.float32).reshape(5, 5)
    x2 = xp.arange(25, dtype=xp.float32).reshape(5, 5)
    y = xp.zeros((5, 5), dtype=xp.float32)
    kernel((5,), (5,), (x1, x2, y))
    check(y, 2 * np.arange(25, dtype=np.float32).reshape(5, 5))


@pytest.mark.cuda
def test_raw_kernel_writes_as_the_aliasing_rules_want(gpu):
    kernel = xp.RawKernel(ADD, "my_add")
    x, y = xp.arange(64, dtype=xp.float32), xp.zeros(128, dtype=xp.float32)
    before, view = y + 1, y[::-1]
    part = view * 1
    kernel((2,), (32,), (x, x + 1, y[64:]))
    expected = np.concatenate([np.zeros(64), 2 * np.arange(64) + 1])
    check(y, expected)
    check(view, expected[::-1])
    check(before, np.ones(128))
    check(part, np.zeros(128))
    kernel(1, 64, (y, x, y))
    check(y[:64], np.arange(64))


@pytest.mark.cuda
def test_raw_kernel_takes_numbers_and_others_arrays(gpu):
    import cupy

    kernel = xp.RawKernel(
        r"""
        #include <cupy/complex.cuh>
        extern "C" __global__
        void scaled(const complex<float>* x, complex<float>* y, float a, long long n, bool on) {
            int tid = blockDim.x * blockIdx.x + threadIdx.x;
            if (on && tid < n) y[tid] = a * x[tid];
        }
        """,
        "scaled",
    )
    x = cupy.arange(8, dtype=cupy.complex64)
    y = xp.zeros(8, dtype=xp.complex64)
    kernel((1,), (8,), (x, y, np.float32(2.0), 6, True))
    check(y, [0, 2, 4, 6, 8, 10, 0, 0])
    kernel((1,), (8,), (y, x, xp.float32(2.0), 8, True))
    assert x.get().tolist() == [0, 4, 8, 12, 16, 20, 0, 0]
    torch = pytest.importorskip("torch")
    t = torch.zeros(8, dtype=torch.complex64, device=gpu)
    kernel((1,), (8,), (y, t, np.float32(1.0), 8, True))
    assert t.tolist() == [0, 2, 4, 6, 8, 10, 0, 0]
    with pytest.raises(TypeError):
        kernel((1,), (8,), (np.zeros(8, np.complex64), y, np.float32(2.0), 6, True))


@pytest.mark.cuda
def test_raw_kernel_on_another_stream(gpu):
    import cupy

    kernel = xp.RawKernel(ADD, "my_add")
    stream = cupy.cuda.Stream(non_blocking=True)
    x = xp.ones(1 << 22, dtype=xp.float32)
    y = xp.zeros(1 << 22, dtype=xp.float32)
    for _ in range(20):
        kernel((1 << 12,), (1 << 10,), (x * 1, y, y), stream=stream)
    assert float((y * 1).min()) == 20
    z = squared_difference()(y, x, stream=stream)
    assert float(z.max()) == 361
    assert float(L2NORM(x.astype(xp.float64), stream=stream)) == 2048


@pytest.mark.cuda
def test_raw_kernel_has_attributes(gpu):
    kernel = xp.RawKernel(ADD, "my_add", ("-std=c++17",))
    kernel.compile()
    assert kernel.attributes["max_threads_per_block"] == kernel.max_threads_per_block > 0
    assert kernel.num_regs > 0
    kernel.max_dynamic_shared_size_bytes = 50000
    assert kernel.max_dynamic_shared_size_bytes == 50000
    with pytest.raises(AttributeError):
        kernel.num_regs = 3


@pytest.mark.cuda
def test_raw_module(gpu, tmp_path):
    import cupy

    module = xp.RawModule(
        code=r"""
        __constant__ float table[4];
        template <typename T> __global__ void fill(T* y, T value) { y[threadIdx.x] = value; }
        extern "C" __global__ void look(float* y) { y[threadIdx.x] = table[threadIdx.x]; }
        """,
        options=("--std=c++17",),
        name_expressions=("fill<int>", "fill<float>"),
    )
    module.compile()
    x, y = xp.zeros(4, dtype=xp.int32), xp.zeros(4, dtype=xp.float32)
    module.get_function("fill<int>")((1,), (4,), (x, np.int32(7)))
    module.get_function("fill<float>")((1,), (4,), (y, np.float32(0.5)))
    check(x, [7] * 4)
    check(y, [0.5] * 4)
    pointer = module.get_global("table")
    table = xp.asarray(cupy.ndarray((4,), cupy.float32, pointer), copy=False)
    table[...] = xp.arange(4, dtype=xp.float32)
    module.get_function("look")((1,), (4,), (y,))
    check(y, [0, 1, 2, 3])
