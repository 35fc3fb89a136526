# SPDX-License-Identifier: Apache-2.0
"""Random small ONNX graphs, as cases that `ortc verify` runs against the reference.

A graph is built node by node. For each value the generator knows its type, its sizes in every data set, how large its
elements can be and how far two right implementations may be apart (`err`). Inputs are mostly small whole numbers, so
that sums and products of them are exact in any order: `err` stays 0, outputs must be equal to the last bit, and what
is not continuous (comparisons, casts to integers, ArgMax) may be applied. After exp, division and the like `err` grows
by the rules of error analysis, and the output's tolerance is what came of it.

What can be put into a graph is in operations/: one function per operator.
"""
import functools
import json
import math
import pathlib
import random

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

SETS = 2  # data sets of a case: free dims have another size in each

FLOATS = (T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16)
SIGNED = (T.INT8, T.INT16, T.INT32, T.INT64)
UNSIGNED = (T.UINT8, T.UINT16, T.UINT32, T.UINT64)
INTS = SIGNED + UNSIGNED
NUMERIC = FLOATS + INTS
NUMPY = {T.FLOAT: np.float32, T.DOUBLE: np.float64, T.FLOAT16: np.float16, T.BFLOAT16: ml_dtypes.bfloat16,
         T.INT8: np.int8, T.INT16: np.int16, T.INT32: np.int32, T.INT64: np.int64, T.UINT8: np.uint8,
         T.UINT16: np.uint16, T.UINT32: np.uint32, T.UINT64: np.uint64, T.BOOL: np.bool_}
BITS = {T.INT8: 7, T.INT16: 15, T.INT32: 31, T.INT64: 63, T.UINT8: 8, T.UINT16: 16, T.UINT32: 32, T.UINT64: 64}
DIGITS = {T.FLOAT: 23, T.DOUBLE: 52, T.FLOAT16: 10, T.BFLOAT16: 7}  # below the leading one

MOST_ELEMENTS = 3000


@functools.cache
def types_of_inputs(op, opset):
    """What each input may be, as element types, by the schema of this opset; the last stands for all that follow."""
    def elements(texts):
        return frozenset(T.DataType.Value(t[7:-1].upper()) for t in texts if t.startswith("tensor(") and t[7:-1].upper() in T.DataType.keys())
    # The names of the types are those of C++.
    names = {"tensor(float)": "tensor(FLOAT)", "tensor(double)": "tensor(DOUBLE)"}
    return [elements(names.get(t, t) for t in i.types) for i in onnx.defs.get_schema(op, opset).inputs]


class NotNow(Exception):
    """The graph so far has nothing that this operator could be applied to."""


class Value:
    """A tensor of the graph. `dims`: per dim a tuple with the size in each data set."""

    def __init__(self, name, dtype, dims, mag=1.0, step=1.0, err=0.0, low=None):
        self.name, self.dtype, self.dims = name, dtype, tuple(dims)
        self.mag = float(mag)  # no element is larger
        self.step = step  # every element is a multiple of it (floats)
        self.err = float(err)  # two right answers may be this far apart
        self.low = low  # no element is smaller in size (what may be divided by)
        self.data = None  # of an initializer
        self.uses = 0

    rank = property(lambda self: len(self.dims))
    exact = property(lambda self: self.err == 0)
    is_float = property(lambda self: self.dtype in FLOATS)

    def count(self, k):
        return math.prod(d[k] for d in self.dims)

    def fixed(self, d):
        """The size of dim d when it is the same in all data sets."""
        sizes = set(self.dims[d])
        return sizes.pop() if len(sizes) == 1 else None


def const(n):
    return (n,) * SETS


def rounding(dtype):
    """Relative error of one operation, with some room: functions of libraries are good to a few units."""
    return 2.0 ** (2 - DIGITS[dtype])


def settle(dtype, mag, step, err):
    """(mag, step, err) of a result of arithmetic on floats: exact while all digits fit."""
    if err == 0 and step is not None and mag / step <= 2.0 ** DIGITS[dtype]:
        return mag, step, 0.0
    return mag, None, err + max(mag, 1e-3) * rounding(dtype)


ODD_NAMES = ["int", "class", "x y", "a/b/c", "/", "it's", 'say "hi"', "*/ end", "line\nbreak", "größe", "名前", "%d", "$1",
             "trailing\\", "a.b", "a_b", "_", "0start", "template<int>", "threads", "args", "context", "i0"]


