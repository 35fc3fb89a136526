# SPDX-License-Identifier: Apache-2.0
# exits.py CODE COMMAND...: passes stdout and stderr on (both to stdout), and fails unless the command exits with CODE.
import subprocess
import sys

done = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
sys.stdout.buffer.write(done.stdout)
sys.stdout.flush()
if done.returncode != int(sys.argv[1]):
    sys.exit(f"exit code {done.returncode}, expected {sys.argv[1]}")
