# SPDX-License-Identifier: Apache-2.0
"""Cases for versions of operators of which the backend suite has none that is valid, or none that means the same: each
is one node with what it must give, computed here by numpy as the text of that version says."""
import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F = np.float32
I = np.int64

# Versions that mean something else by a node that is valid today, so that the suite's results are no expectation.
CHANGED = set()

CHANGED.update(("", op, v) for op in ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Greater", "Less", "Equal", "PRelu")
               for v in (1, 6))  # broadcasting had to be asked for
CHANGED.update({("", "QuantizeLinear", 10), ("", "DequantizeLinear", 10)})  # one scale for all

CHANGED.update({("", "Bernoulli", 15), ("", "Bernoulli", 22)})  # what the suite expects are the numbers of another generator

# What cancels to 0 is off by rounding in the type of the signal, more than the suite allows: atol instead of its own.
ATOL = {"DFT": 1e-4, "STFT": 1e-3}

CASES = []  # (domain, operator, version, attributes, inputs, outputs)


def case(op, version, inputs, outputs, domain="", **attributes):
    """`version` may be a list: versions that mean the same. An input None is absent."""
    for v in version if isinstance(version, list) else [version]:
        CASES.append((domain, op, v, attributes, inputs, outputs))


class Constant:
    """An input that is part of the model."""

    def __init__(self, value):
        self.value = value


def ml(op, version, inputs, outputs, **attributes):
    case(op, version, inputs, outputs, domain="ai.onnx.ml", **attributes)


def grid(*shape):
    return (np.arange(np.prod(shape), dtype=F).reshape(shape) - F(3)) / F(4)


x = grid(2, 3, 4)
row = grid(3)

# ---- broadcasting was asked for, and aligned by an axis ----
for op, f in {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}.items():
    y = row + F(2)
    case(op, [1, 6], [x, y], [f(x, y[:, None])], broadcast=1, axis=1)
    case(op, 7, [x, y[:, None]], [f(x, y[:, None])])
case("Pow", 1, [np.abs(x), y], [np.power(np.abs(x), y[:, None])], broadcast=1, axis=1)
for op, f in {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}.items():
    a, b = x > 0, row > 0
    case(op, 1, [a, b], [f(a, b[:, None])], broadcast=1, axis=1)
    case(op, 7, [a, b[:, None]], [f(a, b[:, None])])
for op, f in {"Greater": np.greater, "Less": np.less}.items():
    case(op, 1, [x, row], [f(x, row[:, None])], broadcast=1, axis=1)
    case(op, 7, [x, row[:, None]], [f(x, row[:, None])])
case("Equal", 1, [np.array([[1, 2], [3, 4]], np.int32), np.array([1, 4], np.int32)],
     [np.array([[True, False], [False, True]])], broadcast=1, axis=0)
case("Equal", 7, [np.array([1, 4], np.int32), np.array([1, 2], np.int32)], [np.array([True, False])])
a, b, c = grid(2, 3), grid(3, 2), grid(2)
case("Gemm", [1, 6], [a, b, c], [a @ b + c], broadcast=1)
case("Gemm", 7, [a, b, c], [a @ b + c])
case("PRelu", [1, 6], [x, np.array([F(0.5)])], [np.where(x < 0, x * F(0.5), x)])
case("PRelu", 7, [x, row[:, None]], [np.where(x < 0, x * row[:, None], x)])
case("Sign", [9, 13], [np.array([math.nan, -2, 0, 3], F)], [np.array([math.nan, -1, 0, 1], F)])

# ---- Softmax and its relatives took all dims from an axis on, 1 if none was given ----
def flat_softmax(v, axis):
    w = v.reshape(int(np.prod(v.shape[:axis])), -1)
    e = np.exp(w - w.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).reshape(v.shape)


def flat_hardmax(v, axis):
    w = v.reshape(int(np.prod(v.shape[:axis])), -1)
    return (np.arange(w.shape[1]) == w.argmax(1)[:, None]).astype(F).reshape(v.shape)


for op, f in {"Softmax": flat_softmax, "LogSoftmax": lambda v, k: np.log(flat_softmax(v, k)),
              "Hardmax": flat_hardmax}.items():
    CHANGED.update({("", op, 1), ("", op, 11)})
    case(op, [1, 11], [x], [f(x, 1)])
    case(op, [1, 11], [x], [f(x, 2)], axis=2)

# ---- bounds, pads, axes and sizes were attributes ----
case("Clip", [1, 6], [x], [np.clip(x, F(-0.5), F(1))], min=-0.5, max=1.0)
case("Clip", 6, [x], [np.maximum(x, F(0))], min=0.0)
padded = np.pad(x, ((0, 0), (1, 0), (0, 2)), constant_values=F(7))
case("Pad", 1, [x], [padded], paddings=[0, 1, 0, 0, 0, 2], value=7.0)
case("Pad", 2, [x], [padded], pads=[0, 1, 0, 0, 0, 2], value=7.0)
case("Pad", 2, [x], [np.pad(x, ((0, 0), (1, 1), (2, 2)), "reflect")], pads=[0, 1, 2, 0, 1, 2], mode="reflect")
case("Pad", 2, [x], [np.pad(x, ((0, 0), (1, 1), (2, 2)), "edge")], pads=[0, 1, 2, 0, 1, 2], mode="edge")
# A negative pad cuts first, and what is left is repeated.
for mode in ("edge", "wrap", "reflect"):
    case("Pad", 19, [x, np.array([0, -1, 2, 0, 1, -1], I)], [np.pad(x[:, 1:, :-1], ((0, 0), (0, 1), (2, 0)), mode)], mode=mode)
REDUCTIONS = {
    "ReduceL1": lambda v, a: np.abs(v).sum(a, keepdims=True),
    "ReduceL2": lambda v, a: np.sqrt((v * v).sum(a, keepdims=True)),
    "ReduceLogSum": lambda v, a: np.log(v.sum(a, keepdims=True)),
    "ReduceLogSumExp": lambda v, a: np.log(np.exp(v).sum(a, keepdims=True)),
    "ReduceMax": lambda v, a: v.max(a, keepdims=True),
    "ReduceMean": lambda v, a: v.mean(a, keepdims=True),
    "ReduceMin": lambda v, a: v.min(a, keepdims=True),
    "ReduceProd": lambda v, a: v.prod(a, keepdims=True),
    "ReduceSum": lambda v, a: v.sum(a, keepdims=True),
    "ReduceSumSquare": lambda v, a: (v * v).sum(a, keepdims=True),
}
positive = np.abs(x) + F(0.5)
for op, f in REDUCTIONS.items():
    old = [1, 11] if op == "ReduceSum" else [1, 11, 12, 13] if op in ("ReduceMax", "ReduceMin") else [1, 11, 13]
    case(op, old, [positive], [f(positive, (0, 2))], axes=[0, 2])
    case(op, old, [positive], [f(positive, None)])
    case(op, old, [positive], [f(positive, (1,)).reshape(2, 4)], axes=[1], keepdims=0)
