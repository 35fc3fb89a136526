// SPDX-License-Identifier: Apache-2.0
// The target to copy from: everything becomes plain C++ loops, no vectors, no threads, no
// catalogue.
#include "targets/common/cxx/CxxBundle.h"

namespace ortc {
namespace {

class NullTarget final : public TargetInfo {
public:
  std::string name() const override { return "null"; }
  bool hasHostSteps() const override { return true; }
  bool growsArena() const override { return true; }
  bool emit(mlir::ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
            Diagnostics& diagnostics) const override {
    CxxBundleOptions options;
    options.compileOptions = {"-ffp-contract=off", "-fno-math-errno",     "-fno-exceptions",
                              "-fno-rtti",         "-fvisibility=hidden", "-Wno-psabi"};
    return writeCxxBundle(program, facts, request, *this, options, diagnostics);
  }
};

[[maybe_unused]] const bool registered = registerTarget(
    "null", [] { return std::unique_ptr<TargetInfo>(new NullTarget); },
    "plain C++ loops: slow, and what other targets are copied from");

} // namespace
} // namespace ortc
