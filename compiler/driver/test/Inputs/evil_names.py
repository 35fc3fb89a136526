# SPDX-License-Identifier: Apache-2.0
"""evil_names.py model OUT: one model in which every evil name is an input, a free dimension, a constant, a node and an output.
evil_names.py bundles ORTC TARGET OUT: compiles a small model under file names that would make evil bundle names, to OUT/K.
evil_names.py check FOLDER: no file below carries a name unescaped."""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NAMES = [
    "a b", "/a/b/c", 'a"b', "a'b", "a\nint evil;\n//", "*/ int evil; /*", "??/\nint evil;", "a\\", "a\\\nint evil;", "a\\n", "a\tb",
    "a\rint evil;", "\u2028int evil;", "\u202eint evil;\u202c", "\0zero", "%s%n%d", "{0}{}", "${x}`y`", "</script>", "<!-- -->",
    "double", "class", "int", "main", "std", "run", "namespace", "NULL", "INFINITY", "errno", "inputs", "outputs", "context",
    "state", "model", "dims", "threads", "args", "executor", "float4", "var", "let", "fn", "vec4", "workgroup", "global", "this",
    "__global__", "__LINE__", "_A", "x__y", "M_PI", "status", "ortc_rt", "ortc", "ORTC_OK", "ORTC_INLINE", "data", "i", "n",
    "kernel", "async", "await", "arguments", "eval", "constructor", "__proto__", "prototype", "true", "undefined", "naïve", "変数",
    "Ω≈ç√", "🙂", "1abc", "123", "-", "_", "__", ".", "..", "%", "#define x", "$(touch pwned)", "a" * 5000, "é" * 300, "x.0", "0",
    "size", "(", ")", "[", "]", ";", "R\"(", "u8\"", "//", "/*", "*/", "\\", "\"", "'", "\ufeff", "\x7f", "\x1b[31m", "\u00ad",
]
BUNDLES = ["ortc", "ORTC_OK", "std", "class", "main", "run", "1x", "a b", "-x", "*", "int evil;", "é", "model", "float4", "net.v2",
           "ortc_rt", "x" * 200]
# What would be code, or change how code is read, if it stood in a file as it is.
RAW = ["\u202e", "\u202c", "\u2028", "\0", "\x1b", "\ufeff", "\u00ad", "\r"]


def value(name, dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def model():
    nodes, inputs, outputs, weights = [], [], [], []
    for name in NAMES:
        weights.append(numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), name + " w"))
        nodes += [helper.make_node("MatMul", [name, name + " w"], [name + " h"], name=name),
                  helper.make_node("Softmax", [name + " h"], [name + " y"], name=name)]
        inputs.append(value(name, [name, 3]))
        outputs.append(value(name + " y", [name, 2]))
    graph = helper.make_graph(nodes, "*/ int evil; /*", inputs, outputs, weights, doc_string="*/ int evil; /*")
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="*/ int evil; /*")


def small():
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value("x", [2])], [value("y", [2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def bundles(ortc, target, out):
    out = pathlib.Path(out)
    for k, name in enumerate(BUNDLES):
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"{name}.onnx"
        onnx.save(small(), file)
        subprocess.run([ortc, "compile", file, f"--target={target}", "-o", out / str(k)], check=True)
        includes = [h.relative_to(out / str(k) / "include") for h in (out / str(k) / "include").rglob("*.hpp")]
        (out / str(k) / "use.cpp").write_text("".join(f'#include "{h}"\n' for h in includes))


def check(folder):
    bad = 0
    for path in pathlib.Path(folder).rglob("*"):
        if not path.is_file() or path.suffix in (".bin", ".spv", ".onnx"):
            continue
        if path.suffix == ".json":  # data, where a name may stand as it is
            json.loads(path.read_text())
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        found = [raw for raw in RAW if raw in text]
        for line in text.splitlines():
            comment = line.lstrip().startswith(("//", "*", "/*", "#", ";")) or "//" in line.split("int evil")[0]
            quoted = '"' in line.split("int evil")[0] or "'" in line.split("int evil")[0]
            if "int evil" in line and not comment and not quoted:
                found.append(line.strip()[:80])
        if found:
            bad += 1
            print(f"{path}: {found}")
    print(f"{bad} files with names unescaped")
    sys.exit(bad != 0)


if sys.argv[1] == "model":
    onnx.save(model(), sys.argv[2])
else:
    {"bundles": bundles, "check": check}[sys.argv[1]](*sys.argv[2:])
