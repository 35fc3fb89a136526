# SPDX-License-Identifier: Apache-2.0
# data_sizes.py OUT: cases whose sizes are data without a bound, and indices that are out of range.
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models import case, f32, model


def scalar(name, dtype=TensorProto.INT64):
    return helper.make_tensor_value_info(name, dtype, [])


def ints(name, value):
    return numpy_helper.from_array(np.array(value, np.int64), name)


ZERO, ONE, ROW, COLUMN = ints("zero", 0), ints("one", 1), ints("row", [1, -1]), ints("column", [-1, 1])


def ramp(limit, to):
    """softmax(0 .. limit - 1), which needs memory for all of it."""
    return [helper.make_node("Range", ["zero", limit, "one"], [f"{to}_i"], name=f"{to}_range"),
            helper.make_node("Cast", [f"{to}_i"], [f"{to}_f"], to=TensorProto.FLOAT),
            helper.make_node("Softmax", [f"{to}_f"], [to], axis=0, name=f"{to}_softmax")]


def softmax(n):
    e = np.exp(np.arange(n, dtype=np.float64) - max(n - 1, 0))
    return e / e.sum() if n else e


def two_steps():
    """The first size is an input; the second is computed from what the first gave: 10 times a sum of squares, rounded up."""
    nodes = [*ramp("limit", "a"),
             helper.make_node("Reshape", ["a", "row"], ["ar"]), helper.make_node("Reshape", ["a", "column"], ["ac"]),
             helper.make_node("MatMul", ["ar", "ac"], ["product"], name="product"),
             helper.make_node("Mul", ["product", "ten"], ["scaled"]), helper.make_node("Ceil", ["scaled"], ["up"]),
             helper.make_node("Cast", ["up"], ["count"], to=TensorProto.INT64), helper.make_node("Squeeze", ["count"], ["second"]),
             *ramp("second", "b"),
             helper.make_node("ReduceMax", ["a"], ["am"], keepdims=0), helper.make_node("ReduceMax", ["b"], ["bm"], keepdims=0),
             helper.make_node("Sub", ["am", "bm"], ["y"])]
    ten = numpy_helper.from_array(np.array(10, np.float32), "ten")
    m = model(nodes, [scalar("limit")], [f32("y")], [ZERO, ONE, ROW, COLUMN, ten])

    def answer(n):
        a = softmax(n)
        b = softmax(int(np.ceil(10 * (a * a).sum())))
        return np.array(a.max() - b.max(), np.float32)
    return m, [([np.array(n, np.int64)], [answer(n)]) for n in (3, 1, 40000)]


def turns():
    """Each turn of a loop needs another size, and a branch in it one of its own."""
    longer = helper.make_graph([helper.make_node("Add", ["size", "size"], ["twice"]), *ramp("twice", "c"),
                                helper.make_node("ReduceMax", ["c"], ["most"], keepdims=0)], "longer", [], [f32("most")])
    shorter = helper.make_graph([helper.make_node("ReduceMax", ["a"], ["least"], keepdims=0)], "shorter", [], [f32("least")])
    body = helper.make_graph([helper.make_node("Identity", ["again"], ["go"]), helper.make_node("Add", ["i", "first"], ["size"]), *ramp("size", "a"),
                              helper.make_node("Greater", ["size", "limit"], ["long"]),
                              helper.make_node("If", ["long"], ["v"], then_branch=longer, else_branch=shorter),
                              helper.make_node("Add", ["sum", "v"], ["next"])], "body",
                             [scalar("i"), scalar("again", TensorProto.BOOL), f32("sum")], [scalar("go", TensorProto.BOOL), f32("next")])
    nodes = [helper.make_node("Loop", ["count", "", "start"], ["y"], name="loop", body=body)]
    start = numpy_helper.from_array(np.array(0, np.float32), "start")
    m = model(nodes, [scalar("count"), scalar("first"), scalar("limit")], [f32("y")], [ZERO, ONE, start])

    def answer(count, first, limit):
        sizes = [i + first for i in range(count)]
        return np.array(sum(softmax(2 * s if s > limit else s).max() for s in sizes), np.float32)
    return m, [([np.array(v, np.int64) for v in t], [answer(*t)]) for t in ((5, 2, 4), (0, 1, 1), (3, 70, 71))]


def reshaped_output():
    """What is written is the output under another shape, of which the run learns only later."""
    nodes = [*ramp("limit", "a"), helper.make_node("Concat", ["first", "last"], ["shape"], axis=0),
             helper.make_node("Reshape", ["a", "shape"], ["y"])]
    minus = ints("last", [-1])
    m = model(nodes, [scalar("limit"), helper.make_tensor_value_info("first", TensorProto.INT64, [1])], [f32("y", None, None)], [ZERO, ONE, minus])
    return m, [([np.array(n, np.int64), np.array([k], np.int64)], [softmax(n).astype(np.float32).reshape(k, -1)]) for n, k in ((6, 2), (6, 3))]


