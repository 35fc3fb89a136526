# Runs every *.mlir beside the code of compiler/, codegen/ and targets/. Tools: those of the build folder, FileCheck, not.
import os
import lit.formats

config.name = "ortc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = config.ortc_source_dir
config.test_exec_root = os.path.join(config.ortc_binary_dir, "test", "lit", "output")
# Only folders with code hold tests; build folders lie beside them.
keep = {"compiler", "codegen", "targets"}
config.excludes = [e for e in os.listdir(config.ortc_source_dir) if e not in keep]

binary = os.path.join(config.ortc_binary_dir, "compiler", "driver")
config.environment["PATH"] = os.pathsep.join([binary, os.environ.get("PATH", "")])
config.substitutions.append(("FileCheck", config.filecheck))
for tool in ("ortc-opt",):
    config.substitutions.append((r"\b%s\b" % tool, os.path.join(binary, tool)))