case("Reshape", 1, [x], [x.reshape(2, 12)], shape=[0, -1])
case("Slice", 1, [x], [x[:, 1:3, -2:]], axes=[1, 2], starts=[1, -2], ends=[3, 9])
case("Slice", 1, [x], [x[:1, 1:]], starts=[0, 1], ends=[1, 2147483647])
ones = grid(1, 3, 1)
case("Squeeze", [1, 11], [ones], [row], axes=[0, 2])
case("Squeeze", [1, 11], [ones], [row])
case("Squeeze", 11, [ones], [ones.reshape(1, 3)], axes=[-1])
case("Unsqueeze", [1, 11], [row], [ones], axes=[0, 2])
case("Unsqueeze", 11, [row], [row.reshape(3, 1)], axes=[-1])
case("Tile", 1, [x, Constant(np.array([2], F)), Constant(np.array([1], F))], [np.concatenate([x, x], 1)])
case("TopK", 1, [x], [np.sort(x, 2)[:, :, :1:-1], np.tile(np.array([3, 2], I), (2, 3, 1))], k=2, axis=2)
case("Concat", 1, [x, x], [np.concatenate([x, x], 1)])
case("Split", 1, [x], [x[:, :1], x[:, 1:]], axis=1, split=[1, 2])
case("Split", [2, 11], [x], [x[:, :1], x[:, 1:]], axis=1, split=[1, 2])
case("Dropout", 1, [x], [x], is_test=1)
case("Dropout", 6, [x], [x], is_test=1)
case("Dropout", [7, 10], [x], [x], ratio=0.75)
case("Flatten", 1, [x], [x.reshape(2, 12)])
case("Shape", 1, [x], [np.array([2, 3, 4], I)])

# ---- other changes ----
def batch_norm(v, s, b, m, d, epsilon=1e-5):
    shape = (1, -1) + (1,) * (v.ndim - 2)
    return (v - m.reshape(shape)) / np.sqrt(d.reshape(shape) + F(epsilon)) * s.reshape(shape) + b.reshape(shape)


scale, bias, mean, deviation = row + F(2), row, row * F(0.5), np.abs(row) + F(1)
normed = batch_norm(x, scale, bias, mean, deviation)
case("BatchNormalization", 1, [x, scale, bias, mean, deviation], [normed], consumed_inputs=[0, 0, 0, 1, 1], is_test=1)
case("BatchNormalization", 6, [x, scale, bias, mean, deviation], [normed], is_test=1)
case("BatchNormalization", [7, 9, 14, 15], [x, scale, bias, mean, deviation], [normed])
blocks = grid(1, 8, 1, 2)
case("DepthToSpace", 1, [blocks],
     [blocks.reshape(1, 2, 2, 2, 1, 2).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 2, 4)], blocksize=2)
image = grid(1, 2, 3, 4)


def lp(v, p):
    return ((np.abs(v) ** p).sum((2, 3), keepdims=True) ** (1 / p)).astype(F)


case("GlobalLpPool", 1, [image], [lp(image, 3)], p=3.0)
case("GlobalLpPool", [2, 22], [image], [lp(image, 3)], p=3)
pooled = np.sqrt((image[:, :, :2, :2] ** 2).sum((2, 3), keepdims=True) * 0 + np.stack(
    [np.stack([(image[:, :, i:i + 2, j:j + 2] ** 2).sum((2, 3)) for j in range(3)], -1) for i in range(2)], -2)).astype(F)
case("LpPool", 1, [image], [pooled], kernel_shape=[2, 2], p=2.0)
groups = grid(2, 4, 3)
parts = groups.reshape(2, 2, 6)
group_normed = ((parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + F(1e-5))).reshape(2, 2, 2, 3)
group_scale, group_bias = np.array([2, 3], F), np.array([1, -1], F)
case("GroupNormalization", 18, [groups, group_scale, group_bias],
     [(group_normed * group_scale.reshape(1, 2, 1, 1) + group_bias.reshape(1, 2, 1, 1)).reshape(2, 4, 3)], num_groups=2)
mvn = (image - image.mean((0, 2, 3), keepdims=True)) / np.sqrt(image.var((0, 2, 3), keepdims=True) + F(1e-9))
case("MeanVarianceNormalization", [9, 13], [image], [mvn])
twice = np.repeat(np.repeat(image, 2, 2), 2, 3)
sizes = np.array([1, 1, 2, 2], F)
case("Upsample", 1, [image], [twice], height_scale=2.0, width_scale=2.0)
case("Upsample", 7, [image], [twice], scales=[1.0, 1.0, 2.0, 2.0])
case("Upsample", [9, 10], [image, sizes], [twice])
case("Resize", 10, [image, sizes], [twice])
line = np.array([[[1, 2, 4, 8]]], F)
case("Resize", 10, [line, np.array([1, 1, 2], F)], [np.array([[[1, 1.5, 2, 3, 4, 6, 8, 8]]], F)], mode="linear")
case("Resize", 11, [line, np.array([], F), np.array([1, 1, 2], F)],
     [np.array([[[1, 1.25, 1.75, 2.5, 3.5, 5, 7, 8]]], F)], mode="linear")
case("Resize", 11, [image, np.array([], F), sizes], [twice])
case("Scatter", [9, 11], [np.zeros((3, 3), F), np.array([[1, 0, 2], [0, 2, 1]], I), np.array([[1, 1.1, 1.2], [2, 2.1, 2.2]], F)],
     [np.array([[2, 1.1, 0], [1, 0, 2.2], [0, 2.1, 1.2]], F)])
case("AveragePool", [1], [image], [np.stack([np.stack([image[:, :, i:i + 2, j:j + 2].mean((2, 3)) for j in range(3)], -1)
                                             for i in range(2)], -2)], kernel_shape=[2, 2])
case("Cast", [1], [x], [x.astype(np.int32)], to="INT32")
case("Cast", [6, 9, 13, 19, 21, 23, 24, 25, 28], [x], [x.astype(np.int32)], to=6)
for v in [15, 19, 21, 23, 24, 25]:
    case("CastLike", v, [x, np.array([1], np.int32)], [x.astype(np.int32)])
for op in ("ArgMax", "ArgMin"):
    f = np.argmax if op == "ArgMax" else np.argmin
    case(op, [1, 11, 12, 13], [x], [f(x, 1)[:, None].astype(I)], axis=1)

