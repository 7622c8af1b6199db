"""Signals: Fourier transforms, filters, windows, correlation."""

from __future__ import annotations

from .support import inexact, noise, whole


@inexact(1e-9, 1e-9)
def low_pass(xp):
    t = xp.arange(64) / 64
    x = xp.sin(2 * xp.pi * 3 * t) + 0.5 * xp.sin(2 * xp.pi * 20 * t)
    f = xp.fft.rfft(x)
    f[10:] = 0
    return xp.fft.irfft(f)


@inexact(1e-9, 1e-9)
def strongest_frequency(xp):
    t = xp.arange(128) / 128
    x = xp.cos(2 * xp.pi * 12 * t) + 0.25 * noise(xp, 128)
    power = abs(xp.fft.rfft(x)) ** 2
    return xp.fft.rfftfreq(128, 1 / 128)[power[1:].argmax() + 1], power


@inexact(1e-9, 1e-9)
def transform_there_and_back(xp):
    x = noise(xp, 5, 8)
    return (
        xp.fft.ifft(xp.fft.fft(x)).real,
        xp.fft.ifft2(xp.fft.fft2(x)),
        xp.fft.fftshift(xp.fft.fftfreq(8)),
    )


@inexact(1e-9, 1e-9)
def transform_by_a_matrix(xp):
    n = 8
    k = xp.arange(n)
    w = xp.exp(-2j * xp.pi * k[:, None] * k / n)
    x = noise(xp, n)
    return w @ x, xp.fft.fft(x)


