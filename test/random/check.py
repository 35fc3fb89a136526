#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random graphs on targets, against the reference.

  check.py --target cpu --seeds 0:200                   builds and runs them; prints the seeds that fail
  check.py --target null --seeds 17 --shrink            ... and the smallest graph that still fails in the same way
  check.py --models test/models --target cpu --seed 5   random sizes of the free dims of models, on random inputs
  check.py --plant --target cpu --seeds 0:40            proof: one fault in each emitted program must be noticed

What failed is left in --keep (default: build/random-failures), one folder per seed, as a case for `ortc verify`.
"""
import argparse
import copy
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "lib")]
import graphs  # noqa: E402
import operators  # noqa: E402
from onnx import AttributeProto, helper  # noqa: E402

root = here.parents[1]
build = pathlib.Path(os.environ.get("ORTC_BUILD", root / "build"))


def verify(folder, options, extra=()):
    """The cases of a folder by their name: (status, reason)."""
    result = folder.parent / (folder.name + ".json")
    result.unlink(missing_ok=True)
    command = [build / "bin" / "ortc", "verify", folder, "--target", options.target, f"--json={result}",
               "--jobs", str(options.jobs), "--timeout", "120", *(["--emulate"] if options.emulate else []), *extra]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if not result.exists():
        sys.exit(f"verify wrote no result, exit {done.returncode}:\n{done.stdout}{done.stderr}")
    cases = json.loads(result.read_text())["cases"]
    return {pathlib.Path(c["name"]).name: (c["status"], c["reason"]) for c in cases}


def kind(reason):
    """Failures of one kind are taken for the same fault."""
    if reason.startswith("output "):
        return "wrong result"
    return re.sub(r"'[^']*'|[0-9]+|\([^)]*\)", "_", reason)[:60]


# ---- shrinking ----

def reads(node):
    return {n for n in graphs.names_read(node) if n}


def pruned(g, outputs):
    """Only what the outputs need."""
    s = copy.copy(g)
    wanted, kept = {v.name for v in outputs}, []
    for node in reversed(g.nodes):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= reads(node)
    s.nodes, s.outputs = kept[::-1], outputs
    made = {n for node in s.nodes for n in node.output}
    s.inputs = [(v, d) for v, d in g.inputs if v.name in wanted]
    if any(v.name not in made for v in outputs):
        return None
    return s


def cut(g, value):
    """`value` becomes an input with data of its own."""
    s = copy.copy(g)
    s.nodes = []
    for node in g.nodes:
        if value.name in node.output:
            if len([o for o in node.output if o]) > 1:
                node = copy.deepcopy(node)
                node.output[list(node.output).index(value.name)] = value.name + "_unused"
                s.nodes.append(node)
            continue
        s.nodes.append(node)
    step = value.step or 2.0 ** -10
    symbols = dict(g.symbols)
    declared = []
    for d in value.dims:
        if len(set(d)) == 1:
            declared.append(d[0])
            continue
        known = [n for n, sizes in symbols.items() if sizes == d]
        declared.append(known[0] if known else f"m{len(symbols)}")
        symbols.setdefault(declared[-1], d)
    s.symbols = symbols
    s.inputs = g.inputs + [(value, declared)]
    s.rng = random.Random(1)
    top = min(value.mag, 1000)
    s.sets = [dict(data, **{value.name: s.fill(value.dtype, [d[k] for d in value.dims], max(top // step * step, step), step)})
              for k, data in enumerate(g.sets)]
    return pruned(s, [v for v in g.outputs if v.name != value.name])


def bypassed(g, node):
    """The first operand of the same type and sizes instead of the node's result."""
    known = {v.name: v for v in g.values}
    out = known.get(node.output[0])
    for name in node.input:
        x = known.get(name)
        if out is None or x is None or x.dtype != out.dtype or x.dims != out.dims or out in g.outputs:
            continue
        s = copy.copy(g)
        s.nodes = [copy.deepcopy(n) for n in g.nodes if n is not node]
        for n in s.nodes:
            for i, operand in enumerate(n.input):
                if operand == out.name:
                    n.input[i] = x.name
        if any(out.name in reads(n) for n in s.nodes):  # inside of a branch
            return None
        return pruned(s, g.outputs)
    return None


def inlined(g, node, which):
    """One branch of an If in its place."""
    attribute = [a for a in node.attribute if a.type == AttributeProto.GRAPH][which]
    s = copy.copy(g)
    at = g.nodes.index(node)
    ends = [helper.make_node("Identity", [o.name], [name]) for o, name in zip(attribute.g.output, node.output)]
    s.nodes = g.nodes[:at] + list(attribute.g.node) + ends + g.nodes[at + 1:]
    return pruned(s, g.outputs)


def fixed(g, k):
    """One data set, and its sizes in the model."""
    s = copy.copy(g)
    s.inputs = [(v, [d[k] for d in v.dims]) for v, _ in g.inputs]
    s.sets = [g.sets[k]]
    return s


