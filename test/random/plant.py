#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A C++ compiler that plants one fault in each emitted program before it compiles it: proof that wrong code is noticed.

Used as `ortc verify --cxx plant.py`. Each program loses the end of a loop, gets a buffer in another's place, or adds
where it should subtract. What was done is appended to the file that ORTC_PLANTED names."""
import os
import pathlib
import re
import subprocess
import sys
import zlib

FAULTS = [
    ("a loop ends early", re.compile(r"(for \(int64_t \w+ = 0; \w+ < )(\d+)(; )"),
     lambda m: f"{m[1]}{max(0, int(m[2]) - 1)}{m[3]}"),
    ("a buffer lies elsewhere", re.compile(r"(context\.memory\.at<\w+>\()(\d+)(\))"),
     lambda m: f"{m[1]}{int(m[2]) + 64 if int(m[2]) % 128 == 0 else int(m[2]) - 64}{m[3]}"),
    ("minus for plus", re.compile(r"(= [^;=\n]*?[\w\])]) \+ (\w[^;\n]*;)"), lambda m: f"{m[1]} - {m[2]}"),
]


def plant(path):
    text = path.read_text()
    if "// planted" in text:
        return
    places = [(name, m, change(m)) for name, pattern, change in FAULTS for m in pattern.finditer(text)]
    places = [(n, m, c) for n, m, c in places if m[0] != c]
    if not places:
        return
    name, m, changed = places[zlib.crc32(text.encode()) % len(places)]
    path.write_text(text[:m.start()] + changed + text[m.end():] + "\n// planted\n")
    with open(os.environ["ORTC_PLANTED"], "a") as log:
        log.write(f"{path.parent.parent.name}: {name}: {m[0].strip()} -> {changed.strip()}\n".replace("\n ", " "))


if "-c" in sys.argv and sys.argv[-1].endswith("unit.cpp"):
    for line in pathlib.Path(sys.argv[-1]).read_text().splitlines():
        m = re.match(r'#include "(/.*/src/.*\.cpp)"', line)
        if m:
            plant(pathlib.Path(m[1]))
sys.exit(subprocess.run([os.environ.get("CXX") or "c++", *sys.argv[1:]]).returncode)
