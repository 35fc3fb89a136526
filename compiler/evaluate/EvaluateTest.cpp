// SPDX-License-Identifier: Apache-2.0
// Whole functions against hand-written loops: generics of all kinds, control flow, sizes, limits
// and errors.
#define CATCH_CONFIG_MAIN
#include "compiler/evaluate/Interpreter.h"
#include "compiler/evaluate/TestSupport.h"
#include "compiler/ops/Accumulate.h"
#include "compiler/support/Names.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace ortc;
using namespace ortc::test;
using V = std::vector<double>;

TEST_CASE("a generic broadcasts, transposes and rounds to f32") {
  Module m(R"(
    func.func @main(%a: tensor<3x5xf32>, %b: tensor<3xf32>) -> tensor<5x3xf32> {
      %e = tensor.empty() : tensor<5x3xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j)>,
                                            affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
           ins(%a, %b : tensor<3x5xf32>, tensor<3xf32>) outs(%e : tensor<5x3xf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %s = arith.divf %x, %y : f32
        linalg.yield %s : f32
      } -> tensor<5x3xf32>
      return %r : tensor<5x3xf32>
    })");
  HostTensor a = m.random("f32", {3, 5}, 1), b = m.tensor("f32", {3}, {3, 7, 0.1});
  HostTensor r = m.run({a, b})[0];
  REQUIRE(r.dims == llvm::SmallVector<int64_t>{5, 3});
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 3; ++j)
      REQUIRE(r.as<float>()[i * 3 + j] == a.as<float>()[j * 5 + i] / b.as<float>()[j]);
}

TEST_CASE("more than one chunk, with threads, gives the same for any number of them") {
  Module m(R"(
    func.func @main(%a: tensor<?x37xf32> {ortc.dims = ["n", unit]}) -> tensor<?xf32> {
      %n = ortc.dim "n" in [0, 100000]
      %z = arith.constant 0.0 : f32
      %e = tensor.empty(%n) : tensor<?xf32>
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                           iterator_types = ["parallel", "reduction"]}
           ins(%a : tensor<?x37xf32>) outs(%f : tensor<?xf32>) {
      ^bb0(%x: f32, %o: f32):
        %e1 = math.exp %x : f32
        %s = arith.addf %o, %e1 : f32
        linalg.yield %s : f32
      } -> tensor<?xf32>
      return %r : tensor<?xf32>
    })");
  HostTensor a = m.random("f32", {5000, 37}, 2);
  setThreadCount(1);
  V one = values(m.run({a})[0]);
  setThreadCount(3);
  V three = values(m.run({a})[0]);
  setThreadCount(0);
  REQUIRE(one == three);
  for (int i = 0; i < 5000; i += 499) {
    double sum = 0;
    for (int j = 0; j < 37; ++j)
      sum += static_cast<float>(std::exp(static_cast<double>(a.as<float>()[i * 37 + j])));
    REQUIRE(one[i] == static_cast<float>(sum));
  }
}

TEST_CASE("sums are kept in f64: a million tenths") {
  Module m(R"(
    func.func @main(%a: tensor<1000000xf32>) -> (tensor<f32>, tensor<f32>) {
      %z = arith.constant 0.0 : f32
      %low = arith.constant 0xFF800000 : f32
      %e = tensor.empty() : tensor<f32>
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
      %g = linalg.fill ins(%low : f32) outs(%e : tensor<f32>) -> tensor<f32>
      %r:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>],
                             iterator_types = ["reduction"]}
           ins(%a : tensor<1000000xf32>) outs(%f, %g : tensor<f32>, tensor<f32>) {
      ^bb0(%x: f32, %o: f32, %p: f32):
        %s = arith.addf %x, %o : f32
        %t = arith.maximumf %p, %x : f32
        linalg.yield %s, %t : f32, f32
      } -> (tensor<f32>, tensor<f32>)
      return %r#0, %r#1 : tensor<f32>, tensor<f32>
    })");
  HostTensor a(m.type("f32"), {1000000});
  for (int i = 0; i < 1000000; ++i)
    a.as<float>()[i] = 0.1f;
  a.as<float>()[777777] = 0.5f;
  auto r = m.run({a});
  REQUIRE(r[0].getDouble(0) == static_cast<float>(999999 * static_cast<double>(0.1f) + 0.5));
  REQUIRE(r[1].getDouble(0) == 0.5);
}

