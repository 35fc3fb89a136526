# SPDX-License-Identifier: Apache-2.0
# many_kernels.py OUT: a model whose kernels fill more than one file. The products of the first file end with a bias, those of the
# second with a residual: two epilogues of one name.
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main(out, layers=70):
    rng = np.random.default_rng(0)
    nodes, weights, x = [], [], "x"
    f32 = lambda name, *dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    add = lambda name, value: weights.append(numpy_helper.from_array(value.astype(np.float32), name))
    width = lambda k: 48 + k  # every kernel is another
    for k in range(layers):
        add(f"w{k}", rng.normal(size=(width(k), width(k + 1))) / 14)
        nodes.append(helper.make_node("MatMul", [x, f"w{k}"], [f"p{k}"], name=f"fc{k}"))
        if k < layers - 10:
            add(f"b{k}", rng.normal(size=width(k + 1)))
            other = f"b{k}"
        else:
            pads = numpy_helper.from_array(np.array([0, 0, 0, 1], np.int64), f"pads{k}")
            weights.append(pads)
            nodes.append(helper.make_node("Pad", [x, pads.name], [f"r{k}"], name=f"pad{k}"))
            other = f"r{k}"
        nodes.append(helper.make_node("Add", [f"p{k}", other], [f"x{k}"], name=f"add{k}"))
        x = f"x{k}"
    graph = helper.make_graph(nodes, "many", [f32("x", 48, 48)], [f32(x, 48, width(layers))], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), out)


main(*sys.argv[1:])