# ---- ai.onnx.ml: the texts give no opset but 1 for most ----
features = grid(3, 2)
texts = np.array(["b", "a", "c"], object)
ml("CategoryMapper", 1, [texts], [np.array([2, 1, -1], I)], cats_strings=["a", "b"], cats_int64s=[1, 2])
ml("FeatureVectorizer", 1, [features, features[:, :1]], [np.concatenate([features, features[:, :1]], 1)],
   inputdimensions=[2, 1])
missing = np.array([[1, np.nan], [np.nan, 2]], F)
ml("Imputer", 1, [missing], [np.array([[1, 9], [7, 2]], F)], imputed_value_floats=[7.0, 9.0], replaced_value_float=float("nan"))
ml("LabelEncoder", 1, [texts], [np.array([1, 0, -1], I)], classes_strings=["a", "b"])
weights = np.array([[1, 2], [3, -1], [0.5, 0.5]], F)
intercepts = np.array([0.1, 0.2, 0.3], F)
linear = features @ weights.T + intercepts
ml("LinearClassifier", 1, [features], [linear.argmax(1).astype(I), linear], coefficients=weights.ravel().tolist(),
   intercepts=intercepts.tolist(), classlabels_ints=[0, 1, 2])
ml("LinearRegressor", 1, [features], [linear], coefficients=weights.ravel().tolist(), intercepts=intercepts.tolist(), targets=3)
ml("Normalizer", 1, [features + F(1)], [(features + F(1)) / (features + F(1)).max(1, keepdims=True)], norm="MAX")
ml("OneHotEncoder", 1, [np.array([2, 0], I)], [np.array([[0, 0, 1], [1, 0, 0]], F)], cats_int64s=[0, 1, 2])
ml("Scaler", 1, [features], [(features - F(0.5)) * F(2)], offset=[0.5], scale=[2.0])
vectors = np.array([[1, 0], [0, 1]], F)
kernel = features @ vectors.T
ml("SVMRegressor", 1, [features], [(kernel @ np.array([[2], [-1]], F) + F(0.25))], kernel_type="LINEAR", n_supports=2,
   support_vectors=vectors.ravel().tolist(), coefficients=[2.0, -1.0], rho=[0.25], kernel_params=[0.0, 0.0, 0.0])
decision = kernel @ np.array([2, -1], F) + F(0.25)
ml("SVMClassifier", 1, [features], [np.where(decision > 0, 0, 1).astype(I), np.stack([-decision, decision], 1)],
   kernel_type="LINEAR", vectors_per_class=[1, 1], support_vectors=vectors.ravel().tolist(), coefficients=[2.0, -1.0],
   rho=[0.25], kernel_params=[0.0, 0.0, 0.0], classlabels_ints=[0, 1])
left = features[:, 0] <= F(-0.3)
tree = dict(nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_values=[-0.3, 0.0, 0.0],
            nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0])
ml("TreeEnsembleRegressor", [1, 3, 5], [features], [np.where(left, 5, -2).astype(F)[:, None]], n_targets=1,
   target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[5.0, -2.0], **tree)
ml("TreeEnsembleClassifier", [1, 3, 5], [features],
   [np.where(left, 1, 0).astype(I), np.where(left[:, None], [[0.25, 0.75]], [[1.0, 0.0]]).astype(F)],
   class_treeids=[0, 0, 0], class_nodeids=[1, 1, 2], class_ids=[0, 1, 0], class_weights=[0.25, 0.75, 1.0],
   classlabels_int64s=[0, 1], **tree)
ml("ZipMap", 1, [np.array([[0.25, 0.75]], F)], [[{3: F(0.25), 7: F(0.75)}]], classlabels_int64s=[3, 7])
quantised = np.array([100, 128, 255], np.uint8)
half, middle = np.array(0.5, F), np.array(128, np.uint8)
for op in ("QuantizeLinear", "DequantizeLinear"):
    types = [np.uint8, F] if op == "DequantizeLinear" else [F, np.uint8]
    q, r = quantised, (quantised.astype(F) - 128) / 2
    case(op, 10, [q, half, middle] if types[0] == np.uint8 else [r, half, middle], [r] if types[0] == np.uint8 else [q])
case("DequantizeLinear", 1, [quantised, half, middle], [(quantised.astype(F) - 128) / 2], domain="com.microsoft")
case("QuantizeLinear", 1, [row, half, middle], [np.clip(np.rint(row * 2) + 128, 0, 255).astype(np.uint8)],
     domain="com.microsoft")

# ---- models of several nodes: control flow and sequences ----
NETS = []  # (domain, operator, version, nodes, inputs by name, outputs by name)


def net(op, versions, nodes, inputs, outputs, domain=""):
    for v in versions if isinstance(versions, list) else [versions]:
        NETS.append((domain, op, v, nodes, inputs, outputs))


def tensor(name, kind, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def loop_body(version):
    """v, s -> v + i, and v + i as a row; goes on while i is not 5."""
    five = helper.make_node("Constant", [], ["five"], value=numpy_helper.from_array(np.array(5, I)))
    to_float = "FLOAT" if version < 6 else TensorProto.FLOAT
    nodes = [five, helper.make_node("Equal", ["i", "five"], ["last"]), helper.make_node("Not", ["last"], ["go"]),
             helper.make_node("Cast", ["i"], ["f"], to=to_float), helper.make_node("Add", ["v", "f"], ["next"]) if version >= 7
             else helper.make_node("Add", ["v", "f"], ["next"], broadcast=1), helper.make_node("Identity", ["next"], ["row"])]
    return helper.make_graph(nodes, "body", [tensor("i", TensorProto.INT64, []), tensor("again", TensorProto.BOOL, []),
                                             tensor("v", TensorProto.FLOAT, [3])],
                             [tensor("go", TensorProto.BOOL, []), tensor("next", TensorProto.FLOAT, [3]),
                              tensor("row", TensorProto.FLOAT, [3])])


for v in [1, 11, 13, 16, 19, 21, 23, 24, 25]:
    many = helper.make_node("Constant", [], ["turns"], value=numpy_helper.from_array(np.array(8, I)))
    start = grid(3)
    rows = start + np.cumsum(np.arange(6, dtype=F))[:, None]
    net("Loop", v, [many, helper.make_node("Loop", ["turns", "", "x"], ["y", "rows"], body=loop_body(v))],
        {"x": start}, {"y": rows[-1], "rows": rows})

# Without a trip count, only the condition says how often, and whether at all.
until = helper.make_graph([helper.make_node("ReduceMin", ["v"], ["least"], keepdims=0), helper.make_node("Less", ["least", "end"], ["go"]),
                           helper.make_node("Add", ["v", "one"], ["next"])], "body",
                          [tensor("i", TensorProto.INT64, []), tensor("again", TensorProto.BOOL, []), tensor("v", TensorProto.FLOAT, [3])],
                          [tensor("go", TensorProto.BOOL, []), tensor("next", TensorProto.FLOAT, [3])])
for first, turns in ((True, 5), (False, 0)):
    net("Loop", 13, [helper.make_node("Loop", ["", "first", "x"], ["y"], body=until)],
        {"x": np.zeros(3, F), "first": np.array(first), "end": np.array(4, F), "one": np.array(1, F)}, {"y": np.full(3, turns, F)})

number = lambda name, value: helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(value, I)))  # noqa: E731
p, q = grid(2, 3), grid(2, 3) + F(10)
PAIR = helper.make_node("SequenceConstruct", ["p", "q"], ["s"])
PQ = {"p": p, "q": q}
net("SequenceConstruct", 11, [PAIR], PQ, {"s": [p, q]})
net("SequenceAt", 11, [PAIR, number("k", -1), helper.make_node("SequenceAt", ["s", "k"], ["y"])], PQ, {"y": q})
net("SequenceAt", 11, [PAIR, helper.make_node("SequenceAt", ["s", "k"], ["y"])], {**PQ, "k": np.array(1, I)}, {"y": q})
net("SequenceEmpty", 11, [helper.make_node("SequenceEmpty", [], ["e"]), helper.make_node("SequenceInsert", ["e", "p"], ["s"])],
    {"p": p}, {"s": [p]})
