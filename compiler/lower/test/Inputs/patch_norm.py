# SPDX-License-Identifier: Apache-2.0
"""patch_norm.py OUT: an image cut into patches as MobileViT does, and normalised: its rows are found by dividing."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

constants = {"split": np.array([128, 2, 4, 2]), "patches": np.array([1, 32, 16, 4]), "rows": np.array([4, 16, 32]),
             "scale": np.linspace(0.5, 1.5, 32, dtype=np.float32), "w": np.linspace(-1, 1, 32 * 24, dtype=np.float32).reshape(32, 24)}
nodes = [("Transpose", ["x"], {"perm": [2, 0, 1]}), ("Reshape", ["v0", "split"], {}), ("Transpose", ["v1"], {"perm": [0, 2, 1, 3]}),
         ("Reshape", ["v2", "patches"], {}), ("Transpose", ["v3"], {"perm": [0, 3, 2, 1]}), ("Reshape", ["v4", "rows"], {}),
         ("LayerNormalization", ["v5", "scale"], {}), ("MatMul", ["v6", "w"], {})]
graph = helper.make_graph(
    [helper.make_node(op, inputs, [f"v{i}"], **attributes) for i, (op, inputs, attributes) in enumerate(nodes)], "patch_norm",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 8, 32])],
    [helper.make_tensor_value_info("v7", TensorProto.FLOAT, [4, 16, 24])], [numpy_helper.from_array(v, k) for k, v in constants.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
