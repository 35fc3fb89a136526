# SPDX-License-Identifier: Apache-2.0
# byte_products.py FOLDER: products of 8-bit numbers of all signs and zero points, in one model, whose results are exact; and
# products of dequantised numbers in another.
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(0)
nodes, weights, outputs = [], [], []


def constant(name, values, dtype):
    weights.append(numpy_helper.from_array(np.array(values, dtype), name))
    return name


def random(name, dtype, *shape):
    info = np.iinfo(dtype)
    return constant(name, rng.integers(info.min, info.max + 1, shape), dtype)


def output(name, kind):
    outputs.append(helper.make_tensor_value_info(name, kind, None))
    return name


def conv(image, dtype, zero, channels, out, group, kernel, pads, stride=1, weight=np.uint8, weight_zero=113):
    n = f"c{len(nodes)}"
    inputs = [image, random(n + "w", weight, out, channels // group, kernel, kernel), zero or constant(n + "x0", 7, dtype),
              constant(n + "w0", weight_zero, weight)]
    nodes.append(helper.make_node("ConvInteger", inputs, [output(n, TensorProto.INT32)], group=group, pads=[pads] * 4, strides=[stride] * 2))


def matmul(left, dtype, zero, inner, columns, weight=np.uint8, weight_zero=113):
    n = f"m{len(nodes)}"
    inputs = [left, random(n + "w", weight, inner, columns), zero or constant(n + "x0", 9, dtype), constant(n + "w0", weight_zero, weight)]
    nodes.append(helper.make_node("MatMulInteger", inputs, [output(n, TensorProto.INT32)]))


def integers():
    u8, i8 = np.uint8, np.int8
    for dtype, image, left, zero in ((u8, "xu", "au", "zu"), (i8, "xi", "ai", "zi")):
        for z in (None, zero):  # constant zero points, and those that the run says
            conv(image, dtype, z, 24, 20, 1, 3, 1)
            conv(image, dtype, z, 24, 24, 24, 3, 1)  # depthwise
            conv(image, dtype, z, 24, 24, 24, 3, 0, 2, i8, 0)
            conv(image, dtype, z, 24, 8, 8, 3, 1, 2)  # one output channel for each group
            conv(image, dtype, z, 24, 16, 4, 3, 1, 1, i8, 3)
            conv(image, dtype, z, 24, 33, 1, 1, 0, 1, u8, 128)
            matmul(left, dtype, z, 37, 65)
            matmul(left, dtype, z, 37, 1, i8, 0)
            matmul(left, dtype, z, 37, 19, i8, list(range(-9, 10)))
    value = helper.make_tensor_value_info
    return [value("xu", TensorProto.UINT8, ["n", 24, 9, 8]), value("xi", TensorProto.INT8, ["n", 24, 9, 8]),
            value("au", TensorProto.UINT8, [2, "m", 37]), value("ai", TensorProto.INT8, ["m", 37]),
            value("zu", TensorProto.UINT8, []), value("zi", TensorProto.INT8, [])]


def dequantised():
    one = constant("one", 0.02, np.float32)
    constant("zero", 131, np.uint8), constant("none", 0, np.int8)
    for name, shape, axis in (("w", (48, 30), 1), ("k", (30, 48, 3, 3), 0)):
        scales = constant(name + "s", rng.uniform(0.01, 0.03, shape[axis]), np.float32)
        nodes.append(helper.make_node("DequantizeLinear", [random(name + "q", np.int8, *shape), scales], [name], axis=axis))
    nodes.append(helper.make_node("DequantizeLinear", ["a", one, "zero"], ["af"]))
    nodes.append(helper.make_node("DequantizeLinear", ["x", one, "zero"], ["xf"]))
    nodes.append(helper.make_node("MatMul", ["af", "w"], ["p"]))
    nodes.append(helper.make_node("Relu", ["p"], [output("product", TensorProto.FLOAT)]))
    nodes.append(helper.make_node("Conv", ["xf", "k"], [output("image", TensorProto.FLOAT)], pads=[1] * 4))
    value = helper.make_tensor_value_info
    return [value("a", TensorProto.UINT8, ["m", 48]), value("x", TensorProto.UINT8, [1, 48, 7, 7])]


def main(folder):
    for name, make in (("integers", integers), ("dequantised", dequantised)):
        nodes.clear(), weights.clear(), outputs.clear()
        inputs = make()
        graph = helper.make_graph(nodes, name, inputs, outputs, weights)
        out = pathlib.Path(folder) / name
        out.mkdir(parents=True)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), out / "model.onnx")


main(*sys.argv[1:])
