"""Images as arrays: filters, masks, histograms, geometry."""

from __future__ import annotations

from .support import inexact, noise, whole


def _image(xp, *shape):
    return whole(xp, *shape, below=256).astype(xp.uint8)


def invert_and_threshold(xp):
    image = _image(xp, 8, 10)
    return 255 - image, (image > 128).astype(xp.uint8) * 255, xp.where(image > 100, image, 0)


def brightness_wraps(xp):
    image = _image(xp, 5, 5)
    return (
        image + 50,
        xp.clip(image.astype(int) + 50, 0, 255).astype(xp.uint8),
        image + xp.uint8(200),
    )


@inexact()
def grey_from_colours(xp):
    image = _image(xp, 6, 5, 3)
    grey = image @ xp.array([0.299, 0.587, 0.114])
    return grey, grey.round().astype(xp.uint8), image.mean(axis=2), image[..., ::-1]


def box_blur(xp):
    image = _image(xp, 9, 9).astype(int)
    total = xp.zeros((7, 7), dtype=int)
    for i in range(3):
        for j in range(3):
            total += image[i : i + 7, j : j + 7]
    return total // 9


def sobel_edges(xp):
    a = _image(xp, 10, 10).astype(int)
    gx = (a[:-2, 2:] + 2 * a[1:-1, 2:] + a[2:, 2:]) - (a[:-2, :-2] + 2 * a[1:-1, :-2] + a[2:, :-2])
    gy = (a[2:, :-2] + 2 * a[2:, 1:-1] + a[2:, 2:]) - (a[:-2, :-2] + 2 * a[:-2, 1:-1] + a[:-2, 2:])
    return gx, gy, abs(gx) + abs(gy), (gx * gx + gy * gy) > 90000


@inexact()
def gaussian_separable(xp):
    image = noise(xp, 12, 12)
    k = xp.exp(-0.5 * xp.linspace(-2, 2, 5) ** 2)
    k /= k.sum()
    rows = xp.apply_along_axis(lambda r: xp.convolve(r, k, mode="same"), 1, image)
    return xp.apply_along_axis(lambda c: xp.convolve(c, k, mode="same"), 0, rows)


def median_filter(xp):
    a = _image(xp, 9, 9)
    p = xp.pad(a, 1, mode="edge")
    stack = xp.stack([p[i : i + 9, j : j + 9] for i in range(3) for j in range(3)])
    return xp.median(stack, axis=0)


def dilate_and_erode(xp):
    m = noise(xp, 10, 10) < 0.2
    p = xp.zeros((12, 12), dtype=bool)
    p[1:-1, 1:-1] = m
    shifts = [p[i : i + 10, j : j + 10] for i in range(3) for j in range(3)]
    grown = xp.zeros_like(m)
    for s in shifts:
        grown |= s
    return grown, xp.all(shifts, axis=0), xp.any(shifts, axis=0) == grown


def max_pooling(xp):
    image = _image(xp, 8, 12)
    blocks = image.reshape(4, 2, 6, 2)
    return blocks.max(axis=(1, 3)), blocks.mean(axis=(1, 3)), image[::2, ::2]


def enlarge(xp):
    image = _image(xp, 3, 4)
    return xp.repeat(xp.repeat(image, 2, axis=0), 2, axis=1), xp.kron(
        image, xp.ones((2, 2), xp.uint8)
    )


def flips_and_turns(xp):
    image = _image(xp, 3, 5)
    return xp.flipud(image), xp.fliplr(image), xp.rot90(image), xp.rot90(image, -1), image.T[::-1]


def integral_image(xp):
    a = _image(xp, 8, 8).astype(int)
    s = xp.zeros((9, 9), dtype=int)
    s[1:, 1:] = a.cumsum(axis=0).cumsum(axis=1)
    window = s[3:, 3:] - s[:-3, 3:] - s[3:, :-3] + s[:-3, :-3]
    return s[-1, -1], window, a[2:5, 1:4].sum() == window[2, 1]


def equalise_histogram(xp):
    a = _image(xp, 12, 12)
    count = xp.bincount(a.ravel(), minlength=256)
    cdf = count.cumsum()
    low = cdf[cdf > 0].min()
    table = ((cdf - low) * 255 // (a.size - low)).astype(xp.uint8)
    return table[a]


def otsu_threshold(xp):
    a = _image(xp, 10, 10)
    p = xp.histogram(a, bins=256, range=(0, 256))[0]
    best, at = -1.0, 0
    for t in range(32, 256, 32):
        w0, w1 = p[:t].sum(), p[t:].sum()
        m0 = (p[:t] * xp.arange(t)).sum() / w0
        m1 = (p[t:] * xp.arange(t, 256)).sum() / w1
        between = w0 * w1 * (m0 - m1) ** 2
        if between > best:
            best, at = between, t
    return at


def label_components(xp):
    m = noise(xp, 8, 8, seed=5) < 0.5
    label = xp.where(m, xp.arange(1, 65).reshape(8, 8), 0)
    while True:
        p = xp.pad(label, 1)
        near = xp.stack([label, p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]]).max(axis=0)
        new = xp.where(m, near, 0)
        if xp.array_equal(new, label):
            break
        label = new
    return label, len(xp.unique(label)) - 1


