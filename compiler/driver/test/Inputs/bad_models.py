# SPDX-License-Identifier: Apache-2.0
"""bad_models.py ORTC FOLDER [NAME...]: models that must be refused, each with what the message must say. Every one is compiled
for the CPU and evaluated: exit code 1, a clear error, nothing written. Prints a line for each that ended otherwise."""
import os
import pathlib
import subprocess
import sys

# each adds its models to the list
import refused.files  # noqa: F401
import refused.graphs  # noqa: F401
import refused.shapes  # noqa: F401
from refused.common import TABLE


def run(ortc, args):
    try:
        return subprocess.run([ortc, *map(str, args)], capture_output=True, text=True, timeout=120, errors="replace")
    except subprocess.TimeoutExpired:
        return None


def main():
    ortc, root = sys.argv[1], pathlib.Path(sys.argv[2])
    only = sys.argv[3:]
    wrong = 0
    for name, says, make in TABLE:
        if only and name not in only:
            continue
        f = root / name
        f.mkdir(parents=True)
        made = make(f)
        if made is not None:
            (f / "m.onnx").write_bytes(made.SerializeToString())
        before = sorted(os.listdir(f))
        for args in (["compile", f / "m.onnx", "--target=cpu", "-o", f / "out"],
                     ["run", f / "m.onnx", "--target=reference", "--random", "1"]):
            p = run(ortc, args)
            error = ("took too long" if p is None else
                     f"ended with {p.returncode}: {p.stderr.strip()[:300]} {p.stdout[:100]}" if p.returncode != 1 else
                     f"says: {p.stderr.strip()[:400]}" if says not in p.stderr or "error:" not in p.stderr else
                     "says it is a fault of ortc: " + p.stderr[:300] if "fault of ortc" in p.stderr else
                     f"left {os.listdir(f)}" if sorted(os.listdir(f)) != before else None)
            if error:
                wrong += 1
                print(f"{name}: {args[0]} {error}")
    print(f"{len(TABLE)} models, {wrong} wrong")
    sys.exit(wrong != 0)


main()
