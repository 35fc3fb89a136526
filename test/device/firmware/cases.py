# SPDX-License-Identifier: Apache-2.0
"""cases.py write FOLDER N BIAS: a request for net.cpp; cases.py check FOLDER N BIAS: its response, by numpy."""
import pathlib
import sys

import numpy as np

what, folder, n, bias = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "bias"
rng = np.random.default_rng(n)
x = rng.standard_normal((n, 16)).astype(np.float32)
b = rng.integers(-3, 4, 8).astype(np.int8)
if what == "write":
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "request.txt").write_text(f"1 2 {n} 16\n" + ("3 1 8\n" if bias else "-\n"))
    (folder / "input_0.bin").write_bytes(x.tobytes())
    (folder / "input_1.bin").write_bytes(b.tobytes())
else:
    lines = (folder / "response.txt").read_text().splitlines()
    assert lines[0] == "status 0", lines
    assert lines[1] == f"output 0 1 2 {n} 8" and lines[2] == "output 1 7 0", lines
    k, j = np.mgrid[0:16, 0:8]
    w = ((k * 7 + j * 3) % 11 - 5) * 0.25
    want = np.maximum(x.astype(np.float64) @ w + (b if bias else 0), 0)
    got = np.fromfile(folder / "output_0.bin", np.float32).reshape(n, 8)
    assert np.allclose(got, want, rtol=1e-5, atol=1e-5), (got, want)
    assert np.fromfile(folder / "output_1.bin", np.int64).tolist() == [42]
    used, size = map(int, lines[3].split()[1:])
    assert 0 < used < size, lines[3]
