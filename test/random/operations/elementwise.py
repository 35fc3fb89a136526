# SPDX-License-Identifier: Apache-2.0
"""Operators on each element."""
import math

import numpy as np

from graphs import BITS, FLOATS, INTS, NotNow, SIGNED, T, UNSIGNED, const
from operations.common import (bools, broadcast, exact, f32, finest, floats, ints, mag, numeric, op, partner_dims, rank,
                               signed, two)


# ---- elementwise, exact ----

@op(5)
def add(g):
    x, y = two(g, numeric)
    o = g.rng.choice(["Add", "Sub"])
    g.arithmetic(o, [x, y], broadcast(x.dims, y.dims), x.mag + y.mag, finest(x, y), x.err + y.err)


@op(4)
def mul(g):
    x, y = two(g, numeric)
    step = None if None in (x.step, y.step) else x.step * y.step
    g.arithmetic("Mul", [x, y], broadcast(x.dims, y.dims), x.mag * y.mag, step, x.mag * y.err + y.mag * x.err)


@op(2)
def min_max(g):
    x, y = two(g, numeric)
    g.node(g.rng.choice(["Min", "Max"]), [x, y], broadcast(x.dims, y.dims), mag=max(x.mag, y.mag), step=finest(x, y),
           err=max(x.err, y.err))


@op(1)
def variadic(g):
    x, y = two(g, floats)
    z = g.operand(x.dtype, y.dims)
    dims = broadcast(x.dims, y.dims, z.dims)
    o = g.rng.choice(["Sum", "Mean", "Max", "Min"])
    xs = [x, y, z]
    if o in ("Max", "Min"):
        g.node(o, xs, dims, mag=max(v.mag for v in xs), step=finest(*xs), err=max(v.err for v in xs))
    elif o == "Sum":
        g.arithmetic(o, xs, dims, sum(v.mag for v in xs), finest(*xs), sum(v.err for v in xs))
    else:
        g.irrational(o, xs, dims, max(v.mag for v in xs), max(v.err for v in xs))


@op(4)
def unary_exact(g):
    o = g.rng.choice(["Neg", "Abs", "Relu", "LeakyRelu", "Identity", "Clip", "Relu", "ThresholdedRelu", "Sign", "Not",
                      "Floor", "Ceil", "Round", "Dropout", "IsNaN"])
    if o in ("Neg", "Abs"):
        x = g.pick(signed)
        g.node(o, [x], x.dims)
    elif o == "Sign":
        x = g.pick(numeric, exact)
        g.node(o, [x], x.dims, mag=1, step=1)
    elif o == "Not":
        x = g.pick(bools)
        g.node(o, [x], x.dims)
    elif o in ("Floor", "Ceil", "Round"):
        x = g.pick(floats, exact)
        g.node(o, [x], x.dims, mag=x.mag + 1, step=1)
    elif o == "IsNaN":
        x = g.pick(floats)
        g.node(o, [x], x.dims, dtype=T.BOOL, mag=1, step=1, err=0)
    elif o == "LeakyRelu":
        x = g.pick(floats)
        g.arithmetic(o, [x], x.dims, x.mag, x.step and x.step / 4, x.err, alpha=0.25)
    elif o == "ThresholdedRelu":
        x = g.pick(floats, exact)
        g.node(o, [x], x.dims, alpha=0.5)
    elif o == "Clip":
        x = g.pick(numeric)
        low, high = (0, 6) if x.dtype in UNSIGNED else (-1, 6)
        limits = [g.weights(x.dtype, [], 1, 1) for _ in range(2)]
        from graphs import NUMPY
        limits = [g.constant(np.array(v, NUMPY[x.dtype]), x.dtype) for v in (low, high)]
        if g.rng.random() < 0.2:
            limits = [None, limits[1]]
        g.node(o, [x] + limits, x.dims, mag=max(x.mag if limits[0] is None else 0, 6), step=x.step and min(x.step, 1))
    elif o == "Dropout":
        x = g.pick(floats)
        g.node(o, [x], x.dims)
    else:
        x = g.pick(floats) if o == "Relu" else g.pick()
        g.node(o, [x], x.dims)


# name: (largest result for arguments up to m, error factor, what the argument must meet)
SMOOTH = {
    "Sigmoid": (lambda m: 1, 0.25), "Tanh": (lambda m: 1, 1), "Erf": (lambda m: 1, 1.2), "Softplus": (lambda m: m + 1, 1),
    "Gelu": (lambda m: m, 1.2), "Sin": (lambda m: 1, 1), "Cos": (lambda m: 1, 1), "HardSigmoid": (lambda m: 1, 0.2),
    "HardSwish": (lambda m: m, 1.5), "Elu": (lambda m: m, 1), "Selu": (lambda m: 1.8 * m, 1.8), "Mish": (lambda m: m, 1.2),
    "Softsign": (lambda m: 1, 1), "Celu": (lambda m: m, 1), "Atan": (lambda m: math.pi / 2, 1),
    "Asinh": (lambda m: m, 1),
}


