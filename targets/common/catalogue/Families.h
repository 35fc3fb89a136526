// SPDX-License-Identifier: Apache-2.0
// The families of a target's catalogue. Each registers itself, so that a family is a folder of
// kernels/ and one file of the compiler's, and no list of them exists.
#pragma once
#include "compiler/select/TargetInfo.h"

namespace ortc::catalogue {

/// `Device`: what a target tells its families of the machine and of what is allowed.
template <class Device> struct Family {
  /// What the names of its kernels start with, those of rows: "gemm_".
  std::vector<std::string> kernels;
  /// Adds a row for each kernel that fits.
  void (*candidates)(KernelOp, const Device&, std::vector<Candidate>& rows);
  /// Writes the chosen one. A null function when the places do not allow it after all.
  mlir::FailureOr<LoweredKernel> (*write)(KernelOp, mlir::ModuleOp, StridesOf);
  /// Bytes that the chosen one needs while it runs.
  std::optional<mlir::OpFoldResult> (*workspace)(KernelOp, mlir::OpBuilder&) = nullptr;
  /// Headers of templates that are not where the name says (`templateHeader`).
  std::vector<std::pair<std::string, std::string>> headers = {};
};

template <class Device> class Families {
public:
  static bool add(Family<Device> family) {
    auto at = llvm::find_if(all(), [&](auto& f) { return f.kernels > family.kernels; });
    all().insert(at, std::move(family)); // sorted: who is linked first decides nothing
    return true;
  }
  static std::vector<Candidate> candidates(KernelOp kernel, const Device& device) {
    std::vector<Candidate> rows;
    for (const Family<Device>& f : all())
      f.candidates(kernel, device, rows);
    return rows;
  }
  static mlir::FailureOr<LoweredKernel> write(KernelOp kernel, mlir::ModuleOp module,
                                              StridesOf strides) {
    const Family<Device>* f = of(kernel);
    return f ? f->write(kernel, module, strides) : LoweredKernel();
  }
  static std::optional<mlir::OpFoldResult> workspace(KernelOp kernel, mlir::OpBuilder& b) {
    const Family<Device>* f = of(kernel);
    return f && f->workspace ? f->workspace(kernel, b) : std::nullopt;
  }
  /// The header of a template FAMILY_...: kernels/FAMILY/FAMILY.h, unless its family says another.
  static std::string templateHeader(llvm::StringRef callee, llvm::StringRef extension) {
    for (const Family<Device>& f : all())
      for (auto& [name, header] : f.headers)
        if (callee == name) return "kernels/" + header;
    std::string family = callee.split('_').first.str();
    return fmt::format("kernels/{0}/{0}.{1}", family, extension.str());
  }

private:
  static std::vector<Family<Device>>& all() {
    static std::vector<Family<Device>> families;
    return families;
  }
  /// That of the kernel's choice; none for loops.
  static const Family<Device>* of(KernelOp kernel) {
    auto choice = kernel.getChoiceAttr();
    llvm::StringRef name =
        choice ? choice.template getAs<mlir::StringAttr>("kernel").getValue() : "";
    const Family<Device>* found = nullptr;
    size_t length = 0; // of the longest start: "conv_wide_" before "conv_"
    for (const Family<Device>& f : all())
      for (const std::string& start : f.kernels)
        if (name.starts_with(start) && start.size() > length) found = &f, length = start.size();
    return found;
  }
};

} // namespace ortc::catalogue