def smaller(g):
    if len(g.outputs) > 1:
        for v in g.outputs:
            yield pruned(g, [v])
            yield pruned(g, [o for o in g.outputs if o is not v])
        if len(g.outputs) > 3:
            return
    produced = {n for node in g.nodes for n in node.output}
    for v in g.values:
        if v.name in produced and v not in g.outputs:
            yield cut(g, v)
    for node in g.nodes:
        if node.op_type == "If":
            yield inlined(g, node, 0)
            yield inlined(g, node, 1)
        yield bypassed(g, node)
    for v in g.values:  # an earlier value as the only output
        if v.name in produced and v not in g.outputs:
            yield pruned(g, [v])
    if len(g.sets) > 1:
        for k in range(len(g.sets)):
            yield fixed(g, k)


def weight(g):
    return len(g.nodes), len(g.outputs), len(g.sets), len(g.inputs)


def shrink(g, reason, options):
    wanted = kind(reason)
    for _ in range(16):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch) / "cases"
            tried = {}
            for i, s in enumerate(c for c in smaller(g) if c and c.nodes and weight(c) < weight(g)):
                graphs.write_case(folder / str(i), s)
                tried[str(i)] = s
            if not tried:
                break
            failed = [tried[n] for n, (status, why) in verify(folder, options).items()
                      if status == "failed" and kind(why) == wanted]
        if not failed:
            break
        g = min(failed, key=weight)
    return g


def describe(g):
    lines = [f"  opset {g.opset}"]
    for v, declared in g.inputs:
        lines.append(f"  input {v.name!r} {helper.tensor_dtype_to_string(v.dtype)[12:]} {declared} = "
                     + " / ".join(str([d[k] for d in v.dims]) for k in range(len(g.sets))))
    for n in g.nodes:
        attributes = ", ".join(f"{a.name}={helper.get_attribute_value(a)}" for a in n.attribute
                               if a.type != AttributeProto.GRAPH)
        operands = []
        for name in n.input:
            t = g.initializers.get(name)
            operands.append(f"{name}:{list(t.dims)}" if t is not None else name)
        lines.append(f"  {', '.join(n.output)} = {n.op_type}({', '.join(operands)}) {attributes}")
        for a in n.attribute:
            if a.type == AttributeProto.GRAPH:
                lines += [f"    {a.name}: {', '.join(i.output)} = {i.op_type}({', '.join(i.input)})" for i in a.g.node]
    lines.append(f"  outputs {[v.name for v in g.outputs]}")
    return "\n".join(lines)


# ---- what the command does ----

def check_graphs(seeds, options):
    """{seed: reason} of those that fail."""
    failed = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "cases"
        made = {}
        for seed in seeds:
            made[str(seed)] = g = graphs.build(seed, operators.ALL)
            graphs.write_case(folder / str(seed), g)
        found = verify(folder, options)
        for name in made:
            status, reason = found.get(name, ("failed", "no result"))
            if status == "passed" and "nothing to compare with" not in reason:
                continue
            if options.known and re.search(options.known, reason):
                options.refused += 1
                continue
            failed[int(name)] = reason
            keep(folder / name, options.keep / f"{options.label}-{name}")
            print(f"seed {name} on {options.label}: {reason}", flush=True)
        for seed in list(failed)[:options.shrink]:
            g = shrink(made[str(seed)], failed[seed], options)
            target = options.keep / f"{options.label}-{seed}-small"
            shutil.rmtree(target, ignore_errors=True)
            graphs.write_case(target, g)
            print(f"seed {seed} on {options.label} comes down to\n{describe(g)}", flush=True)
    return failed


def keep(folder, to):
    shutil.rmtree(to, ignore_errors=True)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(folder, to)


def check_models(folder, seed, options):
    """Models with free dims: other sizes than those of their data, with random inputs."""
    import onnx
    from onnx import numpy_helper
    r = random.Random(seed)
    cases = {}
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch) / "cases"
        for path in sorted(pathlib.Path(folder).glob("*/model.onnx")):
            model = onnx.load(path)
            initializers = {i.name for i in model.graph.initializer}
            inputs = [i for i in model.graph.input if i.name not in initializers]
            if any(not i.type.HasField("tensor_type") or i.type.tensor_type.elem_type == 8 for i in inputs):
                continue
            limits = sizes_of_data(path.parent, inputs)
            free = any(d.dim_param or not d.HasField("dim_value") for i in inputs for d in i.type.tensor_type.shape.dim)
            case = made / path.parent.name
            case.mkdir(parents=True)
            shutil.copy(path, case / "model.onnx")
            (case / "expect.json").write_text(json.dumps({"max_rel": 2e-5}))
            for k in range(3 if free else 1):
                data = case / f"test_data_set_{k}"
                data.mkdir()
                symbols = {}
                for i, value in enumerate(inputs):
                    shape = []
                    for j, d in enumerate(value.type.tensor_type.shape.dim):
                        if d.HasField("dim_value"):
                            shape.append(d.dim_value)
                            continue
                        name = d.dim_param or f"{value.name}.{j}"
                        if name not in symbols:
                            symbols[name] = options.size(r, limits.get((i, j), 1))
                        shape.append(symbols[name])
                    dtype = value.type.tensor_type.elem_type
                    mag, step = (1, 2.0 ** -10) if dtype in graphs.FLOATS else (3, 1)
                    g = graphs.Graph(seed)
                    g.rng = r
                    array = g.fill(dtype, shape, mag, step) if dtype not in (7, 6) else abs(g.fill(dtype, shape, mag, step))
                    array = sampled(path.parent, i, array, r)
                    graphs.write_tensor(data / f"input_{i}.pb", array, dtype)
            cases[path.parent.name] = case
        found = verify(made, options)
        failed = {}
        for name, case in cases.items():
            status, reason = found.get(name, ("failed", "no result"))
            if status != "passed" or "nothing to compare with" in reason:
                failed[name] = reason
                keep(case, options.keep / f"{options.label}-{name}")
    return cases, failed


