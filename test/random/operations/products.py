# SPDX-License-Identifier: Apache-2.0
"""Contractions, convolutions and pooling, with what follows them; the same on quantised numbers."""
import math

import numpy as np

from graphs import BITS, FLOATS, NotNow, SETS, T, const, rounding
from operations.common import broadcast, exact, f32, f32_or_f64, finest, floats, not_empty, op, rank
from operations.movement import factor


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
