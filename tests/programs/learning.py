"""Machine learning in a few lines."""

from __future__ import annotations

from .support import inexact, noise, whole


@inexact(1e-10)
def k_means(xp):
    points = noise(xp, 60, 2)
    centres = points[:4].copy()
    for _ in range(8):
        d = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        label = d.argmin(axis=1)
        for k in range(4):
            if (label == k).any():
                centres[k] = points[label == k].mean(axis=0)
    return centres, label, xp.bincount(label, minlength=4)


def k_means_one_dimension(xp):
    x = whole(xp, 40, below=100)
    c = xp.array([10, 50, 90])
    for _ in range(5):
        label = abs(x[:, None] - c).argmin(axis=1)
        c = xp.array([x[label == k].sum() // (label == k).sum() for k in range(3)])
    return c, label


@inexact(1e-9)
def linear_regression_descent(xp):
    x = noise(xp, 40, 2)
    y = x @ xp.array([2.0, -1.0]) + 0.5
    w, b = xp.zeros(2), 0.0
    for _ in range(50):
        error = x @ w + b - y
        w -= 0.5 * x.T @ error / len(y)
        b -= 0.5 * error.mean()
    return w, b, (error**2).mean()


@inexact(1e-9)
def logistic_regression(xp):
    x = noise(xp, 40, 3)
    y = (x.sum(axis=1) > 0.9).astype(float)
    w = xp.zeros(3)
    for _ in range(30):
        p = 1 / (1 + xp.exp(-(x @ w)))
        w += 0.1 * x.T @ (y - p)
    loss = -(y * xp.log(p) + (1 - y) * xp.log(1 - p)).mean()
    return w, loss, ((p > 0.5) == y).mean()


@inexact(1e-10)
def softmax_and_loss(xp):
    logits = noise(xp, 6, 4) * 5
    label = whole(xp, 6, below=4)
    shifted = logits - logits.max(axis=1, keepdims=True)
    p = xp.exp(shifted) / xp.exp(shifted).sum(axis=1, keepdims=True)
    gradient = p.copy()
    gradient[xp.arange(6), label] -= 1
    return p, -xp.log(p[xp.arange(6), label]).mean(), gradient / 6


@inexact(1e-8)
def two_layer_network(xp):
    x = xp.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    y = xp.array([[0.0], [1], [1], [0]])
    w1, w2 = noise(xp, 2, 5) - 0.3, noise(xp, 5, 1, seed=2) - 0.3
    for _ in range(20):
        h = xp.tanh(x @ w1)
        out = 1 / (1 + xp.exp(-h @ w2))
        d2 = (out - y) * out * (1 - out)
        d1 = d2 @ w2.T * (1 - h**2)
        w2 -= 0.5 * h.T @ d2
        w1 -= 0.5 * x.T @ d1
    return out, w1, w2


def perceptron(xp):
    x = whole(xp, 20, 2, below=20)
    y = xp.where(x[:, 0] > x[:, 1], 1, -1)
    w = xp.zeros(2, dtype=int)
    for _ in range(5):
        for row, target in zip(x, y, strict=True):
            if target * (row @ w) <= 0:
                w += target * row
    return w, (xp.sign(x @ w) == y).sum()


def nearest_neighbours(xp):
    train, test = whole(xp, 30, 3, below=50), whole(xp, 5, 3, below=50, seed=8)
    label = whole(xp, 30, below=3)
    d = ((test[:, None] - train[None]) ** 2).sum(axis=-1)
    near = xp.argsort(d, axis=1, kind="stable")[:, :5]
    votes = xp.apply_along_axis(lambda v: xp.bincount(v, minlength=3), 1, label[near])
    return near, votes.argmax(axis=1)


@inexact(1e-8)
def principal_components(xp):
    x = noise(xp, 30, 3) @ xp.array([[2.0, 0, 0], [0, 1, 0], [1, 1, 0.1]])
    x = x - x.mean(axis=0)
    values, vectors = xp.linalg.eigh(xp.cov(x.T))
    order = xp.argsort(values)[::-1]
    return values[order], abs(vectors[:, order]), values[order].cumsum() / values.sum()


def confusion_matrix(xp):
    true, guess = whole(xp, 50, below=3), whole(xp, 50, below=3, seed=2)
    c = xp.zeros((3, 3), dtype=int)
    xp.add.at(c, (true, guess), 1)
    precision = c.diagonal() / xp.maximum(c.sum(axis=0), 1)
    return c, precision, c.trace() / c.sum(), (true == guess).mean()


@inexact()
def naive_bayes(xp):
    x, y = whole(xp, 40, 5, below=2), whole(xp, 40, below=2, seed=3)
    prior = xp.array([(y == k).mean() for k in (0, 1)])
    rate = xp.stack([(x[y == k].sum(axis=0) + 1) / ((y == k).sum() + 2) for k in (0, 1)])
    score = xp.log(prior) + x @ xp.log(rate).T + (1 - x) @ xp.log(1 - rate).T
    return score.argmax(axis=1), rate


def decision_stump(xp):
    x, y = whole(xp, 30, 4, below=10), whole(xp, 30, below=2, seed=3)
    best = (-1, 0, 0)
    for feature in range(4):
        for cut in xp.unique(x[:, feature]):
            right = ((x[:, feature] > cut) == y).sum()
            if right > best[0]:
                best = (int(right), feature, int(cut))
    return best


def roc_curve(xp):
    score, y = whole(xp, 30, below=1000), whole(xp, 30, below=2, seed=3)
    order = xp.argsort(-score, kind="stable")
    tp, fp = y[order].cumsum(), (1 - y[order]).cumsum()
    return tp / tp[-1], fp / fp[-1]


def train_test_split(xp):
    x = xp.arange(20).reshape(10, 2)
    order = xp.argsort(whole(xp, 10, below=1000))
    train, test = order[:7], order[7:]
    return x[train], x[test], xp.sort(xp.concatenate([train, test])), xp.array_split(x, 3)


def one_hot_and_back(xp):
    y = whole(xp, 12, below=4)
    names, code = xp.unique(y, return_inverse=True)
    hot = (code[:, None] == xp.arange(len(names))).astype(xp.float32)
    return hot, names[hot.argmax(axis=1)] == y


@inexact(1e-10)
def standardise_without_constants(xp):
    x = whole(xp, 10, 4, below=20).astype(float)
    x[:, 2] = 3
    std = x.std(axis=0)
    std[std == 0] = 1
    return (x - x.mean(axis=0)) / std


@inexact(1e-9)
def batch_norm_and_dropout(xp):
    x = noise(xp, 8, 5)
    mean, var = x.mean(axis=0), x.var(axis=0)
    normal = (x - mean) / xp.sqrt(var + 1e-5)
    keep = noise(xp, 8, 5, seed=3) > 0.1
    return xp.where(keep, normal / 0.8, 0.0)


@inexact(1e-9)
def attention(xp):
    q, k, v = (noise(xp, 2, 4, 3, seed=s) for s in (1, 2, 3))
    score = q @ k.transpose(0, 2, 1) / xp.sqrt(3)
    mask = xp.triu(xp.ones((4, 4), dtype=bool), k=1)
    score = xp.where(mask, -xp.inf, score)
    weight = xp.exp(score - score.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    return weight @ v, weight


def convolution_layer(xp):
    """Patches as rows of a matrix."""
    x, w = whole(xp, 2, 5, 5, below=5), whole(xp, 3, 2, 3, 3, below=5) - 2
    patches = [x[:, i : i + 3, j : j + 3].ravel() for i in range(3) for j in range(3)]
    out = w.reshape(3, -1) @ xp.array(patches).T
    return out.reshape(3, 3, 3), xp.maximum(out, 0).sum(axis=1)


@inexact(1e-9)
def momentum_and_adam(xp):
    w, m, v = xp.array([1.0, -2.0]), xp.zeros(2), xp.zeros(2)
    for t in range(1, 11):
        g = 2 * w * xp.array([1.0, 10.0])
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        w -= 0.1 * (m / (1 - 0.9**t)) / (xp.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return w, m, v


@inexact(1e-9)
def hidden_markov_forward(xp):
    p = xp.array([[0.7, 0.3], [0.4, 0.6]])
    emit = xp.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    alpha = xp.array([0.6, 0.4]) * emit[:, 0]
    for seen in [1, 2, 2, 0]:
        alpha = (alpha @ p) * emit[:, seen]
    return alpha, alpha.sum(), xp.log(alpha)


@inexact(1e-9)
def gaussian_mixture_step(xp):
    x = noise(xp, 40)
    mean, var, mix = xp.array([0.1, 0.5]), xp.array([0.02, 0.02]), xp.array([0.5, 0.5])
    for _ in range(5):
        d = mix * xp.exp(-((x[:, None] - mean) ** 2) / (2 * var)) / xp.sqrt(2 * xp.pi * var)
        r = d / d.sum(axis=1, keepdims=True)
        n = r.sum(axis=0)
        mean = (r * x[:, None]).sum(axis=0) / n
        var = (r * (x[:, None] - mean) ** 2).sum(axis=0) / n
        mix = n / len(x)
    return mean, var, mix


@inexact(1e-9)
def kernel_matrix(xp):
    x = noise(xp, 6, 2)
    d = (x**2).sum(1)[:, None] + (x**2).sum(1) - 2 * x @ x.T
    k = xp.exp(-xp.maximum(d, 0) / 2)
    centre = k - k.mean(0) - k.mean(1)[:, None] + k.mean()
    return k, centre, xp.allclose(k, k.T)


def learning_rate_schedule(xp):
    step = xp.arange(12)
    return xp.where(step < 4, (step + 1) / 4, 2.0 ** -((step - 4) // 3))


def evolution_strategy(xp):
    best = xp.array([4.0, -3.0])
    for k in range(12):
        children = best + (noise(xp, 10, 2, seed=k) - 0.3125) * 2
        cost = (children * children).sum(axis=1)
        if cost.min() < (best * best).sum():
            best = children[cost.argmin()]
    return best
