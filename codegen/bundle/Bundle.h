// SPDX-License-Identifier: Apache-2.0
// What bundles of all C++ targets share: folders, the runtime's sources, headers, weights, build
// files, the manifest. A target prints its kernels and program, and says which of its own files go
// along.
#pragma once
#include "compiler/select/TargetInfo.h"
#include <map>
#include <set>
#include <string>

namespace ortc::codegen {

/// A size in a shape: fixed, a dimension of the model's table, or computed by the run.
struct BundleDim {
  enum Kind { Fixed, Named, Computed } kind;
  int64_t value = 0; // the size, or the index of the dimension
};
struct BundleIo {
  std::string name;       // as in the ONNX file
  std::string identifier; // legal, unique among inputs and outputs
  int64_t dtype = 0;
  std::vector<BundleDim> shape;
};
struct BundleDimension {
  std::string name;
  int64_t min = 0, max = INT64_MAX, multipleOf = 1;
};

/// What the program says of itself, read from its module's attributes.
struct BundleFacts {
  std::vector<BundleIo> inputs, outputs;
  std::vector<BundleDimension> dims;
  uint64_t weightsBytes = 0;
  std::optional<int64_t> arenaBytes;
};
BundleFacts readFacts(mlir::ModuleOp program);

/// For targets that make the memory of outputs before a run: an error for each output whose sizes
/// the run computes, and that @output_bounds does not have.
bool requireOutputBounds(mlir::ModuleOp program, Diagnostics& diagnostics);
/// The body of NAME_output_bound(index, sizes). `computed`: there is a function computed_bytes.
std::string outputBoundBody(llvm::StringRef name, bool computed);

/// One of several processors that a bundle is compiled for: a whole program with its own copy of
/// the runtime.
struct BundleLevel {
  std::string processor;          // "x86-64-v3"
  std::string prefix;             // of its symbols: "net_x86_64_v3"
  std::vector<std::string> needs; // features, by the names of runtime_min/rt/processor.h
  std::vector<std::string> compileOptions, sources;
  mlir::ModuleOp module;
  const ProgramFacts* program;
};

/// A library of the user's machine that the bundle calls.
struct BundleLibrary {
  std::string name;   // for people: "oneDNN"
  std::string link;   // for linkers: "dnnl" stands for -ldnnl
  std::string origin; // how it is installed: "on Debian, libdnnl-dev"
};

/// Files of a bundle that is being written. Paths are relative to its folder.
class BundleWriter {
public:
  BundleWriter(const BundleRequest& request, Diagnostics& diagnostics)
      : request(request), diagnostics(diagnostics) {}

  bool write(llvm::StringRef path, llvm::StringRef text);
  /// Copies a file of the installation (share/ortc/...), e.g. "runtime_min/rt/simd.h".
  bool copyResource(llvm::StringRef resource, llvm::StringRef path);
  /// Copies the files of runtime_min/FILES that have one of the tags.
  bool copyRuntime(const std::set<std::string>& tags);
  /// weights/NAME.bin with its header ("file"), without ("embed"), or weights/NAME.inc ("array").
  bool writeWeights(const Weights& weights);
  /// include/NAME/NAME.h and NAME.hpp.
  bool writeHeaders(const BundleFacts& facts, llvm::StringRef target);
  /// CMakeLists.txt and NAMEConfig.cmake.in: find_package and add_subdirectory.
  bool writeCMake(llvm::ArrayRef<std::string> sources, llvm::ArrayRef<std::string> compileOptions,
                  llvm::ArrayRef<std::string> extra = {});
  bool writeManifest(const BundleFacts& facts, const ProgramFacts& program, mlir::ModuleOp module,
                     const TargetInfo& target, llvm::ArrayRef<std::string> sources,
                     llvm::ArrayRef<std::string> compileOptions);

  /// The tables of inputs, outputs and dims as C++ (arrays `inputs`, `outputs`, `dims`), for the
  /// descriptor.
  std::string ioTables(const BundleFacts& facts);
  const std::string& weightsDigest() const { return digest; } // hex

  const BundleRequest& request;
  Diagnostics& diagnostics;
  /// Whether there is an operating system: threads, shared libraries. Bare metal has neither, and
  /// its code does not move.
  bool hosted = true;
  std::vector<BundleLevel> levels;      ///< empty: one program
  std::vector<BundleLibrary> libraries; ///< for build files and the manifest
  std::vector<std::string>
      needs; ///< of the device, for the manifest: "VULKAN_INT64: kernel 'gather'"

private:
  std::string digest;
  std::vector<std::string> written;
};

/// share/ortc, found from the executable; ORTC_SHARE_DIR overrides it in tests.
std::string resourceFolder();

} // namespace ortc::codegen
