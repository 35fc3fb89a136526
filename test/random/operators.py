# SPDX-License-Identifier: Apache-2.0
"""What random graphs are made of: one function per operator (or per chain that exporters write). Each looks for values
that it can be applied to, and says how large its result is and how exact."""
import math

import numpy as np
from onnx import helper

from graphs import (BITS, DIGITS, FLOATS, INTS, NUMERIC, SETS, SIGNED, T, UNSIGNED, Graph, NotNow, Value, const,
                    grow, rounding)

ALL = {}


def op(weight=1.0):
    def register(function):
        function.weight = weight
        ALL[function.__name__] = function
        return function
    return register


# ---- conditions on values ----

def floats(v): return v.dtype in FLOATS
def f32(v): return v.dtype == T.FLOAT
def f32_or_f64(v): return v.dtype in (T.FLOAT, T.DOUBLE)
def ints(v): return v.dtype in INTS
def numeric(v): return v.dtype in NUMERIC
def signed(v): return v.dtype in FLOATS + SIGNED
def bools(v): return v.dtype == T.BOOL
def exact(v): return v.err == 0
def not_empty(v): return all(n > 0 for d in v.dims for n in d)
def rank(low, high=9): return lambda v: low <= v.rank <= high
def mag(most): return lambda v: v.mag <= most
def static(v): return all(len(set(d)) == 1 for d in v.dims)


def sizes(v):
    return [d[0] for d in v.dims]


# ---- broadcasting ----

def partner_dims(g, dims):
    """Sizes that broadcast with `dims`; the partner may have more dims, too."""
    r = g.rng
    kind = r.random()
    if kind < 0.3:
        return list(dims)
    if kind < 0.45:
        return []
    out = [d if r.random() < 0.6 else const(1) for d in dims]
    if kind < 0.8:
        out = out[r.randint(0, len(out)):]
    elif len(dims) < 5 and kind < 0.9:
        out = [const(g.size()) for _ in range(r.randint(1, 5 - len(dims)))][:1] + out
    return out


def broadcast(*shapes):
    n = max(len(s) for s in shapes)
    out = []
    for i in range(n):
        column = [s[i - n + len(s)] for s in shapes if i - n + len(s) >= 0]
        dim = []
        for k in range(SETS):
            found = {d[k] for d in column} - {1}
            if len(found) > 1:
                raise NotNow
            dim.append(found.pop() if found else 1)
        out.append(tuple(dim))
    return out


def two(g, *wanted):
    """A value and another of its type that broadcasts with it."""
    x = g.pick(*wanted)
    there = []
    for v in g.visible():
        if v.dtype == x.dtype and all(w(v) for w in wanted):
            try:
                broadcast(x.dims, v.dims)
                there.append(v)
            except NotNow:
                pass
    if there and g.rng.random() < 0.5:
        y = g.use(g.rng.choice(there))
    else:
        y = g.operand(x.dtype, partner_dims(g, x.dims))
        if not all(w(y) for w in wanted):
            raise NotNow
    return (x, y) if g.rng.random() < 0.7 else (y, x)


def finest(*values):
    steps = [v.step for v in values]
    return None if None in steps else min(steps)


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


# ---- movement ----

@op(6)
def transpose(g):
    x = g.pick(rank(1))
    perm = list(range(x.rank))
    if g.rng.random() < 0.3 and x.rank == 4:
        perm = g.rng.choice([[0, 2, 3, 1], [0, 3, 1, 2]])
    elif g.rng.random() < 0.5:
        i = g.rng.randrange(x.rank)
        j = g.rng.randrange(x.rank)
        perm[i], perm[j] = perm[j], perm[i]
    else:
        g.rng.shuffle(perm)
    extra = {"perm": perm}
    if perm == list(range(x.rank))[::-1] and g.rng.random() < 0.5:
        extra = {}
    g.node("Transpose", [x], [x.dims[p] for p in perm], **extra)


def factor(g, n):
    """Two numbers whose product is n."""
    divisors = [d for d in range(1, n + 1) if n % d == 0] if n else [1]
    d = g.rng.choice(divisors)
    return d, n // d


def product(dims):
    return tuple(math.prod(d[k] for d in dims) for k in range(SETS))


@op(6)
def reshape(g):
    x = g.pick()
    dims = list(x.dims)
    r = g.rng
    for _ in range(r.randint(1, 4)):
        kind = r.random()
        if kind < 0.35 and len(dims) >= 2:
            i = r.randrange(len(dims) - 1)
            dims[i:i + 2] = [product(dims[i:i + 2])]
        elif kind < 0.7 and dims and len(dims) < 6:
            i = r.randrange(len(dims))
            if len(set(dims[i])) == 1 and dims[i][0] > 0:
                a, b = factor(g, dims[i][0])
                dims[i:i + 1] = [const(a), const(b)]
        elif kind < 0.85 and len(dims) < 6:
            dims.insert(r.randint(0, len(dims)), const(1))
        else:
            ones = [i for i, d in enumerate(dims) if d == const(1)]
            if ones:
                dims.pop(r.choice(ones))
    if r.random() < 0.1 and static(x) and not_empty(x):  # all anew
        n = math.prod(sizes(x))
        a, b = factor(g, n)
        c, d = factor(g, b)
        dims = [const(a), const(c), const(d)]
    target = []
    free = [i for i, d in enumerate(dims) if len(set(d)) > 1]
    unsafe = any(n == 0 for d in x.dims for n in d)
    for i, d in enumerate(dims):
        if i < x.rank and x.dims[i] == d and (r.random() < 0.4 or d in [dims[j] for j in free]) and target.count(-1) == 0:
            target.append(0)
        elif len(set(d)) > 1:
            target.append(-1)
        else:
            target.append(d[0])
    if target.count(-1) > 1 or (unsafe and -1 in target):
        return shape_chain(g, x, dims)
    if -1 not in target and not unsafe and target and r.random() < 0.3:
        i = r.randrange(len(target))
        target[i] = -1
    if 0 in target and any(t == 0 and (i >= x.rank or x.dims[i] != dims[i]) for i, t in enumerate(target)):
        raise NotNow
    g.node("Reshape", [x, g.ints(target)], dims)