@inexact(1e-9, 1e-9)
def transform_by_halves(xp):
    def fft(x):
        n = len(x)
        if n == 1:
            return x.astype(complex)
        even, odd = fft(x[::2]), fft(x[1::2])
        w = xp.exp(-2j * xp.pi * xp.arange(n // 2) / n) * odd
        return xp.concatenate([even + w, even - w])

    return fft(noise(xp, 16))


@inexact(1e-9, 1e-9)
def convolution_by_transform(xp):
    a, b = noise(xp, 10), noise(xp, 6, seed=2)
    n = len(a) + len(b) - 1
    fast = xp.fft.irfft(xp.fft.rfft(a, n) * xp.fft.rfft(b, n), n)
    return fast, xp.convolve(a, b)


def convolution_of_integers(xp):
    a, b = whole(xp, 8, below=10), whole(xp, 3, below=10)
    full = xp.zeros(10, dtype=int)
    for k in range(3):
        full[k : k + 8] += b[k] * a
    return full, xp.convolve(a, b), xp.correlate(a, b), xp.convolve(a, b, "same")


@inexact(1e-9, 1e-9)
def autocorrelation(xp):
    x = noise(xp, 30)
    x -= x.mean()
    r = xp.correlate(x, x, mode="full")[len(x) - 1 :]
    return r / r[0]


@inexact(1e-9, 1e-9)
def windows(xp):
    n = xp.arange(16)
    hann = 0.5 - 0.5 * xp.cos(2 * xp.pi * n / 15)
    return hann, xp.hanning(16), xp.hamming(8), xp.blackman(8), xp.bartlett(5)


@inexact(1e-9, 1e-9)
def spectrogram(xp):
    x = noise(xp, 64)
    frames = xp.stack([x[i : i + 16] for i in range(0, 49, 8)])
    return abs(xp.fft.rfft(frames * xp.hanning(16), axis=1))


def first_order_filter(xp):
    """y[n] = x[n] + y[n-1] / 2, exact in binary."""
    x = whole(xp, 12, below=8)
    y = xp.zeros(12)
    y[0] = x[0]
    for n in range(1, 12):
        y[n] = x[n] + 0.5 * y[n - 1]
    return y


def difference_equation(xp):
    x = xp.zeros(16)
    x[0] = 1.0
    y = xp.zeros(18)
    for n in range(16):
        y[n + 2] = x[n] + 0.75 * y[n + 1] - 0.125 * y[n]
    return y[2:]


def zero_crossings(xp):
    x = whole(xp, 40, below=21) - 10
    sign = xp.sign(x)
    return xp.flatnonzero(sign[1:] * sign[:-1] < 0), (xp.diff(xp.signbit(x)) != 0).sum()


def local_peaks(xp):
    x = whole(xp, 40, below=50)
    peak = (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:])
    at = xp.where(peak)[0] + 1
    return at, x[at]


def peaks_above_a_level(xp):
    x = whole(xp, 40, below=50)
    above = xp.r_[False, x > 30, False]
    edge = xp.diff(above.astype(int))
    return xp.where(edge == 1)[0], xp.where(edge == -1)[0]


def downsample_and_hold(xp):
    x = whole(xp, 24, below=100)
    return x[::4], x.reshape(-1, 4).mean(axis=1), xp.repeat(x[::4], 4), xp.repeat([1, 2], [3, 1])


def quantise(xp):
    x = noise(xp, 20) * 2 - 1
    level = xp.round(x * 7).astype(xp.int8)
    return level, level / 8 - x, xp.unique(level)


def run_length(xp):
    x = whole(xp, 40, below=2)
    change = xp.flatnonzero(x[1:] != x[:-1]) + 1
    start = xp.concatenate(([0], change))
    length = xp.diff(xp.concatenate((start, [len(x)])))
    return x[start], length, xp.repeat(x[start], length)


def delta_coding(xp):
    x = whole(xp, 20, below=100)
    d = xp.diff(x, prepend=0)
    return d, xp.cumsum(d), xp.ediff1d(x, to_begin=x[0]), xp.diff(x, n=2)


@inexact(1e-9, 1e-9)
def unwrap_phase(xp):
    true = xp.linspace(0, 12, 30)
    wrapped = (true + xp.pi) % (2 * xp.pi) - xp.pi
    return wrapped, xp.unwrap(wrapped), xp.angle(xp.exp(1j * true))


@inexact(1e-9, 1e-9)
def derivative_by_transform(xp):
    x = xp.linspace(0, 2 * xp.pi, 32, endpoint=False)
    k = xp.fft.fftfreq(32, 1 / 32)
    return xp.fft.ifft(1j * k * xp.fft.fft(xp.sin(x))).real, xp.cos(x)


@inexact(1e-9, 1e-9)
def analytic_signal(xp):
    x = xp.cos(xp.arange(32) * xp.pi / 4)
    f = xp.fft.fft(x)
    f[1:16] *= 2
    f[17:] = 0
    return abs(xp.fft.ifft(f))


@inexact(1e-9, 1e-9)
def sinc_interpolation(xp):
    x = noise(xp, 8)
    t = xp.linspace(0, 7, 15)
    return xp.sinc(t[:, None] - xp.arange(8)) @ x


def haar_wavelet(xp):
    x = whole(xp, 16, below=64).astype(float)
    out = x.copy()
    n = 16
    while n > 1:
        half = n // 2
        mean, gap = (out[:n:2] + out[1:n:2]) / 2, (out[:n:2] - out[1:n:2]) / 2
        out[:half], out[half:n] = mean, gap
        n = half
    return out


def walsh_hadamard(xp):
    x = whole(xp, 16, below=10)
    h = 1
    while h < 16:
        x = x.reshape(-1, 2, h)
        x = xp.stack([x[:, 0] + x[:, 1], x[:, 0] - x[:, 1]], axis=1).reshape(-1)
        h *= 2
    return x


@inexact(1e-9, 1e-9)
def image_spectrum(xp):
    a = noise(xp, 8, 8)
    f = xp.fft.fftshift(xp.fft.fft2(a))
    y, x = xp.indices((8, 8)) - 4
    f[x**2 + y**2 > 9] = 0
    return xp.fft.ifft2(xp.fft.ifftshift(f)).real, xp.log1p(abs(f))


@inexact(1e-9, 1e-9)
def decibels(xp):
    x = noise(xp, 16) + 0.5
    return 20 * xp.log10(x), 10 ** (xp.log10(x)), xp.log2(x), xp.exp2(x)
