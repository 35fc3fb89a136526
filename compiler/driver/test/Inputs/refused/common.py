# SPDX-License-Identifier: Apache-2.0
"""What the models that must be refused are built of, and their list: `bad` adds one with what the message must say."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT
I64 = TensorProto.INT64
TABLE = []


def bad(says):
    def add(make):
        TABLE.append((make.__name__, says, make))
        return make
    return add


def value(name, dims=(2, 3), dtype=F):
    return helper.make_tensor_value_info(name, dtype, dims)


def tensor(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes, inputs=None, outputs=None, initializers=(), opset=17, ir=8, **more):
    graph = helper.make_graph(nodes, "g", [value("x")] if inputs is None else inputs,
                              [value("y", None)] if outputs is None else outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir, **more)


def node(op, inputs=("x",), outputs=("y",), name="n", **attributes):
    return helper.make_node(op, list(inputs), list(outputs), name=name, **attributes)


def relu():
    return model([node("Relu")])
