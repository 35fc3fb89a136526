# SPDX-License-Identifier: Apache-2.0
# models.py NAME OUT: small models and cases for the tests of the command line.
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def f32(name, *dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def relu(op="Relu", dims=("batch", 3)):
    return model([helper.make_node(op, ["x"], ["y"], name="act")], [f32("x", *dims)], [f32("y", *dims)])


def product():
    w = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), "w")
    return model([helper.make_node("MatMul", ["x", "w"], ["h"], name="fc"), helper.make_node("Relu", ["h"], ["y"], name="act")],
                 [f32("x", "batch", 3)], [f32("y", "batch", 2)], [w])


def branches(*rows):
    """c picks one of two products, which take inputs of another width each."""
    def branch(name, rows):
        w = numpy_helper.from_array(np.ones((rows, 2), np.float32), f"w_{name}")
        node = helper.make_node("MatMul", ["x", w.name], [f"y_{name}"], name=f"fc_{name}")
        return helper.make_graph([node], name, [], [f32(f"y_{name}", None, 2)], [w])
    c = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    choice = helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branch("yes", rows[0]), else_branch=branch("no", rows[1]))
    return model([choice], [f32("x", "batch", "width"), c], [f32("y", "batch", 2)])


def labels(strings=False):
    """A classifier as exporters write it: a label, and the scores as a list of maps."""
    def keys(ints):
        return {"classlabels_strings": ["cat", "dog"]} if strings else {ints: [3, 5]}

    label = TensorProto.STRING if strings else TensorProto.INT64
    nodes = [helper.make_node("LinearClassifier", ["x"], ["label", "scores"], name="classify", domain="ai.onnx.ml",
                              coefficients=[1.0, -1.0, 2.0, -2.0, 0.5, -0.5], intercepts=[0.0, 0.1], post_transform="SOFTMAX",
                              **keys("classlabels_ints")),
             helper.make_node("ZipMap", ["scores"], ["maps"], name="zip", domain="ai.onnx.ml", **keys("classlabels_int64s"))]
    maps = helper.make_value_info("maps", helper.make_sequence_type_proto(helper.make_map_type_proto(
        label, helper.make_tensor_type_proto(TensorProto.FLOAT, []))))
    m = model(nodes, [f32("x", "batch", 3)], [helper.make_tensor_value_info("label", label, ["batch"]), maps])
    m.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    return m


def words():
    """Strings become numbers, numbers become scores."""
    nodes = [helper.make_node("LabelEncoder", ["word"], ["number"], name="encode", domain="ai.onnx.ml",
                              keys_strings=["a", "b"], values_floats=[1.0, 2.0]),
             helper.make_node("Relu", ["number"], ["y"], name="act")]
    m = model(nodes, [helper.make_tensor_value_info("word", TensorProto.STRING, ["batch"])], [f32("y", "batch")])
    m.graph.value_info.append(f32("number", "batch"))
    m.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2))
    return m


def two_sizes():
    return model([helper.make_node("Add", ["x", "y"], ["z"], name="sum")], [f32("x", "n"), f32("y", "m")], [f32("z", "k")])


def free_batches():
    return model([helper.make_node("Einsum", ["x", "y"], ["z"], name="product", equation="...ij,...jk->...ik")],
                 [f32("x", "n", 1, 2), f32("y", "m", 2, 1)], [f32("z", "k", 1, 1)])


