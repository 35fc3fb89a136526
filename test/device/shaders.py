#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles models for GPUs that are not here, and lets the languages' own checkers judge every kernel.

  shaders.py [--target=webgpu,vulkan] [--jobs N] [--json FILE] [--keep DIR] MODEL.onnx|FOLDER...

WGSL goes to Tint (Dawn without a driver), SPIR-V to spirv-val. Folders are searched for model.onnx. One line per model,
then what was refused, by operator, as a table for docs/status.md. A model that is refused is counted apart from one whose
kernels are invalid; exit 1 when kernels are invalid or ortc crashed.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
ortc = pathlib.Path(os.environ.get("ORTC_BUILD", root / "build")) / "bin" / "ortc"
validator = root / "targets" / "webgpu" / "tools" / "validate_wgsl.mjs"


def compile_model(model, target, out):
    done = subprocess.run([ortc, "compile", model, f"--target={target}", "--name=net", "-o", out], capture_output=True, text=True)
    text = done.stderr.strip()
    error = next((line for line in text.splitlines() if "error: " in line), text[-300:])
    if done.returncode == 0:
        return None, None
    if done.returncode != 1 or not error:
        return "crash", f"exit {done.returncode}: {error}"
    operator = re.search(r"\((\S+), opset \d+\)", error)
    return (operator.group(1) if operator else "(the model)"), error.partition("error: ")[2]


def check_spirv(folder):
    wrong = []
    for file in sorted((folder / "shaders").glob("*.spv")):
        done = subprocess.run(["spirv-val", "--target-env", "vulkan1.1", file], capture_output=True, text=True)
        if done.returncode != 0:
            wrong.append(f"{file.name}: {(done.stderr or done.stdout).strip().splitlines()[0]}")
    return wrong


def check_wgsl(folders):
    """Faults by folder, from one process for all."""
    files = [str(f) for folder in folders for f in sorted((folder / "shaders").glob("*.wgsl"))]
    wrong = collections.defaultdict(list)
    if not files:
        return wrong
    done = subprocess.run([os.environ["ORTC_NODE"], validator, "-"], input="\n".join(files), capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"validate_wgsl.mjs: exit {done.returncode}: {done.stderr.strip()}")
    for line in done.stdout.splitlines()[:-1]:
        path = pathlib.Path(line.split(":")[0])
        wrong[path.parent.parent].append(f"{path.name}:{line[len(str(path)) + 1:]}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="webgpu,vulkan")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json")
    parser.add_argument("--keep")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    models = []
    for path in args.models:
        models += [path] if path.is_file() else sorted(path.rglob("model.onnx"))
    work = pathlib.Path(args.keep or tempfile.mkdtemp(prefix="ortc-shaders-"))
    document, bad = [], 0
    for target in args.target.split(","):
        names = {m: "/".join(m.parts[-3:-1]) if m.name == "model.onnx" else m.stem for m in models}
        folders = {m: work / target / names[m].replace("/", "__") for m in models}
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            results = dict(zip(models, pool.map(lambda m: compile_model(m, target, folders[m]), models)))
            good = [m for m in models if results[m][0] is None]
            if target == "webgpu":
                faults = check_wgsl([folders[m] for m in good])
                wrong = {m: faults[folders[m]] for m in good}
            else:
                wrong = dict(zip(good, pool.map(lambda m: check_spirv(folders[m]), good)))
        refused = collections.Counter()
        reasons = {}
        for m in models:
            operator, reason = results[m]
            if operator is None and not wrong[m]:
                status, reason = "valid", f"{len(list((folders[m] / 'shaders').glob('*.wgsl' if target == 'webgpu' else '*.spv')))} kernels"
            elif operator is None:
                status, reason, bad = "INVALID", "; ".join(wrong[m][:3]), bad + 1
            elif operator == "crash":
                status, bad = "CRASH", bad + 1
            else:
                status = "refused"
                refused[operator] += 1
                reasons.setdefault(operator, collections.Counter())[re.sub(r"'[^']*'", "…", reason)] += 1
            print(f"{target} {status}: {names[m]}: {operator + ': ' if status == 'refused' else ''}{reason}", flush=True)
            document.append({"target": target, "model": names[m], "status": status.lower(), "operator": operator, "reason": reason})
        print(f"\n{target}: {sum(not w for w in wrong.values())} of {len(models)} models valid, {sum(refused.values())} refused\n")
        for operator, count in refused.most_common():
            print(f"| `{operator}` | {count} | {'; '.join(r for r, _ in reasons[operator].most_common(2))} |")
        print()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(document, indent=1))
    sys.exit(1 if bad else 0)


main()
