# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, and what exporters make of shapes."""
import math

import numpy as np

from graphs import NotNow, SETS, T, const
from operations.common import finest, floats, mag, not_empty, numeric, op, rank, sizes, static


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
