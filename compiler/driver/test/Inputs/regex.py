# SPDX-License-Identifier: Apache-2.0
# regex.py OUT: models with regular expressions, most of which are at fault.
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

from models import case


def model(node, shape, kind, name, out):
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.STRING, shape)],
                              [helper.make_tensor_value_info("y", kind, None)])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), out / name)


def match(pattern, name, out):
    model(helper.make_node("RegexFullMatch", ["x"], ["y"], name="match", pattern=pattern), [2], TensorProto.BOOL, name, out)


def tokens(name, out, shape=(2,), mark=1, mincharnum=1, **attributes):
    node = helper.make_node("Tokenizer", ["x"], ["y"], name="tokens", domain="com.microsoft", mark=mark,
                            mincharnum=mincharnum, pad_value="#", **attributes)
    model(node, shape, TensorProto.STRING, name, out)


out = pathlib.Path(sys.argv[1])
match("ä|(?:x+)[a-z", "unclosed.onnx", out)
match("a" * 300 + ")" + "b" * 100, "long.onnx", out)
match("a" * 100000, "huge.onnx", out)
tokens("second.onnx", out, separators=[" ", "a**"])
tokens("least.onnx", out, mincharnum=0, tokenexp="a")
tokens("both.onnx", out, separators=[" "], tokenexp="a")
tokens("neither.onnx", out)
tokens("letters.onnx", out, mincharnum=2, separators=[""])
tokens("rank.onnx", out, shape=(1, 1, 1), tokenexp="a")
tokens("words.onnx", out, tokenexp="[a-z]+\\b|ä")
bad = out / "not_utf8"
(bad / "test_data_set_0").mkdir(parents=True)
tokens("model.onnx", bad, tokenexp="a")
(bad / "expect.json").write_text(json.dumps({"error": "run"}))
text = TensorProto(name="x", data_type=TensorProto.STRING, dims=[2], string_data=[b"a", b"a\xff"])
(bad / "test_data_set_0" / "input_0.pb").write_bytes(text.SerializeToString())

# Values and nodes that are called as the functions of steps.
nodes = [helper.make_node("Tokenizer", ["x"], ["token_count"], name="tokenize", domain="com.microsoft", mark=0, mincharnum=1,
                          pad_value="#", tokenexp="[a-z]+"),
         helper.make_node("StringConcat", ["token_count", "token_count"], ["string_concat"], name="string_concat"),
         helper.make_node("RegexFullMatch", ["string_concat"], ["regex_row"], name="regex_full_match", pattern="a+"),
         helper.make_node("Not", ["regex_row"], ["tokenize"], name="regex_range")]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.STRING, ["pattern"])],
                          [helper.make_tensor_value_info("tokenize", TensorProto.BOOL, None)])
opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
case(out / "names", helper.make_model(graph, opset_imports=opsets, ir_version=9),
     [([np.array(["a b", "aa"], object)], [np.array([[False, True], [False, True]])]),
      ([np.array([], object)], [np.empty((0, 0), bool)])])