TEST_CASE("a reduction that is no fold: argmax, first of equals") {
  Module m(R"(
    func.func @main(%a: tensor<4x?xf32> {ortc.dims = [unit, "n"]}) -> (tensor<4xf32>, tensor<4xi64>) {
      %low = arith.constant 0xFF800000 : f32
      %z = arith.constant 0 : i64
      %e = tensor.empty() : tensor<4xf32>
      %h = tensor.empty() : tensor<4xi64>
      %f = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      %g = linalg.fill ins(%z : i64) outs(%h : tensor<4xi64>) -> tensor<4xi64>
      %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                              affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
           ins(%a : tensor<4x?xf32>) outs(%f, %g : tensor<4xf32>, tensor<4xi64>) {
      ^bb0(%x: f32, %o: f32, %p: i64):
        %j = linalg.index 1 : index
        %jj = arith.index_cast %j : index to i64
        %c = arith.cmpf ogt, %x, %o : f32
        %s = arith.select %c, %x, %o : f32
        %t = arith.select %c, %jj, %p : i64
        linalg.yield %s, %t : f32, i64
      } -> (tensor<4xf32>, tensor<4xi64>)
      return %r#0, %r#1 : tensor<4xf32>, tensor<4xi64>
    })");
  HostTensor a = m.random("f32", {4, 333}, 3);
  auto r = m.run({a});
  for (int i = 0; i < 4; ++i) {
    const float* row = a.as<float>() + i * 333;
    const float* best = std::max_element(row, row + 333);
    REQUIRE(r[0].as<float>()[i] == *best);
    REQUIRE(r[1].as<int64_t>()[i] == best - row);
  }
}

TEST_CASE("windows: max pooling with strides, the window from an empty tensor") {
  Module m(R"(
    func.func @main(%a: tensor<2x9xf32>) -> tensor<2x4xf32> {
      %low = arith.constant 0xFF800000 : f32
      %e = tensor.empty() : tensor<2x4xf32>
      %w = tensor.empty() : tensor<3xf32>
      %f = linalg.fill ins(%low : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(c, i, k) -> (c, i * 2 + k)>, affine_map<(c, i, k) -> (k)>,
                             affine_map<(c, i, k) -> (c, i)>], iterator_types = ["parallel", "parallel", "reduction"]}
           ins(%a, %w : tensor<2x9xf32>, tensor<3xf32>) outs(%f : tensor<2x4xf32>) {
      ^bb0(%x: f32, %u: f32, %o: f32):
        %s = arith.maximumf %o, %x : f32
        linalg.yield %s : f32
      } -> tensor<2x4xf32>
      return %r : tensor<2x4xf32>
    })");
  HostTensor a = m.random("f32", {2, 9}, 4);
  HostTensor r = m.run({a})[0];
  for (int c = 0; c < 2; ++c)
    for (int i = 0; i < 4; ++i) {
      const float* p = a.as<float>() + c * 9 + 2 * i;
      REQUIRE(r.as<float>()[c * 4 + i] == *std::max_element(p, p + 3));
    }
}

TEST_CASE("bodies with computed reads, branches and loops") {
  // Each element sums a[i], a[i+1], ... while below n and the sum is under 8; outside of the tensor
  // nothing is read.
  Module m(R"(
    func.func @main(%a: tensor<2000xi32>, %at: tensor<3000xi64>) -> tensor<3000xi32> {
      %e = tensor.empty() : tensor<3000xi32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 2000 : index
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
           ins(%at : tensor<3000xi64>) outs(%e : tensor<3000xi32>) {
      ^bb0(%x: i64, %o: i32):
        %i = arith.index_cast %x : i64 to index
        %zero = arith.constant 0 : i32
        %eight = arith.constant 8 : i32
        %ok = arith.cmpi ult, %i, %n : index
        %v = scf.if %ok -> i32 {
          %w:2 = scf.while (%k = %i, %s = %zero) : (index, i32) -> (index, i32) {
            %in = arith.cmpi ult, %k, %n : index
            %small = arith.cmpi slt, %s, %eight : i32
            %go = arith.andi %in, %small : i1
            scf.condition(%go) %k, %s : index, i32
          } do {
          ^bb1(%k: index, %s: i32):
            %y = tensor.extract %a[%k] : tensor<2000xi32>
            %t = arith.addi %s, %y : i32
            %k1 = arith.addi %k, %c1 : index
            scf.yield %k1, %t : index, i32
          }
          scf.yield %w#1 : i32
        } else {
          %f = scf.for %q = %c0 to %c1 step %c1 iter_args(%p = %zero) -> i32 {
            %m = arith.subi %p, %eight : i32
            scf.yield %m : i32
          }
          scf.yield %f : i32
        }
        linalg.yield %v : i32
      } -> tensor<3000xi32>
      return %r : tensor<3000xi32>
    })");
  HostTensor a(m.type("i32"), {2000}), at(m.type("i64"), {3000});
  for (int i = 0; i < 2000; ++i)
    a.as<int32_t>()[i] = i % 5 + 1;
  for (int i = 0; i < 3000; ++i)
    at.as<int64_t>()[i] = (i * 7919) % 2400 - 100;
  HostTensor r = m.run({a, at})[0];
  for (int i = 0; i < 3000; ++i) {
    int64_t k = at.as<int64_t>()[i];
    int sum = 0;
    if (k < 0 || k >= 2000)
      sum = -8;
    else
      for (; k < 2000 && sum < 8; ++k)
        sum += a.as<int32_t>()[k];
    REQUIRE(r.as<int32_t>()[i] == sum);
  }
}