net("SequenceInsert", 11, [PAIR, number("k", 0), helper.make_node("SequenceInsert", ["s", "q", "k"], ["t"])], PQ, {"t": [q, p, q]})
net("SequenceErase", 11, [PAIR, number("k", -2), helper.make_node("SequenceErase", ["s", "k"], ["t"])], PQ, {"t": [q]})
net("SequenceLength", 11, [PAIR, helper.make_node("SequenceLength", ["s"], ["n"])], PQ, {"n": np.array(2, I)})
net("ConcatFromSequence", 11, [PAIR, helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=1)], PQ,
    {"y": np.concatenate([p, q], 1)})
net("ConcatFromSequence", 11, [PAIR, helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1)], PQ,
    {"y": np.stack([p, q], -1)})
for v in [11, 24]:
    net("SplitToSequence", v, [helper.make_node("SplitToSequence", ["p"], ["s"], axis=1, keepdims=0)], {"p": p},
        {"s": [p[:, 0], p[:, 1], p[:, 2]]})
    net("SplitToSequence", v, [number("k", 2), helper.make_node("SplitToSequence", ["p", "k"], ["s"], axis=1)], {"p": p},
        {"s": [p[:, :2], p[:, 2:]]})
net("SequenceMap", 17, [PAIR, helper.make_node("SequenceMap", ["s", "p"], ["t"], body=helper.make_graph(
    [helper.make_node("Add", ["a", "b"], ["c"])], "body", [tensor("a", TensorProto.FLOAT), tensor("b", TensorProto.FLOAT)],
    [tensor("c", TensorProto.FLOAT)]))], PQ, {"t": [p + p, q + p]})
for v in [15, 28]:
    for op in ("Optional", "OptionalHasElement", "OptionalGetElement"):
        net(op, v, [helper.make_node("Optional", ["p"], ["o"]), helper.make_node("OptionalHasElement", ["o"], ["has"]),
                        helper.make_node("OptionalGetElement", ["o"], ["y"])], {"p": p}, {"has": np.array(True), "y": p})

# ---- regions ----
feature = grid(1, 1, 4, 4)
box = np.array([[0, 0, 3, 3]], F)
# one sample in the middle of each of 2 x 2 bins of 1.5 x 1.5
samples = [0.75, 2.25]
between = np.array([[feature[0, 0, int(i), int(j)] + (i % 1) * F(1) + (j % 1) * F(0.25) for j in samples] for i in samples], F)
case("RoiAlign", 10, [feature, box, np.array([0], I)], [between[None, None]], output_height=2, output_width=2, sampling_ratio=1)
for v in [1, 22]:
    case("MaxRoiPool", v, [feature, np.array([[0, 0, 0, 3, 2]], F)],
         [np.array([[[[feature[0, 0, 1, 1], feature[0, 0, 1, 3]], [feature[0, 0, 2, 1], feature[0, 0, 2, 3]]]]])], pooled_shape=[2, 2])

# ---- com.microsoft ----
def ms(op, inputs, outputs, **attributes):
    case(op, 1, inputs, outputs, domain="com.microsoft", **attributes)


erf = np.vectorize(math.erf)


