// SPDX-License-Identifier: Apache-2.0
// Microcontrollers: plain C++ loops, no heap, no libc, no exceptions; weights are const arrays, and
// all memory is static.
#pragma once
#include "targets/common/cxx/CxxBundle.h"

namespace ortc {

class FirmwareTarget final : public TargetInfo {
public:
  FirmwareTarget(std::string name, std::vector<std::string> flags)
      : ownName(std::move(name)), flags(std::move(flags)) {}
  std::string name() const override { return ownName; }
  Runner runner() const override { return Runner::FirmwareImage; }
  bool prefersChannelsLast() const override { return true; }
  int64_t alignment() const override {
    return 8;
  } // the largest element; there are no vectors to align for
  unsigned indexBits() const override { return 32; }
  std::vector<std::string> weightsForms() const override { return {"array"}; } // in flash
  bool emit(mlir::ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
            Diagnostics& diagnostics) const override;

private:
  std::string ownName;
  std::vector<std::string> flags; // that name the processor, for its compiler
};

} // namespace ortc
