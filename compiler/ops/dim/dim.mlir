// RUN: %ortc-opt %s | %ortc-opt | %FileCheck %s
// RUN: %ortc-opt --simplify %s | %FileCheck %s --check-prefix=ONCE

// CHECK-LABEL: @dim_c1
// CHECK: ortc.dim "batch" in[1, 32]
func.func @dim_c1() -> index {
  %d = ortc.dim "batch" in [1, 32]
  return %d : index
}

// CHECK-LABEL: @dim_c2
// CHECK: ortc.dim "height of \22image\22" in[0, 9223372036854775807] {multipleOf = 32 : i64}
func.func @dim_c2() -> index {
  %d = ortc.dim "height of \22image\22" in [0, 9223372036854775807] {multipleOf = 32 : i64}
  return %d : index
}

// Equal names are one value.
// ONCE-LABEL: @equal_names
// ONCE: %[[D:.*]] = ortc.dim "n"
// ONCE: return %[[D]], %[[D]]
func.func @equal_names() -> (index, index) {
  %a = ortc.dim "n" in [1, 32]
  %b = ortc.dim "n" in [1, 32]
  return %a, %b : index, index
}
