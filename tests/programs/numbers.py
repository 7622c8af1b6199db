"""Number theory, integers and bits."""

from __future__ import annotations

from .support import fails, noise, whole


def sieve(xp):
    n = 200
    prime = xp.ones(n, dtype=bool)
    prime[:2] = False
    for k in range(2, int(n**0.5) + 1):
        if prime[k]:
            prime[k * k :: k] = False
    return xp.nonzero(prime)[0], prime.sum()


def sieve_of_odds(xp):
    n = 150
    odd = xp.ones(n // 2, dtype=bool)
    for i in range(3, int(n**0.5) + 1, 2):
        if odd[i // 2]:
            odd[i * i // 2 :: i] = False
    return xp.concatenate(([2], 2 * xp.nonzero(odd)[0][1:] + 1))


def smallest_factor(xp):
    n = 100
    spf = xp.arange(n)
    for k in range(2, 10):
        if spf[k] == k:
            multiples = spf[k * k :: k]
            multiples[multiples == xp.arange(k * k, n, k)] = k
    return spf


def totients(xp):
    phi = xp.arange(60)
    for p in range(2, 60):
        if phi[p] == p:
            phi[p::p] -= phi[p::p] // p
    return phi


def divisors_count(xp):
    n = xp.arange(1, 50)
    return (n[:, None] % n == 0).sum(axis=1)


def perfect_numbers(xp):
    n = xp.arange(1, 500)
    d = xp.where(n[:, None] % n == 0, n, 0).sum(axis=1) - n
    return n[d == n], n[d > n].size


def euclid(xp):
    a, b = whole(xp, 20, below=500) + 1, whole(xp, 20, below=500, seed=2) + 1
    while (b != 0).any():
        nonzero = b != 0
        a[nonzero], b[nonzero] = b[nonzero], a[nonzero] % b[nonzero]
    return a


def gcd_and_lcm(xp):
    a, b = whole(xp, 20, below=500) + 1, whole(xp, 20, below=500, seed=2) + 1
    return xp.gcd(a, b), xp.lcm(a, b), xp.gcd.reduce([12, 18, 30])


def collatz(xp):
    n = xp.arange(1, 31)
    steps = xp.zeros_like(n)
    while (n > 1).any():
        active = n > 1
        n = xp.where(active, xp.where(n % 2 == 0, n // 2, 3 * n + 1), n)
        steps += active
    return steps, steps.argmax() + 1


def modular_power(xp):
    base, exponent, modulus = xp.arange(1, 20), 65, 101
    result = xp.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


def linear_congruences(xp):
    state = xp.array([1, 2, 3], dtype=xp.uint32)
    out = []
    for _ in range(5):
        state = state * xp.uint32(1664525) + xp.uint32(1013904223)
        out.append(state >> 16)
    return xp.stack(out)


def xorshift(xp):
    x = xp.arange(1, 6, dtype=xp.uint64) * 88172645463325252
    for _ in range(4):
        x ^= x << 13
        x ^= x >> 7
        x ^= x << 17
    return x


def monte_carlo_pi(xp):
    """With a plain generator, so that everybody sees the same points."""
    state, points = 42, []
    for _ in range(400):
        state = (1103515245 * state + 12345) % 2**31
        points.append(state / 2**31)
    p = xp.array(points).reshape(-1, 2)
    inside = (p**2).sum(axis=1) < 1
    return 4 * inside.mean(), inside.sum()


def digits(xp):
    n = xp.array([0, 7, 42, 12345, 99999])
    d = n[:, None] // 10 ** xp.arange(4, -1, -1) % 10
    return d, d.sum(axis=1), (d * 10 ** xp.arange(4, -1, -1)).sum(axis=1) == n


def luhn_check(xp):
    number = xp.array([int(c) for c in "4539578763621486"])
    double = number[-2::-2] * 2
    double[double > 9] -= 9
    return (double.sum() + number[-1::-2].sum()) % 10


def palindromes(xp):
    a = xp.arange(10, 100)
    product = xp.unique(xp.outer(a, a))
    reverse, rest = xp.zeros_like(product), product.copy()
    while rest.any():
        reverse = xp.where(rest > 0, reverse * 10 + rest % 10, reverse)
        rest //= 10
    return product[product == reverse].max()


def pythagorean_triples(xp):
    n = xp.arange(1, 40)
    a, b = xp.meshgrid(n, n, indexing="ij")
    c2 = a**2 + b**2
    c = xp.sqrt(c2).astype(int)
    found = (c * c == c2) & (a < b) & (c < 40)
    return xp.stack([a[found], b[found], c[found]], axis=1)


def magic_square(xp):
    n = 5
    i, j = xp.indices((n, n))
    m = n * ((i + j + 1 + n // 2) % n) + (i + 2 * j - 3 + n) % n + 1
    return m, m.sum(axis=0), m.sum(axis=1), m.trace(), m[:, ::-1].trace()


def bits_of_integers(xp):
    n = xp.arange(16, dtype=xp.uint8)
    bits = (n[:, None] >> xp.arange(3, -1, -1, dtype=xp.uint8)) & 1
    return bits, bits.sum(axis=1), (bits * xp.array([8, 4, 2, 1])).sum(axis=1)


def packing_bits(xp):
    bits = whole(xp, 3, 16, below=2).astype(xp.uint8)
    packed = xp.packbits(bits, axis=1)
    return packed, (xp.unpackbits(packed, axis=1) == bits).all()


def gray_code(xp):
    n = xp.arange(16)
    gray = n ^ (n >> 1)
    back = gray.copy()
    for shift in (1, 2):
        back ^= back >> shift
    return gray, back


def population_count(xp):
    n = whole(xp, 20, below=100000)
    count, rest = xp.zeros_like(n), n.copy()
    while (rest > 0).any():
        count += rest & 1
        rest >>= 1
    return count, xp.bitwise_count(n)


def hamming_distances(xp):
    code = whole(xp, 6, 10, below=2)
    return (code[:, None, :] != code[None, :, :]).sum(axis=-1)


def integer_division(xp):
    a = xp.array([7, -7, 7, -7, 0])
    b = xp.array([2, 2, -2, -2, 3])
    q, r = xp.divmod(a, b)
    return a // b, a % b, xp.fmod(a, b), q, r, q * b + r == a, a / b


def rounding_modes(xp):
    x = xp.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.675])
    return xp.round(x), xp.floor(x), xp.ceil(x), xp.trunc(x), xp.rint(x), xp.round(x, 2), xp.fix(x)


def integer_square_root(xp):
    n = whole(xp, 30, below=10**6)
    x = n + 1
    y = (x + 1) // 2
    while (y < x).any():
        x = xp.minimum(x, y)
        y = (x + n // xp.maximum(x, 1)) // 2
    return x, (x * x <= n).all()


def bisection(xp):
    target = xp.arange(2.0, 8.0)
    low, high = xp.zeros(6), target.copy()
    for _ in range(40):
        middle = (low + high) / 2
        above = middle * middle > target
        high = xp.where(above, middle, high)
        low = xp.where(above, low, middle)
    return low, high - low


def newton_cube_roots(xp):
    a = xp.array([8.0, 27.0, 100.0])
    x = a / 3
    for _ in range(12):
        x = (2 * x + a / (x * x)) / 3
    return x


def horner(xp):
    coefficients = [2, -6, 2, -1]
    x = xp.arange(-3, 4)
    value = xp.zeros_like(x)
    for c in coefficients:
        value = value * x + c
    return value, xp.polyval(coefficients, x)


def base_conversion(xp):
    n = 1000
    out = []
    while n:
        out.append(n % 7)
        n //= 7
    d = xp.array(out[::-1])
    return d, (d * 7 ** xp.arange(len(d))[::-1]).sum(), d @ (7 ** xp.arange(len(d) - 1, -1, -1))


def catalan_numbers(xp):
    c = xp.zeros(15, dtype=xp.int64)
    c[0] = 1
    for n in range(1, 15):
        c[n] = (c[:n] * c[:n][::-1]).sum()
    return c


def factorials(xp):
    n = xp.arange(1, 16)
    return xp.cumprod(n), n.cumprod()[-1] // n[:10].prod(), xp.prod(xp.arange(1, 6, dtype=xp.int8))


def egyptian_fractions(xp):
    """Floats by steps of dyadic fractions are exact."""
    x = noise(xp, 5)
    bits = []
    for _ in range(14):
        x = x * 2
        bit = xp.floor(x)
        bits.append(bit.astype(bool))
        x -= bit
    return xp.array(bits), x


def josephus(xp):
    alive = xp.arange(1, 14)
    at = 0
    while len(alive) > 1:
        at = (at + 2) % len(alive)
        alive = xp.delete(alive, at)
    return alive


def happy_numbers(xp):
    n = xp.arange(1, 60)
    for _ in range(12):
        n = (n // 100) ** 2 + (n // 10 % 10) ** 2 + (n % 10) ** 2
    return xp.flatnonzero(n == 1) + 1


def integer_powers(xp):
    a = xp.arange(-4, 5)
    return a**2, a**3, 2 ** xp.arange(10), xp.power(a, 4), (-2) ** xp.arange(5), a**0


@fails
def negative_integer_power_fails(xp):
    return xp.arange(1, 4) ** -1


def shifts(xp):
    a = xp.array([-9, 9, 1], dtype=xp.int16)
    return a >> 1, a << 3, 1 << xp.arange(6), xp.left_shift(a, [1, 2, 3]), a & 0x0F, ~a