@op(4)
def smooth(g):
    o = g.rng.choice(list(SMOOTH))
    if g.opset < {"Gelu": 20, "Mish": 18, "HardSwish": 14}.get(o, 0):
        raise NotNow
    x = g.pick(floats, mag(60), *([f32] if o in ("Celu",) else []))
    # The standard has some of these in wider types only from later versions on.
    if x.dtype == T.BFLOAT16 and g.opset < 22:
        raise NotNow
    most, factor = SMOOTH[o]
    g.irrational(o, [x], x.dims, most(x.mag), factor * x.err)


@op(1.5)
def exponential(g):
    x = g.pick(floats, mag(6))
    g.irrational("Exp", [x], x.dims, math.exp(x.mag), math.exp(x.mag) * x.err)


@op(2)
def guarded(g):
    """Division, root and logarithm of what is made positive first."""
    x = g.pick(floats)
    from graphs import NUMPY
    one = g.constant(np.array(1, NUMPY[x.dtype]), x.dtype)
    a = g.node("Abs", [x], x.dims)
    b = g.arithmetic("Add", [a, one], x.dims, x.mag + 1, x.step and min(x.step, 1), x.err)
    if b.err > 0.2:
        raise NotNow
    b.uses += 1
    o = g.rng.choice(["Div", "Sqrt", "Log", "Reciprocal", "Pow"])
    if o == "Div":
        y = g.operand(x.dtype, partner_dims(g, x.dims))
        g.irrational(o, [y, b], broadcast(y.dims, b.dims), y.mag, y.err + y.mag * b.err * 2)
    elif o == "Pow":
        e = g.constant(np.array(g.rng.choice([0.5, 1.5, 2, 3, -1]), NUMPY[x.dtype]), x.dtype)
        g.irrational(o, [b, e], x.dims, b.mag ** 3, 3 * b.mag ** 2 * b.err * 2)
    else:
        g.irrational(o, [b], x.dims, b.mag, 2 * b.err)


@op(1)
def integer_arithmetic(g):
    o = g.rng.choice(["Div", "Mod", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"])
    if o.startswith("Bitwise") and g.opset < 18:
        raise NotNow
    if o == "BitShift":
        x, y = two(g, lambda v: v.dtype in UNSIGNED)
        g.node(o, [x, y], broadcast(x.dims, y.dims), mag=2.0 ** BITS[x.dtype], direction=g.rng.choice(["LEFT", "RIGHT"]))
    elif o == "BitwiseNot":
        x = g.pick(ints)
        g.node(o, [x], x.dims, mag=2.0 ** BITS[x.dtype])
    else:
        x, y = two(g, ints)
        extra = {"fmod": g.rng.randint(0, 1)} if o == "Mod" else {}
        g.node(o, [x, y], broadcast(x.dims, y.dims), mag=2.0 ** BITS[x.dtype], **extra)


@op(2)
def compare(g):
    o = g.rng.choice(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor"])
    if o in ("And", "Or", "Xor"):
        x, y = two(g, bools)
    else:
        x, y = two(g, numeric, exact)
        if x.dtype == T.BFLOAT16 and g.opset < 16:
            raise NotNow
    g.node(o, [x, y], broadcast(x.dims, y.dims), dtype=T.BOOL, mag=1, step=1, err=0)


@op(2)
def where(g):
    x, y = two(g)
    dims = broadcast(x.dims, y.dims)
    c = g.operand(T.BOOL, partner_dims(g, dims))
    if x.dtype == T.BFLOAT16 and g.opset < 16:
        raise NotNow
    g.node("Where", [c, x, y], broadcast(dims, c.dims), dtype=x.dtype, mag=max(x.mag, y.mag), step=finest(x, y),
           err=max(x.err, y.err))


@op(3)
def cast(g):
    x = g.pick()
    to = g.rng.choice([T.FLOAT, T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16, T.BOOL] + list(INTS))
    if to == x.dtype and g.rng.random() < 0.8:
        raise NotNow
    if to in FLOATS:
        if x.dtype in FLOATS and x.err:
            g.irrational("Cast", [x], x.dims, x.mag, x.err, dtype=to, to=to)
        else:
            g.arithmetic("Cast", [x], x.dims, x.mag, x.step, dtype=to, to=to)
        return
    if x.err:
        raise NotNow
    if to == T.BOOL:
        g.node("Cast", [x], x.dims, dtype=to, mag=1, step=1, to=to)
        return
    if x.dtype in FLOATS and (x.mag >= 2.0 ** BITS[to] or to in UNSIGNED):
        raise NotNow
    g.node("Cast", [x], x.dims, dtype=to, mag=x.mag if to in SIGNED else 2.0 ** BITS[to], step=1, to=to)


@op(1)
def prelu(g):
    x = g.pick(floats, rank(1))
    slope = g.operand(x.dtype, [d if g.rng.random() < 0.4 else const(1) for d in x.dims], 1, 0.25)
    if x.dtype == T.BFLOAT16 and g.opset < 16:
        raise NotNow
    g.arithmetic("PRelu", [x, slope], x.dims, max(x.mag, x.mag * slope.mag), x.step and slope.step and x.step * slope.step,
                 max(1, slope.mag) * x.err + x.mag * slope.err)
