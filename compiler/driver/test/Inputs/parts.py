# SPDX-License-Identifier: Apache-2.0
"""parts.py FILE: a model whose inputs are a sequence and an optional; it joins the one, and says whether the other is there."""
import sys

from onnx import TensorProto, helper

sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [None, 2]))
optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [3]))
nodes = [helper.make_node("ConcatFromSequence", ["s"], ["y"], name="join", axis=0),
         helper.make_node("OptionalHasElement", ["o"], ["there"], name="has")]
graph = helper.make_graph(nodes, "g", [helper.make_value_info("s", sequence), helper.make_value_info("o", optional)],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
                           helper.make_tensor_value_info("there", TensorProto.BOOL, [])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
open(sys.argv[1], "wb").write(model.SerializeToString())
