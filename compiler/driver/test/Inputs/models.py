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


def two_sizes():
    return model([helper.make_node("Add", ["x", "y"], ["z"], name="sum")], [f32("x", "n"), f32("y", "m")], [f32("z", "k")])


def bad_product():
    w = numpy_helper.from_array(np.zeros((4, 2), np.float32), "w")
    return model([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [f32("x", 1, 3)], [f32("y", 1, 2)], [w])


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


def main(name, out):
    out = pathlib.Path(out)
    if name == "cases":
        cases(out)
    elif name == "large":
        large(out, False)
    elif name == "external":
        large(out, True)
    elif name == "npy":
        np.save(out, np.array([[1, -2, 3], [0, 0, 1]], np.float32))
    else:
        onnx.save({"relu": relu, "product": product, "two_sizes": two_sizes, "bad_product": bad_product}[name](), out)


main(*sys.argv[1:])
