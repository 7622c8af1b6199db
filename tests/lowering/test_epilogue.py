"""What a library call does with its result: found without a GPU, computed where one is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.graph.node import pending_closure
from cucudnn.graph.ops import Kind
from cucudnn.lowering.epilogue import constant
from cucudnn.lowering.partition import partition
from cucudnn.lowering.signature import sign
from tests.support import counted, pending, values

DTYPES = ["float16", "bfloat16", "float32"]


def array(*shape, dtype="float32", device="cpu"):
    x = np.random.default_rng(len(shape)).standard_normal(shape)
    return xp.asarray(x.astype(getattr(xp, dtype)), device=device)


def on_cuda(function, *asked):
    """Call a function of the pending nodes, and those asked for, as if they were on a GPU."""
    roots = {x._storage.node for x in asked}
    nodes = pending_closure(roots)
    for n in nodes:
        n.device = "cuda:0"
    try:
        return function(nodes, roots, {})
    finally:
        for n in nodes:
            n.device = "cpu"


def epilogues(*asked):
    """Of each library call, and how many kernels there are beside."""
    groups = on_cuda(partition, *asked)
    calls = [str(g.epilogue or "") for g in groups if g.leader.op.kind is Kind.LIBRARY]
    return calls, len(groups) - len(calls)


def gelu(x):
    return xp.nn.gelu(x, approximate="tanh")


def written_gelu(x):
    return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def turned_gelu(x):
    return (xp.tanh((x * x * x * 0.044715 + x) * 0.7978845608) + 1.0) * (x * 0.5)


FOUND = {
    "bias": lambda x, w, b: x @ w + b,
    "bias first": lambda x, w, b: b + x @ w,
    "relu": lambda x, w, b: xp.nn.relu(x @ w),
    "bias relu": lambda x, w, b: xp.nn.relu(x @ w + b),
    "maximum": lambda x, w, b: xp.maximum(0.0, b + x @ w),
    "gelu": lambda x, w, b: gelu(x @ w),
    "bias gelu": lambda x, w, b: gelu(x @ w + b),
    "bias gelu, linear": lambda x, w, b: gelu(xp.nn.linear(x, w.T, b)),
}
NAMES = {"bias first": "bias", "maximum": "bias relu", "bias gelu, linear": "bias gelu"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FOUND)
def test_a_call_takes_what_it_can_do(name, dtype):
    x, w, b = (array(*s, dtype=dtype) for s in [(4, 5), (5, 6), (6,)])
    assert epilogues(FOUND[name](x, w, b)) == ([NAMES.get(name, name)], 0)


def test_gelu_after_tf32_is_a_kernel():
    x, w, b = array(4, 5), array(5, 6), array(6)
    for function, expected in [(gelu, ([""], 1)), (xp.nn.relu, (["bias relu"], 0))]:
        product = x @ w
        product._storage.node.attrs = ("tf32",)
        assert epilogues(function(product + b)) == expected


@pytest.mark.parametrize("function", [written_gelu, turned_gelu])
@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5), (5,)])
def test_gelu_in_other_words(function, shape):
    x, w, b = array(*shape), array(5, 6), array(6)
    assert epilogues(function(x @ w + b)) == (["bias gelu"], 0)
    assert epilogues(function(x @ w + 0 * b)) == ([""], 1)


def test_what_a_call_leaves_to_a_kernel():
    x, w, b = array(4, 5), array(5, 6), array(6)
    y = array(4, 6)
    for result, kernels in [
        (x @ w + y, 1),  # no bias: not the same in each row
        (x @ w + y[:, :1], 1),
        (x @ w + 1.0, 1),
        (xp.nn.gelu(x @ w), 1),  # with the error function
        (xp.nn.silu(x @ w + b), 1),
        (xp.maximum(x @ w, 0.1), 1),
        (xp.maximum(x @ w + b, b), 1),
        (2 * (x @ w + b), 1),
        ((x @ w + b) * b, 1),
        (x @ w + 2 * b, 1),  # a kernel makes the bias
        (xp.sum(x @ w + b), 1),
        ((x @ w).T + y.T, 1),
        (0.5 * y * (1 + xp.tanh(0.7978845608 * (x @ w + 0.044715 * (x @ w) ** 3))), 1),
        (x @ w, 0),
    ]:
        assert set(epilogues(result)[0]) == {""}
        assert epilogues(result)[1] == kernels
    assert epilogues(x.astype(xp.float64) @ w + b)[0] == [""]
    assert epilogues(xp.ones((4, 5), dtype=xp.int32) @ xp.ones((5, 6), dtype=xp.int32) + 1)[0] == [
        ""
    ]


def test_a_product_that_is_needed_elsewhere_is_stored():
    x, w, b = array(4, 5), array(5, 6), array(6)
    product = x @ w
    assert epilogues(product + b, product) == ([""], 1)
    assert epilogues(product + b, xp.sqrt(product)) == ([""], 2)
    assert epilogues(product + b, product @ w.T) == (["", ""], 1)


def test_chains_of_layers():
    x, w, v, b = array(4, 5), array(5, 5), array(5, 5), array(5)
    y = gelu(x @ w + b) @ v + b
    assert epilogues(y) == (["bias gelu", "bias"], 0)
    assert epilogues(x + y)[0] == ["bias gelu", ""]


def test_a_write_waits_for_the_product():
    x, w, b = array(4, 5), array(5, 6), array(6)
    y = x @ w
    x[0] = 0  # after the product has read it
    assert epilogues(y + b, x)[0] == ["bias"]


def test_plans_depend_on_the_numbers_of_the_formulas_alone():
    x, w = array(4, 5), array(5, 6)

    def key(value):
        return on_cuda(sign, xp.maximum(x @ w, value)).key

    assert key(0.0) != key(0.1)
    assert key(0.1) == key(0.2)
    assert [constant(v) for v in (0, 0.5, 0.7978845608, 7, 1j, math.nan)] == [
        0.0, 0.5, math.sqrt(2 / math.pi), None, None, None,
    ]  # fmt: skip


def test_nothing_is_absorbed_on_the_cpu():
    x, w, b = array(4, 5), array(5, 6), array(6)
    plan = xp.explain(x @ w + b)
    assert len(plan.library_calls) == len(plan.kernels) == 1


# --- values ---------------------------------------------------------------------------------------


def expected(name, x, w, b):
    total = x @ w + b
    if "relu" in name:
        return np.maximum(total, 0)
    if "gelu" in name:
        return 0.5 * total * (1 + np.tanh(np.sqrt(2 / np.pi) * (total + 0.044715 * total**3)))
    return total


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40, 24), (3, 7, 24), (24,), (1, 24)])
@pytest.mark.parametrize("name", ["bias", "bias relu", "bias gelu"])
def test_values(device, name, shape, dtype):
    x, w, b = (array(*s, dtype=dtype, device=device) for s in [shape, (24, 17), (17,)])
    result = FOUND[name](x, w, b)
    plan = xp.explain(result)
    is_sum = device != "cpu" and shape in ((24,), (1, 24))  # as of any product of one row
    assert len(plan.library_calls) == (not is_sum)
    assert len(plan.kernels) == (device == "cpu" or is_sum)
    with counted("launches") as launches:
        got = values(result).astype(float)
    assert launches() == len(plan.kernels)
    bound = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-6}[dtype]
    wide = (values(a).astype(float) for a in (x, w, b))
    np.testing.assert_allclose(got, expected(name, *wide), rtol=bound, atol=4 * bound)


def test_bias_anywhere_in_memory(device):
    x, w = array(40, 24, device=device), array(24, 16, device=device)
    base = array(3, 70, device=device)
    xp.flush()
    for b in (base[1, 3:19], base[2, ::4][:16], base[0, 16:0:-1], base[:1, :16], base[1, :1]):
        got = values(x @ w + b)
        np.testing.assert_allclose(got, values(x) @ values(w) + values(b), rtol=2e-5, atol=2e-5)


def test_nan_and_infinity(device):
    for dtype in DTYPES:
        x = xp.zeros((16, 16), dtype=getattr(xp, dtype))
        x[:, 0] = 1
        w = xp.zeros((16, 16), dtype=getattr(xp, dtype))
        w[0, :5] = xp.asarray([np.nan, np.inf, -np.inf, -5, 2])
        got = values(xp.nn.relu(x @ w))[0, :5].astype(float)
        np.testing.assert_array_equal(got, [np.nan, np.inf, 0, 0, 2])


def test_the_product_is_stored_the_second_time(device):
    x, w, b = (array(*s, device=device) for s in [(40, 24), (24, 16), (16,)])
    product = x @ w
    first = product + b
    xp.asnumpy(first)
    assert pending(product) == (device != "cpu")
    np.testing.assert_allclose(
        values(product * 2), 2 * (values(x) @ values(w)), rtol=1e-5, atol=1e-5
    )
    assert not pending(product)


def test_another_number_in_the_same_place(device):
    x, w = array(40, 24, device=device), array(24, 16, device=device)
    product = values(x) @ values(w)
    for low in (0.0, 0.25, 0.0, -0.5):
        got = values(xp.maximum(x @ w, low))
        np.testing.assert_allclose(got, np.maximum(product, low), rtol=2e-5, atol=2e-5)
