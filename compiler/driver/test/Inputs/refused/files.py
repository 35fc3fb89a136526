# SPDX-License-Identifier: Apache-2.0
"""Files that are no models, and data that does not lie where the model says."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper

from refused.common import F, bad, value, tensor, model, node, relu


# ---- the file ----

@bad("the file is empty")
def empty(f):
    (f / "m.onnx").write_bytes(b"")


@bad("the file is damaged, incomplete, or no ONNX file")
def text(f):
    (f / "m.onnx").write_text("this is no model at all\n" * 3)


@bad("error:")
def truncated(f):
    (f / "m.onnx").write_bytes(relu().SerializeToString()[:-9])


@bad("it is a folder")
def folder(f):
    (f / "m.onnx").mkdir()


@bad("it is not a regular file")
def pipe(f):
    os.mkfifo(f / "m.onnx")


@bad("no such file")
def absent(f):
    pass


@bad("IR version 99 is not known")
def ir_version(f):
    m = relu()
    m.ir_version = 99
    return m


@bad("opset 1000 of 'ai.onnx' is newer than the newest one known")
def opset_newer(f):
    return model([node("Relu")], opset=1000)


@bad("opset 0 of 'ai.onnx' is not valid")
def opset_zero(f):
    return model([node("Relu")], opset=0)


@bad("the model imports no operator set")
def no_opset(f):
    m = relu()
    del m.opset_import[:]
    return m


@bad("'ai.onnx' is imported with opset 17 and with opset 11")
def two_opsets(f):
    m = relu()
    m.opset_import.append(helper.make_opsetid("ai.onnx", 11))
    return m


# ---- external data ----

def external(f, location, data=b"\0" * 24, **keys):
    w = TensorProto(name="w", data_type=F, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    for k, v in {"location": location, **keys}.items():
        e = w.external_data.add()
        e.key, e.value = k, str(v)
    if data is not None:
        (f / "w.bin").write_bytes(data)
    return model([node("Add", ["x", "w"])], initializers=[w])


@bad("the path is absolute")
def external_absolute(f):
    return external(f, "/etc/passwd")


@bad("the path goes up with '..'")
def external_up(f):
    return external(f, "../w.bin")


@bad("the path goes up with '..'")
def external_up_inside(f):
    (f / "d").mkdir()
    return external(f, "d/../../w.bin")


@bad("a symbolic link leads out of the folder")
def external_link(f):
    (f / "w.bin").unlink(missing_ok=True)
    (f / "link").symlink_to("/etc/passwd")
    return external(f, "link", None)


@bad("a symbolic link leads out of the folder")
def external_linked_folder(f):
    (f / "etc").symlink_to("/etc")
    return external(f, "etc/passwd", None)


@bad("no such file beside the model")
def external_absent(f):
    return external(f, "nothing.bin", None)


@bad("the location is empty")
def external_nowhere(f):
    return external(f, "")


@bad("error:")
def external_folder(f):
    (f / "d").mkdir()
    return external(f, "d", None)


@bad("error:")
def external_short(f):
    return external(f, "w.bin", b"\0" * 23)


@bad("error:")
def external_behind_end(f):
    return external(f, "w.bin", offset=8)


@bad("error:")
def external_wraps(f):
    return external(f, "w.bin", offset=2**64 - 8, length=24)


@bad("error:")
def external_negative(f):
    return external(f, "w.bin", offset=-8)


@bad("error:")
def external_no_number(f):
    return external(f, "w.bin", offset="8x")


@bad("error:")
def external_other_length(f):
    return external(f, "w.bin", length=8)


@bad("error:")
def external_zero_length(f):
    return external(f, "w.bin", length=0)


@bad("error:")
def external_empty_file(f):
    return external(f, "w.bin", b"")


# ---- sparse ----

def sparse(values, indices, dims):
    s = onnx.SparseTensorProto(dims=dims)
    s.values.CopyFrom(tensor("w", np.asarray(values, np.float32)))
    s.indices.CopyFrom(tensor("", np.asarray(indices, np.int64)))
    m = model([node("Add", ["x", "w"])])
    m.graph.sparse_initializer.append(s)
    return m


@bad("error:")
def sparse_index_outside(f):
    return sparse([1, 2], [0, 6], [2, 3])


@bad("error:")
def sparse_index_negative(f):
    return sparse([1], [[0, -1]], [2, 3])


@bad("error:")
def sparse_counts_differ(f):
    return sparse([1, 2], [0], [2, 3])


@bad("error:")
def sparse_huge(f):
    return sparse([1], [0], [2**40, 2**10])


@bad("error:")
def sparse_of_another_rank(f):
    return sparse([1], [[0, 0, 0]], [2, 3])


@bad("'B' is f32[]; expected rank 2")
def bias_of_a_recurrent_layer_without_dims(f):
    return model([node("LSTM", ["x", "w", "r", "b"])], inputs=[value("x", (2, 1, 3))],
                 initializers=[tensor("w", np.zeros((1, 8, 3), np.float32)), tensor("r", np.zeros((1, 8, 2), np.float32)),
                               tensor("b", np.float32(0))])
