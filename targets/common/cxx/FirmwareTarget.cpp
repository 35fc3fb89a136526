// SPDX-License-Identifier: Apache-2.0
#include "targets/common/cxx/FirmwareTarget.h"
#include "compiler/support/Names.h"

using namespace mlir;

namespace ortc {

/// A context and what alignment may cost, beside the arena.
constexpr int64_t kContextBytes = 1024;

bool FirmwareTarget::emit(ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
                          Diagnostics& diagnostics) const {
  if (!facts.arenaBytes) {
    auto& d = diagnostics.error(
        "", "target '{}' needs a bound for every size, since its memory is fixed when it is built",
        ownName);
    program.walk([&](DimOp dim) {
      if (dim.getMax() != INT64_MAX) return;
      d.note("{} has no bound", quoteName(dim.getName().str()));
      d.help("give one with --dim {}=1..N", dim.getName().str());
    });
    return false;
  }
  bool strings = false;
  program.walk([&](HostStepOp step) {
    if (!strings)
      diagnostics
          .error("", "target '{}' has no strings, lists or maps, but the model needs the step '{}'",
                 ownName, step.getStep().str())
          .help("compile the part without them with --cut-inputs and --cut-outputs");
    strings = true;
  });
  if (strings) return false;
  if (request.weights == "file") {
    diagnostics.error("", "target '{}' has no files; weights are arrays in flash (--weights=array)",
                      ownName);
    return false;
  }
  BundleRequest own = request;
  own.weights = "array";
  CxxBundleOptions options;
  options.hosted = false;
  options.compileOptions = flags;
  options.compileOptions.push_back(
      fmt::format("-DORTC_STATIC_BYTES={}", *facts.arenaBytes + kContextBytes));
  for (const char* flag :
       {"-DORTC_NO_THREADS", "-ffreestanding", "-ffp-contract=off", "-fno-math-errno",
        "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-use-cxa-atexit",
        "-ffunction-sections", "-fdata-sections", "-Wno-psabi"})
    options.compileOptions.push_back(flag);
  return writeCxxBundle(program, facts, own, *this, options, diagnostics);
}

} // namespace ortc
