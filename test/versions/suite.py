# SPDX-License-Identifier: Apache-2.0
"""Cases of older opsets out of the backend suite of the `onnx` package: its cases of one node, at every opset at which
the operator's schema says that the same node is valid. Where a version means something else by the same node, the
results of today are no expectation: `CHANGED` in cases.py lists those, and has cases of its own for them."""
import warnings

import numpy as np
import onnx
from onnx import helper


def ir_version(opset):
    """The oldest format in which models of this opset were written; older ones want initializers as inputs."""
    return min(max(4, helper.VERSION_TABLE[-1][1]), 10) if opset > 20 else {True: 4}.get(opset < 10, 8)


def at_opset(model, domain, version):
    """The model as one of this version of the domain, or None when its schemas do not allow that."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.opset_import[:]
    copy.opset_import.append(helper.make_opsetid(domain, version))
    if domain:
        copy.opset_import.append(helper.make_opsetid("", 17))
    copy.ir_version = ir_version(version if not domain else 17)
    try:
        onnx.checker.check_model(copy, full_check=True)
    except Exception:  # the checker has several kinds of its own
        return None
    return copy


def node_cases():
    """(operator with its domain, model, data sets, rtol, atol) of every case that is one node on tensors."""
    warnings.simplefilter("ignore")
    from onnx.backend.test.case import node as nodes
    for case in nodes.collect_testcases(None):
        graph = case.model.graph
        if len(graph.node) != 1 or case.model.functions:
            continue
        if any(not i.type.HasField("tensor_type") for i in (*graph.input, *graph.output)):
            continue
        if not all(isinstance(v, (np.ndarray, np.generic, onnx.TensorProto)) for inputs, outputs in case.data_sets
                   for v in (*inputs, *outputs)):
            continue
        node = graph.node[0]
        domain = "" if node.domain == "ai.onnx" else node.domain
        yield (domain, node.op_type), case.name, case.model, case.data_sets, case.rtol, case.atol
