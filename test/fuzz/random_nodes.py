# SPDX-License-Identifier: Apache-2.0
"""random_nodes.py OUT --ops FILE --seed N --count N [--op NAME]: models of one node each, of the operators that `ortc ops`
lists, with inputs, attributes and types that are now sensible and now not. Whatever they hold, the compiler must end with a
result or a message: test/fuzz/run has them compiled and evaluated, each in a process of its own."""
import argparse
import json
import pathlib
import random

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

FLOATS = [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16]
INTS = [TensorProto.INT64, TensorProto.INT32, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16,
        TensorProto.UINT32, TensorProto.UINT64]
OTHERS = [TensorProto.BOOL, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.FLOAT8E4M3FN, TensorProto.INT4,
          TensorProto.FLOAT8E5M2, TensorProto.UINT4, TensorProto.COMPLEX128]
EVIL = [0, 1, -1, 2, -2, 3, 7, 2**31 - 1, -2**31, 2**31, 2**62, -2**62, 2**63 - 1, -2**63]
TEXTS = ["", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "nearest", "linear", "cubic", "bilinear", "half_pixel",
         "align_corners", "asymmetric", "tf_crop_and_resize", "constant", "reflect", "edge", "wrap", "sum", "mean", "none", "max",
         "mul", "add", "DCR", "CRD", "forward", "reverse", "bidirectional", "LINEAR", "RBF", "POLY", "SIGMOID", "SOFTMAX",
         "LOGISTIC", "PROBIT", "NONE", "BRANCH_LEQ", "LEAF", "SUM", "AVERAGE", "ij,jk->ik", "ii->i", "...ij->...ji", "i->", "x"]
