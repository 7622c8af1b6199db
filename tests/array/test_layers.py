"""linear, embedding, one_hot, dropout, pixel_shuffle against torch, on every device."""

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

import cucudnn as xp
from tests.nn_support import DTYPES, F, agree, close, normal, tensor, torch
from tests.support import index_error, pending

nn = xp.nn


@pytest.mark.parametrize("dtype", DTYPES)
def test_linear(device, dtype):
    x, w, b = (normal(*s, dtype=dtype) for s in ((3, 4, 20), (6, 20), (6,)))
    got = nn.linear(xp.asarray(x), xp.asarray(w), xp.asarray(b))
    assert pending(got)
    close(got, F.linear(tensor(x), tensor(w), tensor(b)), dtype, 4)
    close(nn.linear(xp.asarray(x), xp.asarray(w)), F.linear(tensor(x), tensor(w)), dtype, 2)
    close(nn.linear(xp.asarray(x[0, 0]), xp.asarray(w[0])), F.linear(tensor(x[0, 0]), tensor(w[0])),
          dtype, 4)  # fmt: skip


def test_linear_brings_its_parameters(device):
    x = xp.ones((2, 3), dtype=xp.float32)
    got = nn.linear(x, torch.ones(4, 3, dtype=torch.float64), np.arange(4))
    assert (got.dtype, got.device) == (np.float32, device)
    assert got.tolist() == [[3, 4, 5, 6]] * 2
    assert nn.linear([1, 2], [[1, 2]]).dtype == np.float64


def test_embedding(device):
    x, w = np.array([[0, 3], [2, 2]]), normal(5, 4)
    agree(nn.embedding, F.embedding, x, w)
    close(nn.embedding(x.tolist(), xp.asarray(w), padding_idx=1), w[x])
    with index_error(device):
        nn.embedding(xp.asarray([5]), xp.asarray(w))
    with pytest.raises(ValueError, match="padding_idx must be within 5 rows, got 5"):
        nn.embedding(x, xp.asarray(w), 5)
    with pytest.raises(ValueError, match=r"weight must be \(K, E\)"):
        nn.embedding(x, xp.ones(3))


def test_one_hot(device):
    x = np.array([[0, 3], [2, 2]])
    agree(nn.one_hot, F.one_hot, x)
    got = agree(nn.one_hot, F.one_hot, x, 6)
    assert got.dtype == np.int64
    assert pending(nn.one_hot(xp.asarray(x), 6))
    for wrong in ([4], [-1]):
        with index_error(device, "one_hot"):
            nn.one_hot(xp.asarray(wrong), 4)
    with pytest.raises(ValueError, match="num_classes must be positive"):
        nn.one_hot(xp.asarray(x), 0)
    with pytest.raises(ValueError, match="no elements"):
        nn.one_hot(xp.asarray([], dtype=xp.int64))
    with pytest.raises(TypeError, match="one_hot: expected integer classes, got float64"):
        nn.one_hot(xp.ones(3), 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dropout(device, dtype):
    x = xp.ones((200, 300), dtype=getattr(xp, dtype))
    y = nn.dropout(x, 0.25, rng=xp.random.default_rng(3))
    assert pending(y)
    assert (y.dtype, y.device) == (x.dtype, device)
    values = xp.asnumpy(y).astype(np.float64)
    kept = float(np.ones(1, x.dtype)[0] * np.float32(4 / 3))
    assert abs((values == 0).mean() - 0.25) < 0.01
    assert abs(values[values != 0] - kept).max() < 0.01
    again = nn.dropout(x, 0.25, rng=xp.random.default_rng(3))
    np.testing.assert_array_equal(values, xp.asnumpy(again).astype(np.float64))


def test_dropout_at_the_ends(device):
    x = xp.asarray([1.0, np.inf, 2])
    assert nn.dropout(x, 0.5, training=False).tolist() == x.tolist()
    assert nn.dropout(x, 0).tolist() == x.tolist()
    assert nn.dropout(x, 1).tolist() == [0, 0, 0]
    xp.random.seed(5)
    one = nn.dropout(xp.ones(100)).tolist()
    xp.random.seed(5)
    assert nn.dropout(xp.ones(100)).tolist() == one
    with pytest.raises(ValueError, match="p must be within"):
        nn.dropout(x, -0.1)


@examples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_pixels(r, channels, height, width):
    x = normal(2, channels * r * r, height, width)
    ours = xp.asarray(x, device="cpu")
    got = nn.pixel_shuffle(ours, r)
    close(got, F.pixel_shuffle(tensor(x), r))
    close(nn.pixel_unshuffle(got, r), x)


def test_pixels_on_the_device(device):
    x = normal(4, 8, 3, 2)
    agree(nn.pixel_shuffle, F.pixel_shuffle, x, 2)
    agree(nn.pixel_unshuffle, F.pixel_unshuffle, normal(3, 6, 9), 3)
    with pytest.raises(ValueError, match="pixel_shuffle: expected x"):
        nn.pixel_shuffle(xp.asarray(x), 3)
    with pytest.raises(ValueError, match="pixel_unshuffle: expected x"):
        nn.pixel_unshuffle(xp.asarray(x), 2)


def test_errors(device):
    for call, message in (
        (lambda: nn.linear(xp.ones((2, 3)), xp.ones((4, 2))), "linear: expected x"),
        (
            lambda: nn.linear(xp.ones((2, 3)), xp.ones((4, 3)), xp.ones(3)),
            r"bias must have shape \(4",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="weight must be real"):
        nn.linear(xp.ones((2, 3)), xp.ones((4, 3)) * 1j)
