# SPDX-License-Identifier: Apache-2.0
"""What the functions of this folder share: their list, conditions on values, and shapes that broadcast."""
from graphs import FLOATS, INTS, NUMERIC, NotNow, SETS, SIGNED, T, const

ALL = {}


def op(weight=1.0):
    def register(function):
        function.weight = weight
        ALL[function.__name__] = function
        return function
    return register


# ---- conditions on values ----

def floats(v): return v.dtype in FLOATS
def f32(v): return v.dtype == T.FLOAT
def f32_or_f64(v): return v.dtype in (T.FLOAT, T.DOUBLE)
def ints(v): return v.dtype in INTS
def numeric(v): return v.dtype in NUMERIC
def signed(v): return v.dtype in FLOATS + SIGNED
def bools(v): return v.dtype == T.BOOL
def exact(v): return v.err == 0
def not_empty(v): return all(n > 0 for d in v.dims for n in d)
def rank(low, high=9): return lambda v: low <= v.rank <= high
def mag(most): return lambda v: v.mag <= most
def static(v): return all(len(set(d)) == 1 for d in v.dims)


def sizes(v):
    return [d[0] for d in v.dims]


# ---- broadcasting ----

def partner_dims(g, dims):
    """Sizes that broadcast with `dims`; the partner may have more dims, too."""
    r = g.rng
    kind = r.random()
    if kind < 0.3:
        return list(dims)
    if kind < 0.45:
        return []
    out = [d if r.random() < 0.6 else const(1) for d in dims]
    if kind < 0.8:
        out = out[r.randint(0, len(out)):]
    elif len(dims) < 5 and kind < 0.9:
        out = [const(g.size()) for _ in range(r.randint(1, 5 - len(dims)))][:1] + out
    return out


def broadcast(*shapes):
    n = max(len(s) for s in shapes)
    out = []
    for i in range(n):
        column = [s[i - n + len(s)] for s in shapes if i - n + len(s) >= 0]
        dim = []
        for k in range(SETS):
            found = {d[k] for d in column} - {1}
            if len(found) > 1:
                raise NotNow
            dim.append(found.pop() if found else 1)
        out.append(tuple(dim))
    return out


def two(g, *wanted):
    """A value and another of its type that broadcasts with it."""
    x = g.pick(*wanted)
    there = []
    for v in g.visible():
        if v.dtype == x.dtype and all(w(v) for w in wanted):
            try:
                broadcast(x.dims, v.dims)
                there.append(v)
            except NotNow:
                pass
    if there and g.rng.random() < 0.5:
        y = g.use(g.rng.choice(there))
    else:
        y = g.operand(x.dtype, partner_dims(g, x.dims))
        if not all(w(y) for w in wanted):
            raise NotNow
    return (x, y) if g.rng.random() < 0.7 else (y, x)


def finest(*values):
    steps = [v.step for v in values]
    return None if None in steps else min(steps)
