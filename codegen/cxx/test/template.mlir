// RUN: ortc-translate %s --to=cxx | %FileCheck %s
// A catalogue kernel: its arguments by name, and the epilogue as a struct.

// CHECK:      struct AddAddRelu {
// CHECK-NEXT:   const float* bias;
// CHECK-NEXT:   const float* residual;
// CHECK-NEXT:   template <class V> ORTC_INLINE V operator()(V acc, int64_t m, int64_t n, int lanes) const {
// CHECK-NEXT:     const auto sum = acc + load_lanes<V>(bias + n, lanes)
// CHECK-NEXT:         + load_lanes<V>(residual + m * 128 + n, lanes);
// CHECK-NEXT:     return maximum(sum, 0.0f);
// CHECK-NEXT:   }
// CHECK-NEXT: };
// CHECK:      static void fc1(const executor& threads, const float* a, const float* w, const float* bias,
// CHECK-NEXT:     const float* residual, float* y, int64_t batch) {
// CHECK-NEXT:   GemmArgs args;
// CHECK-NEXT:   args.a = a;
// CHECK-NEXT:   args.b = w;
// CHECK-NEXT:   args.c = y;
// CHECK-NEXT:   args.M = batch;
// CHECK-NEXT:   args.N = 128;
// CHECK-NEXT:   args.outer.count = 1;
// CHECK-NEXT:   gemm_f32<6, 4, 64, Rows::Any>(args, AddAddRelu{bias, residual}, threads);
// CHECK-NEXT: }
func.func private @fc1(%a: memref<?xf32> {ortc.name = "a"}, %w: memref<?xf32> {ortc.name = "w"}, %bias: memref<?xf32> {ortc.name = "bias"},
    %res: memref<?xf32> {ortc.name = "residual"}, %y: memref<?xf32> {ortc.name = "y"}, %batch: index {ortc.name = "batch"}) attributes {ortc.kernel} {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  ortc.call_template "gemm_f32" {MR = 6 : i64, NV = 4 : i64, Bytes = 64 : i64, Rows = "Rows::Any"}
      buffers(%a, %w, %y : memref<?xf32>, memref<?xf32>, memref<?xf32>) sizes(%batch, %c128, %c1 : index, index, index)
      names ["a", "b", "c", "M", "N", "outer.count"] attributes {parameterOrder = ["MR", "NV", "Bytes", "Rows"]} {
  ^bb0(%acc: f32, %m: index, %n: index):
    %b = memref.load %bias[%n] : memref<?xf32>
    %s = arith.addf %acc, %b : f32
    %r = arith.muli %m, %c128 : index
    %k = arith.addi %r, %n : index
    %v = memref.load %res[%k] : memref<?xf32>
    %t = arith.addf %s, %v : f32
    %u = arith.maximumf %t, %zero : f32
    ortc.yield %u : f32
  }
  return
}

// The same epilogue on other buffers is the same struct.
// CHECK-NOT: struct
// CHECK: gemm_f32<1, 8, 64, Rows::Any>(args, AddAddRelu{bias, residual}, threads);
func.func private @fc2(%a: memref<?xf32> {ortc.name = "a"}, %w: memref<?xf32> {ortc.name = "w"}, %bias: memref<?xf32> {ortc.name = "bias"},
    %res: memref<?xf32> {ortc.name = "residual"}, %y: memref<?xf32> {ortc.name = "y"}) attributes {ortc.kernel} {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  ortc.call_template "gemm_f32" {MR = 1 : i64, NV = 8 : i64, Bytes = 64 : i64, Rows = "Rows::Any"}
      buffers(%a, %w, %y : memref<?xf32>, memref<?xf32>, memref<?xf32>) sizes(%c1, %c128 : index, index)
      names ["a", "b", "c", "M", "N"] attributes {parameterOrder = ["MR", "NV", "Bytes", "Rows"]} {
  ^bb0(%acc: f32, %m: index, %n: index):
    %b = memref.load %bias[%n] : memref<?xf32>
    %s = arith.addf %acc, %b : f32
    %r = arith.muli %m, %c128 : index
    %k = arith.addi %r, %n : index
    %v = memref.load %res[%k] : memref<?xf32>
    %t = arith.addf %s, %v : f32
    %u = arith.maximumf %t, %zero : f32
    ortc.yield %u : f32
  }
  return
}

// Sums in i32: scaled, rounded and stored as bytes; vectors of other elements have as many lanes.
// CHECK:      struct ScaleRoundRound {
// CHECK-NEXT:   const int32_t* bias;
// CHECK-NEXT:   const float* scale;
// CHECK-NEXT:   template <class V> ORTC_INLINE auto operator()(V acc, int64_t /*m*/, int64_t n, int lanes) const {
// CHECK-NEXT:     const auto scaled = convert<float>(add(acc, load_lanes<V>(bias + n, lanes)))
// CHECK-NEXT:         * load_lanes<like<float, V>>(scale + n, lanes);
// CHECK-NEXT:     return bits_as<like<int8_t, V>>(cast<uint8_t>(round_even(scaled)));
// CHECK:        Gemm8Args<int8_t> args;
// CHECK:        gemm8<4, 2, 32, 2, true>(args, ScaleRoundRound{bias, scale}, threads);
func.func private @quantised(%a: memref<?xi8> {ortc.name = "a"}, %w: memref<?xi8> {ortc.name = "w"}, %bias: memref<?xi32> {ortc.name = "bias"},
    %scale: memref<?xf32> {ortc.name = "scale"}, %y: memref<?xi8> {ortc.name = "y"}) attributes {ortc.kernel} {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  ortc.call_template "gemm8" {MR = 4 : i64, NV = 2 : i64, Bytes = 32 : i64, Group = 2 : i64, Unsigned = "true"}
      buffers(%a, %w, %y : memref<?xi8>, memref<?xi8>, memref<?xi8>) sizes(%c1, %c128 : index, index)
      names ["a", "b", "c", "M", "N"] attributes {parameterOrder = ["MR", "NV", "Bytes", "Group", "Unsigned"], argsType = "Gemm8Args<int8_t>"} {
  ^bb0(%acc: i32, %m: index, %n: index):
    %b = memref.load %bias[%n] : memref<?xi32>
    %s = arith.addi %acc, %b : i32
    %f = arith.sitofp %s : i32 to f32
    %g = memref.load %scale[%n] : memref<?xf32>
    %t = arith.mulf %f, %g : f32
    %r = math.roundeven %t : f32
    %q = arith.fptoui %r : f32 to i8
    ortc.yield %q : i8
  }
  return
}