def circle_mask(xp):
    y, x = xp.ogrid[:11, :11]
    inside = (x - 5) ** 2 + (y - 5) ** 2 <= 16
    image = xp.zeros((11, 11), dtype=xp.uint8)
    image[inside] = 255
    return image, inside.sum()


def gradient_picture(xp):
    x = xp.linspace(0, 255, 16).astype(xp.uint8)
    image = xp.zeros((16, 16, 3), dtype=xp.uint8)
    image[..., 0] = x
    image[..., 1] = x[:, None]
    image[4:8, 4:8] = [255, 0, 0]
    return image


def blend_with_alpha(xp):
    a, b = _image(xp, 4, 4, 3), _image(xp, 4, 4, 3)[::-1]
    alpha = xp.linspace(0, 1, 5)[:4][None, :, None]
    return (a * (1 - alpha) + b * alpha).astype(xp.uint8)


@inexact(1e-6, 1e-6)
def normalise_channels(xp):
    image = _image(xp, 6, 6, 3).astype(xp.float32) / 255
    mean, std = image.mean(axis=(0, 1)), image.std(axis=(0, 1))
    return ((image - mean) / std).transpose(2, 0, 1)


def crop_and_paste(xp):
    image = _image(xp, 8, 8)
    patch = image[2:5, 1:4].copy()
    image[5:, 5:] = patch
    image[:2] = image[-2:][:, ::-1]
    return image


def tile_a_pattern(xp):
    p = xp.array([[0, 1], [1, 0]])
    return xp.tile(p, (3, 2)), xp.tile(p[0], 4), xp.block([[p, p * 2], [p * 3, p * 4]])


def mirror_borders(xp):
    a = xp.arange(6).reshape(2, 3)
    return (
        xp.pad(a, 1, mode="reflect"),
        xp.pad(a, ((0, 1), (2, 0)), constant_values=9),
        xp.pad(a, 1, "wrap"),
    )


def dither(xp):
    """Floyd and Steinberg's, with dyadic weights: exact."""
    a = noise(xp, 6, 7)
    out = xp.zeros((6, 7), dtype=int)
    for i in range(6):
        for j in range(7):
            out[i, j] = a[i, j] > 0.5
            error = a[i, j] - out[i, j]
            if j + 1 < 7:
                a[i, j + 1] += error * 7 / 16
            if i + 1 < 6:
                a[i + 1, j] += error * 5 / 16
    return out


def pack_colours(xp):
    c = _image(xp, 3, 4, 3).astype(xp.uint32)
    packed = (c[..., 0] << 16) | (c[..., 1] << 8) | c[..., 2]
    return packed, (packed >> 8) & 0xFF, packed.dtype.name


def correlate_template(xp):
    a = _image(xp, 8, 8).astype(int)
    t = a[3:6, 2:5]
    score = xp.zeros((6, 6), dtype=int)
    for i in range(6):
        for j in range(6):
            score[i, j] = ((a[i : i + 3, j : j + 3] - t) ** 2).sum()
    return score, xp.unravel_index(score.argmin(), score.shape)


def count_colours(xp):
    image = whole(xp, 6, 6, 3, below=2)
    colours, count = xp.unique(image.reshape(-1, 3), axis=0, return_counts=True)
    return colours, count


def nearest_neighbour_resize(xp):
    a = _image(xp, 5, 7)
    i = xp.arange(8) * 5 // 8
    j = xp.arange(4) * 7 // 4
    return a[i[:, None], j], a[i][:, j]


@inexact()
def bilinear_resize(xp):
    a = noise(xp, 4, 5)
    y, x = xp.linspace(0, 3, 7), xp.linspace(0, 4, 6)
    i, j = xp.minimum(y.astype(int), 2), xp.minimum(x.astype(int), 3)
    fy, fx = (y - i)[:, None], x - j
    top = a[i][:, j] * (1 - fx) + a[i][:, j + 1] * fx
    bottom = a[i + 1][:, j] * (1 - fx) + a[i + 1][:, j + 1] * fx
    return top * (1 - fy) + bottom * fy
