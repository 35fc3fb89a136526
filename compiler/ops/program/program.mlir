// RUN: %ortc-opt %s | %ortc-opt | %FileCheck %s

func.func private @relu(memref<?x784xf32>, memref<?x128xf32>, index) attributes {ortc.kernel}

// CHECK-LABEL: @run
func.func @run() attributes {ortc.program} {
  %batch = ortc.dim "batch" in [1, 32]
  %offset = arith.constant 4096 : index
  // CHECK: ortc.buffer "x" in "input" number 1 : memref<?xf32>
  %x = ortc.buffer "x" in "input" number 1 : memref<?xf32>
  // CHECK: ortc.buffer "h" in "arena" at %{{.*}} : memref<?xf32>
  %h = ortc.buffer "h" in "arena" at %offset : memref<?xf32>
  // CHECK: ortc.launch @relu(%{{.*}}, %{{.*}}, %{{.*}}) : memref<?xf32>, memref<?xf32>, index
  ortc.launch @relu(%x, %h, %batch) : memref<?xf32>, memref<?xf32>, index
  // CHECK: ortc.host_step "upper"(%{{.*}}) : (memref<?xf32>) -> ()
  ortc.host_step "upper"(%h) : (memref<?xf32>) -> ()
  return
}