def decoder(early):
    """A loop that collects what it makes, and looks at all of it in each turn; with `early` it may end before its limit."""
    rows = [helper.make_node("Concat", ["seen", "row"], ["more"], axis=1, name="collect"),
            helper.make_node("Softmax", ["more"], ["s"], axis=1, name="weigh"),
            helper.make_node("Mul", ["s", "more"], ["sm"]), helper.make_node("ReduceSum", ["sm", "one1"], ["next"], keepdims=1),
            helper.make_node("Add", ["i", "ten"], ["token"]), helper.make_node("Unsqueeze", ["token", "zero1"], ["token1"]),
            helper.make_node("Concat", ["token1", "tokens"], ["longer"], axis=0, name="put_before"),
            helper.make_node("Add", ["next", "step"], ["nrow"]),
            helper.make_node("Less", ["i", "last"], ["go"]) if early else helper.make_node("Identity", ["again"], ["go"])]
    body = helper.make_graph(rows, "body", [scalar("i"), scalar("again", TensorProto.BOOL), f32("seen", 1, None, 2), f32("row", 1, 1, 2),
                                            helper.make_tensor_value_info("tokens", TensorProto.INT64, [None])],
                             [scalar("go", TensorProto.BOOL), f32("more", 1, None, 2), f32("nrow", 1, 1, 2),
                              helper.make_tensor_value_info("longer", TensorProto.INT64, [None])])
    nodes = [helper.make_node("Loop", ["count", "", "none", "x", "tokens0"], ["y", "end", "t"], name="loop", body=body)]
    weights = [numpy_helper.from_array(np.zeros((1, 0, 2), np.float32), "none"), ints("tokens0", [7]), ints("one1", [1]), ints("zero1", [0]),
               ints("ten", 10), numpy_helper.from_array(np.array(0.5, np.float32), "step")]
    m = model(nodes, [scalar("count"), f32("x", 1, 1, 2), scalar("last")],
              [f32("y", 1, None, 2), f32("end", 1, 1, 2), helper.make_tensor_value_info("t", TensorProto.INT64, [None])], weights)

    def answer(count, x, last):
        seen, row, tokens = np.zeros((1, 0, 2)), x.astype(np.float64), [7]
        for i in range(min(count, last + 1) if early else count):
            seen = np.concatenate([seen, row], 1)
            e = np.exp(seen - seen.max(1, keepdims=True))
            row = (e / e.sum(1, keepdims=True) * seen).sum(1, keepdims=True) + 0.5
            tokens = [i + 10] + tokens
        return [seen.astype(np.float32), row.astype(np.float32), np.array(tokens, np.int64)]
    x = np.array([[[1, -2]]], np.float32)
    return m, [([np.array(c, np.int64), x, np.array(k, np.int64)], answer(c, x, k)) for c, k in ((6, 3), (0, 1), (40, 100))]


def positions():
    """As many rows of a table as there are tokens: sizes that must be equal, though one is cut at the size of the table."""
    table = numpy_helper.from_array(np.arange(32, dtype=np.float32).reshape(16, 2), "table")
    nodes = [helper.make_node("Shape", ["x"], ["all"]), helper.make_node("Gather", ["all", "one1"], ["seq"]),
             helper.make_node("Slice", ["table", "zero1", "seq"], ["rows"]), helper.make_node("Add", ["x", "rows"], ["s"], name="add"),
             helper.make_node("Softmax", ["s"], ["y"], axis=1)]
    m = model(nodes, [f32("x", "batch", "seq", 2)], [f32("y", "batch", "seq", 2)], [table, ints("zero1", [0]), ints("one1", [1])])

    def answer(x):
        s = x + np.arange(32).reshape(16, 2)[:x.shape[1]]
        e = np.exp(s - s.max(1, keepdims=True))
        return [(e / e.sum(1, keepdims=True)).astype(np.float32)]
    xs = [np.linspace(-3, 3, 4 * n, dtype=np.float32).reshape(2, n, 2) for n in (5, 1, 16)]
    return m, [([x], answer(x)) for x in xs]


def gather(op, index, axis_size=5, **attributes):
    data = f32("x", *([axis_size] * (2 if op == "GatherND" else 1)))
    index = np.array(index, np.int64)
    m = model([helper.make_node(op, ["x", "i"], ["y"], name="pick", **attributes)],
              [data, helper.make_tensor_value_info("i", TensorProto.INT64, index.shape)], [f32("y", *[None] * index.ndim)])
    return m, [([np.ones([axis_size] * (2 if op == "GatherND" else 1), np.float32), index], [])]


def scatter(op, index):
    index = np.array(index, np.int64)
    updates = [len(index)]
    m = model([helper.make_node(op, ["x", "i", "u"], ["y"], name="put")],
              [f32("x", 5), helper.make_tensor_value_info("i", TensorProto.INT64, index.shape), f32("u", *updates)], [f32("y", 5)])
    return m, [([np.ones(5, np.float32), index, np.zeros(updates, np.float32)], [])]


def main(out):
    out = pathlib.Path(out)
    for f in (two_steps, turns, reshaped_output):
        case(out / f.__name__, *f())
    case(out / "decoder", *decoder(False))
    case(out / "early", *decoder(True))
    case(out / "positions", *positions())
    case(out / "wrong" / "too_many_positions", positions()[0], [([np.zeros((1, 17, 2), np.float32)], [])], {"error": "run"})
    wrong = {"too_large": two_steps()[0], "negative": reshaped_output()[0]}
    case(out / "wrong" / "too_large", wrong["too_large"], [([np.array(1 << 61, np.int64)], [])], {"error": "run"})
    case(out / "wrong" / "negative", wrong["negative"], [([np.array(6, np.int64), np.array([-3], np.int64)], [])], {"error": "run"})
    for name, (m, data) in {"gather": gather("Gather", [0, 5]), "gather_negative": gather("Gather", [-6]), "gather_scalar": gather("Gather", 7),
                            "gather_elements": gather("GatherElements", [1, 5]), "gather_nd": gather("GatherND", [[0, 1], [2, 5]]),
                            "scatter_elements": scatter("ScatterElements", [5]), "scatter_nd": scatter("ScatterND", [[-6]])}.items():
        case(out / "wrong" / name, m, data, {"error": "run"})
    for op in ("Gather", "GatherElements"):
        m, _ = gather(op, [4, 5])
        del m.graph.input[1]
        m.graph.initializer.append(ints("i", [4, 5]))
        onnx.save(m, out / f"{op}.onnx")


if __name__ == "__main__":
    main(*sys.argv[1:])