def gelu(v):
    return (v * 0.5 * (1 + erf(v / math.sqrt(2)))).astype(F)


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def softmax(v):
    e = np.exp(v - v.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(v, g, b, epsilon):
    return (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + F(epsilon)) * g + b


def rms_norm(v, g, epsilon):
    return v / np.sqrt((v * v).mean(-1, keepdims=True) + F(epsilon)) * g


line, beside = grid(2, 4), grid(4) * F(0.5)
ms("Gelu", [line], [gelu(line)])
ms("BiasGelu", [line, beside], [gelu(line + beside)])
ms("FastGelu", [line, beside], [
    (0.5 * (line + beside) * (1 + np.tanh(math.sqrt(2 / math.pi) * ((line + beside) + 0.044715 * (line + beside) ** 3)))).astype(F)])
ms("QuickGelu", [line], [line * sigmoid(F(1.702) * line)])
ms("BiasSplitGelu", [line, beside], [(line + beside)[:, :2] * gelu((line + beside)[:, 2:])])
left, right = grid(3, 2), grid(4, 3)
ms("FusedMatMul", [left, right], [F(0.5) * (left.T @ right.T)], transA=1, transB=1, alpha=0.5)
ms("TransposeMatMul", [left, grid(3, 4)], [left.T @ grid(3, 4)], transA=1)
ms("FusedGemm", [left.T, right.T, beside], [np.maximum(left.T @ right.T + beside, 0)], activation="Relu")
photo, filters = grid(1, 1, 3, 3), grid(2, 1, 2, 2)
convolved = np.stack([sum(photo[:, 0, i:i + 2, j:j + 2] * filters[:, 0, i, j].reshape(-1, 1, 1) for i in range(2) for j in range(2))
                      ])
ms("FusedConv", [photo, filters], [np.where(convolved < 0, convolved * F(0.1), convolved)], activation="LeakyRelu",
   activation_params=[0.1])
gain = grid(4) + F(2)
ms("SkipLayerNormalization", [line[None], line[None] * F(2), gain, beside], [layer_norm(line[None] * F(3), gain, beside, 1e-5)],
   epsilon=1e-5)
ms("SkipSimplifiedLayerNormalization", [line[None], line[None] * F(2), gain], [rms_norm(line[None] * F(3), gain, 1e-5)],
   epsilon=1e-5)
case("SimplifiedLayerNormalization", 1, [line, gain], [rms_norm(line, gain, 1e-5)], axis=-1, epsilon=1e-5)
ids, words, places = np.array([[1, 0]], np.int32), grid(3, 4), grid(2, 4) * F(0.1)
embedded = words[ids] + places[None]
ms("EmbedLayerNormalization", [ids, None, words, places, None, gain, beside],
   [layer_norm(embedded, gain, beside, 1e-5), np.zeros(1, np.int32)], epsilon=1e-5)
query, key, value = grid(1, 2, 4), grid(1, 3, 4) * F(0.5), grid(1, 3, 4)


def heads(v):
    return v.reshape(1, -1, 2, 2).transpose(0, 2, 1, 3)


def attention(a, b, c, visible=True):
    scores = heads(a) @ heads(b).transpose(0, 1, 3, 2) / math.sqrt(2)
    scores = np.where(visible, scores, scores - 10000)
    return (softmax(scores) @ heads(c)).transpose(0, 2, 1, 3).reshape(1, -1, 4).astype(F)


ms("MultiHeadAttention", [query, key, value], [attention(query, key, value)], num_heads=2)
ms("MultiHeadAttention", [query, key, value, None, np.array([[1, 1, 0]], np.int32)],
   [attention(query, key, value, np.array([True, True, False]))], num_heads=2)
projection = np.sin(np.arange(48, dtype=F)).reshape(4, 12)
qkv = np.split(query @ projection, 3, -1)
ms("Attention", [query, projection], [attention(*qkv)], num_heads=2)
angles = np.arange(3, dtype=F)[:, None] * np.array([1, 0.1], F)
turned = grid(1, 2, 4)
first, second = turned[..., :2], turned[..., 2:]
cosines, sines = np.cos(angles), np.sin(angles)
at = np.array([[2, 0]], I)
ms("RotaryEmbedding", [turned, at, cosines, sines],
   [np.concatenate([first * cosines[at] - second * sines[at], second * cosines[at] + first * sines[at]], -1)], num_heads=1)
# 4-bit weights: two columns of 16 numbers in one block each
codes = (np.arange(32) * 7 % 16).astype(np.uint8).reshape(2, 16)
packed = (codes[:, ::2] | codes[:, 1::2] << 4).reshape(2, 1, 8)
steps = np.array([0.5, 0.25], F)
long_row = grid(1, 16)
ms("MatMulNBits", [long_row, packed, steps], [long_row @ ((codes.astype(F) - 8) * steps[:, None]).T], K=16, N=2, bits=4, block_size=16)
NF4 = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
                -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], F)
ms("MatMulBnb4", [long_row, (codes[:, ::2] << 4 | codes[:, 1::2]).ravel(), steps],
   [long_row @ (NF4[codes] * steps[:, None]).T], K=16, N=2, block_size=16, quant_type=1, transB=1)
ms("GatherBlockQuantized", [codes[:, ::2] | codes[:, 1::2] << 4, np.array([1], I), steps[:, None]],
   [((codes[[1]].astype(F) - 8) * steps[1])], bits=4, block_size=16, quantize_axis=1)
# 8-bit numbers of scale 0.5 and zero point 100
byte = lambda v: np.array(v, np.uint8)  # noqa: E731
A, B = byte([[90, 100], [120, 104]]), byte([[110, 100], [96, 130]])
SA, ZA, SB, ZB, SY, ZY = (np.array(v, t) for v, t in ((0.5, F), (100, np.uint8), (0.25, F), (98, np.uint8), (2.0, F), (7, np.uint8)))


def real(v, s, z):
    return (v.astype(F) - F(z)) * s


def stored(v):
    return np.clip(np.rint(v / SY) + F(ZY), 0, 255).astype(np.uint8)


ra, rb = real(A, SA, ZA), real(B, SB, ZB)
ms("QLinearAdd", [A, SA, ZA, B, SB, ZB, SY, ZY], [stored(ra + rb)])
ms("QLinearMul", [A, SA, ZA, B, SB, ZB, SY, ZY], [stored(ra * rb)])
ms("QLinearLeakyRelu", [A, SA, ZA, SY, ZY], [stored(np.where(ra < 0, ra * F(0.5), ra))], alpha=0.5)
ms("QLinearSigmoid", [A, SA, ZA, SY, ZY], [stored(sigmoid(ra))])
ms("QLinearSoftmax", [A, SA, ZA, SY, ZY], [stored(softmax(ra))], axis=-1, opset=13)
ms("QLinearWhere", [np.array([[True, False], [False, True]]), A, SA, ZA, B, SB, ZB, SY, ZY],
   [stored(np.where([[True, False], [False, True]], ra, rb))])
ms("QLinearConcat", [SY, ZY, A, SA, ZA, B, SB, ZB], [stored(np.concatenate([ra, rb], 1))], axis=1)
ms("QLinearGlobalAveragePool", [A[None, None], SA, ZA, SY, ZY], [stored(ra.mean(keepdims=True))[None, None]])
ms("QLinearAveragePool", [A[None, None], SA, ZA, SY, ZY], [stored(ra.mean(1, keepdims=True))[None, None]], kernel_shape=[1, 2])
# a convolution of channels that come last, with weights that have another zero point for each output
image, kernel, kz = byte([[[100, 98], [104, 90]], [[101, 120], [99, 100]]])[None], byte([[[[3, 250]], [[9, 4]]], [[[1, 2]], [[3, 4]]]]), byte([130, 2])
weights = real(kernel, SB, kz[:, None, None, None])
ms("QLinearConv", [image, SA, ZA, kernel, SB, kz, SY, ZY],
   [stored(np.einsum("nhwc,ocw->nho", real(image, SA, ZA), weights[:, :, 0])[:, :, None])], channels_last=1)
ms("NhwcMaxPool", [A[None, :, :, None]], [A.max(1, keepdims=True)[None, :, :, None]], kernel_shape=[1, 2])
ms("QGemm", [A, SA, ZA, B, SB, ZB, None, SY, ZY], [stored(ra @ rb)])
ms("QGemm", [A, SA, ZA, B, SB, ZB], [ra @ rb])
ms("MatMulIntegerToFloat", [A, B, SA, SB, ZA, ZB], [ra @ rb])
spread = np.array([[-1, 0, 1.55]], F)
scale = F(2.55 / 255)
zero = F(np.rint(1 / scale))
ms("DynamicQuantizeMatMul", [spread, np.vstack([B, B[:1]]), SB, ZB],
   [(np.clip(np.rint(spread / scale) + zero, 0, 255) - zero) * scale @ real(np.vstack([B, B[:1]]), SB, ZB)])
