# SPDX-License-Identifier: Apache-2.0
# models.py OUT: one folder per way in which a kernel is spread over a device, each with a small model.onnx.
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

seed = np.random.default_rng(1)


def f32(name, dims, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def weights(name, *dims, scale=0.25):
    return numpy_helper.from_array((seed.standard_normal(dims) * scale).astype(np.float32), name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op.lower()}_{outputs[0]}", **attributes)


def model(out, name, nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    (out / name).mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), out / name / "model.onnx")


def one(out, name, op, x, y, kind=TensorProto.FLOAT, axes=None, **attributes):
    extra = [] if axes is None else [numpy_helper.from_array(np.array(axes, np.int64), "axes")]
    model(out, name, [node(op, ["x"] + [e.name for e in extra], ["y"], **attributes)], [f32("x", x)], [f32("y", y, kind)], extra)


def main(out):
    # Rows: sums once per row, dealt out to a warp or a block where the row is long.
    one(out, "softmax_long", "Softmax", [3, 5, 300], [3, 5, 300])
    one(out, "softmax_huge", "Softmax", [2, 2000], [2, 2000])
    one(out, "softmax_short", "Softmax", [40, 6], [40, 6])
    one(out, "softmax_inner_axis", "Softmax", [4, 70, 9], [4, 70, 9], axis=1)
    one(out, "softmax_free", "Softmax", ["batch", "n"], ["batch", "n"])
    one(out, "softmax_all", "Softmax", [1, 500], [1, 500])
    model(out, "layer_norm", [node("LayerNormalization", ["x", "s", "b"], ["y"])], [f32("x", ["batch", 7, 384])],
          [f32("y", ["batch", 7, 384])], [weights("s", 384), weights("b", 384)])
    model(out, "instance_norm", [node("InstanceNormalization", ["x", "s", "b"], ["y"])], [f32("x", [2, 6, 9, 21])],
          [f32("y", [2, 6, 9, 21])], [weights("s", 6), weights("b", 6)])
    # One sum per element of the result.
    one(out, "mean_of_rows", "ReduceMean", [6, 130], [6], axes=[1], keepdims=0)
    one(out, "sum_of_columns", "ReduceSum", [300, 11], [1, 11], axes=[0])
    one(out, "mean_of_planes", "ReduceMean", [2, 9, 14, 37], [2, 9, 1, 1], axes=[2, 3])
    one(out, "maximum", "ReduceMax", [3, 400], [3, 1], axes=[1])
    one(out, "minimum", "ReduceMin", [400, 3], [1, 1], axes=[0, 1])
    one(out, "product", "ReduceProd", [4, 70], [4, 1], axes=[1])
    one(out, "norm2", "ReduceL2", [5, 200], [5, 1], axes=[1])
    one(out, "log_sum_exp", "ReduceLogSumExp", [5, 200], [5, 1], axes=[1])
    one(out, "arg_max", "ArgMax", [5, 200], [5, 1], TensorProto.INT64, axis=1)
    one(out, "arg_min_last", "ArgMin", [5, 200], [5, 1], TensorProto.INT64, axis=1, select_last_index=1)
    # Products: by tiles, by warps, by threads.
    def product(name, m, k, n, transposed=0):
        w = weights("w", n, k) if transposed else weights("w", k, n)
        model(out, name, [node("Gemm", ["x", "w", "b"], ["h"], transB=transposed), node("Relu", ["h"], ["y"])],
              [f32("x", [m, k])], [f32("y", [m, n])], [w, weights("b", n)])

    product("gemm_tiles", 300, 90, 203)
    product("gemm_tiles_transposed", 330, 72, 196, 1)
    product("gemm_large_tiles", 1500, 16, 1210)
    product("gemm_vector", 1, 300, 50, 1)
    product("gemm_vector_by_columns", 1, 300, 50)
    product("gemm_free", "batch", 96, 130, 1)
    # Attention: batches with gaps between rows, both operands computed.
    heads = numpy_helper.from_array(np.array([2, 70, 3, 32], np.int64), "heads")
    back = numpy_helper.from_array(np.array([2, 70, 96], np.int64), "back")
    nodes = []
    for name in "qkv":
        nodes += [node("MatMul", ["x", "w" + name], [name + "0"]), node("Reshape", [name + "0", "heads"], [name + "1"]),
                  node("Transpose", [name + "1"], [name], perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])]
    nodes += [node("MatMul", ["q", "k"], ["s"]), node("Softmax", ["s"], ["p"]), node("MatMul", ["p", "v"], ["o"]),
              node("Transpose", ["o"], ["t"], perm=[0, 2, 1, 3]), node("Reshape", ["t", "back"], ["u"]), node("Add", ["u", "x"], ["y"])]
    model(out, "attention", nodes, [f32("x", [2, 70, 96])], [f32("y", [2, 70, 96])],
          [weights("w" + n, 96, 96, scale=0.05) for n in "qkv"] + [heads, back])

    def conv(name, x, w, relu=True, **attributes):
        y = ["batch"] + [w[0]] + [None] * (len(x) - 2)
        nodes = [node("Conv", ["x", "w", "b"], ["h" if relu else "y"], **attributes)] + ([node("Relu", ["h"], ["y"])] if relu else [])
        model(out, name, nodes, [f32("x", x)], [f32("y", y)], [weights("w", *w), weights("b", w[0])])

    conv("conv", [1, 16, 20, 23], [32, 16, 3, 3], pads=[1, 1, 1, 1])
    conv("conv_first_layer", [1, 3, 33, 31], [24, 3, 5, 3], strides=[2, 2], pads=[2, 1, 2, 1])
    conv("conv_groups", [2, 24, 12, 13], [32, 12, 3, 3], group=2, dilations=[2, 1])
    conv("conv_depthwise", [1, 12, 14, 15], [12, 1, 3, 3], group=12, pads=[1, 1, 1, 1])
    conv("conv_1d", [2, 40, 100], [33, 40, 5], relu=False, strides=[2])
    conv("conv_3d", [1, 4, 7, 9, 10], [16, 4, 2, 3, 3])
    conv("conv_free", ["batch", 8, "height", "width"], [20, 8, 3, 3], pads=[1, 1, 1, 1])


main(pathlib.Path(sys.argv[1]))
