// RUN: ortc-translate %s --to=cxx | %FileCheck %s
// The forms that kernels come in: elementwise, rows with reductions, vectors with a tail, control flow.

// CHECK: // node     '/r/Relu' (Relu, opset 14), '/a/Add' (Add, opset 14)
// CHECK-NEXT: // tensors  x f32[batch,784], b f32[784] -> y f32[batch,784]
// CHECK-NEXT: // choice   loops, estimated 2.5 us; next best loops_wide, 3 us
// CHECK-NEXT: static void add_relu(const executor& threads, const float* x, const float* b, float* y,
// CHECK-NEXT:     int64_t batch) {
// CHECK-NEXT:   parallel_for(threads, batch, [&](int64_t row) {
// CHECK-NEXT:     for (int64_t col = 0; col < 784; ++col) {
// CHECK-NEXT:       y[row * 784 + col] = maximum(x[row * 784 + col] + b[col], 0.0f);
// CHECK-NEXT:     }
// CHECK-NEXT:   });
// CHECK-NEXT: }
func.func private @add_relu(%x: memref<?x784xf32> {ortc.name = "x"}, %b: memref<784xf32> {ortc.name = "b"},
    %y: memref<?x784xf32> {ortc.name = "y"}, %batch: index {ortc.name = "batch"}) attributes {ortc.kernel,
    ortc.nodes = ["node '/r/Relu' (Relu, opset 14)", "node '/a/Add' (Add, opset 14)"],
    ortc.tensors = "x f32[batch,784], b f32[784] -> y f32[batch,784]",
    ortc.choice = {kernel = "loops", cost_us = 2.5, next = "loops_wide", next_us = 3.0}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c784 = arith.constant 784 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%batch) step (%c1) {
    scf.for %j = %c0 to %c784 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x784xf32>
      %w = memref.load %b[%j] : memref<784xf32>
      %s = arith.addf %v, %w : f32
      %r = arith.maximumf %s, %zero : f32
      memref.store %r, %y[%i, %j] : memref<?x784xf32>
    } {ortc.axis = "col"}
    scf.reduce
  } {ortc.axis = "row"}
  return
}

// CHECK-LABEL: static void softmax_rows(const executor& threads, const float* x, float* y, int64_t rows,
// CHECK-NEXT:     int64_t cols) {
// CHECK-NEXT:   parallel_for(threads, rows, [&](int64_t row) {
// CHECK-NEXT:     float largest = -__builtin_inff();
// CHECK-NEXT:     for (int64_t col = 0; col < cols; ++col) {
// CHECK-NEXT:       largest = maximum(largest, x[row * cols + col]);
// CHECK-NEXT:     }
// CHECK-NEXT:     float total = 0.0f;
// CHECK-NEXT:     for (int64_t col = 0; col < cols; ++col) {
// CHECK-NEXT:       const float e = exp(x[row * cols + col] - largest);
// CHECK-NEXT:       y[row * cols + col] = e;
// CHECK-NEXT:       total += e;
// CHECK-NEXT:     }
// CHECK-NEXT:     for (int64_t col = 0; col < cols; ++col) {
// CHECK-NEXT:       y[row * cols + col] = y[row * cols + col] / total;
// CHECK-NEXT:     }
// CHECK-NEXT:   });
func.func private @softmax_rows(%x: memref<?x?xf32> {ortc.name = "x", ortc.dims = ["rows", "cols"]},
    %y: memref<?x?xf32> {ortc.name = "y", ortc.dims = ["rows", "cols"]}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %x, %c0 : memref<?x?xf32>
  %cols = memref.dim %x, %c1 : memref<?x?xf32>
  %inf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %m = scf.for %j = %c0 to %cols step %c1 iter_args(%acc = %inf) -> f32 {
      %v = memref.load %x[%i, %j] : memref<?x?xf32>
      %n = arith.maximumf %acc, %v : f32
      scf.yield %n : f32
    } {ortc.axis = "col"}
    %s = scf.for %j = %c0 to %cols step %c1 iter_args(%acc = %zero) -> f32 {
      %v = memref.load %x[%i, %j] : memref<?x?xf32>
      %d = arith.subf %v, %m : f32
      %e = math.exp %d : f32
      memref.store %e, %y[%i, %j] : memref<?x?xf32>
      %n = arith.addf %acc, %e : f32
      scf.yield %n : f32
    } {ortc.axis = "col"}
    scf.for %j = %c0 to %cols step %c1 {
      %v = memref.load %y[%i, %j] : memref<?x?xf32>
      %q = arith.divf %v, %s : f32
      memref.store %q, %y[%i, %j] : memref<?x?xf32>
    } {ortc.axis = "col"}
    scf.reduce
  } {ortc.axis = "row"}
  return
}

