#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says whether the CUDA wrappers, as they are now, were ever run on a device.

    device_ledger.py                    prints "device-verified: ..." or "NOT device-verified: ..."; exit 0 either way
    device_ledger.py --record PROBE     runs the built cuda_device_probe and, when it passes on a device, adds a line to
                                        docs/cuda-device-ledger.md; exit 77 without a device, 1 when it fails

A line of the ledger holds the SHA-256 over the files below: change one of them, and the statement is void.
"""
import argparse
import datetime
import hashlib
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = ["host/narrow.cuh", "host/ops.cuh", "host/ortc_cuda.cuh", "host/rows.cuh"]
LEDGER = HERE.parent.parent / "docs" / "cuda-device-ledger.md"


def digest():
    h = hashlib.sha256()
    for name in FILES:
        data = (HERE / name).read_bytes()
        h.update(f"{name} {len(data)}\n".encode())
        h.update(data)
    return h.hexdigest()


def entries():
    """(date, device, driver, checks, digest) of each line of the table."""
    rows = []
    for line in LEDGER.read_text().splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 5 and re.fullmatch(r"[0-9a-f]{64}", cells[4]):
            rows.append(cells)
    return rows


def record(probe):
    run = subprocess.run([probe], capture_output=True, text=True)
    print(run.stdout, end="")
    device = re.search(r"^device (.+), compute capability ([\d.]+), driver (\d+)$", run.stdout, re.M)
    checks = re.search(r"^(\d+) checks, 0 failed$", run.stdout, re.M)
    if run.returncode != 0:
        return run.returncode
    if not device or not checks:
        print("not recorded: the probe did not run on a device")
        return 1
    today = datetime.date.today().isoformat()
    with LEDGER.open("a") as f:
        f.write(f"| {today} | {device[1]}, {device[2]} | {device[3]} | {checks[1]} | {digest()} |\n")
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--record", metavar="PROBE")
    args = p.parse_args()
    if args.record:
        return record(args.record)
    now = digest()
    matching = [e for e in entries() if e[4] == now]
    if matching:
        print("device-verified: " + "; ".join(f"{e[1]} on {e[0]} ({e[3]} checks)" for e in matching))
    else:
        earlier = entries()
        print("NOT device-verified: the wrappers as they are now have run under the emulator only"
              + (f"; an earlier state ran on {earlier[-1][1]} on {earlier[-1][0]}" if earlier else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