TYPES = {f"tensor({name})": number for name, number in
         [("float", 1), ("uint8", 2), ("int8", 3), ("uint16", 4), ("int16", 5), ("int32", 6), ("int64", 7), ("string", 8),
          ("bool", 9), ("float16", 10), ("double", 11), ("uint32", 12), ("uint64", 13), ("complex64", 14), ("complex128", 15),
          ("bfloat16", 16), ("float8e4m3fn", 17), ("float8e4m3fnuz", 18), ("float8e5m2", 19), ("float8e5m2fnuz", 20),
          ("uint4", 21), ("int4", 22)]}


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def often(self, p):
        return self.r.random() < p

    def pick(self, items):
        return self.r.choice(list(items))

    def dims(self, ranks=(0, 1, 1, 2, 2, 3, 3, 4, 4, 5)):
        return [self.pick([0, 1, 1, 2, 2, 3, 3, 4]) if self.often(0.6) else self.base for _ in range(self.pick(ranks))]

    def number(self):
        return self.pick(EVIL) if self.often(0.15) else self.r.randint(-3, 5)

    def tensor(self, name, dtype, dims=None):
        dims = self.dims() if dims is None else dims
        n = int(np.prod(dims)) if dims else 1
        if dtype == TensorProto.STRING:
            return helper.make_tensor(name, dtype, dims, [self.pick(["", "a", "b", "\0", "ü"]).encode() for _ in range(n)])
        if dtype in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
            return helper.make_tensor(name, dtype, dims, [complex(self.r.random(), 1) for _ in range(n)])
        if dtype in FLOATS:
            v = [self.pick([0.0, 1.0, -1.0, 1e30, float("nan"), float("inf")]) if self.often(0.1) else self.r.uniform(-3, 4)
                 for _ in range(n)]
            if self.often(0.3):
                v = [float(round(x)) if x == x and abs(x) < 1e9 else x for x in v]
            if dtype == TensorProto.FLOAT16:
                return helper.make_tensor(name, dtype, dims, np.clip(v, -60000, 60000).astype(np.float16).view(np.uint16).tobytes(), raw=True)
            return helper.make_tensor(name, dtype, dims, v)
        if dtype in (TensorProto.INT64, TensorProto.INT32):
            lo, hi = (-2**63, 2**63 - 1) if dtype == TensorProto.INT64 else (-2**31, 2**31 - 1)
            return helper.make_tensor(name, dtype, dims, [min(max(self.number(), lo), hi) for _ in range(n)])
        if dtype in (TensorProto.INT4, TensorProto.UINT4):
            return helper.make_tensor(name, dtype, dims, bytes((n + 1) // 2), raw=True)
        width = {TensorProto.INT8: 1, TensorProto.UINT8: 1, TensorProto.BOOL: 1, TensorProto.INT16: 2, TensorProto.UINT16: 2,
                 TensorProto.UINT32: 4, TensorProto.UINT64: 8}.get(dtype, 1)
        raw = bytes(self.r.randrange(2 if dtype == TensorProto.BOOL else 256 if self.often(0.3) else 4) if i % width == 0 else 0
                    for i in range(n * width))
        return helper.make_tensor(name, dtype, dims, raw, raw=True)

    def attribute(self, name, kind, default):
        if self.often(0.03):
            kind = self.pick([AttributeProto.INT, AttributeProto.FLOAT, AttributeProto.STRING, AttributeProto.INTS,
                              AttributeProto.FLOATS, AttributeProto.STRINGS, AttributeProto.TENSOR, AttributeProto.GRAPH])
        A = AttributeProto
        k = self.r.randint(0, 5)
        small = lambda: self.r.randint(0, 3) if self.often(0.7) else self.number()
        if kind == A.INT:
            v = small()
            if name in ("dtype", "to", "output_dtype", "stash_type") and self.often(0.9):
                v = self.r.randint(0, 24)
        elif kind == A.FLOAT:
            v = self.pick([0.0, 1.0, 0.5, -1.0, float("nan"), float("inf"), 1e-30])
        elif kind == A.STRING:
            v = default if default and self.often(0.4) else self.pick(TEXTS)
        elif kind == A.INTS:
            v = [small() for _ in range(k)]
        elif kind == A.FLOATS:
            v = [self.pick([0.0, 1.0, 0.5, -1.0, float("nan"), 3.0]) for _ in range(k)]
        elif kind == A.STRINGS:
            v = [self.pick(TEXTS) for _ in range(k)]
        elif kind == A.TENSOR:
            v = self.tensor("t", self.pick(FLOATS + INTS + OTHERS))
        elif kind == A.GRAPH:
            out = self.pick(["c", "i0", "nowhere"]) if self.often(0.1) else "c"
            v = helper.make_graph(
                [helper.make_node("Constant", [], ["c"], value=self.tensor("t", self.pick(FLOATS + INTS)))], "g",
                [helper.make_tensor_value_info("gi%d" % i, 1, []) for i in range(self.pick([0, 0, 0, 1]))],
                [helper.make_tensor_value_info(out, 1, None)])
        else:
            return None
        try:
            return helper.make_attribute(name, v, attr_type=kind)
        except Exception:
            return None

    def model(self, operator):
        self.base = self.r.randint(1, 4)
        domain, _, name = operator["operator"].rpartition(".")
        newest = {"": 26, "ai.onnx.ml": 5}.get(domain, 1)
        opset = min(self.pick(operator["versions"]) if self.often(0.3) else newest, newest)
        try:
            schema = onnx.defs.get_schema(name, opset, domain)
        except Exception:
            schema = None
        bindings, inputs, initializers, names = {}, [], [], []
        lo, hi = (schema.min_input, min(schema.max_input, schema.min_input + 4)) if schema else (1, 4)
        count = self.r.randint(lo, hi)
        if self.often(0.03):
            count = self.r.randint(0, hi + 1)
        shared = self.dims()
        for i in range(count):
            formal = schema.inputs[min(i, len(schema.inputs) - 1)] if schema and schema.inputs else None
            if formal and i >= lo and self.often(0.3) or self.often(0.01):
                names.append("")
                continue
            allowed = [TYPES[t] for t in formal.types if t in TYPES] if formal else FLOATS + INTS
            dtype = self.pick(allowed or FLOATS)
            if TensorProto.FLOAT in allowed and self.often(0.5):
                dtype = TensorProto.FLOAT
            key = formal.type_str if formal else ""
            dtype = bindings.setdefault(key, dtype) if self.often(0.93) else dtype
            if self.often(0.03):
                dtype = self.pick(FLOATS + INTS + OTHERS)
            n = f"i{i}"
            names.append(n)
            dims = list(shared) if self.often(0.5) else self.dims()
            if dtype == TensorProto.INT64 and i > 0 and self.often(0.6):
                dims = [self.r.randint(0, 4)]
            if self.often(0.55 if i == 0 else 0.35) and dtype not in (8,):
                shape = [f"d{self.r.randint(0, 2)}" if self.often(0.25) else d for d in dims]
                if self.often(0.02):
                    inputs.append(helper.make_tensor_sequence_value_info(n, dtype, shape))
                elif self.often(0.01):
                    inputs.append(helper.make_value_info(n, helper.make_optional_type_proto(
                        helper.make_tensor_type_proto(dtype, shape))))
                elif self.often(0.01):
                    inputs.append(helper.make_value_info(n, helper.make_map_type_proto(
                        7, helper.make_tensor_type_proto(dtype, shape))))
                else:
                    inputs.append(helper.make_tensor_value_info(n, dtype, shape if not self.often(0.01) else None))
            elif self.often(0.5):
                initializers.append(self.tensor(n, dtype, dims))
            else:
                inputs.append(helper.make_tensor_value_info(n, dtype, dims))
        attributes = []
        for a in (schema.attributes.values() if schema else ()):
            if a.required or self.often(0.5):
                default = a.default_value.s.decode() if a.default_value and a.default_value.s else ""
                attributes.append(self.attribute(a.name, int(a.type.value), default))
        outputs = [f"o{i}" for i in range(self.r.randint(max(schema.min_output, 1), min(schema.max_output, 4)) if schema else 1)]
        node = helper.make_node(name, names, outputs, name="the_node", domain=domain)
        node.attribute.extend(a for a in attributes if a is not None)
        nodes = [node]
        if not inputs:  # something to run on
            inputs.append(helper.make_tensor_value_info("unused", 1, [1]))
        graph = helper.make_graph(nodes, "g", inputs, [helper.make_value_info(o, onnx.TypeProto()) for o in outputs], initializers)
        opsets = [helper.make_opsetid(domain, opset)] + ([helper.make_opsetid("", 17)] if domain else [])
        return helper.make_model(graph, opset_imports=opsets, ir_version=11)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=500)
    p.add_argument("--ops", type=pathlib.Path, required=True, help="what `ortc ops --format=json` printed")
    p.add_argument("--op", help="only this operator")
    o = p.parse_args()
    operators = [x for x in json.loads(o.ops.read_text())["operators"] if x.get("versions") and (not o.op or x["operator"] == o.op)]
    for k in range(o.count):
        m = Maker(o.seed * 1000003 + k)
        op = operators[k % len(operators)]
        model = m.model(op)
        folder = o.out / f"{o.seed}_{k:05d}_{op['operator']}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString())


main()
