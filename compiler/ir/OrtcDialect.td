// SPDX-License-Identifier: Apache-2.0
// The `ortc` dialect: what upstream linalg on tensors cannot say well. This file holds the dialect, its types and the
// bases of its ops; each op is in its own folder of compiler/ops/.
#ifndef ORTC_DIALECT_TD
#define ORTC_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "compiler/ir/OrtcInterfaces.td"

def Ortc_Dialect : Dialect {
  let name = "ortc";
  let cppNamespace = "::ortc";
  let summary = "structured tensor ops, kernels and host programs of ortc";
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
    "::mlir::func::FuncDialect"
  ];
}

class Ortc_Type<string name, string mnem, list<Trait> traits = []> : TypeDef<Ortc_Dialect, name, traits> {
  let mnemonic = mnem;
}

def Ortc_String : Ortc_Type<"String", "string", [MemRefElementTypeInterface]> {
  let summary = "a UTF-8 string; element type of tensors, host side only";
}

def Ortc_List : Ortc_Type<"List", "list"> {
  let summary = "a sequence of values of one type";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def Ortc_Map : Ortc_Type<"Map", "map"> {
  let summary = "an ONNX map: keys and values of one type each";
  let parameters = (ins "::mlir::Type":$keyType, "::mlir::Type":$valueType);
  let assemblyFormat = "`<` $keyType `,` $valueType `>`";
}

class Ortc_Op<string mnemonic, list<Trait> traits = []> : Op<Ortc_Dialect, mnemonic, traits>;

// A structured op on tensors: pure, destination style (the init gives the sizes of the result, its content is never
// read), with a slow, obvious `evaluate` and a scalar expression `elementAt`.
class Ortc_TensorOp<string mnemonic, list<Trait> traits = []>
    : Ortc_Op<mnemonic, !listconcat([Pure, DestinationStyleOpInterface,
                                     DeclareOpInterfaceMethods<Ortc_ElementwiseLowering>,
                                     DeclareOpInterfaceMethods<Ortc_Evaluable>, AllTypesMatch<["init", "result"]>], traits)>;

#endif // ORTC_DIALECT_TD