# two heads of the query share one of the keys; each token sees those before it
group_query, group_key, group_value = grid(1, 2, 4), grid(1, 2, 2) * F(0.5), grid(1, 2, 2)
seen = np.tril(np.ones((2, 2), bool))
group_scores = np.where(seen, group_query.reshape(1, 2, 2, 2).transpose(0, 2, 1, 3) @ group_key[:, None].transpose(0, 1, 3, 2)
                        / math.sqrt(2), -np.inf)
ms("GroupQueryAttention", [group_query, group_key, group_value, None, None, np.array([1], np.int32), Constant(np.array(2, np.int32))],
   [(softmax(group_scores) @ group_value[:, None]).transpose(0, 2, 1, 3).reshape(1, 2, 4).astype(F), group_key[:, None],
    group_value[:, None]], num_heads=2, kv_num_heads=1)

# rows that nothing else reads, from the last to the first
for v in [9, 11, 16, 19, 21, 23, 24, 25]:
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["next"]), helper.make_node("Mul", ["next", "x"], ["row"])], "body",
        [tensor("s", TensorProto.FLOAT, [3]), tensor("x", TensorProto.FLOAT, [3])],
        [tensor("next", TensorProto.FLOAT, [3]), tensor("row", TensorProto.FLOAT, [3])])
    xs = grid(5, 3)
    states = np.cumsum(xs, 0)
    net("Scan", v, [helper.make_node("Scan", ["start", "xs"], ["last", "rows"], body=body, num_scan_inputs=1,
                                     scan_output_directions=[1])],
        {"start": np.zeros(3, F), "xs": xs}, {"last": states[-1], "rows": (states * xs)[::-1]})

# the published test values of the hash
ms("MurmurHash3", [np.array(["hello", ""], object)], [np.array([0x248BFA47, 0], np.uint32)], seed=0)

# ---- com.microsoft: what samples, decodes and measures ----
square = np.array([[[0, 2, 1], [4, 1, 0], [1, 0, 3]], [[2, 0, 0], [0, 0, 4], [0, -1, 0]]], F)  # both need a swap of rows
ms("Inverse", [square], [np.linalg.inv(square.astype(np.float64)).astype(F)])
points, others = grid(3, 4), grid(2, 4) * F(-0.5)
apart = ((points[:, None] - others) ** 2).sum(-1)
ms("CDist", [points, others], [apart])
ms("CDist", [points, others], [np.sqrt(apart)], metric="euclidean")
image = grid(1, 1, 3, 4)
ms("GridSample", [image, np.array([[[[-1, -1], [1, 1], [0, 0], [3, 0]]]], F)],
   [np.array([[[[image[0, 0, 0, 0], image[0, 0, 2, 3], image[0, 0, 1, 1:3].mean(), 0]]]], F)], align_corners=1)
# a box from the centre of the first row to that of the last, and beyond the right edge; one of one row
boxes = np.array([[0, 0, 1, 2], [0.25, 0, 0.75, 1]], F)
ms("CropAndResize", [image, boxes[:1], np.array([0], np.int32), Constant(np.array([2, 3], np.int32))],
   [np.array([[[[image[0, 0, r, 0], image[0, 0, r, 3], -5] for r in (0, 2)]]], F)], extrapolation_value=-5.0)
ms("CropAndResize", [image, boxes[1:], np.array([0], np.int32), Constant(np.array([1, 3], np.int32))],
   [image[:, :, 1:2, [0, 2, 3]]], mode="nearest")
# the rows of a window end where the mask is 0
seen = np.array([[1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 1, 1]], np.int32)[None, None]
lowest = np.finfo(F).min
ms("MaxpoolWithMask", [image, seen],
   [np.array([[[[image[0, 0, 1, 0], image[0, 0, 0, 2], image[0, 0, 1, 2]],
                [image[0, 0, 2, 1], image[0, 0, 2, 2], image[0, 0, 2, 3]]]]], F)], kernel_shape=[2, 2])
ms("MaxpoolWithMask", [image[0], np.array([[[1, 0, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1]]], np.int32)],
   [np.array([[[image[0, 0, 0, 0], lowest, image[0, 0, 0, 3]], image[0, 0, 1, [0, 2, 3]],
               [lowest, lowest, image[0, 0, 2, 3]]]], F)], kernel_shape=[2], strides=[2], pads=[1, 1])
ms("UnfoldTensor", [x], [np.stack([x[:, 0:2], x[:, 1:3]], 1).transpose(0, 1, 3, 2)], dim=1, size=2)
ms("UnfoldTensor", [np.arange(7, dtype=I)], [np.array([[0, 1, 2], [3, 4, 5]], I)], size=3, step=3)
words = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 0]], I)
ms("NGramRepeatBlock", [words, grid(2, 5)],
   [np.where([[0, 0, 0, 1, 0], [0, 0, 0, 0, 0]], F(-np.inf), grid(2, 5))], ngram_size=3)
ms("NGramRepeatBlock", [words, grid(2, 5)],
   [np.where([[0, 1, 1, 1, 0], [1, 0, 0, 0, 1]], F(-np.inf), grid(2, 5))], ngram_size=1)
ms("DynamicTimeWarping", [np.array([[0, 9, 9, 9], [0, 0, 9, 9], [9, 9, 0, 0]], F)],  # of two equal ways the one from the column before
   [np.array([[0, 1, 1, 2, 2], [0, 0, 1, 2, 3]], np.int32)])
ms("DynamicTimeWarping", [np.array([[[1, 1, 1]]], F)], [np.array([[0, 0, 0], [0, 1, 2]], np.int32)])
ms("GatedAdd", [x, x[::-1], x[..., :1]], [x + x[::-1] * x[..., :1]])
ms("GemmFastGelu", [a, b, c], [(0.5 * (a @ b + c) * (1 + np.tanh(math.sqrt(2 / math.pi) * ((a @ b + c) + 0.044715 * (a @ b + c) ** 3)))).astype(F)])
ms("BiasAdd", [x, x[0, 0], x[::-1]], [x + x[0, 0] + x[::-1]])
silu = lambda v: v * sigmoid(v)  # noqa: E731
ms("ScaledSiLU", [x], [silu(x * F(0.5))], alpha=0.5)
ms("ScaledSiLU", [x, np.array(2, F)], [silu(x * F(2))], alpha=0.5)
limited = np.minimum(x, F(0.5))
ms("SwiGLU", [x, x[::-1]], [limited * sigmoid(F(1.5) * limited) * (np.clip(x[::-1], F(-0.5), F(0.5)) + 1)],
   activation_alpha=1.5, activation_beta=1.0, limit=0.5)
