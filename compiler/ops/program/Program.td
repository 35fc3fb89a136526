// SPDX-License-Identifier: Apache-2.0
// The host program: what is left of the model when its kernels are functions and its tensors have places.
#ifndef ORTC_OPS_PROGRAM
#define ORTC_OPS_PROGRAM
include "compiler/ir/OrtcDialect.td"

def Ortc_BufferOp : Ortc_Op<"buffer", [Pure, AttrSizedOperandSegments]> {
  let summary = "the place of a tensor";
  let description = [{
    `segment` says where: "input" and "output" (of the caller, `number` counts them), "weights" and "arena" (`offset`
    in bytes from the start; dynamic in the arena when sizes are), "local" (on the stack of a kernel, small and
    static). Dynamic sizes and strides are operands, in the order of the `?` of the type. An output's sizes are written
    to the caller's dims, and its capacity is checked, where this op stands.

    ```mlir
    %x = ortc.buffer "x" in "input" number 0 sizes(%batch) : memref<?x784xf32>
    %h = ortc.buffer "fc1_relu" in "arena" at %offset sizes(%batch) : memref<?x128xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$segment, DefaultValuedAttr<I64Attr, "0">:$number,
                       Optional<Index>:$offset, Variadic<Index>:$sizes, Variadic<Index>:$strides);
  let results = (outs AnyMemRef:$memref);
  let assemblyFormat = [{ $name `in` $segment (`number` $number^)? (`at` $offset^)? (`sizes` `(` $sizes^ `)`)?
                          (`strides` `(` $strides^ `)`)? attr-dict `:` type($memref) }];
}

def Ortc_LaunchOp : Ortc_Op<"launch"> {
  let summary = "runs a kernel: on a CPU a call, on a GPU a launch";
  let description = [{
    `kernel` names a func.func of the module that has the attribute `ortc.kernel`. Arguments are memrefs, then index
    and scalar values. Launches of one program run in order.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$arguments);
  let assemblyFormat = "$kernel `(` $arguments `)` attr-dict (`:` type($arguments)^)?";
}

def Ortc_HostStepOp : Ortc_Op<"host_step"> {
  let summary = "work on values that are no dense tensors (strings, lists, maps), done by the host on every target";
  let description = [{
    `step` names a function of the bundle's runtime; `arguments` are memrefs, scalars and strings. What it needs to know
    besides is in its attributes. Listed in the manifest.
  }];
  let arguments = (ins StrAttr:$step, Variadic<AnyType>:$arguments, OptionalAttr<DictionaryAttr>:$settings);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$step `(` $arguments `)` attr-dict `:` functional-type($arguments, $results)";
}

def Ortc_CallTemplateOp : Ortc_Op<"call_template", [SingleBlock, AttrSizedOperandSegments]> {
  let summary = "inside a kernel: calls a kernel template of the catalogue with an epilogue";
  let description = [{
    `callee` is the template (gemm_f32), `parameters` its compile-time arguments in order of declaration, `buffers` and
    `sizes` its run-time arguments by name (`argNames`: buffers first). The region is the epilogue: from an accumulator
    (a vector, or a scalar) and the indices of the element it gives the value to store; printed as an inline function.
  }];
  let arguments = (ins StrAttr:$callee, DictionaryAttr:$parameters, Variadic<AnyMemRef>:$buffers,
                       Variadic<AnyType>:$sizes, StrArrayAttr:$argNames);
  let regions = (region MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{ $callee $parameters `buffers` `(` $buffers `:` type($buffers) `)`
                          `sizes` `(` $sizes `:` type($sizes) `)` `names` $argNames attr-dict-with-keyword $epilogue }];
}
#endif