TEST_CASE("a read outside of a tensor is an error with its place") {
  Module m(R"(
    func.func @main(%a: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
      %e = tensor.empty() : tensor<2xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
           ins(%i : tensor<2xi64>) outs(%e : tensor<2xf32>) {
      ^bb0(%x: i64, %o: f32):
        %k = arith.index_cast %x : i64 to index
        %v = tensor.extract %a[%k] : tensor<4xf32>
        linalg.yield %v : f32
      } -> tensor<2xf32>
      return %r : tensor<2xf32>
    })");
  HostTensor a = m.tensor("f32", {4}, {1, 2, 3, 4});
  REQUIRE(values(m.run({a, m.tensor("i64", {2}, {3, 0})})[0]) == V{4, 1});
  REQUIRE(m.error({a, m.tensor("i64", {2}, {3, 4})})
              .find("goes to element 4 of dim 0, which has size 4") != std::string::npos);
}

TEST_CASE("dims are bound by name and checked") {
  Module m(R"(
    func.func @main(%a: tensor<?x?xf32> {ortc.name = "x", ortc.dims = ["batch", "len"]},
                    %b: tensor<?xf32> {ortc.name = "y", ortc.dims = ["len"]}) -> (index, tensor<?xf32>) {
      %batch = ortc.dim "batch" in [1, 8]
      %len = ortc.dim "len" in [0, 100] {multipleOf = 2 : i64}
      %s = arith.muli %batch, %len : index
      return %s, %b : index, tensor<?xf32>
    })");
  auto t = [&](llvm::ArrayRef<int64_t> dims) { return HostTensor(m.type("f32"), dims); };
  REQUIRE(m.run({t({3, 4}), t({4})})[0].getInt(0) == 12);
  REQUIRE(m.error({t({3, 4}), t({6})})
              .find("dim 'len' is 4 by dim 1 of input 'x', but 6 by dim 0 of input 'y'") !=
          std::string::npos);
  REQUIRE(m.error({t({9, 4}), t({4})}).find("dim 'batch' is 9, outside of its bounds [1, 8]") !=
          std::string::npos);
  REQUIRE(m.error({t({3, 5}), t({5})}).find("dim 'len' is 5, no multiple of 2") !=
          std::string::npos);
  REQUIRE(m.error({t({3}), t({3})}).find("input 'x' has rank 1, expected 2") != std::string::npos);
  REQUIRE(m.error({HostTensor(m.type("i32"), {3, 4}), t({4})})
              .find("elements of type i32, expected f32") != std::string::npos);
}

