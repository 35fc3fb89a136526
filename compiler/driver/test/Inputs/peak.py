# SPDX-License-Identifier: Apache-2.0
# peak.py SMALL MB FILE... -- COMMAND...: runs COMMAND on each file; none may need more than MB more memory than on SMALL.
import resource
import subprocess
import sys

at = sys.argv.index("--")
small, limit, files, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:at], sys.argv[at + 1:]


def peak(path):
    # The largest of all children so far: so the small one goes first, and each is a child of a fresh process.
    script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    return int(subprocess.run([sys.executable, "-c", script, *command, path], check=True, stdout=subprocess.PIPE, text=True).stdout)


base = peak(small)
for path in files:
    more = (peak(path) - base) / 1024
    if more > limit:
        sys.exit(f"{path}: {more:.0f} MB more than {small}")
print(f"{len(files)} within {limit} MB")
