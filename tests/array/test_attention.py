"""Attention against torch, on every device."""

import numpy as np
import pytest

import cucudnn as xp
from tests.nn_support import DTYPES, F, close, normal, tensor, torch
from tests.support import pending

attention = xp.nn.scaled_dot_product_attention
reference = F.scaled_dot_product_attention


def operands(dtype="float64", heads=4, few=None):
    few = few or heads
    return (
        normal(2, heads, 5, 8, dtype=dtype),
        normal(2, few, 7, 8, dtype=dtype),
        normal(2, few, 7, 3, dtype=dtype),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_as_torch(device, dtype):
    q, k, v = operands(dtype)
    ours, theirs = [xp.asarray(x) for x in (q, k, v)], [tensor(x) for x in (q, k, v)]
    got = attention(*ours)
    assert pending(got)
    assert got.device == device
    close(got, reference(*theirs), dtype, 4)
    close(attention(*ours, scale=0.3), reference(*theirs, scale=0.3), dtype, 4)
    close(attention(*ours, is_causal=True), reference(*theirs, is_causal=True), dtype, 4)
    mask = np.random.default_rng(1).random((2, 4, 5, 7)) < 0.6
    bias = normal(5, 7, dtype=dtype)
    close(attention(*ours, xp.asarray(mask)), reference(*theirs, torch.tensor(mask)), dtype, 4)
    close(attention(*ours, mask[0, 0]), reference(*theirs, torch.tensor(mask[0, 0])), dtype, 4)
    close(attention(*ours, xp.asarray(bias)), reference(*theirs, tensor(bias)), dtype, 4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_grouped_heads(device, dtype):
    q, k, v = operands(dtype, 6, 2)
    ours, theirs = [xp.asarray(x) for x in (q, k, v)], [tensor(x) for x in (q, k, v)]
    got = attention(*ours, enable_gqa=True)
    close(got, reference(*theirs, enable_gqa=True), dtype, 4)
    for shape in ((5, 7), (6, 5, 7), (2, 1, 5, 7), (2, 6, 5, 7)):
        mask = np.random.default_rng(1).random(shape) < 0.6
        mask[..., 0] = True
        got = attention(*ours, mask, enable_gqa=True)
        close(got, reference(*theirs, torch.tensor(mask), enable_gqa=True), dtype, 4)


def test_other_shapes(device):
    for q, k, v in (
        ((5, 8), (7, 8), (7, 3)),
        ((3, 5, 8), (3, 7, 8), (3, 7, 8)),
        ((2, 1, 5, 8), (1, 4, 7, 8), (2, 4, 7, 3)),
    ):
        arrays = [normal(*s) for s in (q, k, v)]
        expected = torch.softmax(
            tensor(arrays[0]) @ tensor(arrays[1]).mT / np.sqrt(8), -1
        ) @ tensor(arrays[2])
        close(attention(*map(xp.asarray, arrays)), expected, scale=4)


def test_a_query_that_sees_nothing(device):
    q, k, v = (xp.asarray(x) for x in operands())
    mask = np.ones((5, 7), dtype=bool)
    mask[2] = False
    got = attention(q, k, v, mask)
    assert float(xp.abs(got[:, :, 2]).max()) == 0
    close(got, reference(*(torch.tensor(xp.asnumpy(x)) for x in (q, k, v)), torch.tensor(mask)))
    assert (
        xp.asnumpy(attention(q, k[:, :, :0], v[:, :, :0])).tolist()
        == np.zeros((2, 4, 5, 3)).tolist()
    )


def test_large_scores_do_not_overflow(device):
    q = xp.full((1, 2, 4), 100.0, dtype=xp.float16)
    got = attention(q, q, xp.ones((1, 2, 3), dtype=xp.float16))
    assert xp.asnumpy(got).tolist() == np.ones((1, 2, 3)).tolist()


def test_dropout(device):
    q, k, v = (xp.asarray(x) for x in operands())
    one = attention(q, k, v, dropout_p=0.5, rng=xp.random.default_rng(1))
    two = attention(q, k, v, dropout_p=0.5, rng=1)
    close(one, xp.asnumpy(two))
    assert float(xp.abs(one - attention(q, k, v)).max()) > 0
    assert float(xp.abs(attention(q, k, v, dropout_p=1.0)).max()) == 0


def test_errors(device):
    q, k, v = (xp.asarray(x) for x in operands())
    for call, message in (
        (lambda: attention(q[..., :3], k, v), "expected query"),
        (lambda: attention(q, k, v[:, :, :3]), "expected query"),
        (lambda: attention(q[0, 0, 0], k, v), "at least 2 axes"),
        (
            lambda: attention(q, k, v, xp.ones((5, 6))),
            r"attn_mask must broadcast to \(2, 4, 5, 7\)",
        ),
        (lambda: attention(q, k, v, np.ones((5, 7)), is_causal=True), "got both"),
        (lambda: attention(q, k[:, :3], v[:, :3], enable_gqa=True), "4 heads of query"),
        (lambda: attention(q, k, v, dropout_p=2), "p must be within"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
