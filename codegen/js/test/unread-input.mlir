// RUN: rm -rf %t && mkdir -p %t && ortc-translate %s --to=js -o %t/net.mjs && %FileCheck %s < %t/net.mjs
// The size of an input that nothing reads is a dim of the model, although the program has no ortc.dim for it.

// CHECK:      return [0, 4 * dims.n];
// CHECK:      dims: [
// CHECK-NEXT:   { name: 'n', min: 0 },
module attributes {ortc.name = "unread", ortc.arena_bytes = 0 : i64, ortc.inputs = [{name = "x", dtype = 1 : i64, dims = ["n"]}], ortc.outputs = []} {
func.func @run() attributes {ortc.program} {
  return
}
}
