# SPDX-License-Identifier: Apache-2.0
"""Reductions, norms, and what else is done to rows."""
import math

import numpy as np

from graphs import INTS, NotNow, SETS, T, const, rounding
from operations.common import exact, f32_or_f64, floats, mag, not_empty, numeric, op, rank, sizes
from operations.movement import factor, product


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
