# SPDX-License-Identifier: Apache-2.0
"""bad_models.py ORTC FOLDER [NAME...]: models that must be refused, each with what the message must say. Every one is compiled
for the CPU and evaluated: exit code 1, a clear error, nothing written. Prints a line for each that ended otherwise."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

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


# ---- the file ----

@bad("the file is empty")
def empty(f):
    (f / "m.onnx").write_bytes(b"")


@bad("the file is damaged, incomplete, or no ONNX file")
def text(f):
    (f / "m.onnx").write_text("this is no model at all\n" * 3)


@bad("error:")
def truncated(f):
    (f / "m.onnx").write_bytes(relu().SerializeToString()[:-9])


@bad("it is a folder")
def folder(f):
    (f / "m.onnx").mkdir()


@bad("it is not a regular file")
def pipe(f):
    os.mkfifo(f / "m.onnx")


@bad("no such file")
def absent(f):
    pass


@bad("IR version 99 is not known")
def ir_version(f):
    m = relu()
    m.ir_version = 99
    return m


@bad("opset 1000 of 'ai.onnx' is newer than the newest one known")
def opset_newer(f):
    return model([node("Relu")], opset=1000)


@bad("opset 0 of 'ai.onnx' is not valid")
def opset_zero(f):
    return model([node("Relu")], opset=0)


@bad("the model imports no operator set")
def no_opset(f):
    m = relu()
    del m.opset_import[:]
    return m


@bad("'ai.onnx' is imported with opset 17 and with opset 11")
def two_opsets(f):
    m = relu()
    m.opset_import.append(helper.make_opsetid("ai.onnx", 11))
    return m


# ---- the graph ----

@bad("the graph has a cycle: the node needs its own output")
def cycle(f):
    return model([node("Add", ["x", "b"], ["a"], "one"), node("Relu", ["a"], ["b"], "two"), node("Relu", ["b"])])


@bad("the graph has a cycle")
def self_cycle(f):
    return model([node("Add", ["x", "y"])])


@bad("input 'xx' is produced by no node, input or initializer")
def missing_value(f):
    return model([node("Relu", ["xx"])])


@bad("output 'y' is defined more than once")
def two_producers(f):
    return model([node("Relu"), node("Abs")])


@bad("input 'x' is defined more than once")
def two_inputs(f):
    return model([node("Relu")], [value("x"), value("x")])


@bad("initializer 'w' is defined more than once")
def two_initializers(f):
    w = tensor("w", np.ones((2, 3), np.float32))
    return model([node("Add", ["x", "w"])], initializers=[w, w])


@bad("the input has no type")
def untyped_input(f):
    return model([node("Relu")], [helper.make_empty_tensor_value_info("x")])


@bad("the rank of this input is not known")
def no_shape(f):
    return model([node("Relu")], [value("x", None)])


@bad("an input has no name")
def nameless_input(f):
    return model([node("Relu")], [value("x"), value("")])


@bad("no node, input or initializer of the graph produces it")
def output_from_nowhere(f):
    return model([node("Relu")], outputs=[value("z")])


@bad("no node, input or initializer of the graph produces it")
def no_nodes_at_all(f):
    return model([])


@bad("the node has no operator")
def no_operator(f):
    return model([node("")])


@bad("there is no operator 'Frobnicate' in domain 'ai.onnx'")
def unknown_operator(f):
    return model([node("Frobnicate")])


@bad("there is no operator 'relu' in domain 'ai.onnx'\n  help: did you mean 'Relu'?")
def misspelt_operator(f):
    return model([node("relu")])


@bad("domain 'com.example' is not imported")
def unknown_domain(f):
    return model([node("Relu", domain="com.example")])


@bad("operator 'Thing' is not supported (domain 'com.example')")
def imported_domain(f):
    m = model([node("Thing", domain="com.example")])
    m.opset_import.append(helper.make_opsetid("com.example", 1))
    return m


@bad("was added in opset 14, but the model imports opset 9")
def operator_too_new(f):
    return model([node("HardSwish")], opset=9)


@bad("attribute 'axis' is a string; expected a int")
def wrong_attribute(f):
    return model([node("Softmax", axis="one")])


@bad("attribute 'axis' is given twice")
def two_attributes(f):
    n = node("Softmax", axis=1)
    n.attribute.append(n.attribute[0])
    return model([n])


@bad("is declared as")
def attribute_declared_otherwise(f):
    n = node("Softmax", axis=1)
    n.attribute[0].type = AttributeProto.STRING
    n.attribute[0].ClearField("s")
    return model([n])


@bad("required attribute 'axis' is missing")
def missing_attribute(f):
    return model([node("Concat")])


@bad("which only the body of a function may do")
def reference_outside(f):
    n = node("Softmax")
    a = n.attribute.add()
    a.name, a.ref_attr_name, a.type = "axis", "axis", AttributeProto.INT
    return model([n])


@bad("required input 1")
def too_few_inputs(f):
    return model([node("Add", ["x"])])


@bad("output 1 ('z') is one too many: Relu (opset 17) has 1")
def too_many_outputs(f):
    return model([node("Relu", outputs=["r", "z"]), node("Add", ["r", "z"])])


@bad("output 1 ('z') is one too many: Relu (opset 17) has 1")
def an_output_that_nobody_reads(f):
    return model([node("Relu", outputs=["y", "z"])])


@bad("required output 1 ('Indices') is missing")
def too_few_outputs(f):
    return model([node("TopK", ["x", "k"])], initializers=[tensor("k", np.array([1], np.int64))])


@bad("input 1 ('x') is one too many: Relu (opset 17) has 1")
def too_many_inputs(f):
    return model([node("Relu", ["x", "x"])])


@bad("input 0 ('x') is one too many: Constant (opset 17) has 0")
def input_of_a_constant(f):
    return model([node("Constant", value_int=1)])


@bad("required input 0 ('A') is missing")
def an_absent_input(f):
    return model([node("Add", ["", "x"])])


@bad("required input 0 ('inputs') is missing")
def nothing_to_concat(f):
    return model([node("Concat", [], axis=0)])


@bad("attribute 'alpha' is not one of Relu (opset 17)\n  note: Relu has no attributes")
def attribute_of_another_operator(f):
    return model([node("Relu", alpha=0.1)])


@bad("attribute 'strdies' is not one of Conv (opset 17)\n  note: Conv has auto_pad, dilations, group, kernel_shape, pads, strides\n"
     "  help: did you mean 'strides'?")
def misspelt_attribute(f):
    return model([node("Conv", ["x", "w"], strdies=[2, 2])], [value("x", (1, 1, 4, 4))],
                 initializers=[tensor("w", np.ones((1, 1, 2, 2), np.float32))])


@bad("attribute 'axes' is not one of Squeeze (opset 17)\n  note: the attribute exists in opset 1 to 12")
def attribute_of_an_older_opset(f):
    return model([node("Squeeze", axes=[0])], [value("x", (1, 3))])


@bad("attribute 'dilations' is not one of AveragePool (opset 17)\n  note: the attribute exists in opset 19 and later")
def attribute_of_a_newer_opset(f):
    return model([node("AveragePool", kernel_shape=[2, 2], dilations=[2, 2])], [value("x", (1, 1, 4, 4))])


@bad("attribute 'alpha' is not one of Relu")
def attribute_in_a_branch(f):
    inner = helper.make_graph([node("Relu", outputs=["r"], alpha=0.1)], "g", [], [value("r", None)])
    return model([node("If", ["c"], then_branch=inner, else_branch=branch("b", (2, 3)))], [value("c", (), TensorProto.BOOL), value("x")])


@bad("attribute 'post_transform' is a int; expected a string")
def attribute_of_ml(f):
    m = model([node("LinearRegressor", domain="ai.onnx.ml", coefficients=[1.0, 2.0, 3.0], post_transform=1)])
    m.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    return m


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


# ---- subgraphs and functions ----

def branch(name, dims=(2,), op="Constant", dtype=np.float32):
    return helper.make_graph([helper.make_node("Constant", [], [name], value=tensor("t", np.ones(dims, dtype)))], name, [],
                             [helper.make_tensor_value_info(name, F, None)])


@bad("branches have 1 and 0 outputs")
def branch_without_output(f):
    empty = helper.make_graph([], "g", [], [])
    return model([node("If", ["c"], then_branch=branch("a"), else_branch=empty)], [value("c", (), TensorProto.BOOL)])


@bad("error:")
def branches_of_two_types(f):
    return model([node("If", ["c"], then_branch=branch("a"), else_branch=branch("b", dtype=np.int64))],
                 [value("c", (), TensorProto.BOOL)])


@bad("shadowing")
def shadowing(f):
    return model([node("If", ["c"], then_branch=branch("x"), else_branch=branch("b"))],
                 [value("c", (), TensorProto.BOOL), value("x")])


def function(name, nodes, inputs=("a",), outputs=("b",)):
    return helper.make_function("my", name, list(inputs), list(outputs), nodes, [helper.make_opsetid("", 17),
                                                                                helper.make_opsetid("my", 1)])


def with_functions(nodes, functions):
    m = model(nodes, functions=functions)
    m.opset_import.append(helper.make_opsetid("my", 1))
    return m


@bad("calls itself")
def recursive(f):
    return with_functions([node("F", domain="my")], [function("F", [node("F", ["a"], ["b"], domain="my")])])


@bad("calls itself")
def mutually_recursive(f):
    return with_functions([node("F", domain="my")], [function("F", [node("G", ["a"], ["b"], domain="my")]),
                                                     function("G", [node("F", ["a"], ["b"], domain="my")])])


@bad("more than")
def functions_that_explode(f):
    functions = [function("F0", [node("Relu", ["a"], ["b"])])]
    for i in range(1, 60):
        functions.append(function(f"F{i}", [node(f"F{i-1}", ["a"], ["c"], domain="my"), node(f"F{i-1}", ["c"], ["b"], domain="my")]))
    return with_functions([node("F59", domain="my")], functions)


@bad("nothing in the function produces its output 'b'")
def function_without_result(f):
    return with_functions([node("F", domain="my")], [function("F", [node("Relu", ["a"], ["c"])])])


@bad("defined more than once")
def function_twice(f):
    return with_functions([node("F", domain="my")], [function("F", [node("Relu", ["a"], ["b"])])] * 2)


@bad("the call has 2 inputs but function 'F' has 1")
def function_with_more_inputs(f):
    return with_functions([node("F", ["x", "x"], domain="my")], [function("F", [node("Relu", ["a"], ["b"])])])


@bad("attribute 'alhpa' is not one of function 'F'\n  help: did you mean 'alpha'?")
def function_with_other_attributes(f):
    inner = function("F", [node("Relu", ["a"], ["b"])])
    inner.attribute.append("alpha")
    return with_functions([node("F", domain="my", alhpa=1)], [inner])


@bad("attribute 'alpha' is not one of Relu")
def attribute_in_a_function(f):
    n = node("Relu", ["a"], ["b"])
    a = n.attribute.add()
    a.name, a.ref_attr_name, a.type = "alpha", "alpha", AttributeProto.FLOAT
    inner = function("F", [n])
    inner.attribute.append("alpha")
    return with_functions([node("F", domain="my", alpha=1.0)], [inner])


@bad("attribute 'axis' is a string; expected a int")
def reference_of_another_type(f):
    n = node("Softmax", ["a"], ["b"])
    a = n.attribute.add()
    a.name, a.ref_attr_name, a.type = "axis", "axis", AttributeProto.STRING
    inner = function("F", [n])
    inner.attribute.append("axis")
    return with_functions([node("F", domain="my", axis="1")], [inner])


@bad("which function 'F' does not have")
def unknown_reference(f):
    n = node("Softmax", ["a"], ["b"])
    a = n.attribute.add()
    a.name, a.ref_attr_name, a.type = "axis", "nothing", AttributeProto.INT
    return with_functions([node("F", domain="my")], [function("F", [n])])


# ---- external data ----

def external(f, location, data=b"\0" * 24, **keys):
    w = TensorProto(name="w", data_type=F, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    for k, v in {"location": location, **keys}.items():
        e = w.external_data.add()
        e.key, e.value = k, str(v)
    if data is not None:
        (f / "w.bin").write_bytes(data)
    return model([node("Add", ["x", "w"])], initializers=[w])


@bad("the path is absolute")
def external_absolute(f):
    return external(f, "/etc/passwd")


@bad("the path goes up with '..'")
def external_up(f):
    return external(f, "../w.bin")


@bad("the path goes up with '..'")
def external_up_inside(f):
    (f / "d").mkdir()
    return external(f, "d/../../w.bin")


@bad("a symbolic link leads out of the folder")
def external_link(f):
    (f / "w.bin").unlink(missing_ok=True)
    (f / "link").symlink_to("/etc/passwd")
    return external(f, "link", None)


@bad("a symbolic link leads out of the folder")
def external_linked_folder(f):
    (f / "etc").symlink_to("/etc")
    return external(f, "etc/passwd", None)


@bad("no such file beside the model")
def external_absent(f):
    return external(f, "nothing.bin", None)


@bad("the location is empty")
def external_nowhere(f):
    return external(f, "")


@bad("error:")
def external_folder(f):
    (f / "d").mkdir()
    return external(f, "d", None)


@bad("error:")
def external_short(f):
    return external(f, "w.bin", b"\0" * 23)


@bad("error:")
def external_behind_end(f):
    return external(f, "w.bin", offset=8)


@bad("error:")
def external_wraps(f):
    return external(f, "w.bin", offset=2**64 - 8, length=24)


@bad("error:")
def external_negative(f):
    return external(f, "w.bin", offset=-8)


@bad("error:")
def external_no_number(f):
    return external(f, "w.bin", offset="8x")


@bad("error:")
def external_other_length(f):
    return external(f, "w.bin", length=8)


@bad("error:")
def external_zero_length(f):
    return external(f, "w.bin", length=0)


@bad("error:")
def external_empty_file(f):
    return external(f, "w.bin", b"")


# ---- sparse ----

def sparse(values, indices, dims):
    s = onnx.SparseTensorProto(dims=dims)
    s.values.CopyFrom(tensor("w", np.asarray(values, np.float32)))
    s.indices.CopyFrom(tensor("", np.asarray(indices, np.int64)))
    m = model([node("Add", ["x", "w"])])
    m.graph.sparse_initializer.append(s)
    return m


@bad("error:")
def sparse_index_outside(f):
    return sparse([1, 2], [0, 6], [2, 3])


@bad("error:")
def sparse_index_negative(f):
    return sparse([1], [[0, -1]], [2, 3])


@bad("error:")
def sparse_counts_differ(f):
    return sparse([1, 2], [0], [2, 3])


@bad("error:")
def sparse_huge(f):
    return sparse([1], [0], [2**40, 2**10])


@bad("error:")
def sparse_of_another_rank(f):
    return sparse([1], [[0, 0, 0]], [2, 3])


@bad("'B' is f32[]; expected rank 2")
def bias_of_a_recurrent_layer_without_dims(f):
    return model([node("LSTM", ["x", "w", "r", "b"])], inputs=[value("x", (2, 1, 3))],
                 initializers=[tensor("w", np.zeros((1, 8, 3), np.float32)), tensor("r", np.zeros((1, 8, 2), np.float32)),
                               tensor("b", np.float32(0))])


def run(ortc, args):
    try:
        return subprocess.run([ortc, *map(str, args)], capture_output=True, text=True, timeout=120, errors="replace")
    except subprocess.TimeoutExpired:
        return None


def main():
    ortc, root = sys.argv[1], pathlib.Path(sys.argv[2])
    only = sys.argv[3:]
    wrong = 0
    for name, says, make in TABLE:
        if only and name not in only:
            continue
        f = root / name
        f.mkdir(parents=True)
        made = make(f)
        if made is not None:
            (f / "m.onnx").write_bytes(made.SerializeToString())
        before = sorted(os.listdir(f))
        for args in (["compile", f / "m.onnx", "--target=cpu", "-o", f / "out"],
                     ["run", f / "m.onnx", "--target=reference", "--random", "1"]):
            p = run(ortc, args)
            error = ("took too long" if p is None else
                     f"ended with {p.returncode}: {p.stderr.strip()[:300]} {p.stdout[:100]}" if p.returncode != 1 else
                     f"says: {p.stderr.strip()[:400]}" if says not in p.stderr or "error:" not in p.stderr else
                     "says it is a fault of ortc: " + p.stderr[:300] if "fault of ortc" in p.stderr else
                     f"left {os.listdir(f)}" if sorted(os.listdir(f)) != before else None)
            if error:
                wrong += 1
                print(f"{name}: {args[0]} {error}")
    print(f"{len(TABLE)} models, {wrong} wrong")
    sys.exit(wrong != 0)


main()
