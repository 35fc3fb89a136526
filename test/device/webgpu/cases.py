# SPDX-License-Identifier: Apache-2.0
"""The data of net.mjs by numpy: cases.py write FOLDER | check FOLDER RESPONSE | page FOLDER RESULT."""
import json
import pathlib
import sys

import numpy as np

what, folder = sys.argv[1], pathlib.Path(sys.argv[2])
rng = np.random.default_rng(1)
w = rng.standard_normal((16, 24)).astype(np.float32)
b = rng.standard_normal(24).astype(np.float32)
RUNS = [(5, 1, 3), (1, 2, None), (100, 0, -7), (5, 1, None), (5, 300, 2)]  # n, turns, shift; 300 steps need two submits


def data(n, turns, shift):
    x = np.random.default_rng(n).standard_normal((n, 16)).astype(np.float32)
    y = np.maximum(x.astype(np.float64) @ w + b, 0)
    for _ in range(2 * turns):
        y = y / 2 + (shift or 0)
    return x, y


if what == "write":
    blob = w.tobytes() + bytes(1792 - w.nbytes) + b.tobytes()
    (folder / "weights.bin").write_bytes(blob)
    runs = []
    for i, (n, turns, shift) in enumerate(RUNS):
        x, _ = data(n, turns, shift)
        (folder / f"x{i}.bin").write_bytes(x.tobytes())
        (folder / f"turns{i}.bin").write_bytes(np.int64(turns).tobytes())
        inputs = [{"name": "x", "dims": [n, 16], "file": f"x{i}.bin"}, {"name": "turns", "dims": [1], "file": f"turns{i}.bin"}]
        if shift is not None:
            (folder / f"shift{i}.bin").write_bytes(np.int64(shift).tobytes())
            inputs.append({"name": "shift", "dims": [1], "file": f"shift{i}.bin"})
        runs.append({"inputs": inputs, "out": f"run{i}_"})
    # What must be refused, each with its own text; the runs before and after are good.
    good = runs[0]["inputs"]
    (folder / "big.bin").write_bytes(np.int64(2**40).tobytes())
    (folder / "many.bin").write_bytes(np.int64(10**6).tobytes())
    bad = [[good[0]], [{**good[0], "dims": [4, 20]}, good[1]], [{**good[0], "dims": [80, 1]}, good[1]],
           good + [{"name": "z", "dims": [1], "file": "x0.bin"}], [good[0], {**good[1], "file": "big.bin"}],
           [good[0], {**good[1], "file": "many.bin"}]]
    runs[3:3] = [{"inputs": inputs, "out": "bad_"} for inputs in bad]
    (folder / "request.json").write_text(json.dumps({"runs": runs}))
elif what == "check":
    response = json.loads(pathlib.Path(sys.argv[3]).read_text())
    print(response.get("adapter"), response.get("error", ""))
    runs = response["runs"]
    texts = ["input 'turns' (int64[1]) is missing", "input 'x' is of shape [4,20], expected float32[n,16]",
             "input 'x' is of shape [80,1], expected float32[n,16]", "there is no input 'z'; the inputs are 'x', 'turns', 'shift'",
             "'turns' holds 1099511627776, which this model cannot take (32 bits)",
             "'turns' is 1000000, there are only 120 elements"]
    codes = ["INVALID_ARGUMENT"] * 4 + ["RUN_ERROR"] * 2
    for run, text, code in zip(runs[3:9], texts, codes):
        assert run["error"] == {"code": code, "message": text}, run
    good = runs[:3] + runs[9:]
    for i, ((n, turns, shift), run) in enumerate(zip(RUNS, good, strict=True)):
        if n * 24 < 2 * turns:
            assert run["error"]["message"] == f"'turns' is {turns}, there are only {n * 24} elements", run
            continue
        y, count, head, flags = run["outputs"]
        _, want = data(n, turns, shift)
        got = np.fromfile(folder / y["file"], np.float32).reshape(y["dims"])
        assert y["dims"] == [n, 24] and np.allclose(got, want, rtol=1e-4, atol=1e-5), np.abs(got - want).max()
        assert count["dims"] == [] and count["dtype"] == "int64"
        assert np.fromfile(folder / count["file"], np.int64).tolist() == [2 * turns]
        assert head["dims"] == [2 * turns]
        assert np.array_equal(np.fromfile(folder / head["file"], np.float32), got.ravel()[: 2 * turns])
        assert np.fromfile(folder / flags["file"], np.uint8).tolist() == [2 * turns % 256, 2 * turns // 256, 0]
        print(f"run {i}: {run['ms']:.1f} ms")
else:
    result = json.loads(pathlib.Path(sys.argv[3]).read_text())
    x = np.array(result["x"]).reshape(2, 16)
    want = np.maximum(x @ w + b, 0) / 4
    assert result["count"] == 2 and np.allclose(np.array(result["y"]).reshape(2, 24), want, rtol=1e-4, atol=1e-5)
