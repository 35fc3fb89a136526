#!/usr/bin/env python3
# SPDX-License-Identifier: 0BSD
"""Prints the polynomial coefficients of runtime_min/rt/math.h (needs mpmath).

Each is the polynomial with the smallest greatest weighted error (Remez). Coefficients are rounded to f32 one after the
other, from the constant term on, and the rest is fitted again each time, so that the roundings are made up for.
"""
import struct
import sys

from mpmath import mp, mpf, mpf as F, matrix, lu_solve, cos, pi, log, exp, tanh, erf, erfc, sin, tan, asin, atan, sinh, \
    expm1, log1p, sqrt, atanh, asinh

mp.dps = 60


def f32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def horner(c, x):
    r = mpf(0)
    for k in reversed(c):
        r = r * x + k
    return r


def remez(g, w, a, b, degree):
    """Coefficients of the polynomial that minimises max |w (g - p)| on [a, b], and that error."""
    n = degree + 2
    xs = [(a + b) / 2 - (b - a) / 2 * cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    for _ in range(12):
        m, r = matrix(n, n), matrix(n, 1)
        for i, x in enumerate(xs):
            for j in range(degree + 1):
                m[i, j] = x**j
            m[i, n - 1] = (-1)**i / w(x)
            r[i] = g(x)
        sol = lu_solve(m, r)
        c = [sol[j] for j in range(degree + 1)]
        # One extremum of the error between each two of its sign changes, on a dense grid.
        steps = 600
        grid = [a + (b - a) * (1 - cos(pi * mpf(i) / steps)) / 2 for i in range(1, steps)]
        err = [w(x) * (g(x) - horner(c, x)) for x in grid]
        best, sign = [], 0
        for x, e in zip(grid, err):
            s = 1 if e > 0 else -1
            if s != sign:
                best.append((abs(e), x))
                sign = s
            elif abs(e) > best[-1][0]:
                best[-1] = (abs(e), x)
        while len(best) > n:
            best.pop(0 if best[0][0] < best[-1][0] else -1)
        if len(best) < n:
            break
        new = [x for _, x in best]
        done = max(abs(p - q) for p, q in zip(new, xs)) < (b - a) * mpf(10)**-6
        xs = new
        if done:
            break
    return c, max(abs(e) for e in err)


def rounded(g, w, a, b, degree):
    out = []
    for k in range(degree + 1):
        done = list(out)

        def rest(x):
            return (g(x) - horner(done, x)) / x**k

        c, _ = remez(rest, lambda x: w(x) * x**k, a, b, degree - k)
        out.append(f32(c[0]))
    grid = [a + (b - a) * mpf(i) / 2000 for i in range(1, 2000)]
    return out, max(abs(w(x) * (g(x) - horner(out, x))) for x in grid)


def show(name, g, w, a, b, degree):
    c, e = rounded(g, w, mpf(a), mpf(b), degree)
    print(f"{name}  // error {float(e):.2e} = 2^{float(log(e, 2)):.1f}")
    print("  " + ", ".join(float(k).hex().replace("0000000p", "p") + "f" for k in c))
    print("  " + ", ".join(f"{k:.9g}f" for k in c), flush=True)


tiny = mpf(10)**-12
q = log(2) / 2 * mpf("1.001")
FITS = {
    # e^r = 1 + r + r^2 p(r)
    "exp": lambda: show("exp", lambda r: (expm1(r) - r) / r**2, lambda r: r**2 / exp(r), -q, q + tiny, 4),
    # log(1 + f) = f - f^2/2 + f^3 p(f)
    "log": lambda: show("log", lambda f: (log1p(f) - f + f**2 / 2) / f**3, lambda f: f**3 / log1p(f), sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1 + tiny, 7),
    "tanh": lambda: show("tanh", lambda s: (tanh(sqrt(s)) / sqrt(s) - 1) / s, lambda s: s * sqrt(s) / tanh(sqrt(s)), tiny, mpf("0.625")**2, 4),
    "erf": lambda: show("erf", lambda s: erf(sqrt(s)) / sqrt(s) - 1, lambda s: sqrt(s) / erf(sqrt(s)), tiny, mpf("0.925")**2, 6),
    # erf(t) = 1 - e^-(t + t p(t)), t from 0.92 to 4
    "erfc": lambda: show("erfc", lambda t: -log(erfc(t)) / t - 1, lambda t: t * erfc(t) / erf(t), mpf("0.92"), mpf(4), 7),
    "sin": lambda: show("sin", lambda s: (sin(sqrt(s)) / sqrt(s) - 1) / s, lambda s: s * sqrt(s) / sin(sqrt(s)), tiny, (pi / 4 * mpf("1.001"))**2, 3),
    "cos": lambda: show("cos", lambda s: (cos(sqrt(s)) - 1 + s / 2) / s**2, lambda s: s**2, tiny, (pi / 4 * mpf("1.001"))**2, 2),
    "tan": lambda: show("tan", lambda s: (tan(sqrt(s)) / sqrt(s) - 1) / s, lambda s: s * sqrt(s) / tan(sqrt(s)), tiny, (pi / 4 * mpf("1.001"))**2, 5),
    "asin": lambda: show("asin", lambda s: (asin(sqrt(s)) / sqrt(s) - 1) / s, lambda s: s * sqrt(s) / asin(sqrt(s)), tiny, mpf("0.25"), 4),
    "atan": lambda: show("atan", lambda s: (atan(sqrt(s)) / sqrt(s) - 1) / s, lambda s: s * sqrt(s) / atan(sqrt(s)), tiny, mpf(1), 7),
    "sinh": lambda: show("sinh", lambda s: (sinh(sqrt(s)) / sqrt(s) - 1) / s, lambda s: s * sqrt(s) / sinh(sqrt(s)), tiny, mpf(1), 3),
    "atanh": lambda: show("atanh", lambda s: (atanh(sqrt(s)) / sqrt(s) - 1) / s, lambda s: s * sqrt(s) / atanh(sqrt(s)), tiny, mpf("0.25"), 5),
    "asinh": lambda: show("asinh", lambda s: (asinh(sqrt(s)) / sqrt(s) - 1) / s, lambda s: s * sqrt(s) / asinh(sqrt(s)), tiny, mpf("0.25"), 5),
}

for key in sys.argv[1:] or FITS:
    FITS[key]()
