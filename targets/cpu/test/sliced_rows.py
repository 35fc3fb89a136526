# SPDX-License-Identifier: Apache-2.0
# sliced_rows.py FOLDER: products whose left side is a part of another tensor, so that its rows do not lie at one distance.
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main(folder):
    rng = np.random.default_rng(0)
    f32 = lambda name, *dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    for batch, all_rows, rows, inner, columns in ((2, 12, 9, 32, 32), (2, 3, 1, 8, 8), (3, 5, 4, 16, 24), (4, 20, 14, 64, 64), (2, 40, 17, 33, 7)):
        ints = lambda name, *values: numpy_helper.from_array(np.array(values, np.int64), name)
        weights = [numpy_helper.from_array(rng.normal(size=(inner, columns)).astype(np.float32), "w"),
                   numpy_helper.from_array(rng.normal(size=columns).astype(np.float32), "b"), ints("from", 1), ints("to", 1 + rows), ints("axis", 1)]
        nodes = [helper.make_node("Softmax", ["x"], ["s"], axis=-1, name="softmax"), helper.make_node("Slice", ["s", "from", "to", "axis"], ["p"]),
                 helper.make_node("MatMul", ["p", "w"], ["m"], name="product"), helper.make_node("Add", ["m", "b"], ["n"]),
                 helper.make_node("Add", ["n", "r"], ["y"])]
        graph = helper.make_graph(nodes, "sliced", [f32("x", batch, all_rows, inner), f32("r", batch, rows, columns)], [f32("y", batch, rows, columns)],
                                  weights)
        out = pathlib.Path(folder) / f"rows{rows}"
        out.mkdir(parents=True)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), out / "model.onnx")


main(*sys.argv[1:])