class Graph:
    """A graph that is being built; branches of If are Graphs with a parent."""

    def __init__(self, seed, opset=None, parent=None):
        self.rng = parent.rng if parent else random.Random(seed)
        self.parent = parent
        self.root = parent.root if parent else self
        self.nodes, self.values = [], []
        if parent:
            self.opset = parent.opset
            return
        self.seed = seed
        self.opset = opset or self.rng.choice([13, 17, 18, 18, 20, 21, 23])
        self.inputs, self.initializers = [], {}
        self.sets = [{} for _ in range(SETS)]
        self.symbols = {}
        self.names = set()
        self.odd = self.rng.random() < 0.15
        self.free = self.rng.random() < 0.5
        self.zeros = self.rng.random() < 0.06
        self.main = self.rng.choices(FLOATS + (T.INT32, T.INT64, T.INT8, T.UINT8), [60, 6, 6, 3, 6, 8, 4, 4])[0]

    # ---- names, sizes ----

    def name(self, hint="v"):
        root = self.root
        name = hint
        if root.odd and self.rng.random() < 0.4:
            name = self.rng.choice(ODD_NAMES)
        while name in root.names:
            name = f"{hint}{len(root.names)}"
        root.names.add(name)
        return name

    def size(self):
        """One size of a dim that all data sets share."""
        if self.root.zeros and self.rng.random() < 0.2:
            return 0
        return self.rng.choices([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 33], [8, 10, 10, 9, 6, 3, 4, 8, 3, 3, 5, 3, 2, 2])[0]

    def dim(self):
        if self.root.free and self.rng.random() < 0.35:
            return tuple(self.size() for _ in range(SETS))
        return const(self.size())

    def shape(self, rank=None, most=MOST_ELEMENTS):
        if rank is None:
            rank = self.rng.choices(range(6), [4, 10, 24, 28, 24, 8])[0]
        while True:
            dims = [self.dim() for _ in range(rank)]
            if all(math.prod(d[k] for d in dims) <= most for k in range(SETS)):
                return tuple(dims)
            if self.rng.random() < 0.5:
                dims = [const(1)] + dims[1:]

    # ---- making values ----

    def fresh_range(self, dtype):
        """(mag, step) for data of an input or a constant."""
        r = self.rng
        if dtype == T.BOOL:
            return 1, 1
        if dtype in INTS:
            return r.choice([4, 10, 2.0 ** BITS[dtype] - 1 if dtype in (T.INT8, T.UINT8) else 10]), 1
        if dtype in (T.FLOAT16, T.BFLOAT16):
            return r.choice([(2, 1), (2, 0.5), (3, 1)])
        return r.choice([(3, 1), (4, 1), (2, 0.25), (2, 0.5), (2, 2.0 ** -18)])

    def fill(self, dtype, shape, mag, step):
        n = math.prod(shape)
        r = self.rng
        if dtype == T.BOOL:
            return np.array([r.random() < 0.5 for _ in range(n)], np.bool_).reshape(shape)
        top = int(mag / step)
        bottom = 0 if dtype in UNSIGNED else -top
        values = [r.randint(bottom, top) * step for _ in range(n)]
        if dtype in INTS:
            values = [int(v) for v in values]
        return np.array(values, dtype=np.float64 if dtype in FLOATS else None).reshape(shape).astype(NUMPY[dtype])

    def add(self, value):
        self.values.append(value)
        return value

    def input(self, dtype, dims, mag=None, step=1, data=None, free=True):
        """A new input of the model. `data`: per set, else random."""
        root = self.root
        if mag is None:
            mag, step = self.fresh_range(dtype)
        value = Value(self.name("x"), dtype, dims, mag, step)
        declared = []
        for d in dims:
            if len(set(d)) == 1 and not (free and root.free and self.rng.random() < 0.15):
                declared.append(d[0])
                continue
            known = [s for s, sizes in root.symbols.items() if sizes == d]
            if known and self.rng.random() < 0.8:
                symbol = self.rng.choice(known)
            else:
                symbol = f"n{len(root.symbols)}"
                root.symbols[symbol] = d
            declared.append(symbol)
        root.inputs.append((value, declared))
        for k in range(SETS):
            shape = [d[k] for d in dims]
            root.sets[k][value.name] = data[k].reshape(shape) if data else self.fill(dtype, shape, mag, step)
        if self is root:
            self.add(value)
        return value

    def constant(self, array, dtype=None, hint="c"):
        array = np.asarray(array)
        if dtype is None:
            dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        name = self.name(hint)
        self.root.initializers[name] = numpy_helper.from_array(array, name)
        if array.dtype == ml_dtypes.bfloat16:
            self.root.initializers[name] = helper.make_tensor(name, T.BFLOAT16, array.shape, array.tobytes(), raw=True)
        mag = float(np.abs(array.astype(np.float64)).max()) if array.size else 0.0
        value = Value(name, dtype, [const(n) for n in array.shape], mag, None)
        value.data = array
        return value

    def weights(self, dtype, shape, mag=None, step=None):
        """A constant with random data."""
        if mag is None:
            mag, step = self.fresh_range(dtype)
        value = self.constant(self.fill(dtype, shape, mag, step), dtype, "w")
        value.mag, value.step = mag, step
        return value

    def operand(self, dtype, dims, mag=None, step=None):
        """Data of the given sizes: a value that is there, a constant, or a new input."""
        dims = tuple(dims)
        there = [v for v in self.visible() if v.dtype == dtype and v.dims == dims]
        if there and mag is None and self.rng.random() < 0.6:
            return self.use(self.rng.choice(there))
        if all(len(set(d)) == 1 for d in dims) and self.rng.random() < 0.6:
            return self.weights(dtype, [d[0] for d in dims], mag, step)
        if len(self.root.inputs) >= 7:
            raise NotNow
        return self.input(dtype, dims, mag, step)

    def ints(self, values):
        return self.constant(np.array(values, np.int64), T.INT64, "k")

    # ---- choosing values ----

    def visible(self):
        return (self.parent.visible() if self.parent else []) + self.values

    def pick(self, *wanted, recent=True):
        """A value that meets all conditions, rather a late one."""
        found = [v for v in self.visible() if all(w(v) for w in wanted)]
        if not found:
            raise NotNow
        if recent and self.rng.random() < 0.65:
            unused = [v for v in found if v.uses == 0]
            found = (unused or found)[-3:]
        return self.use(self.rng.choice(found))

    def use(self, value):
        value.uses += 1
        return value

    # ---- nodes ----

    def node(self, op, inputs, dims, dtype=None, mag=None, step="same", err=None, outputs=1, domain="", **attributes):
        """Adds a node. Without figures the result is a choice of the first operand's elements."""
        x = inputs[0]
        dtype = dtype or x.dtype
        if not domain:
            types = types_of_inputs(op, self.opset)
            for i, value in enumerate(inputs):
                if value is not None and value.dtype not in types[min(i, len(types) - 1)]:
                    raise NotNow  # not yet in this opset
        many = dims if outputs > 1 else [dims]
        for ds in many:
            for k in range(SETS):
                if math.prod(d[k] for d in ds) > MOST_ELEMENTS:
                    raise NotNow
        mag = x.mag if mag is None else mag
        err = x.err if err is None else err
        step = x.step if step == "same" else step
        if mag > 1e4 and dtype in FLOATS or not math.isfinite(mag) or (dtype in FLOATS and err > 0.05 * max(mag, 1)):
            raise NotNow
        if dtype in (T.FLOAT16, T.BFLOAT16) and mag > 256:
            raise NotNow
        if dtype in INTS:
            mag, step, err = min(mag, 2.0 ** BITS[dtype]), 1, 0.0
        made = [self.add(Value(self.name(), dtype, ds, mag, step, err)) for ds in many]
        self.nodes.append(helper.make_node(op, [i.name if i is not None else "" for i in inputs], [v.name for v in made],
                                           name=self.name(op), domain=domain, **attributes))
        return made if outputs > 1 else made[0]

    def arithmetic(self, op, inputs, dims, mag, step, err=0.0, dtype=None, **attributes):
        """A node whose result is computed: its figures are settled by its type."""
        dtype = dtype or inputs[0].dtype
        if dtype in FLOATS:
            mag, step, err = settle(dtype, mag, step, err)
        return self.node(op, inputs, dims, dtype=dtype, mag=mag, step=step, err=err, **attributes)

    def irrational(self, op, inputs, dims, mag, err, **attributes):
        """A node whose result is rounded in any case."""
        dtype = attributes.pop("dtype", None) or inputs[0].dtype
        return self.node(op, inputs, dims, dtype=dtype, mag=mag, step=None, err=err + max(mag, 1e-3) * rounding(dtype),
                         **attributes)