// CHECK-LABEL: static void add_vectors(const float* a, const float* b, float* y, int64_t n) {
// CHECK:        const f32x8 sum = fma(load<f32x8>(a + i), 0.5f, load<f32x8>(b + i));
// CHECK-NEXT:   store(y + i, select(sum > 0.0f, sum, sum * 0.5f));
// CHECK:        store_n(y + at1, select(sum > 0.0f, sum, sum * 0.5f), clamp(at, 0, 8));
func.func private @add_vectors(%a: memref<?xf32> {ortc.name = "a"}, %b: memref<?xf32> {ortc.name = "b"},
    %y: memref<?xf32> {ortc.name = "y"}, %n: index {ortc.name = "n"}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %half = arith.constant dense<0.5> : vector<8xf32>
  %rest = arith.remsi %n, %c8 : index
  %whole = arith.subi %n, %rest : index
  scf.for %i = %c0 to %whole step %c8 {
    %x = vector.load %a[%i] : memref<?xf32>, vector<8xf32>
    %z = vector.load %b[%i] : memref<?xf32>, vector<8xf32>
    %f = vector.fma %x, %half, %z : vector<8xf32>
    %g = arith.cmpf ogt, %f, %zero : vector<8xf32>
    %t = arith.mulf %f, %half : vector<8xf32>
    %u = arith.select %g, %f, %t : vector<8xi1>, vector<8xf32>
    vector.store %u, %y[%i] : memref<?xf32>, vector<8xf32>
  }
  %mask = vector.create_mask %rest : vector<8xi1>
  %x = vector.maskedload %a[%whole], %mask, %zero : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %z = vector.maskedload %b[%whole], %mask, %zero : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %f = vector.fma %x, %half, %z : vector<8xf32>
  %g = arith.cmpf ogt, %f, %zero : vector<8xf32>
  %t = arith.mulf %f, %half : vector<8xf32>
  %u = arith.select %g, %f, %t : vector<8xi1>, vector<8xf32>
  vector.maskedstore %y[%whole], %mask, %u : memref<?xf32>, vector<8xi1>, vector<8xf32>
  return
}

// CHECK-LABEL: static void control(const int64_t* x, int64_t* y) {
// CHECK:         while (state > 1) {
// CHECK-NEXT:      state = (state & 1) == 0 ? state / 2 : add(mul(state, int64_t(3)), int64_t(1));
// CHECK-NEXT:      total = add(total, int64_t(1));
// CHECK-NEXT:    }
// CHECK-NEXT:    y[i] = total;
func.func private @control(%x: memref<16xi64> {ortc.name = "x"}, %y: memref<16xi64> {ortc.name = "y"}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %zero = arith.constant 0 : i64
  scf.for %i = %c0 to %c16 step %c1 {
    %start = memref.load %x[%i] : memref<16xi64>
    // Steps of Collatz until 1.
    %r:2 = scf.while (%n = %start, %steps = %zero) : (i64, i64) -> (i64, i64) {
      %more = arith.cmpi sgt, %n, %one : i64
      scf.condition(%more) %n, %steps : i64, i64
    } do {
    ^bb0(%n: i64, %steps: i64):
      %bit = arith.andi %n, %one : i64
      %even = arith.cmpi eq, %bit, %zero : i64
      %next = scf.if %even -> i64 {
        %h = arith.divsi %n, %two : i64
        scf.yield %h : i64
      } else {
        %t = arith.muli %n, %three : i64
        %u = arith.addi %t, %one : i64
        scf.yield %u : i64
      }
      %s = arith.addi %steps, %one : i64
      scf.yield %next, %s : i64, i64
    }
    memref.store %r#1, %y[%i] : memref<16xi64>
  }
  return
}