def shape_chain(g, x, dims):
    """A target of Reshape that is computed from sizes, as exporters write it."""
    shape = g.node("Shape", [x], [const(x.rank)], dtype=T.INT64, mag=1e3, step=1, err=0)
    shape.uses += 1
    parts = []
    for d in dims:
        if len(set(d)) == 1:
            parts.append(g.ints([d[0]]))
            continue
        if d in x.dims:
            i = x.dims.index(d)
            if g.rng.random() < 0.5:
                part = g.node("Gather", [shape, g.ints([i])], [const(1)], axis=0)
            else:
                part = g.node("Slice", [shape, g.ints([i]), g.ints([i + 1])], [const(1)])
            part.uses += 1
            parts.append(part)
            continue
        # a product of neighbours
        for i in range(x.rank):
            for j in range(i + 1, x.rank + 1):
                if product(x.dims[i:j]) == d:
                    some = g.node("Slice", [shape, g.ints([i]), g.ints([j])], [const(j - i)])
                    some.uses += 1
                    part = g.node("ReduceProd", [some] + ([g.ints([0])] if g.opset >= 18 else []), [const(1)],
                                  keepdims=1, **({} if g.opset >= 18 else {"axes": [0]}))
                    part.uses += 1
                    parts.append(part)
                    break
            else:
                continue
            break
        else:
            raise NotNow
    target = g.node("Concat", parts, [const(len(parts))], axis=0) if len(parts) > 1 else parts[0]
    target.uses += 1
    g.node("Reshape", [x, target], dims, allowzero=1) if g.opset >= 14 else g.node("Reshape", [x, target], dims)


@op(1)
def flatten(g):
    x = g.pick()
    axis = g.rng.randint(0, x.rank)
    g.node("Flatten", [x], [product(x.dims[:axis]), product(x.dims[axis:])], axis=axis)


@op(2)
def squeeze(g):
    x = g.pick()
    ones = [i for i, d in enumerate(x.dims) if d == const(1)]
    if ones and g.rng.random() < 0.5:
        some = [i for i in ones if g.rng.random() < 0.6] or ones[:1]
        g.node("Squeeze", [x, g.ints([i - x.rank if g.rng.random() < 0.3 else i for i in some])],
               [d for i, d in enumerate(x.dims) if i not in some])
    elif x.rank < 5:
        at = g.rng.randint(0, x.rank)
        dims = list(x.dims)
        dims.insert(at, const(1))
        g.node("Unsqueeze", [x, g.ints([at])], dims)
    else:
        raise NotNow


@op(5)
def slice_(g):
    x = g.pick(rank(1))
    axes = sorted(g.rng.sample(range(x.rank), g.rng.randint(1, min(2, x.rank))))
    dims = list(x.dims)
    starts, ends, steps = [], [], []
    for a in axes:
        step = g.rng.choice([1, 1, 1, 2, 3, -1, -2])
        n = x.fixed(a)
        if n is None:
            start = g.rng.choice([0, 1, 2, -2]) if step > 0 else g.rng.choice([-1, 3])
            end = g.rng.choice([2 ** 31 - 1, -1, 4, 2 ** 62]) if step > 0 else g.rng.choice([-2 ** 31, 0, -2 ** 62])
        else:
            start, end = sorted((g.rng.randint(0, n), g.rng.randint(0, n)))
            if step < 0:
                start, end = end, start - 1 if start else -2 ** 31
            if g.rng.random() < 0.2 and 0 < start < n:
                start -= n
        out = []
        for k in range(SETS):
            m = x.dims[a][k]
            out.append(len(range(*slice(start, end if end != -2 ** 62 and end != -2 ** 31 else None, step).indices(m))))
        if 0 in out and 0 not in x.dims[a] and g.rng.random() < 0.9:
            raise NotNow
        dims[a] = tuple(out)
        starts.append(start), ends.append(end), steps.append(step)
    inputs = [x, g.ints(starts), g.ints(ends), g.ints(axes)]
    if any(s != 1 for s in steps):
        inputs.append(g.ints(steps))
    g.node("Slice", inputs, dims)


@op(3)
def split(g):
    x = g.pick(rank(1))
    axis = g.rng.randrange(x.rank)
    n = x.fixed(axis)
    if n is None or n < 2:
        raise NotNow
    cuts = sorted(g.rng.sample(range(1, n), g.rng.randint(1, min(3, n - 1))))
    parts = [b - a for a, b in zip([0] + cuts, cuts + [n])]
    inputs, extra = [x, g.ints(parts)], {}
    if len(set(parts)) == 1 and g.rng.random() < 0.5:
        inputs = [x]
        if g.opset >= 18:
            extra = {"num_outputs": len(parts)}
    shapes = []
    for p in parts:
        dims = list(x.dims)
        dims[axis] = const(p)
        shapes.append(dims)
    g.node("Split", inputs, shapes, outputs=len(parts), axis=axis - x.rank if g.rng.random() < 0.3 else axis, **extra)


@op(6)
def concat(g):
    x = g.pick(rank(1))
    axis = g.rng.randrange(x.rank)
    others = lambda v: v.dims[:axis] + v.dims[axis + 1:]
    there = [v for v in g.visible() if v.dtype == x.dtype and v.rank == x.rank and others(v) == others(x)]
    xs = [x]
    for _ in range(g.rng.choice([1, 1, 2, 3])):
        if there and g.rng.random() < 0.7:
            xs.append(g.use(g.rng.choice(there)))
        else:
            dims = list(x.dims)
            dims[axis] = const(g.size())
            xs.append(g.operand(x.dtype, dims))
    g.rng.shuffle(xs)
    dims = list(x.dims)
    dims[axis] = tuple(sum(v.dims[axis][k] for v in xs) for k in range(SETS))
    g.node("Concat", xs, dims, mag=max(v.mag for v in xs), step=finest(*xs), err=max(v.err for v in xs),
           axis=axis - x.rank if g.rng.random() < 0.2 else axis)


