# SPDX-License-Identifier: Apache-2.0
"""Types and shapes that contradict each other, or their operator."""
import numpy as np
from onnx import TensorProto, helper

from refused.common import F, I64, bad, value, tensor, model, node


# ---- types and shapes ----

@bad("inner sizes 3 and 4 differ")
def shapes_contradict(f):
    return model([node("MatMul", ["x", "w"])], initializers=[tensor("w", np.ones((4, 2), np.float32))])


@bad("shapes do not broadcast")
def no_broadcast(f):
    return model([node("Add", ["x", "w"])], initializers=[tensor("w", np.ones((4, 2), np.float32))])


@bad("inputs 0 ('A') and 1 ('B') are f32 and i64, and must be of one type")
def types_contradict(f):
    return model([node("Add", ["x", "w"])], initializers=[tensor("w", np.ones((2, 3), np.int64))])


@bad("inputs 0 ('data_0') and 2 ('data_0') are f32 and f64, and must be of one type")
def types_of_a_list_contradict(f):
    return model([node("Max", ["x", "x", "w"])], initializers=[tensor("w", np.ones((2, 3)))])


@bad("input 0 ('X') is bool; expected f32, i8, i16, i32, i64, f16, f64 or bf16")
def type_that_the_operator_lacks(f):
    return model([node("Relu")], [value("x", dtype=TensorProto.BOOL)])


@bad("input 0 ('X') is i32; expected f32, f16, f64 or bf16")
def type_of_a_newer_opset(f):
    return model([node("Relu")], [value("x", dtype=TensorProto.INT32)], opset=13)


@bad("input 1 ('shape') is i32; expected i64")
def type_of_a_shape(f):
    return model([node("Reshape", ["x", "s"])], initializers=[tensor("s", np.array([3, 2], np.int32))])


@bad("inputs 0 ('X') and 2 ('B') are f32 and f64, and must be of one type")
def type_of_an_optional_input(f):
    return model([node("Conv", ["x", "w", "b"])], [value("x", (1, 1, 4, 4))],
                 initializers=[tensor("w", np.ones((1, 1, 2, 2), np.float32)), tensor("b", np.ones(1))])


@bad("the input is declared as f32[2,3] but its initializer is f32[2]")
def default_of_another_shape(f):
    return model([node("Relu")], initializers=[tensor("x", np.ones(2, np.float32))])


@bad("needs 24 bytes but raw_data has 8")
def data_too_short(f):
    w = tensor("w", np.ones((2, 3), np.float32))
    w.raw_data = w.raw_data[:8]
    return model([node("Add", ["x", "w"])], initializers=[w])


@bad("the tensor has no data")
def no_data(f):
    w = tensor("w", np.ones((2, 3), np.float32))
    w.ClearField("raw_data")
    return model([node("Add", ["x", "w"])], initializers=[w])


@bad("has both")
def data_twice(f):
    w = tensor("w", np.ones((2, 3), np.float32))
    w.float_data.extend([1] * 6)
    return model([node("Add", ["x", "w"])], initializers=[w])


@bad("a dimension of a constant is negative")
def negative_constant(f):
    w = TensorProto(name="w", data_type=F, dims=[-1], raw_data=b"")
    return model([node("Add", ["x", "w"])], initializers=[w])


@bad("the tensor is too large")
def product_overflows(f):
    w = TensorProto(name="w", data_type=F, dims=[2**62, 2**62], raw_data=b"")
    return model([node("Add", ["x", "w"])], initializers=[w])


@bad("unknown element type 77")
def unknown_type(f):
    w = TensorProto(name="w", data_type=77, dims=[0])
    return model([node("Add", ["x", "w"])], initializers=[w])


@bad("too large")
def huge_input(f):
    return model([node("Relu")], [value("x", (2**62,))])


@bad("too large")
def huge_product(f):
    return model([node("Relu")], [value("x", (2**31, 2**31, 4))])


@bad("too large")
def huge_result(f):
    shape = tensor("s", np.array([2**40, 2**40], np.int64))
    return model([node("Expand", ["x", "s"])], [value("x", (1, 1))], initializers=[shape])


@bad("the shape holds -3")
def negative_reshape(f):
    return model([node("Reshape", ["x", "s"])], initializers=[tensor("s", np.array([-3, 2], np.int64))])


@bad("6 elements cannot be shaped into")
def reshape_of_another_size(f):
    return model([node("Reshape", ["x", "s"])], initializers=[tensor("s", np.array([7, 2], np.int64))])


