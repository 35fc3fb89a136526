# SPDX-License-Identifier: Apache-2.0
"""Objects of one level must define no symbol that another part of the program could be linked with: the linker keeps one of
several functions of equal name, and it could be one for a processor that is not there. Nor may they run code when the
program is loaded, before a level is picked.

  check_levels.py BUILD_FOLDER PREFIX...
"""
import pathlib
import subprocess
import sys

bad = 0
prefixes = sys.argv[2:]
for prefix in prefixes:
    longer = [p for p in prefixes if p != prefix and p.startswith(prefix)]
    objects = sorted(pathlib.Path(sys.argv[1]).rglob(f"{prefix}.dir/**/*.o"))
    if not objects:
        print(f"no objects of {prefix}")
        bad += 1
    for o in objects:
        for line in subprocess.run(["nm", "-A", "--defined-only", "--extern-only", o], check=True, capture_output=True,
                                   text=True).stdout.splitlines():
            symbol = line.split()[-1]
            if prefix not in symbol or any(p in symbol for p in longer):
                print(f"{o.name} of {prefix} defines {symbol}")
                bad += 1
        sections = subprocess.run(["objdump", "-h", o], check=True, capture_output=True, text=True).stdout
        if ".init_array" in sections or ".ctors" in sections:
            print(f"{o.name} of {prefix} runs code when it is loaded")
            bad += 1
print(f"{bad} symbols out of place")
sys.exit(bad != 0)
