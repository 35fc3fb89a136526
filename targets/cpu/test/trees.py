# SPDX-License-Identifier: Apache-2.0
"""A forest whose nodes compare in every way that has an order, with NaN to either side: trees.py FOLDER."""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

rng = np.random.default_rng(7)
FEATURES, TREES, TARGETS = 6, 21, 3
nodes = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                         "missing_value_tracks_true")}
weights = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"]


def node(tree, number, mode, yes=0, no=0):
    row = (tree, number, int(rng.integers(FEATURES)), float(np.float32(rng.integers(-8, 9) / 4)), mode, yes, no,
           int(rng.integers(2)))
    for k, v in zip(nodes, row):
        nodes[k].append(v)


def grow(tree, depth, next_id):
    number = next_id[0]
    next_id[0] += 1
    if depth == 0 or rng.integers(5) == 0:
        node(tree, number, "LEAF")
        for _ in range(rng.integers(3)):
            for k, v in zip(weights, (tree, number, int(rng.integers(TARGETS)), float(np.float32(rng.normal())))):
                weights[k].append(v)
        return number
    at = len(nodes["modes"])
    node(tree, number, str(rng.choice(MODES)))
    nodes["truenodeids"][at] = grow(tree, depth - 1, next_id)
    nodes["falsenodeids"][at] = grow(tree, depth - 1, next_id)
    return number


for t in range(TREES):
    grow(t, t % 7, [0])
attributes = {f"nodes_{k}": v for k, v in nodes.items()} | {f"target_{k}": v for k, v in weights.items()}
trees = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=TARGETS, **attributes)
graph = helper.make_graph([trees], "trees", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", FEATURES])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", TARGETS])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)],
                          ir_version=8)


def walk(x):
    """What the standard says, in f32, tree by tree."""
    y = np.zeros((len(x), TARGETS), np.float32)
    at = {(t, n): i for i, (t, n) in enumerate(zip(nodes["treeids"], nodes["nodeids"]))}
    compare = {"BRANCH_LEQ": np.less_equal, "BRANCH_LT": np.less, "BRANCH_GTE": np.greater_equal,
               "BRANCH_GT": np.greater}
    for r, row in enumerate(x):
        for t in range(TREES):
            i = at[t, 0]
            while nodes["modes"][i] != "LEAF":
                v = row[nodes["featureids"][i]]
                yes = (nodes["missing_value_tracks_true"][i] if np.isnan(v)
                       else compare[nodes["modes"][i]](v, np.float32(nodes["values"][i])))
                i = at[t, nodes["truenodeids" if yes else "falsenodeids"][i]]
            for tree, number, target, weight in zip(*weights.values()):
                if (tree, number) == (t, nodes["nodeids"][i]):
                    y[r, target] += np.float32(weight)
    return y


folder = pathlib.Path(sys.argv[1])
for k, rows in enumerate([1, 5, 37]):
    data = folder / f"test_data_set_{k}"
    data.mkdir(parents=True)
    x = (rng.integers(-10, 11, (rows, FEATURES)) / 4).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    for name, value in (("input_0", x), ("output_0", walk(x))):
        (data / f"{name}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
save(model, folder / "model.onnx")
(folder / "expect.json").write_text('{"exact": true}\n')
