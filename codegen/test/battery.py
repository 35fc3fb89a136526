#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every scalar op that a printer spells, on hard numbers: writes program IR, inputs and expected results.

battery.py ir > battery.mlir        the kernel: of[op * n + i], oi[op * n + i] for each input i
battery.py header > battery.h       inputs and expected results as C arrays, with a tolerance per op (ulps; <0: exact bits)
battery.py vector > vector.mlir     the same ops on vector<8xf32> and vector<8xi32>
battery.py json > battery.json      the same data for hosts in other languages
battery.py check RESULTS            compares a file of little-endian f32 then i32 results
"""
import json, math, struct, sys

def f32(x):
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)

inf, nan = math.inf, math.nan
XF = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.7, -3.7, 10.0, -10.0, 88.0, -87.0, 1e-4, 1e10, inf, -inf, nan, 0.9, -0.3, 123.456, 7.0,
      12345.678, -1e5, 3.4e38, -1.7e7, 98304.5, 1e20, -2.5e9, 54321.5]
YF = [1.0, 2.0, -0.5, 0.25, 0.0, 3.0, nan, 2.5, 2.0, -3.7, 1.1, -2.0, 2.0, 0.5, 3.0, 1e4, 1e-10, 1.0, 2.0, 1.0, 0.9, -0.3, -7.5, -2.0,
      2.0, 0.5, 1.0, 3.0, -1.0, 1.0, 0.25, -0.5]
XI = [0, 1, -1, 2, -2, 7, -7, 100, -100, 2**31 - 1, -2**31, 12345, -54321, 8, 3, -8, 17, 255, 256, -256, 65535, 1 << 30, -(1 << 30), 5,
      6, -6, 1000, -1000, 40, 41, 42, 43]
YI = [1, 1, 2, 3, 3, 2, 2, 7, 7, 2, 2, 45, 100, 3, 8, 3, -5, 16, 31, 5, 255, 3, 3, -5,
      4, 4, 10, 10, 6, 6, 6, 6]
XF, YF = [f32(x) for x in XF], [f32(x) for x in YF]
N = len(XF)
assert len(YF) == len(XI) == len(YI) == N

def wrap(x):
    return (int(x) + 2**31) % 2**32 - 2**31
def u(x):
    return x % 2**32
def guard(f):
    def g(*a):
        try:
            return f(*a)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None  # not checked
    return g
def maximum(a, b): return nan if a != a or b != b else max(a, b)
def minimum(a, b): return nan if a != a or b != b else min(a, b)
def div(a, b):
    if b == 0:
        return nan if a == 0 or a != a else math.copysign(inf, a) * math.copysign(1, b)
    return a / b
def rounde(x): return x if not math.isfinite(x) else math.copysign(float(round(x)), x)
def rounda(x): return x if not math.isfinite(x) else math.copysign(math.floor(abs(x) + 0.5), x)
def whole(f): return lambda x: x if not math.isfinite(x) else math.copysign(float(f(x)), x) if f(x) == 0 else float(f(x))
def trunci(x): return 0 if x != x else max(-2**31, min(2**31 - 1, int(x) if math.isfinite(x) else int(math.copysign(2**31, x))))
def truncu(x): return wrap(0 if x != x else max(0, min(2**32 - 1, int(x) if math.isfinite(x) else (2**32 if x > 0 else 0))))
def idiv(a, b): return int(math.trunc(a / b)) if abs(a) < 2**31 else wrap(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))
def exp_(x): return 0.0 if x == -inf else inf if x == inf or x > 709 else math.exp(x)

F = "f32"
# (name, op text with %x %y (f32) or %a %b (i32), result type, expected, tolerance in ulps)
OPS = []
def flt(name, text, fn, tol=0): OPS.append((name, text, "f32", guard(fn), tol, True))
def int_(name, text, fn): OPS.append((name, text, "i32", guard(fn), -1, False))
def fromf(name, text, fn): OPS.append((name, text, "i32", guard(fn), -1, True))
def fromi(name, text, fn): OPS.append((name, text, "f32", guard(fn), 0, False))

for name, fn in [("addf", lambda a, b: a + b), ("subf", lambda a, b: a - b), ("mulf", lambda a, b: a * b)]:
    flt(name, f"arith.{name} %x, %y : f32", fn, 0)
flt("divf", "arith.divf %x, %y : f32", div, 2.5)
flt("remf", "arith.remf %x, %y : f32", lambda a, b: nan if b == 0 or not math.isfinite(a) else math.fmod(a, b), 1)
flt("negf", "arith.negf %x : f32", lambda a, b: -a)
flt("maximumf", "arith.maximumf %x, %y : f32", maximum)
flt("minimumf", "arith.minimumf %x, %y : f32", minimum)
flt("maxnumf", "arith.maxnumf %x, %y : f32", lambda a, b: b if a != a else a if b != b else max(a, b))
flt("minnumf", "arith.minnumf %x, %y : f32", lambda a, b: b if a != a else a if b != b else min(a, b))
flt("absf", "math.absf %x : f32", lambda a, b: abs(a))
flt("floor", "math.floor %x : f32", lambda a, b: whole(math.floor)(a))
flt("ceil", "math.ceil %x : f32", lambda a, b: whole(math.ceil)(a))
flt("trunc", "math.trunc %x : f32", lambda a, b: whole(math.trunc)(a))
flt("roundeven", "math.roundeven %x : f32", lambda a, b: rounde(a))
flt("round", "math.round %x : f32", lambda a, b: rounda(a))
flt("copysign", "math.copysign %x, %y : f32", lambda a, b: None if a != a or b != b else math.copysign(a, b))
flt("sqrt", "math.sqrt %x : f32", lambda a, b: a if a == 0 or a == inf else math.sqrt(a) if a > 0 else nan, 2.5)
flt("rsqrt", "math.rsqrt %x : f32", lambda a, b: div(1.0, math.sqrt(a)) if 0 < a < inf else None, 4)
flt("exp", "math.exp %x : f32", lambda a, b: exp_(a) if a < 80 or a != a else None, 8)
flt("exp2", "math.exp2 %x : f32", lambda a, b: 2.0**a if -100 < a < 100 else None, 8)
flt("expm1", "math.expm1 %x : f32", lambda a, b: math.expm1(a) if a < 80 else None, 8)
flt("log", "math.log %x : f32", lambda a, b: -inf if a == 0 else nan if a < 0 else math.log(a), 8)
flt("log2", "math.log2 %x : f32", lambda a, b: math.log2(a) if a > 0 else None, 8)
flt("log10", "math.log10 %x : f32", lambda a, b: math.log10(a) if a > 0 else None, 8)
flt("log1p", "math.log1p %x : f32", lambda a, b: math.log1p(a) if a > -1 else None, 8)
flt("tanh", "math.tanh %x : f32", lambda a, b: math.tanh(a), 8)
flt("erf", "math.erf %x : f32", lambda a, b: math.erf(a), 16)
for name in ["sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh"]:
    fn = getattr(math, name)
    flt(name, f"math.{name} %x : f32", (lambda fn, name: lambda a, b: fn(a) if math.isfinite(a) and (abs(a) < 80 or name in ("sin", "cos", "tan")) else None)(fn, name), 16)
flt("atan2", "math.atan2 %x, %y : f32", lambda a, b: math.atan2(a, b) if math.isfinite(a) and math.isfinite(b) and (a or b) else None, 8)
def pow_(a, b):
    if not math.isfinite(b) or not a > 0 and not (a < 0 and b == int(b)):
        return None
    if 2.0**34 <= abs(b) and abs(a) != 1:  # an even number: beyond all floats, or below them
        return inf if (abs(a) > 1) == (b > 0) else 0.0
    return math.pow(a, b) if 1e-3 < abs(a) < 100 else None
flt("powf", "math.powf %x, %y : f32", pow_, 16)
flt("fma", "math.fma %x, %y, %x : f32", lambda a, b: a * b + a if math.isfinite(a) and math.isfinite(b) and abs(a) < 1e6 else None, 4)
for p, fn in {"oeq": lambda a, b: a == b, "ogt": lambda a, b: a > b, "oge": lambda a, b: a >= b, "olt": lambda a, b: a < b,
              "ole": lambda a, b: a <= b, "one": lambda a, b: a < b or a > b, "ord": lambda a, b: a == a and b == b,
              "ueq": lambda a, b: not (a < b or a > b), "ugt": lambda a, b: not a <= b, "uge": lambda a, b: not a < b,
              "ult": lambda a, b: not a >= b, "ule": lambda a, b: not a > b, "une": lambda a, b: a != b,
              "uno": lambda a, b: a != a or b != b}.items():
    fromf("cmpf_" + p, f"%t = arith.cmpf {p}, %x, %y : f32; arith.extui %t : i1 to i32", (lambda fn: lambda a, b: int(fn(a, b)))(fn))
flt("select", "%t = arith.cmpf olt, %x, %y : f32; arith.select %t, %x, %y : f32", lambda a, b: a if a < b else b)
fromf("fptosi", "arith.fptosi %x : f32 to i32", lambda a, b: trunci(a))
fromf("fptoui", "arith.fptoui %x : f32 to i32", lambda a, b: truncu(a))
fromf("bitcast", "arith.bitcast %x : f32 to i32", lambda a, b: None if a != a else struct.unpack("<i", struct.pack("<f", a))[0])
for name, fn in [("addi", lambda a, b: a + b), ("subi", lambda a, b: a - b), ("muli", lambda a, b: a * b), ("andi", lambda a, b: a & b),
                 ("ori", lambda a, b: a | b), ("xori", lambda a, b: a ^ b), ("divsi", idiv), ("remsi", lambda a, b: a - b * idiv(a, b)),
                 ("floordivsi", lambda a, b: a // b), ("ceildivsi", lambda a, b: -(-a // b)), ("divui", lambda a, b: u(a) // u(b)),
                 ("remui", lambda a, b: u(a) % u(b)), ("maxsi", max), ("minsi", min), ("maxui", lambda a, b: max(u(a), u(b))),
                 ("minui", lambda a, b: min(u(a), u(b))), ("shli", lambda a, b: a << b if 0 <= b < 32 else None),
                 ("shrsi", lambda a, b: a >> b if 0 <= b < 32 else None), ("shrui", lambda a, b: u(a) >> b if 0 <= b < 32 else None)]:
    int_(name, f"arith.{name} %a, %b : i32", (lambda fn: lambda a, b: None if fn(a, b) is None else wrap(fn(a, b)))(fn))
int_("absi", "math.absi %a : i32", lambda a, b: wrap(abs(a)))
int_("ctpop", "math.ctpop %a : i32", lambda a, b: bin(u(a)).count("1"))
int_("ctlz", "math.ctlz %a : i32", lambda a, b: 32 - u(a).bit_length())
int_("cttz", "math.cttz %a : i32", lambda a, b: 32 if a == 0 else (u(a) & -u(a)).bit_length() - 1)
for p, fn in {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "slt": lambda a, b: a < b, "sle": lambda a, b: a <= b,
              "sgt": lambda a, b: a > b, "sge": lambda a, b: a >= b, "ult": lambda a, b: u(a) < u(b), "ule": lambda a, b: u(a) <= u(b),
              "ugt": lambda a, b: u(a) > u(b), "uge": lambda a, b: u(a) >= u(b)}.items():
    int_("cmpi_" + p, f"%t = arith.cmpi {p}, %a, %b : i32; arith.extsi %t : i1 to i32", (lambda fn: lambda a, b: -int(fn(a, b)))(fn))
fromi("sitofp", "arith.sitofp %a : i32 to f32", lambda a, b: float(a))
fromi("uitofp", "arith.uitofp %a : i32 to f32", lambda a, b: float(u(a)))
int_("bools", "%t = arith.cmpi slt, %a, %b : i32; %s = arith.cmpi ne, %a, %b : i32; %v = arith.andi %t, %s : i1; %w = arith.xori %v, %s : i1; "
     "%q = arith.ori %w, %t : i1; arith.extui %q : i1 to i32", lambda a, b: int(((a < b and a != b) != (a != b)) or a < b))
int_("narrow", "%t = arith.trunci %a : i32 to i8; %s = arith.extsi %t : i8 to i32; %v = arith.trunci %b : i32 to i16; "
     "%w = arith.extui %v : i16 to i32; arith.addi %s, %w : i32", lambda a, b: ((a + 128) % 256 - 128) + b % 65536)
int_("narrow_sum", "%t = arith.trunci %a : i32 to i8; %s = arith.trunci %b : i32 to i8; %v = arith.addi %t, %s : i8; "
     "%w = arith.muli %v, %s : i8; arith.extsi %w : i8 to i32", lambda a, b: (((a + b) * b) % 256 + 128) % 256 - 128)
SKIP_NARROW = "--no-narrow" in sys.argv

def ops():
    return [o for o in OPS if not (SKIP_NARROW and o[0].startswith("narrow"))]

def numbered(text, k):
    """One op text with unique names; returns its lines, the last giving %rK."""
    parts = [p.strip() for p in text.split(";")]
    lines = []
    for i, p in enumerate(parts):
        p = p.replace("%t", f"%t{k}").replace("%s", f"%s{k}").replace("%v", f"%v{k}").replace("%w", f"%w{k}").replace("%q", f"%q{k}")
        lines.append(f"%r{k} = {p}" if i == len(parts) - 1 else p)
    return lines

def ir():
    out = ['func.func private @battery(%xf: memref<?xf32> {ortc.name = "xf"}, %yf: memref<?xf32> {ortc.name = "yf"}, %xi: memref<?xi32> {ortc.name = "xi"}, '
           '%yi: memref<?xi32> {ortc.name = "yi"}, %of: memref<?xf32> {ortc.name = "of"}, %oi: memref<?xi32> {ortc.name = "oi"}, %n: index {ortc.name = "n"}) attributes {ortc.kernel} {',
           "  %c0 = arith.constant 0 : index", "  %c1 = arith.constant 1 : index", "  scf.parallel (%i) = (%c0) to (%n) step (%c1) {",
           "    %x = memref.load %xf[%i] : memref<?xf32>", "    %y = memref.load %yf[%i] : memref<?xf32>",
           "    %a = memref.load %xi[%i] : memref<?xi32>", "    %b = memref.load %yi[%i] : memref<?xi32>"]
    counts = {"f32": 0, "i32": 0}
    for k, (name, text, result, fn, tol, isf) in enumerate(ops()):
        out += ["    " + l for l in numbered(text, k)]
        out += [f"    %k{k} = arith.constant {counts[result]} : index", f"    %m{k} = arith.muli %k{k}, %n : index", f"    %p{k} = arith.addi %m{k}, %i : index",
                f"    memref.store %r{k}, {'%of' if result == 'f32' else '%oi'}[%p{k}] : memref<?x{result}>"]
        counts[result] += 1
    return "\n".join(out + ["    scf.reduce", "  }", "  return", "}"])

def vector():
    out = ['func.func private @battery(%xf: memref<?xf32> {ortc.name = "xf"}, %yf: memref<?xf32> {ortc.name = "yf"}, %xi: memref<?xi32> {ortc.name = "xi"}, '
           '%yi: memref<?xi32> {ortc.name = "yi"}, %of: memref<?xf32> {ortc.name = "of"}, %oi: memref<?xi32> {ortc.name = "oi"}, %n: index {ortc.name = "n"}) attributes {ortc.kernel} {',
           "  %c0 = arith.constant 0 : index", "  %c8 = arith.constant 8 : index", "  scf.for %i = %c0 to %n step %c8 {"]
    for v, m, t in [("x", "xf", "f32"), ("y", "yf", "f32"), ("a", "xi", "i32"), ("b", "yi", "i32")]:
        out.append(f"    %{v} = vector.load %{m}[%i] : memref<?x{t}>, vector<8x{t}>")
    counts = {"f32": 0, "i32": 0}
    for k, (name, text, result, fn, tol, isf) in enumerate(ops()):
        for l in numbered(text, k):
            for t in ["f32", "i32", "i8", "i16", "i1"]:
                for sep in [": ", " to "]:
                    l = l.replace(f"{sep}{t}", f"{sep}vector<8x{t}>") if l.endswith(sep + t) or f"{sep}{t} to" in l else l
            l = l.replace("vector<8xvector<8x", "vector<8x")
            if "arith.select" in l:
                l = l.replace(": vector<8xf32>", ": vector<8xi1>, vector<8xf32>")
            out.append("    " + l)
        out += [f"    %k{k} = arith.constant {counts[result]} : index", f"    %m{k} = arith.muli %k{k}, %n : index", f"    %p{k} = arith.addi %m{k}, %i : index",
                f"    vector.store %r{k}, {'%of' if result == 'f32' else '%oi'}[%p{k}] : memref<?x{result}>, vector<8x{result}>"]
        counts[result] += 1
    return "\n".join(out + ["  }", "  return", "}"])

def expected():
    """[(name, result type, tolerance, [values or None])]"""
    r = []
    for name, text, result, fn, tol, isf in ops():
        values = [fn(a, b) for a, b in (zip(XF, YF) if isf else zip(XI, YI))]
        r.append((name, result, tol, [None if v is None else f32(v) if result == "f32" else v for v in values]))
    return r

def close(got, want, tol):
    if want != want:
        return got != got
    if got == want:
        return True
    if math.isinf(want) or math.isinf(got) or got != got:
        return False
    return abs(got - want) <= max(tol, 0.51) * max(abs(want), 2.0**-120) * 2.0**-23

def check(path):
    data = open(path, "rb").read()
    nf = sum(1 for e in expected() if e[1] == "f32")
    fs = struct.unpack(f"<{nf * N}f", data[: 4 * nf * N])
    is_ = struct.unpack(f"<{(len(data) - 4 * nf * N) // 4}i", data[4 * nf * N :])
    assert len(is_) == sum(1 for e in expected() if e[1] == "i32") * N, "wrong number of results"
    kf = ki = bad = checked = 0
    for name, result, tol, values in expected():
        k = kf if result == "f32" else ki
        got = (fs if result == "f32" else is_)[k * N : (k + 1) * N]
        for i, (g, want) in enumerate(zip(got, values)):
            if want is None:
                continue
            checked += 1
            if not (close(g, want, tol) if result == "f32" else g == want):
                bad += 1
                print(f"{name}: input {i} ({XF[i]}, {YF[i]}, {XI[i]}, {YI[i]}): got {g}, expected {want}")
        if result == "f32":
            kf += 1
        else:
            ki += 1
    print(f"{checked} results, {bad} wrong")
    return bad

def main():
    what = sys.argv[1]
    if what == "ir":
        print(ir())
    elif what == "vector":
        print(vector())
    elif what == "counts":
        e = expected()
        print(N, sum(1 for x in e if x[1] == "f32"), sum(1 for x in e if x[1] == "i32"))
    elif what == "header":
        e = expected()
        def arr(t, name, values):
            return f"static const {t} {name}[] = {{" + ", ".join(values) + "};"
        bits = lambda x: "0x%08xu" % struct.unpack("<I", struct.pack("<f", x))[0]
        print(f"static const int n = {N}, floats = {sum(1 for x in e if x[1] == 'f32')}, ints = {sum(1 for x in e if x[1] == 'i32')};")
        print(arr("unsigned", "xf_bits", map(bits, XF)))
        print(arr("unsigned", "yf_bits", map(bits, YF)))
        print(arr("int", "xi", ["(-2147483647 - 1)" if x == -2**31 else str(x) for x in XI]))
        print(arr("int", "yi", map(str, YI)))
    elif what == "json":
        bits = lambda x: struct.unpack("<I", struct.pack("<f", x))[0]
        e = expected()
        print(json.dumps({"n": N, "floats": sum(1 for x in e if x[1] == "f32"), "ints": sum(1 for x in e if x[1] == "i32"),
                          "xf": [bits(x) for x in XF], "yf": [bits(x) for x in YF], "xi": XI, "yi": YI}))
    elif what == "check":
        return 1 if check(sys.argv[2]) else 0
    return 0

sys.exit(main())