@bad("error:")
def reshape_that_does_not_divide(f):
    return model([node("Reshape", ["x", "s"])], initializers=[tensor("s", np.array([-1, 4], np.int64))])


@bad("error:")
def reshape_overflows(f):
    return model([node("Reshape", ["x", "s"])], initializers=[tensor("s", np.array([2**33, 2**33], np.int64))])


@bad("'pads' holds")
def huge_pads(f):
    return model([node("MaxPool", kernel_shape=[2, 2], pads=[2**62, 0, 2**62, 0])], [value("x", (1, 1, 4, 4))])


@bad("error:")
def huge_kernel(f):
    return model([node("AveragePool", kernel_shape=[2**62, 2])], [value("x", (1, 1, 4, 4))])


@bad("error:")
def huge_dilation(f):
    return model([node("MaxPool", kernel_shape=[3, 3], dilations=[2**62, 1])], [value("x", (1, 1, 4, 4))])


@bad("error:")
def huge_pad(f):
    return model([node("Pad", ["x", "p"])], initializers=[tensor("p", np.array([2**62, 0, 2**62, 0], np.int64))])


@bad("error:")
def huge_tile(f):
    return model([node("Tile", ["x", "r"])], initializers=[tensor("r", np.array([2**62, 4], np.int64))])


@bad("error:")
def huge_blocksize(f):
    return model([node("DepthToSpace", blocksize=2**32)], [value("x", (1, 4, 2, 2))])


@bad("error:")
def lonely_sequence(f):
    return model([node("Relu", ["s"])], [helper.make_tensor_sequence_value_info("s", F, [2])])


@bad("error:")
def shape_of_a_sequence(f):
    return model([node("Shape", ["s"])], [helper.make_tensor_sequence_value_info("s", F, [2])])


@bad("error:")
def concat_of_sequences(f):
    return model([node("Concat", ["s", "s"], axis=0)], [helper.make_tensor_sequence_value_info("s", F, [2])])


@bad("error:")
def map_input(f):
    m = helper.make_value_info("m", helper.make_map_type_proto(I64, helper.make_tensor_type_proto(F, [])))
    return model([node("Neg", ["m"])], [m])


# ---- inputs that do not fit each other ----

def inputs(op, *dims, opset=17, types=None, constants=(), **attributes):
    """A node whose inputs have these sizes; `constants` are more inputs, with their values."""
    names = [f"i{k}" for k in range(len(dims))]
    more = [tensor(f"c{k}", array) for k, array in enumerate(constants)]
    return model([node(op, names + [c.name for c in more], **attributes)],
                 [value(n, d, (types or {}).get(k, F)) for k, (n, d) in enumerate(zip(names, dims))], initializers=more, opset=opset)


def microsoft(m):
    m.graph.node[0].domain = "com.microsoft"
    m.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return m


@bad("'updates' is f32[2,2]; expected size 3 on axis 1")
def updates_smaller_than_indices(f):
    return inputs("ScatterElements", (4, 3), (2, 3), (2, 2), types={1: I64})


@bad("'indices' is larger than 'data' on axis 1")
def indices_larger_than_data(f):
    return inputs("ScatterElements", (4, 3), (2, 4), (2, 4), types={1: I64})


@bad("'target' is i64[3,5]; expected size 6 on axis 1")
def targets_smaller_than_scores(f):
    return inputs("NegativeLogLikelihoodLoss", (3, 4, 6), (3, 5), types={1: I64})


@bad("'weight' is f32[3]; expected size 4 on axis 0")
def weights_of_other_classes(f):
    return inputs("NegativeLogLikelihoodLoss", (3, 4), (3,), (3,), types={1: I64})


@bad("the batches of 'X' and 'grid' differ: 2 and 1")
def grid_of_another_batch(f):
    return inputs("GridSample", (2, 1, 4, 4), (1, 3, 3, 2))


@bad("'batch_indices' is i64[2]; expected size 3 on axis 0")
def rois_without_image(f):
    return inputs("RoiAlign", (1, 1, 4, 4), (3, 4), constants=[np.array([0, 0], np.int64)], opset=16)


@bad("'scores' is f32[1,1,5]; expected size 6 on axis 2")
def scores_of_fewer_boxes(f):
    return inputs("NonMaxSuppression", (1, 6, 4), (1, 1, 5))


@bad("'offset' is f32[1,16,3,3]; expected size 8 on axis 1")
def offsets_of_another_kernel(f):
    return inputs("DeformConv", (1, 1, 4, 4), (1, 1, 2, 2), (1, 16, 3, 3), opset=19)


