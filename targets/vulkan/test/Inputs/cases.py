# SPDX-License-Identifier: Apache-2.0
"""cases.py NAME FOLDER: a model, inputs, and numpy's answers as a case."""
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def f64():
    """exp and tanh of 64-bit floats."""
    x = np.concatenate([np.linspace(-700, 700, 281), np.linspace(-1, 1, 101), [1e-3, -1e-3, 9.7e-4, 1e-8, -1e-300, 0, 709.7, -708.3]])
    values = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [len(x)]) for name in ("x", "e", "t")]
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Tanh", ["x"], ["t"])]
    return nodes, values[:1], values[1:], [x], [np.exp(x), np.tanh(x)], {"rtol": 1e-12, "atol": 0}


def computed():
    """An output whose size is in an input: the device has no memory for it before the run."""
    x, shape = np.arange(3, dtype=np.float32), np.array([5000, 3])
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]), helper.make_tensor_value_info("shape", TensorProto.INT64, [2]),
              helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", "columns"])]
    nodes = [helper.make_node("Expand", ["x", "shape"], ["wide"]), helper.make_node("Neg", ["wide"], ["y"])]
    return nodes, values[:2], values[2:], [x, shape], [np.broadcast_to(-x, shape)], {"exact": True}


nodes, inputs, outputs, given, wanted, expect = {"f64": f64, "computed": computed}[sys.argv[1]]()
out = pathlib.Path(sys.argv[2])
data = out / "test_data_set_0"
data.mkdir(parents=True)
graph = helper.make_graph(nodes, "g", inputs, outputs)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), out / "model.onnx")
(out / "expect.json").write_text(json.dumps(expect))
for side, values in (("input", given), ("output", wanted)):
    for i, value in enumerate(values):
        (data / f"{side}_{i}.pb").write_bytes(numpy_helper.from_array(np.ascontiguousarray(value)).SerializeToString())
