// SPDX-License-Identifier: Apache-2.0
#ifndef ORTC_OPS_KERNEL
#define ORTC_OPS_KERNEL
include "compiler/ir/OrtcDialect.td"

def Ortc_KernelOp : Ortc_Op<"kernel", [Pure, NoRegionArguments, SingleBlock]> {
  let summary = "one kernel: one launch, one function in the output";
  let description = [{
    Groups tensor ops that are computed together. The region reads values from outside freely (tensors become pointer
    parameters, index values become size parameters when it is outlined) and yields the tensors that others need.
    `choice` and `schedule` are written by selection and read by lowering:
    choice = {kernel = "gemm_f32_8x48", cost_us = 21.0, next = "...", next_us = 34.0}.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<DictionaryAttr>:$choice, OptionalAttr<DictionaryAttr>:$schedule);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name attr-dict-with-keyword $body `:` type($results)";
  let extraClassDeclaration = [{
    ::mlir::Block& block() { return getBody().front(); }
    /// The tensors that are yielded, in the order of the results.
    ::mlir::ValueRange yielded();
    /// Tensors from outside that the region reads, in order of first use. `tensor.empty` and constants of a few bytes
    /// that are inside do not count.
    ::llvm::SmallVector<::mlir::Value> capturedTensors();
  }];
}

def Ortc_YieldOp : Ortc_Op<"yield", [Pure, Terminator]> {
  let summary = "ends a kernel, or the epilogue of a kernel template";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}
#endif