@bad("the last size of 'input' is not the number of windows: 12 and 9")
def columns_of_another_image(f):
    return inputs("Col2Im", (1, 4, 12), constants=[np.array([4, 4]), np.array([2, 2])], opset=18)


@bad("'sin_cache' is f32[1,2,3]; expected size 4 on axis 2")
def tables_of_two_sizes(f):
    return inputs("RotaryEmbedding", (1, 1, 2, 8), (1, 2, 4), (1, 2, 3), opset=23)


@bad("'attn_mask' is f32[2,7], which does not broadcast to the scores: expected 1 or 5 on axis 1")
def mask_longer_than_keys(f):
    return inputs("Attention", (1, 1, 2, 4), (1, 1, 5, 4), (1, 1, 5, 4), (2, 7), opset=23)


@bad("'R' is f32[2,12,3]; expected size 1 on axis 0")
def directions_differ(f):
    return inputs("LSTM", (2, 1, 4), (1, 12, 4), (2, 12, 3), hidden_size=3)


@bad("'Scale' is f32[3,5]; expected size 1 or 4 on axis 1")
def scale_that_makes_the_result_larger(f):
    return inputs("LayerNormalization", (2, 3, 4), (3, 5))


@bad("'slope' is f32[4,3]; expected size 1 or 2 on axis 0")
def slope_that_makes_the_result_larger(f):
    return inputs("PRelu", (2, 3), (4, 3))


@bad("'scale' is f32[1]; expected size 2 on axis 0")
def scale_of_one_channel(f):
    return inputs("InstanceNormalization", (1, 2, 4), (1,), (2,))


@bad("input 'shape' is i64[1,2]; expected at most rank 1")
def shape_that_is_a_matrix(f):
    return inputs("Reshape", (2, 3), constants=[np.array([[3, 2]])])


@bad("there is neither 'split' nor 'num_outputs'")
def split_into_anything(f):
    return model([node("Split", outputs=["y", "z"])], opset=18)


@bad("'keepdims' is 2; expected 0 or 1")
def neither_no_nor_yes(f):
    return model([node("ReduceMax", keepdims=2)])


@bad("'size' is negative")
def negative_window(f):
    return model([node("HannWindow", ["s"])], initializers=[tensor("s", np.array(-4))])


@bad("'A_scale' is f32[1]; expected a scalar")
def scale_that_is_a_list(f):
    U8 = TensorProto.UINT8
    return microsoft(inputs("QLinearAdd", (2,), (1,), (), (2,), (), (), (), (), types={0: U8, 2: U8, 3: U8, 5: U8, 7: U8}))


@bad("'scales' is f32[4,2]; expected size 3 on axis 0")
def scales_of_another_table(f):
    return microsoft(inputs("GatherBlockQuantized", (3, 64), (1,), (4, 2), types={0: TensorProto.UINT8, 1: I64}, block_size=32, bits=8))


@bad("attribute 'sharp' is not one of Gelu (opset 1)")
def attribute_that_nobody_knows(f):
    return microsoft(inputs("Gelu", (2,), sharp=1))


@bad("inputs 0 ('A') and 2 ('scales') are f32 and f16, and must be of one type")
def scales_of_another_type(f):
    return microsoft(inputs("MatMulNBits", (1, 32), (4, 1, 16), (4, 1), types={1: TensorProto.UINT8, 2: TensorProto.FLOAT16}, K=32, N=4, block_size=32, bits=4))


@bad("the divisor is a constant, and element 1 of it is 0")
def division_by_a_constant_zero(f):
    return model([node("Div", ["x", "w"])], [value("x", (2,), I64)], initializers=[tensor("w", np.array([1, 0]))])


@bad("'scales' holds inf")
def endless_resize(f):
    return model([node("Resize", ["x", "", "s"])], initializers=[tensor("s", np.array([1, np.inf], np.float32))])


@bad("a transform of 274877906944 values needs tables of 5 x 274877906944 elements, more than 268435456\n  help: do that part elsewhere")
def transform_without_end(f):
    return model([node("DFT", ["x", "n"])], [value("x", (1, 5, 1))], initializers=[tensor("n", np.array(1 << 38))])


@bad("there is nothing to repeat on axis 1")
def nothing_to_repeat(f):
    return model([node("Pad", ["x", "pads"], mode="edge")], initializers=[tensor("pads", np.array([0, 1, 0, -3]))])
