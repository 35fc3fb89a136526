# SPDX-License-Identifier: Apache-2.0
"""long_sums.py OUT: two layers whose sums are long (weights by rows, weights by columns), and one whose sum is short."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(1)
weights = {"w1": (2048, 2048), "w2": (64, 2048), "w3": (64, 8), "b1": (2048,), "b2": (64,)}
nodes = [helper.make_node("MatMul", ["x", "w1"], ["h"], name="long_rows"), helper.make_node("Add", ["h", "b1"], ["h2"]),
         helper.make_node("Relu", ["h2"], ["h3"]),
         helper.make_node("Gemm", ["h3", "w2", "b2"], ["g"], name="long_columns", transB=1),
         helper.make_node("MatMul", ["g", "w3"], ["y"], name="short")]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (200, 2048))],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, (200, 8))],
                          [numpy_helper.from_array((rng.standard_normal(s) / 40).astype(np.float32), n)
                           for n, s in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
