// SPDX-License-Identifier: Apache-2.0
// The host program: what is left of the model when its kernels are functions and its tensors have places.
#ifndef ORTC_OPS_PROGRAM
#define ORTC_OPS_PROGRAM
include "compiler/ir/OrtcDialect.td"

def Ortc_BufferOp : Ortc_Op<"buffer", [Pure]> {
  let summary = "the place of a tensor: where its first element lies";
  let description = [{
    `segment` says where: "input" and "output" (of the caller; `number` counts them), "weights" and "arena", `offset` in
    bytes from the start. Always one-dimensional: sizes and strides are in the kernels' code.

    ```mlir
    %x = ortc.buffer "x" in "input" number 0 : memref<?xf32>
    %h = ortc.buffer "fc1_relu" in "arena" at %offset : memref<?xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$segment, DefaultValuedAttr<I64Attr, "0">:$number,
                       Optional<Index>:$offset);
  let results = (outs AnyMemRef:$memref);
  let assemblyFormat = "$name `in` $segment (`number` $number^)? (`at` $offset^)? attr-dict `:` type($memref)";
}

def Ortc_OutputDimsOp : Ortc_Op<"output_dims"> {
  let summary = "writes the sizes of output `number` to the caller's dims, and checks the capacity of its buffer";
  let description = [{
    Stands before anything is written to the output; where sizes allow it, before anything is computed.
    `elementBytes` times the product of the sizes is what the buffer must hold.
  }];
  let arguments = (ins I64Attr:$number, I64Attr:$elementBytes, Variadic<Index>:$sizes);
  let assemblyFormat = "$number `bytes` $elementBytes `sizes` `(` $sizes `)` attr-dict";
}

def Ortc_RequireArenaOp : Ortc_Op<"require_arena"> {
  let summary = "ends the run with NEED_RESERVE when the arena has fewer bytes";
  let description = "`late`: the bytes follow from what this run has computed, not from the dims alone.";
  let arguments = (ins Index:$bytes, UnitAttr:$late);
  let assemblyFormat = "$bytes (`late` $late^)? attr-dict";
}

def Ortc_CheckOp : Ortc_Op<"check"> {
  let summary = "ends the run with a status and a text when the condition does not hold";
  let description = [{
    `status` is the name of a status of ortc.h without its prefix: "INVALID_ARGUMENT", "RUN_ERROR". `of_data` marks a
    condition on the elements of tensors: a target that does not stop for such (TargetInfo::checksData) drops it.
  }];
  let arguments = (ins I1:$condition, StrAttr:$status, StrAttr:$message, UnitAttr:$of_data);
  let assemblyFormat = "$condition `,` $status $message attr-dict";
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
    besides is in its attributes (`settings`; `{regex = "..."}` among them is a pattern). Listed in the manifest. In tensor IR it is destination style by
    convention: when n of its results are tensors, its last n arguments are `tensor.empty` that give their sizes.

    | step | does |
    |---|---|
    | list_of | tensors of `dtypes` and `ranks` as a list |
    | murmur_hash3 | the 32-bit hash of each string, from `seed` on |
    | regex_full_match | whether each string matches `pattern` as a whole |
    | string_concat, string_equal | pairs of strings joined, or compared |
    | string_normalize | strings without `stopwords`, in another case, and how many are left |
    | string_pieces, string_split | how many pieces each string has between delimiters, and those pieces |
    | token_count, tokenize | how many tokens each string has, and those tokens |
    | zip_map | scores [N, K] and `keys` to a list of N maps |
    | string_index | the number in `places` of each string among `keys`, which are sorted, or -1 |
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
