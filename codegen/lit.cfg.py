# Tests of the printers: text (FileCheck), and the text compiled and run.
import os
import lit.formats

config.name = "codegen"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.ortc_binary_dir, "codegen", "lit")

runtime = os.environ.get("ORTC_RUNTIME_DIR", os.path.join(config.ortc_source_dir, "runtime_min"))
flags = ("-std=c++17 -Wall -Wextra -Wpedantic -Werror -Wno-unused-function -ffp-contract=off -O2 -march=native "
         f"-I{runtime} -I{runtime}/include -I{config.ortc_source_dir}")
path = os.path.join(config.ortc_binary_dir, "compiler", "driver")
config.environment["PATH"] = os.pathsep.join([path, config.llvm_tools_dir, os.environ.get("PATH", "")])
config.substitutions.append(("FileCheck", config.filecheck))
config.substitutions.append(("%gxx", f"g++ {flags}"))
config.substitutions.append(("%clangxx", f"{config.clangxx} {flags}"))
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%root", config.ortc_source_dir))
config.substitutions.append(("%runtime", runtime))
if os.path.exists(os.path.join(runtime, "rt", "simd.h")):
    config.available_features.add("runtime")
cuda = os.environ.get("ORTC_CUDA_DIR", os.path.join(config.ortc_source_dir, "targets", "cuda"))
config.substitutions.append(("%cuemu_sources", f"{cuda}/emulator/*.cpp"))
config.substitutions.append(("%cuemu", f"g++ {flags} -DORTC_CUEMU -Wno-unknown-pragmas -pthread -I{runtime}/rt -I{cuda}/emulator -I{cuda}/host"))
if os.path.exists(os.path.join(cuda, "emulator", "cuemu.h")):
    config.available_features.add("cuemu")
