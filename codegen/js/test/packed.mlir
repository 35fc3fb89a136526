// RUN: rm -rf %t && mkdir -p %t && ortc-translate %s --to=wgsl --shaders=%t && cat %t/pack.wgsl | %FileCheck %s
// Elements of one and two bytes share words: loads shift and mask, stores are an atomic AND and an atomic OR. 64-bit
// integers are their low word.

// CHECK:      var<storage, read_write> arena_data: array<atomic<i32>>;
// CHECK:      atomicAnd(&arena_data[
// CHECK:      atomicOr(&arena_data[
module attributes {ortc.name = "packed", ortc.arena_bytes = 4096 : i64, ortc.inputs = [{name = "x", dtype = 1 : i64, dims = ["n"]}, {name = "b", dtype = 3 : i64, dims = ["n"]}],
  ortc.outputs = [{name = "positive", dtype = 9 : i64, dims = ["n"]}, {name = "rounded", dtype = 3 : i64, dims = ["n"]}, {name = "half", dtype = 10 : i64, dims = ["n"]},
    {name = "wide", dtype = 7 : i64, dims = ["n"]}, {name = "brain", dtype = 16 : i64, dims = ["n"]}]} {
// Through packed buffers in the arena, at offsets that are no multiples of a word, and back.
func.func private @pack(%x: memref<?xf32> {ortc.name = "x"}, %b: memref<?xi8> {ortc.name = "b"}, %p: memref<?xi1> {ortc.name = "p"}, %r: memref<?xi8> {ortc.name = "r"},
    %h: memref<?xf16> {ortc.name = "h"}, %w: memref<?xi64> {ortc.name = "w"}, %g: memref<?xbf16> {ortc.name = "g"}, %n: index {ortc.name = "n"}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %x[%i] : memref<?xf32>
    %t = arith.cmpf ogt, %v, %zero : f32
    memref.store %t, %p[%i] : memref<?xi1>
    %e = math.roundeven %v : f32
    %c = arith.fptosi %e : f32 to i8
    %o = memref.load %b[%i] : memref<?xi8>
    %s = arith.addi %c, %o : i8
    memref.store %s, %r[%i] : memref<?xi8>
    %f = arith.truncf %v : f32 to f16
    memref.store %f, %h[%i] : memref<?xf16>
    %y = arith.extsi %s : i8 to i64
    memref.store %y, %w[%i] : memref<?xi64>
    %k = arith.truncf %v : f32 to bf16
    memref.store %k, %g[%i] : memref<?xbf16>
    scf.reduce
  }
  return
}
func.func private @copy(%p: memref<?xi1> {ortc.name = "p"}, %r: memref<?xi8> {ortc.name = "r"}, %h: memref<?xf16> {ortc.name = "h"}, %w: memref<?xi64> {ortc.name = "w"},
    %g: memref<?xbf16> {ortc.name = "g"}, %p2: memref<?xi1> {ortc.name = "p2"}, %r2: memref<?xi8> {ortc.name = "r2"}, %h2: memref<?xf16> {ortc.name = "h2"},
    %w2: memref<?xi64> {ortc.name = "w2"}, %g2: memref<?xbf16> {ortc.name = "g2"}, %n: index {ortc.name = "n"}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %p[%i] : memref<?xi1>
    memref.store %a, %p2[%i] : memref<?xi1>
    %b = memref.load %r[%i] : memref<?xi8>
    memref.store %b, %r2[%i] : memref<?xi8>
    %c = memref.load %h[%i] : memref<?xf16>
    %two = arith.constant 2.0 : f16
    %c2 = arith.mulf %c, %two : f16
    memref.store %c2, %h2[%i] : memref<?xf16>
    %d = memref.load %w[%i] : memref<?xi64>
    memref.store %d, %w2[%i] : memref<?xi64>
    %e = memref.load %g[%i] : memref<?xbf16>
    memref.store %e, %g2[%i] : memref<?xbf16>
    scf.reduce
  }
  return
}
func.func @run() attributes {ortc.program} {
  %n = ortc.dim "n" in [1, 200]
  %op = arith.constant 3 : index
  %or = arith.constant 257 : index
  %oh = arith.constant 514 : index
  %ow = arith.constant 1024 : index
  %og = arith.constant 2690 : index
  %x = ortc.buffer "x" in "input" number 0 : memref<?xf32>
  %b = ortc.buffer "b" in "input" number 1 : memref<?xi8>
  %p = ortc.buffer "p" in "arena" at %op : memref<?xi1>
  %r = ortc.buffer "r" in "arena" at %or : memref<?xi8>
  %h = ortc.buffer "h" in "arena" at %oh : memref<?xf16>
  %w = ortc.buffer "w" in "arena" at %ow : memref<?xi64>
  %g = ortc.buffer "g" in "arena" at %og : memref<?xbf16>
  ortc.output_dims 0 bytes 1 sizes(%n)
  %p2 = ortc.buffer "p2" in "output" number 0 : memref<?xi1>
  ortc.output_dims 1 bytes 1 sizes(%n)
  %r2 = ortc.buffer "r2" in "output" number 1 : memref<?xi8>
  ortc.output_dims 2 bytes 2 sizes(%n)
  %h2 = ortc.buffer "h2" in "output" number 2 : memref<?xf16>
  ortc.output_dims 3 bytes 8 sizes(%n)
  %w2 = ortc.buffer "w2" in "output" number 3 : memref<?xi64>
  ortc.output_dims 4 bytes 2 sizes(%n)
  %g2 = ortc.buffer "g2" in "output" number 4 : memref<?xbf16>
  ortc.launch @pack(%x, %b, %p, %r, %h, %w, %g, %n) : memref<?xf32>, memref<?xi8>, memref<?xi1>, memref<?xi8>, memref<?xf16>, memref<?xi64>, memref<?xbf16>, index
  ortc.launch @copy(%p, %r, %h, %w, %g, %p2, %r2, %h2, %w2, %g2, %n) : memref<?xi1>, memref<?xi8>, memref<?xf16>, memref<?xi64>, memref<?xbf16>, memref<?xi1>, memref<?xi8>, memref<?xf16>, memref<?xi64>, memref<?xbf16>, index
  return
}
}
