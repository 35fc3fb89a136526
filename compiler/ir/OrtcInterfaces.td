// SPDX-License-Identifier: Apache-2.0
// What every own tensor op can do, besides what ODS gives it.
#ifndef ORTC_INTERFACES_TD
#define ORTC_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Ortc_Evaluable : OpInterface<"Evaluable"> {
  let cppNamespace = "::ortc";
  let description = [{
    Computes the op on host tensors: slow, obvious code. Used for constant folding, as the `reference` target, and as
    the oracle for kernels. Floating sums are accumulated in f64.
  }];
  let methods = [
    InterfaceMethod<[{
        `operands` holds one host tensor per operand of the op (the init last: only its dims mean something); fills
        one per result. Returns failure after emitting a diagnostic when the data make it impossible.
      }],
      "::mlir::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::ortc::HostTensor>":$operands,
           "::llvm::SmallVectorImpl<::ortc::HostTensor>&":$results)>
  ];
}

def Ortc_ElementwiseLowering : OpInterface<"ElementLowering"> {
  let cppNamespace = "::ortc";
  let description = [{
    Writes one element of a result as scalar code, reading operands through the emitter. This alone makes an op run on
    every target: the generic loop nest is built from it.
  }];
  let methods = [
    InterfaceMethod<[{
        Scalar code for element `indices` (one index value per dim) of result `result`.
      }],
      "::mlir::Value", "elementAt",
      (ins "::ortc::ElementEmitter&":$emitter, "unsigned":$result, "::mlir::ValueRange":$indices)>
  ];
}

#endif // ORTC_INTERFACES_TD
