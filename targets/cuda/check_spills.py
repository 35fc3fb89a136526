#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles CUDA sources for each architecture and fails when a kernel spills registers.

    check_spills.py [--nvcc PATH] [--arch 75,80,90,100] [-I DIR]... [--object] [--no-stack] [--json FILE] SOURCE...

Builds what a bundle carries: machine code for each architecture and PTX of the newest, as a fat binary, or with --object
together with the host's part, as its build does. Needs no GPU. Exit: 0 fine, 1 a spill or a compile error, 77 no nvcc.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def find_nvcc(given):
    """The flag, then CUDACXX, then PATH, then what pip put beside this Python."""
    candidates = [given, os.environ.get("CUDACXX"), shutil.which("nvcc")]
    for site in sys.path:
        candidates.append(os.path.join(site, "nvidia", "cu13", "bin", "nvcc"))
    for path in candidates:
        if path and os.access(path, os.X_OK):
            return path
    return None


def demangle(names):
    if not shutil.which("c++filt"):
        return {n: n for n in names}
    out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return dict(zip(names, out.split("\n")))


ENTRY = re.compile(r"Compiling entry function '([^']+)' for 'sm_(\w+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def parse(log):
    """One record per kernel from the output of -Xptxas -v."""
    kernels, current = [], None
    for line in log.splitlines():
        if m := ENTRY.search(line):
            current = {"kernel": m[1], "arch": m[2]}
            kernels.append(current)
        elif current is not None and (m := FRAME.search(line)):
            current.update(stack=int(m[1]), spill_stores=int(m[2]), spill_loads=int(m[3]))
        elif current is not None and (m := USED.search(line)):
            current.update(registers=int(m[1]), shared=int(m[2] or 0))
            current = None
    return kernels


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--nvcc")
    p.add_argument("--arch", default="75,80,90,100")
    p.add_argument("-I", dest="include", action="append", default=[])
    p.add_argument("--object", action="store_true", help="compile the host's part, too")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--no-stack", action="store_true", help="refuse stack frames too (sin and cos of CUDA have one)")
    p.add_argument("--json")
    p.add_argument("source", nargs="+")
    args = p.parse_args()
    nvcc = find_nvcc(args.nvcc)
    if not nvcc:
        print("skipped: no nvcc (give --nvcc or CUDACXX, or install nvidia-cuda-nvcc with pip)")
        return 77
    archs = args.arch.split(",")
    flags = ["-std=c++17", "-fmad=false", "-Werror", "all-warnings", "-Xptxas", "-v"]
    flags += ["-I" + i for i in args.include]
    if args.object: # what .incbin of the host's part reads lies beside the sources; nvcc splits at plain commas
        flags += [f"-Xcompiler=-Wa\\,-I{i}" for i in args.include]
    flags += [f"-gencode=arch=compute_{a},code=sm_{a}" for a in archs]
    flags.append(f"-gencode=arch=compute_{archs[-1]},code=compute_{archs[-1]}")
    flags += ["-c"] if args.object else ["-fatbin", "-Xfatbin=-compress-all"]

    def build(source):
        with tempfile.TemporaryDirectory() as work:
            out = os.path.join(work, "out")
            run = subprocess.run([nvcc, *flags, "-o", out, source], capture_output=True, text=True)
            return run, os.path.getsize(out) if run.returncode == 0 else 0

    failed, records = False, []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = list(pool.map(build, args.source))
    for source, (run, size) in zip(args.source, runs):
        name = os.path.basename(source)
        kernels = parse(run.stderr + run.stdout)
        for k in kernels:
            k["source"] = name
        records += kernels
        missing = [a for a in archs if not any(k["arch"] == a for k in kernels)]
        if run.returncode != 0:
            print(f"{name}: error: nvcc failed\n{run.stderr}{run.stdout}")
            failed = True
        elif missing:
            print(f"{name}: error: no kernel was compiled for sm_{', sm_'.join(missing)}")
            failed = True
        else:
            print(f"{name}: {size} bytes")
    names = demangle(sorted({k["kernel"] for k in records}))
    for k in records:
        k["name"] = names[k["kernel"]]
        spilled = k["spill_stores"] > 0 or k["spill_loads"] > 0 or (k["stack"] > 0 and args.no_stack)
        failed |= spilled
        if spilled:
            print(f"{k['source']}: sm_{k['arch']}: error: '{k['name']}' spills: {k['stack']} bytes of stack, "
                  f"{k['spill_stores']} stored, {k['spill_loads']} loaded")
    for arch in archs:
        of_arch = [k for k in records if k["arch"] == arch]
        if of_arch:
            worst = max(of_arch, key=lambda k: k["registers"])
            print(f"sm_{arch}: {len(of_arch)} kernels, at most {worst['registers']} registers ({worst['name']})")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(records, f, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
