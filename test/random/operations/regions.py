# SPDX-License-Identifier: Apache-2.0
"""Control flow, recurrent layers, attention."""
import numpy as np
from onnx import helper

from graphs import Graph, NotNow, SETS, T, Value, const, grow
from operations.common import ALL, exact, f32, finest, mag, not_empty, op, rank, sizes, static
from operations.movement import product


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