def bad_product():
    w = numpy_helper.from_array(np.zeros((4, 2), np.float32), "w")
    return model([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [f32("x", 1, 3)], [f32("y", 1, 2)], [w])


def huge_fill():
    # 2^40 elements, of which one number is made.
    shape = numpy_helper.from_array(np.array([1 << 20, 1 << 20], np.int64), "shape")
    nodes = [helper.make_node("ConstantOfShape", ["shape"], ["ones"], name="fill", value=numpy_helper.from_array(np.ones(1, np.float32))),
             helper.make_node("ReduceMax", ["ones"], ["one"], name="most", keepdims=0),
             helper.make_node("Add", ["x", "one"], ["y"], name="add")]
    return model(nodes, [f32("x", 3)], [f32("y", 3)], [shape])


def long_loop(grows=False):
    # 2^62 turns; the carried value doubles, or becomes longer.
    turns = numpy_helper.from_array(np.array(1 << 62, np.int64), "turns")
    start = numpy_helper.from_array(np.ones(1, np.float32), "start")
    step = helper.make_node("Concat", ["v", "v"], ["next"], axis=0) if grows else helper.make_node("Add", ["v", "v"], ["next"])
    body = helper.make_graph([helper.make_node("Identity", ["again"], ["go"]), step], "body",
                             [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                              helper.make_tensor_value_info("again", TensorProto.BOOL, []), f32("v", None)],
                             [helper.make_tensor_value_info("go", TensorProto.BOOL, []), f32("next", None)])
    nodes = [helper.make_node("Loop", ["turns", "", "start"], ["last"], name="loop", body=body),
             helper.make_node("Add", ["x", "last"], ["y"])]
    return model(nodes, [f32("x", 3)], [f32("y", 3)], [turns, start])


def wide_resize():
    sizes = numpy_helper.from_array(np.array([1, 1, 1 << 36, 2], np.int64), "sizes")
    nodes = [helper.make_node("Resize", ["x", "", "", "sizes"], ["wide"], name="wide", mode="linear"),
             helper.make_node("ReduceMax", ["wide"], ["y"], keepdims=0)]
    return model(nodes, [f32("x", 1, 1, 3, 2)], [f32("y")], [sizes])


def growing_loop():
    return long_loop(grows=True)


def shared_sizes(steps=60):
    """The size of each step stands twice in that of the next: 2^60 ways lead from the last to the first."""
    nodes, x = [], "x"
    for k in range(steps):
        nodes += [helper.make_node("Shape", [x], [f"s{k}"]), helper.make_node("Concat", [x, x], [f"c{k}"], axis=0),
                  helper.make_node("Div", [f"s{k}", "two"], [f"h{k}"]), helper.make_node("Add", [f"h{k}", f"s{k}"], [f"e{k}"]),
                  helper.make_node("Slice", [f"c{k}", "zero", f"e{k}"], [f"x{k}"])]
        x = f"x{k}"
    nodes.append(helper.make_node("Softmax", [x], ["y"], axis=0))
    lists = [numpy_helper.from_array(np.array([v], np.int64), n) for n, v in (("zero", 0), ("two", 2))]
    return model(nodes, [f32("x", "n")], [f32("y", None)], lists)


def chosen():
    """Places of positive elements: how many there are is data, and no more than there are elements."""
    zero = numpy_helper.from_array(np.float32(0), "zero")
    return model([helper.make_node("Greater", ["x", "zero"], ["p"], name="positive"),
                  helper.make_node("NonZero", ["p"], ["y"], name="places")],
                 [f32("x", "rows", "columns")], [helper.make_tensor_value_info("y", TensorProto.INT64, [2, "found"])], [zero])


def counting():
    """As many elements as the input says."""
    number = lambda name, v: numpy_helper.from_array(np.int64(v), name)
    n, y = (helper.make_tensor_value_info(name, TensorProto.INT64, dims) for name, dims in (("n", []), ("y", ["count"])))
    return model([helper.make_node("Range", ["zero", "n", "one"], ["y"], name="count")], [n], [y], [number("zero", 0), number("one", 1)])


def case(folder, m, data=None, expect=None):
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(m, folder / "model.onnx")
    if expect is not None:
        (folder / "expect.json").write_text(json.dumps(expect))
    for k, (inputs, outputs) in enumerate(data or []):
        d = folder / f"test_data_set_{k}"
        d.mkdir(exist_ok=True)
        for side, values in (("input", inputs), ("output", outputs)):
            for i, v in enumerate(values):
                (d / f"{side}_{i}.pb").write_bytes(numpy_helper.from_array(v).SerializeToString())


def cases(out):
    x = np.array([[-1, 0, 2]], np.float32)
    y = np.maximum(x, 0)
    case(out / "right", relu(), [([x], [y])])
    case(out / "wrong", relu(), [([x], [y + 1])])
    case(out / "second_set_wrong", relu(), [([x], [y]), ([x], [y - 1])])
    case(out / "loose", relu(), [([x], [y + 0.25])], {"max_rel": 0.2})
    case(out / "no_data", relu())
    case(out / "inputs_only", relu(), [([x], []), ([-x], [])])
    case(out / "refused", bad_product(), None, {"error": "compile"})
    case(out / "refused_elsewhere", bad_product(), None, {"error": "run"})
    case(out / "accepted", relu(), [([x], [y])], {"error": "any"})
    # The operator exists, and is not there yet or will be: either way this is no reason of the model's own.
    case(out / "unsupported", relu("ImageDecoder"), None, {"error": "compile"})
    case(out / "no_such_operator", relu("NotAnOperator"), None, {"error": "compile"})


def large(out, external):
    # One weight of 100 MB that is never read.
    w = numpy_helper.from_array(np.ones((25_000_000,), np.float32), "w")
    m = model([helper.make_node("Add", ["x", "w"], ["y"])], [f32("x", 25_000_000)], [f32("y", 25_000_000)], [w])
    onnx.save(m, out, save_as_external_data=external, location="weights.bin")


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def beyond2g(out):
    # More than protobuf itself can hold, in a file with a hole: fields of ModelProto, GraphProto and TensorProto by hand.
    n = 600_000_000
    raw = 4 * n
    tensor = onnx.TensorProto(dims=[n], data_type=TensorProto.FLOAT, name="w").SerializeToString() + varint(9 << 3 | 2) + varint(raw)
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [f32("x", n)], [f32("y", n)]).SerializeToString()
    graph += varint(5 << 3 | 2) + varint(len(tensor) + raw) + tensor
    head = onnx.ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 17)]).SerializeToString()
    head += varint(7 << 3 | 2) + varint(len(graph) + raw) + graph
    with open(out, "wb") as file:
        file.write(head)
        file.truncate(len(head) + raw)


def main(name, out):
    out = pathlib.Path(out)
    if name == "cases":
        cases(out)
    elif name == "large":
        large(out, False)
    elif name == "external":
        large(out, True)
    elif name == "beyond2g":
        beyond2g(out)
    elif name == "npy":
        np.save(out, np.array([[1, -2, 3], [0, 0, 1]], np.float32))
    else:
        special = {"branches": lambda: branches(3, 4), "no_branch": lambda: branches(4, 5), "string_labels": lambda: labels(strings=True)}
        onnx.save((special.get(name) or globals()[name])(), out)


if __name__ == "__main__":
    main(*sys.argv[1:])
