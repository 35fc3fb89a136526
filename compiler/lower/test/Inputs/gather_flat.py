# SPDX-License-Identifier: Apache-2.0
"""gather_flat.py OUT: elements of a computed matrix of free size, by their places in its flat form."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

graph = helper.make_graph(
    [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Reshape", ["r", "flat"], ["f"]),
     helper.make_node("Gather", ["f", "places"], ["y"], name="pick")],
    "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("rows", "columns")),
          helper.make_tensor_value_info("places", TensorProto.INT64, ("n",))],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("n",))], [numpy_helper.from_array(np.array([-1]), "flat")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