@op(2)
def expand_tile(g):
    x = g.pick(rank(0, 4))
    if g.rng.random() < 0.5:
        dims = [const(g.size()) if d == const(1) and g.rng.random() < 0.7 else d for d in x.dims]
        if g.rng.random() < 0.5 and len(dims) < 5:
            dims = [const(g.rng.randint(1, 4))] + dims
        if any(len(set(d)) > 1 for d in dims):
            target = [1 if len(set(d)) > 1 else d[0] for d in dims]
        else:
            target = [d[0] for d in dims]
        g.node("Expand", [x, g.ints(target)], dims)
    else:
        repeats = [g.rng.choice([1, 1, 2, 3]) for _ in x.dims]
        if not repeats:
            raise NotNow
        g.node("Tile", [x, g.ints(repeats)], [tuple(n * p for n in d) for d, p in zip(x.dims, repeats)])


@op(3)
def pad(g):
    x = g.pick(rank(1), numeric, not_empty)
    mode = g.rng.choice(["constant", "constant", "reflect", "edge"] + (["wrap"] if g.opset >= 19 else []))
    least = [min(d) for d in x.dims]
    top = lambda d: 3 if mode in ("constant", "edge") else min(3, least[d] - 1)
    before = [g.rng.randint(0, max(0, top(d))) if g.rng.random() < 0.6 else 0 for d in range(x.rank)]
    after = [g.rng.randint(0, max(0, top(d))) if g.rng.random() < 0.6 else 0 for d in range(x.rank)]
    if mode == "constant" and g.rng.random() < 0.2:
        after[-1] = -1 if least[-1] > 2 else after[-1]
    inputs = [x, g.ints(before + after)]
    more = 0
    if mode == "constant" and g.rng.random() < 0.5:
        from graphs import NUMPY
        inputs.append(g.constant(np.array(1, NUMPY[x.dtype]), x.dtype))
        more = 1
    g.node("Pad", inputs, [tuple(n + b + a for n in d) for d, b, a in zip(x.dims, before, after)], mag=max(x.mag, more),
           step=x.step and min(x.step, 1), mode=mode)


@op(3)
def gather(g):
    x = g.pick(rank(1), not_empty)
    axis = g.rng.randrange(x.rank)
    n = min(x.dims[axis])
    shape = [g.size() for _ in range(g.rng.choice([0, 1, 1, 2]))]
    dtype = g.rng.choice([T.INT64, T.INT32])
    index = g.weights(dtype, shape, n - 1, 1)
    index.data = None
    out = list(x.dims[:axis]) + [const(s) for s in shape] + list(x.dims[axis + 1:])
    if g.rng.random() < 0.5:  # indices that come from outside; negative ones count from the end
        index = g.input(dtype, [const(s) for s in shape], n - 1, 1, free=False)
    if len(out) > 5:
        raise NotNow
    g.node("Gather", [x, g.use(index)], out, axis=axis)


@op(1)
def gather_elements(g):
    x = g.pick(rank(1), not_empty, static)
    axis = g.rng.randrange(x.rank)
    shape = [g.rng.randint(1, n) for n in sizes(x)]
    shape[axis] = g.size() or 1
    index = g.weights(T.INT64, shape, x.dims[axis][0] - 1, 1)
    if g.rng.random() < 0.5:
        index = g.input(T.INT64, [const(s) for s in shape], x.dims[axis][0] - 1, 1, free=False)
    g.node("GatherElements", [x, index], [const(s) for s in shape], axis=axis)


@op(1)
def gather_nd(g):
    x = g.pick(rank(1), not_empty, static)
    depth = g.rng.randint(1, x.rank)
    count = g.rng.randint(1, 5)
    rows = np.array([[g.rng.randrange(n) for n in sizes(x)[:depth]] for _ in range(count)], np.int64)
    g.node("GatherND", [x, g.ints(rows)], [const(count)] + list(x.dims[depth:]))


@op(1)
def scatter(g):
    x = g.pick(rank(1), not_empty, static, numeric)
    if g.rng.random() < 0.5:
        axis = g.rng.randrange(x.rank)
        shape = [g.rng.randint(1, n) for n in sizes(x)]
        rows = np.zeros(shape, np.int64)
        for at in np.ndindex(*[s for i, s in enumerate(shape) if i != axis]):
            where_ = list(at)
            where_.insert(axis, slice(None))
            rows[tuple(where_)] = g.rng.sample(range(sizes(x)[axis]), shape[axis])
        u = g.operand(x.dtype, [const(s) for s in shape])
        g.node("ScatterElements", [x, g.ints(rows), u], x.dims, mag=max(x.mag, u.mag), step=finest(x, u),
               err=max(x.err, u.err), axis=axis)
    else:
        n = sizes(x)[0]
        count = g.rng.randint(1, n)
        rows = np.array(g.rng.sample(range(n), count), np.int64).reshape(count, 1)
        u = g.operand(x.dtype, [const(count)] + list(x.dims[1:]))
        g.node("ScatterND", [x, g.ints(rows), u], x.dims, mag=max(x.mag, u.mag), step=finest(x, u), err=max(x.err, u.err))


@op(1)
def one_hot(g):
    x = g.pick(lambda v: v.dtype in (T.INT64, T.INT32), mag(20), rank(0, 4))
    from graphs import NUMPY
    depth = g.rng.randint(1, 8)
    dtype = g.rng.choice([T.FLOAT, T.INT32, T.INT64])
    values = g.constant(np.array([0, 1], NUMPY[dtype]), dtype)
    axis = g.rng.randint(0, x.rank)
    dims = list(x.dims)
    dims.insert(axis, const(depth))
    g.node("OneHot", [x, g.ints(depth), values], dims, dtype=dtype, mag=1, step=1, err=0, axis=axis)