TEST_CASE("loops at the level of functions carry tensors and change them in place") {
  Module m(R"(
    func.func @main(%a: tensor<1000xf32>, %n: tensor<i64>) -> (tensor<1000xf32>, tensor<1000xf32>, index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %count = tensor.extract %n[] : tensor<i64>
      %end = arith.index_cast %count : i64 to index
      %e = tensor.empty() : tensor<1000xf32>
      %r = scf.for %i = %c0 to %end step %c1 iter_args(%t = %e) -> tensor<1000xf32> {
        %x = tensor.extract_slice %a[%i] [1] [1] : tensor<1000xf32> to tensor<1xf32>
        %j = arith.subi %end, %i : index
        %k = arith.subi %j, %c1 : index
        %u = tensor.insert_slice %x into %t[%k] [1] [1] : tensor<1xf32> into tensor<1000xf32>
        scf.yield %u : tensor<1000xf32>
      }
      %w:2 = scf.while (%k = %c0, %t = %a) : (index, tensor<1000xf32>) -> (index, tensor<1000xf32>) {
        %c = arith.cmpi slt, %k, %end : index
        scf.condition(%c) %k, %t : index, tensor<1000xf32>
      } do {
      ^bb0(%k: index, %t: tensor<1000xf32>):
        %z = arith.constant 7.0 : f32
        %u = tensor.insert %z into %t[%k] : tensor<1000xf32>
        %c3 = arith.constant 3 : index
        %k1 = arith.addi %k, %c3 : index
        scf.yield %k1, %u : index, tensor<1000xf32>
      }
      return %r, %w#1, %w#0 : tensor<1000xf32>, tensor<1000xf32>, index
    })");
  HostTensor a = m.random("f32", {1000}, 5);
  V before = values(a);
  auto r = m.run({a, m.tensor("i64", {}, {1000})});
  REQUIRE(values(a) == before); // arguments are not touched
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(r[0].as<float>()[999 - i] == a.as<float>()[i]);
    REQUIRE(r[1].as<float>()[i] == (i % 3 ? a.as<float>()[i] : 7.0f));
  }
  REQUIRE(r[2].getInt(0) == 1002);
}

TEST_CASE("an initial value of a loop may be read in the loop as well") {
  Module m(R"(
    func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %one = arith.addi %c1, %c0 : index
      %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %a, %n = %one) -> (tensor<2xf32>, index) {
        %x = tensor.extract_slice %a[%one] [1] [1] : tensor<2xf32> to tensor<1xf32>
        %u = tensor.insert_slice %x into %t[0] [1] [1] : tensor<1xf32> into tensor<2xf32>
        %k = arith.addi %n, %one : index
        scf.yield %u, %k : tensor<2xf32>, index
      }
      return %r#0, %r#1 : tensor<2xf32>, index
    })");
  auto r = m.run({m.tensor("f32", {2}, {1, 2})});
  REQUIRE(values(r[0]) == V{2, 2});
  REQUIRE(r[1].getInt(0) == 4);
}

TEST_CASE("slices with strides and dropped dims, casts, calls, ifs, kernels") {
  Module m(R"(
    func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
      %e = tensor.empty() : tensor<2xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
           ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>) {
      ^bb0(%v: f32, %o: f32):
        %s = arith.addf %v, %v : f32
        linalg.yield %s : f32
      } -> tensor<2xf32>
      return %r : tensor<2xf32>
    }
    func.func @main(%a: tensor<3x5xf32>, %flag: tensor<i1>) -> (tensor<2xf32>, tensor<?xf32>) {
      %s = tensor.extract_slice %a[1, 0] [1, 2] [1, 3] : tensor<3x5xf32> to tensor<2xf32>
      %t = call @twice(%s) : (tensor<2xf32>) -> tensor<2xf32>
      %c = tensor.cast %t : tensor<2xf32> to tensor<?xf32>
      %f = tensor.extract %flag[] : tensor<i1>
      %r = scf.if %f -> tensor<2xf32> {
        scf.yield %s : tensor<2xf32>
      } else {
        %k = ortc.kernel "k" {
          %e = tensor.empty() : tensor<2xf32>
          %x = arith.constant 1.5 : f32
          %y = linalg.fill ins(%x : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
          ortc.yield %y : tensor<2xf32>
        } : tensor<2xf32>
        scf.yield %k : tensor<2xf32>
      }
      return %r, %c : tensor<2xf32>, tensor<?xf32>
    })");
  HostTensor a = m.random("f32", {3, 5}, 6);
  float s0 = a.as<float>()[5], s1 = a.as<float>()[8];
  auto yes = m.run({a, m.tensor("i1", {}, {1})}), no = m.run({a, m.tensor("i1", {}, {0})});
  REQUIRE(values(yes[0]) == V{s0, s1});
  REQUIRE(values(no[0]) == V{1.5, 1.5});
  REQUIRE(values(yes[1]) == V{2 * s0, 2 * s1});
}