ms("SwiGLU", [x], [silu(x[..., :2]) * x[..., 2:]])
halves = x.reshape(2, 3, 2, 2)
ms("GatedRMSNorm", [x, row[:2], x[::-1]], [rms_norm(halves, row[:2], 1e-5).reshape(2, 3, 4) * silu(x[::-1])])
ms("GatedRMSNorm", [x, x[0, 0], x[::-1]], [rms_norm(x, x[0, 0], 1e-3) * sigmoid(x[::-1])], activation="sigmoid", epsilon=1e-3)
ms("BranchwiseRMSNorm", [x, grid(12)], [rms_norm(x, grid(3, 4), 1e-5)])
ms("BranchwiseRMSNorm", [x, row[:2]], [rms_norm(halves, row[:2], 1e-5).reshape(2, 3, 4)], num_branches=2)
ms("BranchwiseRMSNorm", [x], [rms_norm(x, F(1), 1e-5)])
for v, nan_too, finite in [(np.nan, True, False), (np.inf, True, False), (1, True, True), (np.inf, False, True), (np.nan, False, False)]:
    ms("IsAllFinite", [x, np.array([[1, v]], F)], [np.array(finite)], **({} if nan_too else {"isnan_only": 1}))


def transposed(v, w, strides, begin, end, more, group=1):
    """A transposed convolution, as each input adds its window to the output."""
    kernel, (images, channels), each = w.shape[2:], v.shape[:2], w.shape[1]
    full = [(n - 1) * s + k + m for n, s, k, m in zip(v.shape[2:], strides, kernel, more)]
    y = np.zeros((images, each * group, *full), F)
    for at in np.ndindex(v.shape[2:]):
        window = tuple(slice(i * s, i * s + k) for i, s, k in zip(at, strides, kernel))
        for c in range(channels):
            first = c // (channels // group) * each
            y[(slice(None), slice(first, first + each), *window)] += v[(slice(None), c, *at)].reshape(images, 1, *[1] * len(kernel)) * w[c]
    return y[(slice(None), slice(None), *[slice(b, n - e) for b, e, n in zip(begin, end, full)])]


