# SPDX-License-Identifier: Apache-2.0
# bad_calls.py OUT: a model whose sizes and indices all come from the caller.
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F, I = TensorProto.FLOAT, TensorProto.INT64


def value(name, dtype, dims):
    return helper.make_tensor_value_info(name, dtype, dims)


six = numpy_helper.from_array(np.array([-1, 6], np.int64), "six")
table = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "table")
mix = numpy_helper.from_array(np.eye(2, dtype=np.float32), "mix")
nodes = [
    helper.make_node("Gather", ["table", "at"], ["rows"], name="gather"),  # [n,3], any index
    helper.make_node("Add", ["rows", "x"], ["sum"], name="add"),  # x is [m,3]: m must be n or 1
    helper.make_node("MatMul", ["sum", "w"], ["product"], name="product"),  # w is [k,2]: k must be 3
    helper.make_node("Reshape", ["sum", "six"], ["shaped"], name="reshape"),  # 3 n must be a multiple of 6
    helper.make_node("Relu", ["product"], ["positive"], name="relu"),
    helper.make_node("MatMul", ["positive", "mix"], ["mixed"], name="mix"),  # so that something is in the arena
    helper.make_node("Concat", ["mixed", "y"], ["joined"], name="concat", axis=1),  # y is [p,2]: p must be n
]
graph = helper.make_graph(
    nodes, "g", [value("at", I, ["n"]), value("x", F, ["m", 3]), value("w", F, ["k", 2]), value("y", F, ["p", 2])],
    [value("shaped", F, None), value("joined", F, None)], [six, table, mix])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
