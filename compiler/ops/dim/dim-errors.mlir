// RUN: %ortc-opt --split-input-file --verify-diagnostics %s

func.func @dim_c1_order() {
  // expected-error @+1 {{'ortc.dim' op bounds [5, 4] are empty or negative}}
  %d = ortc.dim "n" in [5, 4]
  return
}

// -----

func.func @dim_c1_sign() {
  // expected-error @+1 {{'ortc.dim' op bounds [-1, 4] are empty or negative}}
  %d = ortc.dim "n" in [-1, 4]
  return
}

// -----

func.func @dim_c2() {
  // expected-error @+1 {{'ortc.dim' op multipleOf must be positive}}
  %d = ortc.dim "n" in [1, 4] {multipleOf = 0 : i64}
  return
}