# stride = kernel, more of one, less of the other, and more than one axis: by phases, together or each on its own; a stride above the
# kernel and pads beyond it are computed in another way
for shape, kernel, strides, begin, end, more, groups in [
        ((2, 4, 3, 5), (2, 3), (2, 3), (0, 0), (0, 0), (0, 0), 1), ((1, 4, 5, 4), (4, 4), (2, 2), (1, 1), (1, 1), (0, 0), 1),
        ((1, 4, 5, 4), (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 1), ((1, 4, 3, 4), (5, 1), (3, 1), (2, 0), (0, 0), (2, 0), 2),
        ((2, 2, 7), (16,), (8,), (4,), (3,), (0,), 1), ((1, 2, 4), (2,), (3,), (0,), (0,), (1,), 1), ((1, 2, 4), (3,), (2,), (3,), (2,), (0,), 1)]:
    values, taps = grid(*shape), grid(shape[1], 3, *kernel) / F(8)
    for offsets in [None, np.tile(np.array([1, -2, 3], F), groups)]:
        result = transposed(values, taps, strides, begin, end, more, groups)
        case("ConvTranspose", [1, 11, 22], [values, taps] + ([] if offsets is None else [offsets]),
             [result if offsets is None else result + offsets.reshape(1, -1, *[1] * len(kernel))], strides=list(strides),
             pads=[*begin, *end], output_padding=list(more), group=groups)
spread_out = np.array([[[1, 0, 2, 0, 3]]], F)  # the input with a zero between its elements, times [1, 2, 1]
whole = np.array([[[1, 2, 3, 4, 5, 6, 3]]], F)
ms("ConvTransposeWithDynamicPads", [spread_out[:, :, ::2], np.array([[[1, 2, 1]]], F), np.array([1, 2], I)], [whole[:, :, 1:-2]], strides=[2])
ms("ConvTransposeWithDynamicPads", [spread_out[:, :, ::2], np.array([[[1, 2, 1]]], F), None, np.array([4], F)], [whole + F(4)], strides=[2])


def by_bytes(v, w, s, z):
    """v quantised as it is, times weights with a scale for each column."""
    low, high = min(v.min(), F(0)), max(v.max(), F(0))
    step = F((high - low) / F(255)) or F(1)
    at = np.rint(-low / step)
    return (np.clip(np.rint(v / step) + at, 0, 255) - at) @ (w.astype(F) - z) * (step * s)


inputs_of, state = np.array([[[1, -0.5]], [[0.25, 2]]], F), np.array([[0.5, -0.25]], F)
w8, r8 = (np.arange(-8, 8, dtype=np.int8).reshape(2, 8) * np.int8(k) for k in (5, -3))
w_scale, r_scale, w_zero = np.linspace(0.01, 0.02, 8, dtype=F), np.linspace(0.03, 0.01, 8, dtype=F), np.int8(3)
b8 = grid(16) * F(0.125)
h, cell, rows = state, state * F(2), []
projected = by_bytes(inputs_of, w8, w_scale, w_zero) + b8[:8] + b8[8:]
for t in range(2):
    i, o, f, g = np.split(projected[t] + by_bytes(h, r8, r_scale, 0), 4, 1)
    cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(cell)
    rows.append(h)
ms("DynamicQuantizeLSTM", [inputs_of, Constant(w8[None]), Constant(r8[None]), b8[None], None, state[None], state[None] * F(2), None, w_scale[None],
                           np.full((1, 8), w_zero, np.int8), r_scale[None], np.zeros((1, 8), np.int8)],
   [np.array(rows, F)[:, None], h[None].astype(F), cell[None].astype(F)], hidden_size=2)

# ---- regular expressions: results of ONNX Runtime 1.32 ----
def strings(*rows):
    return np.array(rows, object)


ms("Tokenizer", [strings("a b,c", "", "d")],
   [strings(["\2", "a", "b", "c", "\3"], ["\2", "\3", "#", "#", "#"], ["\2", "d", "\3", "#", "#"])],
   mark=1, mincharnum=1, pad_value="#", separators=[" ", ","])
ms("Tokenizer", [strings(["a b", "", ""])], [strings([["b"], ["#"], ["#"]])], mark=0, mincharnum=1, pad_value="#", separators=["[ a]"])
# of the leftmost matches the longest, whatever the pattern prefers
ms("Tokenizer", [strings("éa 中b")], [strings(["éa", " ", "中", "b"])], mark=0, mincharnum=1, pad_value="", tokenexp="\\pL|\\pLa| ")
ms("Tokenizer", [strings("ab abc a")], [strings(["ab", "abc"])], mark=0, mincharnum=2, pad_value="", tokenexp="\\b[a-c]+?")
# a match that is too short is looked past; one that is empty takes a character along
ms("Tokenizer", [strings("xyab")], [strings(["yab"])], mark=0, mincharnum=3, pad_value="", tokenexp="xy|yab")
ms("Tokenizer", [strings("ab cd")], [strings(["b", "d"])], mark=0, mincharnum=1, pad_value="", separators=["\\b"])
# each piece is a text of its own to the next separator
ms("Tokenizer", [strings("x ab")], [strings(["ab"])], mark=0, mincharnum=1, pad_value="", separators=["x", "^ "])
for single in {"separators": [""]}, {"tokenexp": "."}:  # each character, also the end of a line
    ms("Tokenizer", [strings(["ab\n", "é"])], [strings([["\2", "a", "b", "\n", "\3"], ["\2", "é", "\3", "#", "#"]])],
       mark=1, mincharnum=1, pad_value="#", **single)
# no tokens: no marks either; no texts: the rank stays
ms("Tokenizer", [strings("", "")], [np.empty((2, 0), object)], mark=1, mincharnum=1, pad_value="#", tokenexp="a")
ms("Tokenizer", [np.empty((0, 3), object)], [np.empty((0, 0), object)], mark=1, mincharnum=1, pad_value="#", tokenexp="a")
ms("Tokenizer", [np.empty((0,), object)], [np.empty((0,), object)], mark=1, mincharnum=1, pad_value="#", tokenexp="a")
case("RegexFullMatch", 20, [strings(["ab1", "Éb"], ["", "a\n"])], [np.array([[True, True], [False, False]])], pattern="(?i)[aé]b\\d?$")
case("StringConcat", 20, [strings("a", "b"), Constant(np.array("_x", object))], [strings("a_x", "b_x")])

# ---- random numbers: what is true of many of them, whatever they are ----
MANY = 20000


def moments(op, version, mean, square, nodes, inputs, tolerance):
    """`nodes` make numbers called y. Their mean and that of their squares are as they must be, by a few standard errors."""
    nodes = nodes + [helper.make_node("Mul", ["y", "y"], ["yy"])]
    inputs, outputs = dict(inputs), {}
    for name, of, want in (("m", "y", mean), ("s", "yy", square)):
        nodes += [helper.make_node("ReduceMean", [of], [f"{name}1"], keepdims=1), helper.make_node("Sub", [f"{name}1", f"{name}_want"], [f"{name}2"]),
                  helper.make_node("Abs", [f"{name}2"], [f"{name}3"]), helper.make_node("Less", [f"{name}3", f"{name}_most"], [name])]
        inputs[f"{name}_want"], inputs[f"{name}_most"] = np.array([want], F), np.array([tolerance * max(abs(want), 1)], F)
        outputs[name] = np.array([True])
    net(op, version, nodes, inputs, outputs)


for v in (1, 22):
    zeros = {"x": np.zeros((MANY // 4, 4), F)}
    flatten = helper.make_node("Reshape", ["n", "flat"], ["y"]) if v > 1 else helper.make_node("Reshape", ["n"], ["y"], shape=[-1])
    flat = {"flat": np.array([-1], I)} if v > 1 else {}
    for op, mean, square, figures in (("RandomUniform", 1, 7 / 3, {"low": -1.0, "high": 3.0}), ("RandomNormal", 2, 13, {"mean": 2.0, "scale": 3.0})):
        moments(op, v, mean, square, [helper.make_node(op, [], ["y"], shape=[MANY], **figures)], {}, 0.05)
        moments(op, v, mean, square, [helper.make_node(op, [], ["y"], shape=[MANY], seed=5.0, **figures)], {}, 0.05)
        moments(op + "Like", v, mean, square, [helper.make_node(op + "Like", ["x"], ["n"], **figures), flatten], {**zeros, **flat}, 0.05)
for v in (15, 22):
    moments("Bernoulli", v, 0.3, 0.3, [helper.make_node("Bernoulli", ["p"], ["y"])], {"p": np.full(MANY, 0.3, F)}, 0.02)
    case("Bernoulli", v, [np.array([0, 1, 1, 0], F)], [np.array([0, 1, 1, 0], I)], dtype=TensorProto.INT64)
for v in (7, 22):  # shares 1/2, 1/4, 0, 1/4
    moments("Multinomial", v, 1, 2.5, [helper.make_node("Multinomial", ["p"], ["i"], sample_size=MANY), helper.make_node("Cast", ["i"], ["n"], to=1),
                                       helper.make_node("Reshape", ["n", "flat"], ["y"])],
            {"p": np.array([[0, -math.log(2), -50, -math.log(2)]], F), "flat": np.array([-1], I)}, 0.05)
    case("Multinomial", v, [np.array([[0, 90, 0], [90, 0, 0]], F)], [np.array([[1, 1], [0, 0]], I)], dtype=TensorProto.INT64, sample_size=2)

# ---- many boxes, equal scores among them: the lower place comes first ----
def suppressed(boxes, scores, most, overlap, least):
    def side(box, axis):
        return min(box[axis], box[axis + 2]), max(box[axis], box[axis + 2])

    def common(p, q):
        lengths = [min(side(p, a)[1], side(q, a)[1]) - max(side(p, a)[0], side(q, a)[0]) for a in (0, 1)]
        return max(lengths[0], F(0)) * max(lengths[1], F(0))

    rows = []
    for b, c in np.ndindex(*scores.shape[:2]):
        taken = []
        for i in sorted((i for i in range(scores.shape[2]) if scores[b, c, i] > least), key=lambda i: (-scores[b, c, i], i)):
            inside = [common(boxes[b, i], boxes[b, j]) for j in taken]
            area = [common(boxes[b, k], boxes[b, k]) for k in [i] + taken]
            if len(taken) < most and all(s <= 0 or s / (area[0] + a - s) <= overlap for s, a in zip(inside, area[1:])):
                taken.append(i)
        rows += [[b, c, i] for i in taken]
    return np.array(rows, I)


generator = np.random.default_rng(7)
boxes = generator.integers(0, 40, (2, 150, 4)).astype(F)
scores = (generator.integers(0, 12, (2, 3, 150)) / F(16)).astype(F)
case("NonMaxSuppression", [10, 11], [boxes, scores, Constant(np.array([20], I)), Constant(np.array([0.375], F)), Constant(np.array([0.25], F))],
     [suppressed(boxes, scores, 20, F(0.375), F(0.25))])
