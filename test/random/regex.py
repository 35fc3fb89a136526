#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random regular expressions in models, against Python's `re` where it means the same: whether a whole text matches
does not depend on what a pattern prefers, and the longest match from a place is the last end at which it matches.

  regex.py --target cpu --seed 5 --count 200
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

root = pathlib.Path(__file__).resolve().parents[2]
ortc = pathlib.Path(os.environ.get("ORTC_BUILD", root / "build")) / "bin" / "ortc"

# What both spell alike. Not: letters beyond ASCII in both cases, \s (Python's has \v), $ (Python's also stands before a
# last newline), \B in an empty text.
CHARACTERS = ["a", "b", "c", "1", " ", "é", "中", r"\n", r"\.", r"\x41", "-"]
CLASSES = ["[ab]", "[^a]", "[a-c1]", "[^é-中]", r"[\d-]", r"[^\W]", r"\d", r"\w", r"\W", r"\D", ".", "[]a]", r"[\]b]"]
GROUPS = ["(", "(?:", "(?i:", "(?s:", "(?-i:", "(?s-i:"]
REPEATS = ["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0}", "*?", "+?", "??", "{0,2}?"]
TEXTS = ["a", "a", "b", "c", "A", "1", " ", "é", "中", "\n", ".", "-", "]"]


def pattern(rnd, depth, places, repeats=REPEATS):
    def part():
        k = rnd.random()
        if k < 0.1 and places:
            return rnd.choice([r"\b", r"\A", "^"])
        repeat = rnd.choice(repeats) if rnd.random() < 0.4 else ""
        if depth and k < 0.35:
            # Python takes time without end for repetitions in repetitions.
            return rnd.choice(GROUPS) + pattern(rnd, depth - 1, places, ["?", "??"] if repeat else repeats) + ")" + repeat
        return rnd.choice(CHARACTERS if k < 0.7 else CLASSES) + repeat
    return "|".join("".join(part() for _ in range(rnd.choice([0, 1, 1, 2, 2, 3]))) for _ in range(rnd.choice([1, 1, 2, 3])))


def tokens(compiled, text):
    found, at = [], 0
    while at < len(text):
        end = max((e for e in range(at + 1, len(text) + 1) if compiled.fullmatch(text, at, e)), default=at)
        if end > at:
            found.append(text[at:end])
        at = max(end, at + 1)
    return found


def node(index, compiled, source, texts):
    """A node, its results, and the type of them. Half of them match whole texts, the others cut them."""
    if index % 2 == 0:
        y = np.array([compiled.fullmatch(t) is not None for t in texts])
        return helper.make_node("RegexFullMatch", ["x"], [f"y{index}"], pattern=source), y, TensorProto.BOOL
    rows = [tokens(compiled, t) for t in texts]
    width = max(map(len, rows))
    y = np.array([r + ["#"] * (width - len(r)) for r in rows], object).reshape(len(texts), width)
    attributes = {"mark": 0, "mincharnum": 1, "pad_value": "#", "tokenexp": source}
    return helper.make_node("Tokenizer", ["x"], [f"y{index}"], domain="com.microsoft", **attributes), y, TensorProto.STRING


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--target", default="reference")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=100, help="patterns")
    options = options.parse_args()
    rnd = random.Random(options.seed)
    texts = ["", *("".join(rnd.choice(TEXTS) for _ in range(rnd.randrange(1, 12))) for _ in range(29))]
    made = []
    while len(made) < options.count:
        # Where a match may begin or end does not see what is beyond its end in Python: no \b in tokens.
        source = pattern(rnd, 3, len(made) % 2 == 0)
        if source not in ("", "."):  # of tokens: refused, and each character
            made.append(node(len(made), re.compile(source, re.ASCII), source, texts))
    with tempfile.TemporaryDirectory() as scratch:
        case = pathlib.Path(scratch) / "case"
        data = case / "test_data_set_0"
        data.mkdir(parents=True)
        graph = helper.make_graph([n for n, _, _ in made], "g", [helper.make_tensor_value_info("x", TensorProto.STRING, [len(texts)])],
                                  [helper.make_tensor_value_info(n.output[0], kind, None) for n, _, kind in made])
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        (case / "model.onnx").write_bytes(model.SerializeToString())
        (data / "input_0.pb").write_bytes(numpy_helper.from_array(np.array(texts, object)).SerializeToString())
        for i, (_, y, _) in enumerate(made):
            (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(y).SerializeToString())
        result = pathlib.Path(scratch) / "result.json"
        subprocess.run([ortc, "verify", case, f"--target={options.target}", f"--json={result}", "--timeout", "300"],
                       capture_output=True, check=False)
        verdict = json.loads(result.read_text())["cases"][0]
    print(f"seed {options.seed}: {len(made)} patterns on {len(texts)} texts: {verdict['status']} {verdict['reason']}")
    if verdict["status"] != "passed":
        for number in map(int, re.findall(r"'y(\d+)'", verdict["reason"])):
            print(f"  y{number}: {made[number][0].attribute}")
        sys.exit(1)


main()