@op(1.5)
def depth_space(g):
    x = g.pick(rank(4, 4), floats)
    b = 2
    c, h, w = x.dims[1:]
    if g.rng.random() < 0.5:
        if x.fixed(1) is None or c[0] % (b * b) or not c[0]:
            raise NotNow
        g.node("DepthToSpace", [x], [x.dims[0], const(c[0] // 4), tuple(2 * n for n in h), tuple(2 * n for n in w)],
               blocksize=2, mode=g.rng.choice(["DCR", "CRD"]))
    else:
        if any(n % 2 for n in h + w) or x.fixed(2) is None or x.fixed(3) is None:
            raise NotNow
        g.node("SpaceToDepth", [x], [x.dims[0], tuple(4 * n for n in c), const(h[0] // 2), const(w[0] // 2)], blocksize=2)


@op(1)
def triangle(g):
    x = g.pick(rank(2))
    if x.dtype == T.BFLOAT16 or g.opset < 14:
        raise NotNow
    k = g.ints(g.rng.choice([0, 1, -1, 2]))
    g.node("Trilu", [x, k], x.dims, upper=g.rng.randint(0, 1))


@op(1)
def running_sum(g):
    x = g.pick(rank(1), lambda v: v.dtype in (T.FLOAT, T.DOUBLE, T.INT32, T.INT64))
    axis = g.rng.randrange(x.rank)
    n = max(x.dims[axis])
    g.arithmetic("CumSum", [x, g.ints(axis)], x.dims, x.mag * max(n, 1), x.step, x.err * n,
                 exclusive=g.rng.randint(0, 1), reverse=g.rng.randint(0, 1))


@op(1)
def reverse_sequence(g):
    x = g.pick(rank(2), not_empty, static)
    batch, time = g.rng.choice([(0, 1), (1, 0)])
    lengths = g.ints([g.rng.randint(1, sizes(x)[time]) for _ in range(sizes(x)[batch])])
    g.node("ReverseSequence", [x, lengths], x.dims, batch_axis=batch, time_axis=time)


@op(2)
def resize(g):
    x = g.pick(rank(3, 4), floats, not_empty)
    mode = g.rng.choice(["nearest", "linear"])
    scales = [1.0, 1.0] + [g.rng.choice([1.0, 2.0, 0.5, 3.0]) for _ in x.dims[2:]]
    dims = [tuple(int(math.floor(n * s)) for n in d) for d, s in zip(x.dims, scales)]
    if any(n == 0 for d in dims for n in d):
        raise NotNow
    c = g.constant(np.array(scales, np.float32), T.FLOAT)
    if mode == "nearest":
        g.node("Resize", [x, None, c], dims, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    else:
        g.irrational("Resize", [x, None, c], dims, x.mag, x.err, mode=mode,
                     coordinate_transformation_mode=g.rng.choice(["asymmetric", "half_pixel", "align_corners"]))


# ---- reductions and rows ----

def reduced(g, x, axes, keep):
    if keep:
        return [const(1) if i in axes else d for i, d in enumerate(x.dims)]
    return [d for i, d in enumerate(x.dims) if i not in axes]


@op(6)
def reduce(g):
    o = g.rng.choice(["ReduceSum"] * 3 + ["ReduceMean"] * 2 + ["ReduceMax"] * 2 + ["ReduceMin", "ReduceProd", "ReduceL1",
                     "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"])
    x = g.pick(not_empty, floats if g.rng.random() < 0.8 else numeric)
    if x.dtype not in (T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16, T.INT32, T.INT64):
        raise NotNow
    if x.dtype in INTS and o in ("ReduceL2", "ReduceLogSumExp", "ReduceMean"):
        raise NotNow
    axes = sorted(g.rng.sample(range(x.rank), g.rng.randint(0, x.rank))) if x.rank else []
    named = axes or list(range(x.rank))
    keep = g.rng.randint(0, 1)
    n = max(math.prod(x.dims[a][k] for a in named) for k in range(SETS))
    given = [a - x.rank if g.rng.random() < 0.3 else a for a in axes]
    inputs, extra = [x], {"keepdims": keep}
    if axes:
        if g.opset >= 18 or o == "ReduceSum":
            inputs.append(g.ints(given))
        else:
            extra["axes"] = given
    dims = reduced(g, x, named, keep)
    m, e = x.mag, x.err
    if o in ("ReduceMax", "ReduceMin"):
        g.node(o, inputs, dims, **extra)
    elif o in ("ReduceSum", "ReduceL1"):
        g.arithmetic(o, inputs, dims, n * m, x.step, n * e, **extra)
    elif o == "ReduceSumSquare":
        g.arithmetic(o, inputs, dims, n * m * m, x.step and x.step ** 2, 2 * n * m * e, **extra)
    elif o == "ReduceProd":
        if n > 6:
            raise NotNow
        g.arithmetic(o, inputs, dims, max(m, 1) ** n, x.step and min(1, x.step) ** n, n * max(m, 1) ** (n - 1) * e, **extra)
    elif o == "ReduceMean":
        g.irrational(o, inputs, dims, m, e + n * m * rounding(x.dtype) / 8, **extra)
    elif o == "ReduceL2":
        if e:
            raise NotNow
        g.irrational(o, inputs, dims, math.sqrt(n) * m, n * m * rounding(x.dtype) / 4, **extra)
    else:
        g.irrational(o, inputs, dims, m + math.log(n), e, **extra)


@op(1)
def arg(g):
    x = g.pick(not_empty, exact, rank(1), lambda v: v.dtype in (T.FLOAT, T.DOUBLE, T.INT32, T.INT64, T.INT8))
    axis = g.rng.randrange(x.rank)
    keep = g.rng.randint(0, 1)
    g.node(g.rng.choice(["ArgMax", "ArgMin"]), [x], reduced(g, x, [axis], keep), dtype=T.INT64, mag=max(x.dims[axis]),
           step=1, err=0, axis=axis, keepdims=keep, select_last_index=g.rng.randint(0, 1))


@op(1)
def top_k(g):
    x = g.pick(not_empty, exact, rank(1), lambda v: v.dtype in (T.FLOAT, T.DOUBLE, T.INT32, T.INT64))
    axis = g.rng.randrange(x.rank)
    k = g.rng.randint(1, min(x.dims[axis]))
    dims = list(x.dims)
    dims[axis] = const(k)
    values, rows = g.node("TopK", [x, g.ints([k])], [dims, dims], outputs=2, axis=axis, largest=g.rng.randint(0, 1))
    # Of equal elements the order is fixed: the lower index comes first.
    rows.dtype, rows.mag, rows.step = T.INT64, max(x.dims[axis]), 1


@op(4)
def softmax(g):
    x = g.pick(not_empty, floats, rank(1), mag(60))
    axis = g.rng.choice([-1, -1, g.rng.randrange(x.rank)])
    o = g.rng.choice(["Softmax", "Softmax", "LogSoftmax"])
    top = 1 if o == "Softmax" else 2 * x.mag + math.log(max(x.dims[axis]) + 1)
    g.irrational(o, [x], x.dims, top, 2 * x.err + top * rounding(x.dtype) * (4 + x.mag / 4), axis=axis)


@op(4)
def normalise(g):
    r = g.rng
    o = r.choice(["LayerNormalization"] * 2 + ["BatchNormalization"] * 2 + ["InstanceNormalization", "GroupNormalization",
                 "RMSNormalization", "MeanVariance"])
    x = g.pick(not_empty, f32_or_f64 if r.random() < 0.7 else floats, rank(2))
    eps = 0.5
    big = math.sqrt(max(product(x.dims))) + 1
    err = 4 * x.err + 8 * (x.mag + 1) * rounding(x.dtype)
    if o == "LayerNormalization" and g.opset >= 17 or o == "RMSNormalization" and g.opset >= 23:
        axis = r.randrange(1, x.rank) if r.random() < 0.4 else x.rank - 1
        if any(len(set(d)) > 1 for d in x.dims[axis:]):
            raise NotNow
        shape = sizes(x)[axis:]
        inputs = [x, g.weights(x.dtype, shape, 2, 0.5)]
        if o == "LayerNormalization" and r.random() < 0.7:
            inputs.append(g.weights(x.dtype, shape, 2, 0.5))
        g.irrational(o, inputs, x.dims, 2 * big + 2, 2 * err, axis=axis, epsilon=eps)
        return
    c = x.fixed(1)
    if c is None or not c:
        raise NotNow
    per = lambda: g.weights(x.dtype, [c], 2, 0.5)
    if o == "BatchNormalization":
        var = g.constant(np.abs(g.fill(x.dtype, [c], 3, 0.5)), x.dtype)
        if x.dtype == T.BFLOAT16:
            raise NotNow
        g.irrational(o, [x, per(), per(), per(), var], x.dims, 2 * (x.mag + 2) * 1.5 + 2, 3 * x.err, epsilon=eps)
    elif o == "InstanceNormalization" and x.rank >= 3 and x.dtype != T.BFLOAT16:
        g.irrational(o, [x, per(), per()], x.dims, 2 * big + 2, 2 * err, epsilon=eps)
    elif o == "GroupNormalization" and g.opset >= 18 and x.rank >= 3:
        groups = factor(g, c)[0]
        n = groups if g.opset < 21 else c
        g.irrational(o, [x, g.weights(x.dtype, [n], 2, 0.5), g.weights(x.dtype, [n], 2, 0.5)], x.dims, 2 * big + 2, 2 * err,
                     epsilon=eps, num_groups=groups)
    else:
        raise NotNow


@op(1.5)
def taken_apart(g):
    """Softmax or layer norm as exporters of older versions write them."""
    x = g.pick(not_empty, f32_or_f64, rank(1), mag(8))
    axis = x.rank - 1 if g.rng.random() < 0.7 else g.rng.randrange(x.rank)
    row = [const(1) if i == axis else d for i, d in enumerate(x.dims)]
    n = max(x.dims[axis])

    def over(name, v, m, step, err):
        if g.opset >= 18 or name == "ReduceSum":
            return g.irrational(name, [v, g.ints([axis])], row, m, err, keepdims=1)
        return g.irrational(name, [v], row, m, err, keepdims=1, axes=[axis])
    if g.rng.random() < 0.5:
        top = over("ReduceMax", x, x.mag, x.step, x.err)
        d = g.irrational("Sub", [x, top], x.dims, 2 * x.mag, 2 * x.err)
        e = g.irrational("Exp", [d], x.dims, 1, 2 * x.err)
        s = over("ReduceSum", e, n, None, n * e.err)
        y = g.irrational("Div", [e, s], x.dims, 1, e.err + s.err)
        internal = [top, d, e, s]
    else:
        m = over("ReduceMean", x, x.mag, None, x.err)
        d = g.irrational("Sub", [x, m], x.dims, 2 * x.mag, 2 * x.err)
        p = g.irrational("Mul", [d, d], x.dims, d.mag ** 2, 2 * d.mag * d.err)
        v = over("ReduceMean", p, p.mag, None, p.err)
        from graphs import NUMPY
        half = g.constant(np.array(0.5, NUMPY[x.dtype]), x.dtype)
        w = g.irrational("Add", [v, half], row, v.mag + 0.5, v.err)
        q = g.irrational("Sqrt", [w], row, math.sqrt(w.mag), w.err)
        y = g.irrational("Div", [d, q], x.dims, 1.5 * d.mag, 1.5 * d.err + 2 * d.mag * q.err)
        internal = [m, d, p, v, w, q]
    for v in internal:
        v.uses += 1
    return y


# ---- contractions ----

def dot(g, name, inputs, dims, k, **extra):
    x, y = inputs[:2]
    step = None if None in (x.step, y.step) else x.step * y.step
    m, e = k * x.mag * y.mag, k * (x.mag * y.err + y.mag * x.err)
    if step is None or e:
        e += k * x.mag * y.mag * rounding(x.dtype)
    return g.arithmetic(name, inputs, dims, max(m, x.mag * y.mag), step, e, **extra)


def epilogue(g, y, channel):
    """What often follows: bias, activation, a residual, all in the same shape."""
    r = g.rng
    for _ in range(r.choice([0, 1, 2, 3])):
        kind = r.random()
        y.uses += 1
        if kind < 0.35:
            dims = [d if i == channel else const(1) for i, d in enumerate(y.dims)]
            if channel == y.rank - 1 and r.random() < 0.5:
                dims = dims[-1:]
            b = g.operand(y.dtype, dims)
            y = g.arithmetic(r.choice(["Add", "Sub"]), [y, b], y.dims, y.mag + b.mag, finest(y, b), y.err + b.err)
        elif kind < 0.5:
            b = g.operand(y.dtype, y.dims)
            y = g.arithmetic("Add", [y, b] if r.random() < 0.5 else [b, y], y.dims, y.mag + b.mag, finest(y, b), y.err + b.err)
        elif kind < 0.7:
            y = g.node("Relu", [y], y.dims)
        elif kind < 0.8:
            dims = [d if i == channel else const(1) for i, d in enumerate(y.dims)]
            b = g.operand(y.dtype, dims, 2, 0.5)
            step = None if None in (y.step, b.step) else y.step * b.step
            y = g.arithmetic("Mul", [y, b], y.dims, y.mag * b.mag, step, y.err * b.mag + y.mag * b.err)
        elif y.mag < 60:
            y = g.irrational("Sigmoid", [y], y.dims, 1, y.err / 4)
    return y


@op(6)
def matmul(g):
    x = g.pick(floats if g.rng.random() < 0.9 else lambda v: v.dtype in (T.INT32, T.INT64), rank(1))
    k = x.dims[-1]
    r = g.rng
    kind = r.random()
    n = g.dim() if r.random() < 0.2 else const(g.size())
    if kind < 0.15:
        other = [k]
    elif kind < 0.6 or x.rank <= 2:
        other = [k, n]
    else:
        other = [d if r.random() < 0.7 else const(1) for d in x.dims[:-2]] + [k, n]
        if r.random() < 0.3:
            other = other[r.randint(0, len(other) - 2):]
    y = g.operand(x.dtype, other)
    if r.random() < 0.25 and x.rank >= 2:  # the weights come first
        m = const(g.size())
        y = g.operand(x.dtype, [m, x.dims[-2]])
        dims = list(x.dims[:-2]) + [m, x.dims[-1]]
        out = dot(g, "MatMul", [y, x], dims, max(x.dims[-2]))
        epilogue(g, out, out.rank - 1)
        return
    if x.rank == 1:
        dims = broadcast((), other[:-2]) if len(other) > 1 else []
        dims = list(other[:-2]) + ([n] if len(other) > 1 else [])
    elif len(other) == 1:
        dims = list(x.dims[:-1])
    else:
        dims = broadcast(x.dims[:-2], other[:-2]) + [x.dims[-2], n]
    out = dot(g, "MatMul", [x, y], dims, max(k))
    if out.dtype in FLOATS and out.rank:
        epilogue(g, out, out.rank - 1)


@op(4)
def gemm(g):
    x = g.pick(floats, rank(2, 2))
    ta, tb = g.rng.randint(0, 1), g.rng.randint(0, 1)
    m, k = x.dims if not ta else x.dims[::-1]
    n = const(g.size())
    y = g.operand(x.dtype, [n, k] if tb else [k, n])
    inputs = [x, y]
    alpha, beta = g.rng.choice([(1.0, 1.0), (1.0, 1.0), (0.5, 2.0)])
    extra = {}
    if alpha != 1 or g.rng.random() < 0.2:
        extra = {"alpha": alpha, "beta": beta}
    add_mag = add_err = 0
    step = finest(x, y) and x.step * y.step * min(alpha, 1)
    if g.rng.random() < 0.7:
        c = g.operand(x.dtype, g.rng.choice([[n], [const(1), n], [m, n], [m, const(1)], []]))
        inputs.append(c)
        add_mag, add_err = beta * c.mag, beta * c.err
        step = step and c.step and min(step, c.step)
    e = max(k) * (x.mag * y.err + y.mag * x.err)
    top = max(max(k), 1) * x.mag * y.mag
    if step is None or e:
        e += top * rounding(x.dtype)
    out = g.arithmetic("Gemm", inputs, [m, n], top + add_mag, step, e + add_err, transA=ta, transB=tb, **extra)
    epilogue(g, out, 1)


@op(1.5)
def einsum(g):
    x = g.pick(f32_or_f64, rank(2, 4))
    letters = "abcd"[:x.rank]
    summed = g.rng.choice(letters)
    keep = g.rng.choice([l for l in letters if l != summed])
    new = "z"
    n = const(g.size())
    dims_of = dict(zip(letters, x.dims))
    dims_of[new] = n
    y_letters = [summed, new] + ([keep] if g.rng.random() < 0.6 else [])
    g.rng.shuffle(y_letters)
    out = [l for l in letters if l != summed] + [new]
    g.rng.shuffle(out)
    if len(out) > 5:
        raise NotNow
    y = g.operand(x.dtype, [dims_of[l] for l in y_letters])
    dot(g, "Einsum", [x, y], [dims_of[l] for l in out], max(dims_of[summed]),
        equation=f"{letters},{''.join(y_letters)}->{''.join(out)}")


def window(g, n, auto, least=0):
    """kernel, stride, dilation, pads, sizes of the result for sizes n."""
    r = g.rng
    small = min(n)
    kernel = r.choice([1, 1, 2, 3, 3, 5])
    stride = r.choice([1, 1, 1, 2, 3])
    dilation = r.choice([1, 1, 1, 2]) if least == 0 else 1
    before, after = r.randint(0, min(2, kernel - 1)), r.randint(0, min(2, kernel - 1))
    if r.random() < 0.5:
        after = before
    span = dilation * (kernel - 1) + 1
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        return kernel, stride, 1, 0, 0, tuple(-(-m // stride) for m in n)
    if auto == "VALID":
        before = after = 0
    if small + before + after < span:
        raise NotNow
    return kernel, stride, dilation, before, after, tuple((m + before + after - span) // stride + 1 for m in n)


def spatial(g, x, auto, **more):
    parts = [window(g, d, auto, **more) for d in x.dims[2:]]
    extra = {"kernel_shape": [p[0] for p in parts]}
    if any(p[1] != 1 for p in parts) or g.rng.random() < 0.5:
        extra["strides"] = [p[1] for p in parts]
    if any(p[2] != 1 for p in parts):
        extra["dilations"] = [p[2] for p in parts]
    if auto:
        extra["auto_pad"] = auto
    elif any(p[3] or p[4] for p in parts):
        extra["pads"] = [p[3] for p in parts] + [p[4] for p in parts]
    return extra, [p[5] for p in parts]


def image(g):
    """An image: some value of rank 3 to 5, or a new one."""
    try:
        if g.rng.random() < 0.75:
            return g.pick(rank(3, 5), floats, not_empty, lambda v: v.dtype != T.BFLOAT16)
    except NotNow:
        pass
    r = g.rng
    if len(g.root.inputs) >= 6:
        raise NotNow
    dims = [g.dim() if r.random() < 0.3 else const(r.choice([1, 1, 2])), const(r.choice([1, 2, 3, 4, 6, 8, 16]))]
    for _ in range(r.choice([1, 2, 2, 2, 2, 3])):
        dims.append(g.dim() if r.random() < 0.3 else const(r.choice([1, 4, 5, 6, 7, 8, 9, 12])))
    for k in range(SETS):
        if math.prod(d[k] for d in dims) > 2500:
            raise NotNow
    x = g.input(T.FLOAT, dims)
    if not not_empty(x):
        raise NotNow
    return g.use(x)


@op(8)
def conv(g):
    x = image(g)
    c = x.fixed(1)
    if c is None:
        raise NotNow
    r = g.rng
    kind = r.random()
    group = 1 if kind < 0.55 else c if kind < 0.8 else factor(g, c)[0]
    m = group * r.choice([1, 1, 1, 2, 3, 4, 8]) if group > 1 else r.choice([1, 2, 3, 4, 5, 8, 12, 16, 17])
    auto = r.choice([""] * 6 + ["SAME_UPPER", "SAME_LOWER", "VALID"])
    extra, out = spatial(g, x, auto)
    shape = [m, c // group] + extra["kernel_shape"]
    if r.random() < 0.85 or len(g.root.inputs) > 5:
        w = g.weights(x.dtype, shape)
    else:
        w = g.input(x.dtype, [const(s) for s in shape], free=False)
    inputs = [x, w]
    k = math.prod(shape[1:])
    top, err = max(k, 1) * x.mag * w.mag, k * (x.mag * w.err + w.mag * x.err)
    step = finest(x, w) and x.step * w.step
    if step is None or err:
        err += top * rounding(x.dtype)
    if r.random() < 0.6:
        b = g.weights(x.dtype, [m])
        inputs.append(b)
        top += b.mag
        step = step and b.step and min(step, b.step)
    if group != 1:
        extra["group"] = group
    y = g.arithmetic("Conv", inputs, [x.dims[0], const(m)] + out, top, step, err, **extra)
    if r.random() < 0.2 and y.dtype != T.BFLOAT16:
        y.uses += 1
        per = lambda: g.weights(y.dtype, [m], 2, 0.5)
        var = g.constant(np.abs(g.fill(y.dtype, [m], 3, 0.5)), y.dtype)
        y = g.irrational("BatchNormalization", [y, per(), per(), per(), var], y.dims, 3 * (y.mag + 2) + 2, 3 * y.err,
                         epsilon=0.5)
    epilogue(g, y, 1)


@op(1)
def conv_transpose(g):
    x = image(g)
    c = x.fixed(1)
    if c is None or x.rank > 4:
        raise NotNow
    r = g.rng
    group = factor(g, c)[0] if r.random() < 0.3 else 1
    m = r.choice([1, 2, 3, 4, 8])
    kernel = [r.choice([1, 2, 3]) for _ in x.dims[2:]]
    strides = [r.choice([1, 2, 2, 3]) for _ in x.dims[2:]]
    pads = [r.randint(0, k - 1) for k in kernel]
    extra_out = [r.randint(0, s - 1) if r.random() < 0.3 else 0 for s in strides]
    out = []
    for d, k, s, p, o in zip(x.dims[2:], kernel, strides, pads, extra_out):
        out.append(tuple(s * (n - 1) + k - 2 * p + o for n in d))
    if any(n <= 0 for d in out for n in d):
        raise NotNow
    w = g.weights(x.dtype, [c, m] + kernel)
    k = c * math.prod(kernel)
    top, err = k * x.mag * w.mag, k * w.mag * x.err
    step = finest(x, w) and x.step * w.step
    if step is None or err:
        err += top * rounding(x.dtype)
    inputs = [x, w]
    if r.random() < 0.4:
        b = g.weights(x.dtype, [m * group])
        inputs.append(b)
        top += b.mag
        step = step and b.step and min(step, b.step)
    extra = {"strides": strides, "pads": pads + pads}
    if any(extra_out):
        extra["output_padding"] = extra_out
    if group > 1:
        extra["group"] = group
    g.arithmetic("ConvTranspose", inputs, [x.dims[0], const(m * group)] + out, top, step, err, **extra)


@op(4)
def pool(g):
    x = image(g)
    o = g.rng.choice(["MaxPool", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"])
    if o.startswith("Global"):
        dims = list(x.dims[:2]) + [const(1)] * (x.rank - 2)
        if o == "GlobalMaxPool":
            g.node(o, [x], dims)
        else:
            g.irrational(o, [x], dims, x.mag, x.err + 4 * x.mag * rounding(x.dtype))
        return
    auto = g.rng.choice([""] * 5 + ["SAME_UPPER", "VALID"])
    extra, out = spatial(g, x, auto, least=0 if o == "MaxPool" else 1)
    dims = list(x.dims[:2]) + out
    if o == "MaxPool":
        g.node(o, [x], dims, **extra)
    else:
        g.irrational(o, [x], dims, x.mag, x.err, count_include_pad=g.rng.randint(0, 1), **extra)


# ---- quantised ----

@op(1.5)
def quantise(g):
    x = g.pick(f32, exact, not_empty)
    to = g.rng.choice([T.INT8, T.UINT8])
    from graphs import NUMPY
    scale = g.constant(np.array(g.rng.choice([0.25, 0.5, 1.0]), np.float32), T.FLOAT)
    zero = g.constant(np.array(g.rng.choice([0, 3]), NUMPY[to]), to)
    q = g.node("QuantizeLinear", [x, scale, zero], x.dims, dtype=to, mag=2.0 ** BITS[to], step=1)
    if g.rng.random() < 0.7:
        q.uses += 1
        s = float(scale.data)
        g.arithmetic("DequantizeLinear", [q, scale, zero], x.dims, s * 260, s, dtype=T.FLOAT)


@op(1.5)
def integer_product(g):
    x = g.pick(lambda v: v.dtype in (T.INT8, T.UINT8), rank(2, 4), not_empty)
    from graphs import NUMPY
    if g.rng.random() < 0.5 or x.rank < 3 or x.fixed(1) is None:
        n = const(g.size() or 1)
        w = g.operand(g.rng.choice([T.INT8, T.UINT8]), [x.dims[-1], n])
        inputs = [x, w]
        if g.rng.random() < 0.6:
            inputs.append(g.constant(np.array(3, NUMPY[x.dtype]), x.dtype))
            if g.rng.random() < 0.5:
                inputs.append(g.constant(np.array(2, NUMPY[w.dtype]), w.dtype))
        g.node("MatMulInteger", inputs, list(x.dims[:-1]) + [n], dtype=T.INT32, mag=7e4 * max(x.dims[-1]), step=1)
    else:
        extra, out = spatial(g, x, "")
        m = g.rng.choice([1, 2, 4])
        w = g.weights(g.rng.choice([T.INT8, T.UINT8]), [m, x.fixed(1)] + extra["kernel_shape"])
        inputs = [x, w]
        if g.rng.random() < 0.6:
            inputs.append(g.constant(np.array(3, NUMPY[x.dtype]), x.dtype))
        g.node("ConvInteger", inputs, [x.dims[0], const(m)] + out, dtype=T.INT32, mag=1e7, step=1, **extra)


# ---- control flow, recurrence, attention ----

@op(3)
def branch(g):
    """If: both branches see the values around them; their results may differ in size when the condition is known to
    the generator."""
    if g.parent and g.parent.parent or g.rng.random() < 0.3:
        raise NotNow
    r = g.rng
    taken = None
    if r.random() < 0.6 and len(g.root.inputs) < 7:
        taken = [r.random() < 0.5 for _ in range(SETS)]
        dims = r.choice([[], [const(1)]])
        cond = g.input(T.BOOL, dims, 1, 1, data=[np.array([t]) for t in taken], free=False)
        cond.uses += 1
    else:
        x = g.pick(exact, f32, not_empty)
        total = g.arithmetic("ReduceSum", [x], [], max(product(x.dims)) * x.mag, x.step, keepdims=0)
        if total.err:
            raise NotNow
        zero = g.constant(np.array(0, np.float32), T.FLOAT)
        total.uses += 1
        cond = g.node("Greater", [total, zero], [], dtype=T.BOOL, mag=1, step=1)
        cond.uses += 1
    bodies = []
    for _ in range(2):
        b = Graph(0, parent=g)
        grow(b, ALL, r.randint(1, 4))
        if not b.nodes:
            raise NotNow
        bodies.append(b)
    pairs = []
    for x in bodies[0].values[::-1]:
        for y in bodies[1].values[::-1]:
            if x.dtype == y.dtype and x.rank == y.rank and (taken or x.dims == y.dims) and not any(
                    x is p or y is q for p, q in pairs):
                pairs.append((x, y))
    if not pairs:
        # the second branch hands the first one's kind of value on from outside
        x = bodies[0].values[-1]
        y = Value("", x.dtype, x.dims, *g.fresh_range(x.dtype))
        source = bodies[1].operand(x.dtype, x.dims)
        bodies[1].node("Identity", [source], source.dims)
        pairs = [(x, bodies[1].values[-1])]
    pairs = pairs[:r.choice([1, 1, 2])]
    graphs = []
    for i, b in enumerate(bodies):
        outs = [helper.make_tensor_value_info(p[i].name, p[i].dtype, None) for p in pairs]
        graphs.append(helper.make_graph(b.nodes, f"branch{i}", [], outs))
    made = []
    for x, y in pairs:
        dims = x.dims
        if taken:
            dims = [tuple((a if taken[k] else b)[k] for k in range(SETS)) for a, b in zip(x.dims, y.dims)]
        made.append(Value(g.name(), x.dtype, dims, max(x.mag, y.mag), finest(x, y) if x.is_float else 1, max(x.err, y.err)))
    g.nodes.append(helper.make_node("If", [cond.name], [v.name for v in made], name=g.name("If"), then_branch=graphs[0],
                                    else_branch=graphs[1]))
    for v in made:
        g.add(v)


@op(1)
def recurrent(g):
    x = g.pick(f32, rank(3, 3), not_empty, mag(8))
    seq, batch, width = x.dims
    if len(set(width)) > 1 or max(seq) > 9 or x.err:
        raise NotNow
    o, gates = g.rng.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    hidden = g.rng.choice([1, 2, 4, 5, 8])
    two_way = g.rng.random() < 0.3
    d = 2 if two_way else 1
    w = g.weights(T.FLOAT, [d, gates * hidden, width[0]], 1, 0.25)
    u = g.weights(T.FLOAT, [d, gates * hidden, hidden], 0.5, 0.125)
    inputs = [x, w, u]
    if g.rng.random() < 0.7:
        inputs.append(g.weights(T.FLOAT, [d, 2 * gates * hidden], 1, 0.25))
    extra = {"hidden_size": hidden, "direction": "bidirectional" if two_way else g.rng.choice(["forward", "reverse"])}
    if o == "GRU":
        extra["linear_before_reset"] = g.rng.randint(0, 1)
    state = [const(d), batch, const(hidden)]
    ys = g.node(o, inputs, [[seq, const(d), batch, const(hidden)]] + [state] * (2 if o == "LSTM" else 1),
                outputs=3 if o == "LSTM" else 2, mag=1 if o != "LSTM" else 10, step=None, err=1e-4, **extra)
    return ys


@op(1)
def attention(g):
    if g.opset < 23:
        raise NotNow
    x = g.pick(f32, rank(4, 4), not_empty, static, mag(8))
    b, h, s, e = sizes(x)
    t = g.rng.choice([1, 3, 8])
    k = g.operand(T.FLOAT, [const(b), const(h), const(t), const(e)])
    v = g.operand(T.FLOAT, [const(b), const(h), const(t), const(e)])
    if x.mag * k.mag * e > 200 or x.err or k.err:
        raise NotNow
    g.irrational("Attention", [x, k, v], x.dims, v.mag, v.err + 1e-4 * v.mag)