# ---- whole cases ----

def build(seed, operators, size=None, opset=None):
    """A graph with `size` operators (not counting helpers), finished with outputs."""
    g = Graph(seed, opset)
    r = g.rng
    first = g.shape()
    g.input(g.main, first)
    for _ in range(r.choice([0, 1, 1, 2])):
        dtype = g.main if r.random() < 0.7 else r.choice(NUMERIC + (T.BOOL,))
        g.input(dtype, first if r.random() < 0.4 else g.shape())
    grow(g, operators, size or r.choice([1, 2, 3, 4, 5, 6, 8, 10, 14]))
    sinks = [v for v in g.values if v.uses == 0]
    outputs = [v for v in sinks if v not in [i for i, _ in g.inputs]]
    others = [v for v in g.values if v.uses and v not in [i for i, _ in g.inputs]]
    outputs += [v for v in others if r.random() < 0.15]
    if not outputs:
        outputs = [g.node("Identity", [g.pick()], g.values[-1].dims)] if False else [identity(g)]
    if r.random() < 0.05:
        outputs.append(identity(g))
    r.shuffle(outputs)
    g.outputs = outputs[:8]
    return g


def identity(g):
    x = g.pick(recent=False)
    return g.node("Identity", [x], x.dims)


def grow(g, operators, count):
    tries = made = 0
    names = list(operators)
    weights = [operators[n].weight for n in names]
    while made < count and tries < 60 * count:
        tries += 1
        before = (len(g.nodes), len(g.values), len(g.root.inputs), set(g.root.initializers), dict(g.root.symbols))
        uses = [(v, v.uses) for v in g.visible()]
        try:
            operators[g.rng.choices(names, weights)[0]](g)
            made += 1
        except NotNow:  # undo what was begun
            del g.nodes[before[0]:], g.values[before[1]:]
            for value, _ in g.root.inputs[before[2]:]:
                for k in range(SETS):
                    del g.root.sets[k][value.name]
                if value in g.root.values:
                    g.root.values.remove(value)
            del g.root.inputs[before[2]:]
            for extra in set(g.root.initializers) - before[3]:
                del g.root.initializers[extra]
            g.root.symbols = before[4]
            for v, n in uses:
                v.uses = n


