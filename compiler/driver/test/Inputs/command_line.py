# SPDX-License-Identifier: Apache-2.0
"""command_line.py ORTC FOLDER: command lines that cannot be right, input files that cannot be read, and bad days of the system.
Each must end with its exit code and a clear text, with JSON when that was asked for, and leave nothing half written. Prints a
line for each that did otherwise."""
import json
import os
import pathlib
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import helper, numpy_helper

ortc, root = sys.argv[1], pathlib.Path(sys.argv[2])
os.chdir(root)
wrong = count = 0


def model(dims, size=3):
    w = numpy_helper.from_array(np.arange(size * 2, dtype=np.float32).reshape(size, 2), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="fc"), helper.make_node("Relu", ["h"], ["r"], name="act"),
             helper.make_node("Softmax", ["r"], ["s"], name="soft"), helper.make_node("MatMul", ["s", "v"], ["y"], name="out")]
    v = numpy_helper.from_array(np.arange(4, dtype=np.float32).reshape(2, 2), "v")
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [*dims, size])],
                              [helper.make_tensor_value_info("y", 1, [*dims, 2])], [w, v])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def report(what, why):
    global wrong
    wrong += 1
    print(f"{what}: {why}")


def run(args, env=None, **more):
    variables = {k: v for k, v in {**os.environ, **(env or {})}.items() if v is not None}
    return subprocess.run([ortc, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=300, env=variables, **more)


def check(code, says, line, env=None, extra=(), **more):
    """`line` ends with `code` and says `says`; with --json the same as one document."""
    global count
    for flags in ([], ["--json"]):
        count += 1
        args = line.split() + list(extra) + flags
        p = run(args, env, **more)
        what = " ".join(map(str, args))
        if p.returncode != code:
            report(what, f"ended with {p.returncode}, expected {code}: {p.stderr[:300]}{p.stdout[:200]}")
        elif says not in (p.stdout if flags else p.stderr + p.stdout):
            report(what, f"does not say '{says}': {p.stderr[:300]}{p.stdout[:300]}")
        elif flags:
            try:
                document = json.loads(p.stdout)
                if code and "messages" in document and document["ok"] is not False:
                    report(what, "says ok")
            except ValueError:
                report(what, f"is no JSON: {p.stdout[:200]}")


def flags():
    check(2, "there is no command 'frobnicate'", "frobnicate")
    check(2, "there is no flag '--bogus'", "--bogus")
    check(2, "model is required", "compile")
    check(2, "--target is missing", "compile m.onnx")
    check(2, "there is no target 'toaster'", "compile m.onnx --target=toaster")
    check(2, "not expected: --bogus", "compile m.onnx --target=null --bogus")
    check(2, "not expected: fixed.onnx", "compile m.onnx fixed.onnx --target=null")
    check(2, "--target: At Most 1", "compile m.onnx --target=null --target=cuda")
    check(2, "-o: At Most 1", "compile m.onnx --target=null -o a -o b")
    check(2, "--name= has no value", "compile m.onnx --target=null --name= -o a")
    check(2, "-o names no folder", "compile m.onnx --target=null", extra=["-o", ""])
    for name, take in (("a-b", "a_b"), ("class", "class_"), ("ortc", "v_ortc")):
        check(2, "take " + take, f"compile m.onnx --target=null --name={name}")
    check(2, "'x' is not of the form", "compile m.onnx --target=null --shape x")
    check(2, "is not a size", "compile m.onnx --target=null --shape x=99999999999999999999x3")
    check(2, "given twice for 'x'", "compile m.onnx --target=null --shape x=2x3 --shape x=2x3")
    check(1, "--shape gives 4 where the model says 3", "compile m.onnx --target=null --shape x=2x4")
    check(1, "--shape gives 3 sizes", "compile m.onnx --target=null --shape x=2x3x1")
    check(1, "--shape names 'z'", "compile m.onnx --target=null --shape z=2")
    check(1, "too large", "compile m.onnx --target=null --shape x=4611686018427387904x3")
    check(1, "--dim names 'nix', which is no free dimension", "compile m.onnx --target=null --dim nix=3")
    check(1, "--dim names 'batch'", "compile m.onnx --target=null --shape x=2x3 --dim batch=2")
    check(2, "not a size or a range", "compile m.onnx --target=null --dim batch=5..2")
    check(1, "--shape gives 9", "inspect m.onnx --shape x=9x9")
    check(1, "--dim names 'nix'", "inspect m.onnx --dim nix=9")
    check(1, "--cut-outputs names 'nix'", "compile m.onnx --target=null --cut-outputs=nix")
    check(1, "--cut-outputs names 'h' twice", "compile m.onnx --target=null --cut-outputs=h,h")
    check(1, "whose type the file does not say", "compile m.onnx --target=null --cut-inputs=h")
    check(2, "not a number of bytes", "compile fixed.onnx --target=null --max-flash=1x")
    check(1, "the weights alone take", "compile fixed.onnx --target=null --max-flash=1")
    check(1, "largest set of tensors that are live at once takes", "compile fixed.onnx --target=null --max-ram=1")
    check(1, "'soft' of 32", "compile fixed.onnx --target=null --max-ram=1")
    check(1, "grows with its sizes", "compile m.onnx --target=null --max-ram=1")
    check(2, "--weights=embed has no effect on target 'webgpu'", "compile m.onnx --target=webgpu --weights=embed")
    check(2, "--weights=file has no effect on target 'cortex-m4'", "compile m.onnx --target=cortex-m4 --weights=file")
    check(2, "--mcpu has no effect", "compile m.onnx --target=null --mcpu=x86-64-v3")
    check(2, "--with=onednn has no effect", "compile m.onnx --target=null --with=onednn")
    check(2, "--emulate", "run m.onnx --target=null --emulate --random 1")
    check(2, "--sanitize", "run m.onnx --target=null --sanitize --random 1")
    check(2, "--random", "run m.onnx --target=reference --random -1")
    check(2, "there is no folder", "run m.onnx --target=reference --random 1 -o nowhere/out.npz")
    check(2, "it is a folder", "run m.onnx --target=reference --random 1 -o .")
    check(2, "'-1' is not a number of seconds above 0", "verify m.onnx --target=reference --timeout -1")
    check(2, "no such file or folder", "verify nowhere --target=reference")
    check(2, "tcsh not in", "completion tcsh")
    check(0, "ortc", "completion bash")
    check(0, "Relu", "ops")
    check(0, "targets", "doctor")
    check(0, "multiply", "inspect m.onnx")
    check(1, "no such file", "inspect nowhere.onnx")


def inputs():
    x = np.ones((2, 3), np.float32)
    for name, array in {"double": x.astype(np.float64), "rank1": x[0], "columns": np.ones((2, 4), np.float32), "scalar": np.float32(3),
                        "text": np.array([["a", "b", "c"]])}.items():
        np.save(name, array)
        check(1, "but the model wants f32[batch,3]", f"run m.onnx --target=reference --input x={name}.npy")
    for name, array in {"columnwise": np.asfortranarray(x), "swapped": x.astype(">f4"), "none": np.ones((0, 3), np.float32)}.items():
        np.save(name, array)
        check(0, "f32[", f"run m.onnx --target=reference --input x={name}.npy")
    np.save("object", np.array([[1, 2, 3]], dtype=object), allow_pickle=True)
    np.save("struct", np.zeros((2, 3), dtype=[("a", "f4")]))
    pathlib.Path("pickle.npy").write_bytes(pickle.dumps(x))
    pathlib.Path("short.npy").write_bytes(b"\x93NUMPY\x01\x00")
    pathlib.Path("huge.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': "
                                         b"(4611686018427387904, 4), }" + b" " * 100 + b"\n")
    for name in ("object", "struct", "pickle", "short", "huge"):
        check(1, "not a usable .npy file", f"run m.onnx --target=reference --input x={name}.npy")
    check(1, "not a regular file", "run m.onnx --target=reference --input x=/dev/zero")
    np.save("x", x)
    check(2, "given twice", "run m.onnx --target=reference --input x=x.npy --input x=x.npy")
    check(2, "not of the form", "run m.onnx --target=reference --input x.npy")
    np.savez("extra", x=x, z=x)
    check(1, "--inputs gives 'z'", "run m.onnx --target=reference --inputs extra.npz")
    np.savez("empty")
    check(2, "no value is given", "run m.onnx --target=reference --inputs empty.npz")
    np.savez_compressed("damaged", x=x)
    data = bytearray(pathlib.Path("damaged.npz").read_bytes())
    pathlib.Path("cut.npz").write_bytes(data[:-30])
    data[60] ^= 255
    pathlib.Path("damaged.npz").write_bytes(data)
    for name in ("cut", "damaged"):
        check(1, "not a usable .npz archive", f"run m.onnx --target=reference --inputs {name}.npz")
    check(1, "outside of its bounds", "run m.onnx --target=reference --input x=x.npy --dim batch=3..5")


def places():
    pathlib.Path("file").write_text("mine")
    pathlib.Path("foreign").mkdir()
    pathlib.Path("foreign/readme").write_text("mine")
    os.symlink("foreign", "link")
    check(1, "is no folder", "compile m.onnx --target=null -o file")
    check(1, "not of a bundle", "compile m.onnx --target=null -o foreign")
    check(1, "is no folder", "compile m.onnx --target=null -o link")
    check(1, "cannot be written", "compile m.onnx --target=null -o file/a")
    check(1, "not of a bundle", "compile m.onnx --target=null -o .")
    check(0, "", "compile m.onnx --target=null -o deep/a/b")
    # A model that is refused leaves the old bundle as it is.
    before = {p: p.read_bytes() for p in pathlib.Path("deep").rglob("*") if p.is_file()}
    check(1, "error", "compile bad.onnx --target=null -o deep/a/b")
    if before != {p: p.read_bytes() for p in pathlib.Path("deep").rglob("*") if p.is_file()}:
        report("a bad model", "changed the bundle that was there")
    pathlib.Path("deep/a/b/mine").write_text("mine")
    check(1, "holds 'mine'", "compile m.onnx --target=null -o deep/a/b")
    # A disk that is full, as far as one can be made without one: no file may be longer than this.
    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    check(1, "cannot write", "compile big.onnx --target=null -o full", preexec_fn=full)
    check(1, "cannot be written", "run m.onnx --target=reference --random 1 --dim batch=10000 -o full.npz", preexec_fn=full)
    # Killed in the middle: a whole bundle or none, and what lies beside it goes with the next compile.
    for sent in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        for delay in (0.02, 0.1, 0.2):
            shutil.rmtree("killed", ignore_errors=True)
            child = subprocess.Popen([ortc, "compile", "big.onnx", "--target=null", "-o", "killed"], stderr=subprocess.DEVNULL)
            time.sleep(delay)
            child.send_signal(sent)
            child.wait()
            if os.path.exists("killed") and not os.path.exists("killed/manifest.json"):
                report(f"killed by {sent.name}", "half a bundle")
    shutil.rmtree("killed", ignore_errors=True)
    check(0, "", "compile m.onnx --target=null -o killed")
    together = [subprocess.Popen([ortc, "compile", "m.onnx", "--target=null", "-o", "same"], stderr=subprocess.DEVNULL) for _ in range(4)]
    if any(p.wait() for p in together) or not os.path.exists("same/manifest.json"):
        report("four at once into one folder", "one failed")
    left = [p for p in os.listdir(".") if p.endswith(".tmp") or p.startswith("full")]
    if left:
        report("left behind", left)


def system():
    for what in ("ops", "ops --json", "inspect m.onnx", "compile m.onnx --target=null --emit-ir=import", "completion bash"):
        for redirect in (">/dev/full", ">&-"):
            p = subprocess.run(["bash", "-c", f'"{ortc}" {what} {redirect}'], stderr=subprocess.PIPE, text=True)
            if p.returncode != 1 or "error: " not in p.stderr:
                report(f"{what} {redirect}", f"ended with {p.returncode}: {p.stderr[:200]}")
    p = subprocess.run(["bash", "-c", f'"{ortc}" ops | head -1; echo ${{PIPESTATUS[0]}}'], capture_output=True, text=True)
    if p.stdout.split()[-1] not in ("0", "141") or p.stderr:
        report("ops | head -1", p.stdout[-20:] + p.stderr)
    check(2, "set TMPDIR", "run m.onnx --target=null --random 1", env={"TMPDIR": "/nowhere"})
    check(3, "no C++ compiler was found", "run m.onnx --target=null --random 1 --no-cache", env={"PATH": "", "CXX": None})
    check(3, "'/nowhere/cc' was not found", "run m.onnx --target=null --random 1", env={"CXX": "/nowhere/cc"})
    check(1, "said nothing", "run m.onnx --target=null --random 1 --no-cache", env={"CXX": "/bin/false"})
    check(1, "the installation lacks", "compile m.onnx --target=null -o lacks", env={"ORTC_SHARE_DIR": "/nowhere"})
    p = run(["verify", "m.onnx", "--target=reference"])
    if "\r" in p.stderr or "\033" in p.stderr:
        report("verify", "shows progress although stderr is no terminal")


onnx.save(model(["batch"]), "m.onnx")
onnx.save(model([4]), "fixed.onnx")
onnx.save(model([1], size=2_000_000), "big.onnx")
pathlib.Path("bad.onnx").write_bytes(b"no model")
for part in (flags, inputs, places, system):
    part()
print(f"{count} command lines, {wrong} wrong")
sys.exit(wrong != 0)
