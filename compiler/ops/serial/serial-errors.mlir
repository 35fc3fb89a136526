// RUN: %ortc-opt --split-input-file --verify-diagnostics %s

func.func @serial_c1_count(%n: index) {
  %e = tensor.empty() : tensor<2xf32>
  // expected-error @+1 {{'ortc.serial' op the region takes 1 values, expected 2}}
  %r = ortc.serial for (%n) into (%e : tensor<2xf32>) {
  ^bb0(%i: index):
    ortc.yield
  } : tensor<2xf32>
  return
}

// -----

func.func @serial_c1_index(%n: index) {
  %e = tensor.empty() : tensor<2xf32>
  // expected-error @+1 {{'ortc.serial' op argument 0 is no index}}
  %r = ortc.serial for (%n) into (%e : tensor<2xf32>) {
  ^bb0(%i: i64, %o: memref<2xf32>):
    ortc.yield
  } : tensor<2xf32>
  return
}

// -----

func.func @serial_c1_memref(%n: index) {
  %e = tensor.empty() : tensor<2xf32>
  // expected-error @+1 {{'ortc.serial' op argument 1 is 'memref<3xf32>', expected a memref of 'tensor<2xf32>'}}
  %r = ortc.serial for (%n) into (%e : tensor<2xf32>) {
  ^bb0(%i: index, %o: memref<3xf32>):
    ortc.yield
  } : tensor<2xf32>
  return
}

// -----

func.func @serial_c2(%n: index) {
  %e = tensor.empty() : tensor<2xf32>
  // expected-error @+1 {{'ortc.serial' op the region must end with a yield of nothing}}
  %r = ortc.serial for (%n) into (%e : tensor<2xf32>) {
  ^bb0(%i: index, %o: memref<2xf32>):
    ortc.yield %i : index
  } : tensor<2xf32>
  return
}