def sizes_of_data(folder, inputs):
    """Sizes that the model is known to work with: {(input, dim): size}."""
    from onnx import TensorProto
    found = {}
    for i in range(len(inputs)):
        path = folder / "test_data_set_0" / f"input_{i}.pb"
        if path.exists():
            t = TensorProto()
            t.ParseFromString(path.read_bytes())
            for j, n in enumerate(t.dims):
                found[i, j] = n
    return found


def sampled(folder, i, array, r):
    """The model's own data in the new sizes, repeated or cut, so that integers stay what the model can look up."""
    import numpy as np
    from onnx import TensorProto, numpy_helper
    path = folder / "test_data_set_0" / f"input_{i}.pb"
    if not path.exists():
        return array
    t = TensorProto()
    t.ParseFromString(path.read_bytes())
    own = numpy_helper.to_array(t).reshape(-1)
    if own.size == 0 or array.size == 0:
        return array
    start = r.randrange(own.size)
    return np.roll(np.resize(np.roll(own, -start), array.size), r.randrange(array.size)).reshape(array.shape)


def plant(seeds, options):
    """Each program gets one fault while it is built; the share that is noticed."""
    planter = here / "plant.py"
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "cases"
        for seed in seeds:
            graphs.write_case(folder / str(seed), graphs.build(seed, operators.ALL))
        right = verify(folder, options)
        log = pathlib.Path(scratch) / "planted"
        os.environ["ORTC_PLANTED"] = str(log)
        wrong = verify(folder, options, ["--cxx", planter, "--no-cache"])
        planted = log.read_text().splitlines() if log.exists() else []
    return right, wrong, planted


def seeds_of(text):
    seeds = []
    for part in text.split(","):
        first, _, last = part.partition(":")
        seeds += range(int(first), int(last) if last else int(first) + 1)
    return seeds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--emulate", action="store_true")
    parser.add_argument("--seeds", default="0:100", help="FIRST:END and single ones, with commas between")
    parser.add_argument("--models", help="a folder of cases whose models are run at random sizes")
    parser.add_argument("--seed", type=int, default=0, help="of --models")
    parser.add_argument("--largest", type=int, default=40, help="size of a free dim of --models")
    parser.add_argument("--plant", action="store_true")
    parser.add_argument("--shrink", type=int, nargs="?", const=4, default=0, metavar="N", help="the first N failures")
    parser.add_argument("--known", default="", help="a pattern of refusals that are documented limits of the target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=pathlib.Path, default=build / "random-failures")
    options = parser.parse_args()
    options.label = options.target
    options.refused = 0
    if options.plant:
        right, wrong, planted = plant(seeds_of(options.seeds), options)
        names = {line.split(":")[0] for line in planted}
        noticed = [n for n in right if right[n][0] == "passed" and wrong[n][0] == "failed"]
        silent = [n for n in right if right[n][0] == "passed" and wrong[n][0] == "passed"]
        print(f"{len(planted)} faults in {len(names)} programs, {len(noticed)} noticed; not noticed: {silent}")
        print("\n".join(planted))
        # Some faults change nothing: a loop over values that a later maximum hides, say.
        sys.exit(0 if planted and len(noticed) >= 0.8 * len(planted) else 1)
    if options.models:
        options.size = lambda r, own: r.choice([own, 2 * own, own + r.randint(1, 5), max(1, own // 2)])
        cases, failed = check_models(options.models, options.seed, options)
        for name, reason in failed.items():
            print(f"{name} on {options.label}, seed {options.seed}: {reason}")
        print(f"{len(cases) - len(failed)} passed, {len(failed)} failed, 0 skipped")
        sys.exit(1 if failed else 0)
    seeds = seeds_of(options.seeds)
    failed = check_graphs(seeds, options)
    note = f" ({options.refused} refused as documented)" if options.refused else ""
    print(f"{options.label}: seeds {options.seeds}: {len(seeds) - len(failed)} right{note}, {len(failed)} wrong")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
