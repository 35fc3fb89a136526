# SPDX-License-Identifier: Apache-2.0
"""A padded convolution with an infinite weight: infinite_weights.py FILE."""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

weights = np.ones((16, 16, 3, 3), np.float32)
weights[3, 2, 0, 0] = np.inf
value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 16, 6, 6])  # noqa: E731
graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], "infinite", [value("x")], [value("y")],
                          [numpy_helper.from_array(weights, "w")])
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
