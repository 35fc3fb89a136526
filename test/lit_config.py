# SPDX-License-Identifier: Apache-2.0
# The lit tests lie beside the code: every .mlir and .test file of compiler/, codegen/ and targets/.
# (Not named lit.cfg.py, because lit would take the folder test/ for a suite of its own while it walks the tree.)
#
# Substitutions: %ortc, %ortc-opt, %FileCheck are found on the PATH by name too; %root is the repository, %python the
# interpreter with numpy and onnx; %gxx and %clangxx compile what is emitted, strictly, with runtime_min on the include
# path. A test that needs what a machine may lack says REQUIRES: node, nvcc, vulkan or qemu.
import os
import shutil

import lit.formats

config.name = "ortc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = config.ortc_root
config.test_exec_root = os.path.join(config.ortc_build, "test", "lit")
# Excludes are names at any depth, and codegen/*/test is a folder of tests; the root's own test/ holds none for lit.
trees = ("compiler", "codegen", "targets", "test")
config.excludes = [name for name in os.listdir(config.ortc_root) if name not in trees] + ["node_modules", "__pycache__"]

bin_folder = os.path.join(config.ortc_build, "bin")
config.environment["PATH"] = os.pathsep.join([bin_folder, config.llvm_tools, os.environ["PATH"]])
for name in ("ORTC_NODE", "ORTC_NODE_MODULES", "ORTC_DEPS", "ORTC_PYTHON", "CUDACXX", "HOME", "XDG_CACHE_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
runtime = os.path.join(config.ortc_root, "runtime_min")
flags = ("-std=c++17 -Wall -Wextra -Wpedantic -Werror -Wno-unused-function -ffp-contract=off -O2 -march=native "
         f"-I{runtime} -I{runtime}/include -I{config.ortc_root}")
cuda = os.path.join(config.ortc_root, "targets", "cuda")
config.substitutions += [
    ("%gxx", f"g++ {flags}"),
    ("%clangxx", f"{shutil.which('clang++-19') or 'clang++'} {flags}"),
    ("%runtime", runtime),
    ("%cuemu_sources", f"{cuda}/emulator/*.cpp"),
    ("%cuemu", f"g++ {flags} -DORTC_CUEMU -Wno-unknown-pragmas -pthread -I{runtime}/rt -I{cuda}/emulator -I{cuda}/host"),
    ("%ortc-opt", os.path.join(bin_folder, "ortc-opt")),
    ("%ortc", os.path.join(bin_folder, "ortc")),
    ("%FileCheck", os.path.join(config.llvm_tools, "FileCheck")),
    ("%python", os.environ.get("ORTC_PYTHON", "python3")),
    ("%root", config.ortc_root),
]
tools = {"node": os.environ.get("ORTC_NODE") or "node", "nvcc": os.environ.get("CUDACXX") or "nvcc",
         "vulkan": "spirv-val", "qemu": "qemu-system-arm"}
config.available_features |= {feature for feature, tool in tools.items() if shutil.which(tool)}
# Parts of this repository that a checkout may leave out.
parts = {"runtime": "runtime_min/rt/simd.h", "cuemu": "targets/cuda/emulator/cuemu.h"}
config.available_features |= {name for name, path in parts.items() if os.path.exists(os.path.join(config.ortc_root, path))}
# Dawn for Node, where scripts/setup puts it or the user says.
deps = [os.environ.get("ORTC_DEPS", ""), os.path.join(config.ortc_root, ".deps")]
modules = [os.environ.get("ORTC_NODE_MODULES", "")] + [os.path.join(d, "node", "node_modules") for d in deps if d]
if any(m and os.path.isdir(os.path.join(m, "webgpu")) for m in modules):
    config.available_features.add("webgpu")