def model_of(g):
    inputs = [helper.make_tensor_value_info(v.name, v.dtype, declared) for v, declared in g.inputs]
    outputs = [helper.make_tensor_value_info(v.name, v.dtype, None) for v in g.outputs]
    used = {n for node in g.nodes for n in names_read(node)}
    graph = helper.make_graph(g.nodes, "random", inputs, outputs,
                              [t for name, t in g.initializers.items() if name in used])
    opsets = [helper.make_opsetid("", g.opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="random")


def names_read(node):
    names = list(node.input)
    for a in node.attribute:
        if a.type == onnx.AttributeProto.GRAPH:
            for inner in a.g.node:
                names += names_read(inner)
            names += [o.name for o in a.g.output]
    return names


def rule_of(v):
    if v.dtype in FLOATS and not v.exact:
        return {"rtol": 0.0, "atol": 2 * v.err}
    return {"exact": True}


def write_tensor(path, array, dtype):
    if dtype == T.BFLOAT16:
        tensor = helper.make_tensor("", T.BFLOAT16, array.shape, array.tobytes(), raw=True)
    else:
        tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape))
    path.write_bytes(tensor.SerializeToString())


def write_case(folder, g):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model = model_of(g)
    onnx.save(model, folder / "model.onnx")
    (folder / "expect.json").write_text(json.dumps({"exact": True, "outputs": {v.name: rule_of(v) for v in g.outputs}}))
    for k in range(len(g.sets)):
        data = folder / f"test_data_set_{k}"
        data.mkdir(exist_ok=True)
        for i, (v, _) in enumerate(g.inputs):
            write_tensor(data / f"input_{i}.pb", g.sets[k][v.name], v.dtype)
    return model
