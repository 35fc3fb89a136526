# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of cases for runner.cpp: data.py OUT NAME=FOLDER...; NAME is the bundle's name."""
import pathlib
import struct
import sys

import onnx
from onnx import TensorProto, numpy_helper


def text(s):
    return struct.pack("<Q", len(s)) + s


def tensor(path):
    t = TensorProto()
    t.ParseFromString(path.read_bytes())
    out = struct.pack(f"<ii{len(t.dims)}q", t.data_type, len(t.dims), *t.dims)
    if t.data_type == TensorProto.STRING:
        return out + struct.pack("<Q", len(t.string_data)) + b"".join(text(s) for s in t.string_data)
    return out + text(t.raw_data or numpy_helper.to_array(t).tobytes())


def main(out, *pairs):
    sets = []
    for pair in pairs:
        name, folder = pair.split("=", 1)
        model = onnx.load(pathlib.Path(folder) / "model.onnx", load_external_data=False)
        initializers = {i.name for i in model.graph.initializer}
        count = sum(1 for i in model.graph.input if i.name not in initializers)
        for data in sorted(pathlib.Path(folder).glob("test_data_set_*")):
            inputs = [tensor(data / f"input_{i}.pb") for i in range(count)]
            sets.append(text(f"{name}/{data.name}".encode()) + text(name.encode()) + struct.pack("<Q", count) + b"".join(inputs))
    pathlib.Path(out).write_bytes(struct.pack("<Q", len(sets)) + b"".join(sets))


main(*sys.argv[1:])