TEST_CASE("limits answer instead of running for hours") {
  EvaluateOptions limits;
  limits.maxBytes = 1 << 20;
  limits.maxSteps = 1000000;
  SECTION("bytes") {
    Module m(R"(
      func.func @main() -> tensor<1099511627776xf32> {
        %z = arith.constant 0.0 : f32
        %e = tensor.empty() : tensor<1099511627776xf32>
        %f = linalg.fill ins(%z : f32) outs(%e : tensor<1099511627776xf32>) -> tensor<1099511627776xf32>
        return %f : tensor<1099511627776xf32>
      })");
    Evaluator e(limits);
    REQUIRE(mlir::failed(e.run(m.main(), {})));
    REQUIRE(e.exceededLimit());
    REQUIRE(m.messages.find("needs 4398046511104 bytes") != std::string::npos);
  }
  SECTION("turns of a loop") {
    Module m(R"(
      func.func @main() -> index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %n = arith.constant 4611686018427387904 : index
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %c0) -> index {
          %u = arith.addi %t, %i : index
          scf.yield %u : index
        }
        return %r : index
      })");
    Evaluator e(limits);
    REQUIRE(mlir::failed(e.run(m.main(), {})));
    REQUIRE(e.exceededLimit());
  }
  SECTION("turns of a loop in a body") {
    Module m(R"(
      func.func @main() -> tensor<2xindex> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %n = arith.constant 4611686018427387904 : index
        %e = tensor.empty() : tensor<2xindex>
        %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
             outs(%e : tensor<2xindex>) {
        ^bb0(%o: index):
          %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %c0) -> index {
            %u = arith.addi %t, %i : index
            scf.yield %u : index
          }
          linalg.yield %s : index
        } -> tensor<2xindex>
        return %r : tensor<2xindex>
      })");
    Evaluator e(limits);
    REQUIRE(mlir::failed(e.run(m.main(), {})));
    REQUIRE(e.exceededLimit());
  }
}

TEST_CASE("host steps come from a registry and see lists") {
  Module m(R"(
    func.func @main(%a: tensor<2xf32>) -> !ortc.list<tensor<2xf32>> {
      %l = ortc.host_step "test.pair"(%a) : (tensor<2xf32>) -> !ortc.list<tensor<2xf32>>
      return %l : !ortc.list<tensor<2xf32>>
    })");
  REQUIRE(m.error({m.tensor("f32", {2}, {1, 2})}).find("host step 'test.pair' is not known") !=
          std::string::npos);
  registerHostStep("test.pair",
                   [](HostStepOp, llvm::ArrayRef<HostValue> in)
                       -> mlir::FailureOr<llvm::SmallVector<HostValue>> {
                     return llvm::SmallVector<HostValue>{HostList{in[0], in[0]}};
                   });
  auto r = Evaluator().run(m.main(), {m.tensor("f32", {2}, {1, 2})});
  REQUIRE(mlir::succeeded(r));
  REQUIRE((*r)[0].list()->size() == 2);
  REQUIRE(values(*(*r)[0].list()->at(1).tensor()) == V{1, 2});
}

TEST_CASE("strings move through generics") {
  Module m(R"(
    func.func @main(%a: tensor<3x!ortc.string>, %i: tensor<2xi64>) -> tensor<2x!ortc.string> {
      %e = tensor.empty() : tensor<2x!ortc.string>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
           ins(%i : tensor<2xi64>) outs(%e : tensor<2x!ortc.string>) {
      ^bb0(%x: i64, %o: !ortc.string):
        %k = arith.index_cast %x : i64 to index
        %v = tensor.extract %a[%k] : tensor<3x!ortc.string>
        linalg.yield %v : !ortc.string
      } -> tensor<2x!ortc.string>
      return %r : tensor<2x!ortc.string>
    })");
  HostTensor a(StringType::get(&m.context), {3});
  *a.strings = {"a", "long enough not to be stored in place", "c"};
  HostTensor r = m.run({a, m.tensor("i64", {2}, {1, 0})})[0];
  REQUIRE((*r.strings)[0] == "long enough not to be stored in place");
  REQUIRE((*r.strings)[1] == "a");
}

TEST_CASE("no value of a model takes the name of a step's function") {
  llvm::StringMap<HostStep> steps;
  addBuiltInHostSteps(steps);
  for (auto& step : steps) {
    INFO(step.getKey().str());
    CHECK(isReservedIdentifier(std::string_view(step.getKey())));
  }
}
