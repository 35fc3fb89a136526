# SPDX-License-Identifier: Apache-2.0
"""Graphs that are none: names, operators, attributes, functions."""
import numpy as np
from onnx import AttributeProto, TensorProto, helper

from refused.common import F, I64, bad, value, tensor, model, node, relu


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


@bad("attribute 'axis' is of type string; expected int")
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


@bad("attribute 'post_transform' is of type int; expected string")
def attribute_of_ml(f):
    m = model([node("LinearRegressor", domain="ai.onnx.ml", coefficients=[1.0, 2.0, 3.0], post_transform=1)])
    m.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    return m


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


@bad("attribute 'axis' is of type string; expected int")
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


@bad("the rows that the loop stacks have no bound in number\n  help: give the loop a trip count")
def rows_without_bound(f):
    body = helper.make_graph([node("ReduceMin", ["v"], ["least"], keepdims=0), node("Less", ["least", "end"], ["go"]),
                              node("Add", ["v", "one"], ["next"]), node("Identity", ["least"], ["row"])], "body",
                             [value("i", [], I64), value("again", [], TensorProto.BOOL), value("v", None)],
                             [value("go", [], TensorProto.BOOL), value("next", None), value("row", None)])
    return model([node("Loop", ["", "first", "x"], ["last", "y"], body=body)], [value("x"), value("first", [], TensorProto.BOOL)], None,
                 [tensor("end", np.array(9, np.float32)), tensor("one", np.array(1, np.float32))])
