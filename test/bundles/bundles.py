# SPDX-License-Identifier: Apache-2.0
"""Emits bundles and builds them with runner.cpp into one program, as a user's build would."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parents[1]
build = pathlib.Path(os.environ.get("ORTC_BUILD", root / "build"))
ortc = build / "bin" / "ortc"
jobs = int(os.environ.get("ORTC_JOBS") or os.cpu_count())
compiler = os.environ.get("CXX", "g++")


class Failed(Exception):
    pass


def call(command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise Failed(f"exit {done.returncode} from {' '.join(str(c) for c in command)[:300]}\n"
                     f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def emit(model, name, folder, *options):
    call([ortc, "compile", model, "--target=cpu", "--name", name, "-o", folder, *options])
    return pathlib.Path(folder)


def sources(bundle):
    """(path, options) of all sources of a bundle, from its manifest."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    common = list(manifest["compile_options"])
    for folder in manifest.get("include_dirs", []) + manifest.get("private_include_dirs", []):
        common.append(f"-I{bundle / folder}")
    common += [f"-I{bundle}", f"-Wa,-I{bundle}", f"-DORTC_RT_PREFIX={bundle.name}"]
    for source in manifest["sources"]:
        own = source.get("compile_options", []) if isinstance(source, dict) else []
        yield bundle / (source["path"] if isinstance(source, dict) else source), common + own


def compile_all(bundles, to, flags):
    """Objects by bundle."""
    to.mkdir(parents=True)
    work = []
    for bundle in bundles:
        for path, options in sources(bundle):
            work.append((bundle, path, to / f"{bundle.name}-{path.stem}.o", options))

    def one(item):
        _, path, target, options = item
        call([compiler, "-std=c++17", "-fPIC", *options, *flags, "-c", path, "-o", target])
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, work))
    objects = {}
    for bundle, _, target, _ in work:
        objects.setdefault(bundle.name, []).append(target)
    return objects


def link(objects, to, flags):
    inc = to / "models.inc"
    inc.write_text("".join(f"MODEL({name})\n" for name in sorted(objects)))
    program = to / "runner"
    call([compiler, "-std=c++17", "-g", *flags, f"-I{to}", f"-I{root / 'runtime_min' / 'include'}", here / "runner.cpp",
          *[o for some in objects.values() for o in some], "-o", program, "-pthread", "-ldl"])
    return program


def data(to, cases):
    """cases: {name of the bundle: folder of the case}."""
    path = to / "data.bin"
    call([sys.executable, here / "data.py", path, *[f"{n}={f}" for n, f in cases.items()]])
    return path
