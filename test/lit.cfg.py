# SPDX-License-Identifier: Apache-2.0
# The lit tests lie beside the code: every .mlir and .test file of compiler/, codegen/ and targets/.
#
# Substitutions: %ortc, %ortc-opt, %FileCheck are found on the PATH by name too; %root is the repository, %python the
# interpreter with numpy and onnx. A test that needs what a machine may lack says REQUIRES: node, nvcc, vulkan or qemu.
import os
import shutil

import lit.formats

config.name = "ortc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = config.ortc_root
config.test_exec_root = os.path.join(config.ortc_build, "test", "lit")
trees = ("compiler", "codegen", "targets")
config.excludes = [name for name in os.listdir(config.ortc_root) if name not in trees] + ["node_modules", "__pycache__"]

bin_folder = os.path.join(config.ortc_build, "bin")
config.environment["PATH"] = os.pathsep.join([bin_folder, config.llvm_tools, os.environ["PATH"]])
for name in ("ORTC_NODE", "ORTC_NODE_MODULES", "ORTC_DEPS", "ORTC_PYTHON", "CUDACXX", "HOME", "XDG_CACHE_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions += [
    ("%ortc-opt", os.path.join(bin_folder, "ortc-opt")),
    ("%ortc", os.path.join(bin_folder, "ortc")),
    ("%FileCheck", os.path.join(config.llvm_tools, "FileCheck")),
    ("%python", os.environ.get("ORTC_PYTHON", "python3")),
    ("%root", config.ortc_root),
]
tools = {"node": os.environ.get("ORTC_NODE") or "node", "nvcc": os.environ.get("CUDACXX") or "nvcc",
         "vulkan": "spirv-val", "qemu": "qemu-system-arm"}
config.available_features |= {feature for feature, tool in tools.items() if shutil.which(tool)}
