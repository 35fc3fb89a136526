// SPDX-License-Identifier: Apache-2.0
// Contraction and convolution against loops that anyone can check. Values are small multiples of
// 1/4, so that every order of summation gives the same.
#define CATCH_CONFIG_MAIN
#include "compiler/evaluate/TestSupport.h"
#include "compiler/ops/Accumulate.h"
#include <catch2/catch.hpp>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace ortc;
using namespace ortc::test;

namespace {
using Dims = std::vector<int64_t>;

std::string type(const Dims& d, llvm::StringRef element) {
  return fmt::format("tensor<{}{}{}>", fmt::join(d, "x"), d.empty() ? "" : "x", element.str());
}

/// Loops a, b, ... named in three strings, as einsum does.
void contract(std::string l, std::string r, std::string o, std::map<char, int64_t> extent,
              llvm::StringRef in, llvm::StringRef out, bool lhsUnsigned = false) {
  std::string loops;
  for (auto [c, e] : extent)
    loops += (loops.empty() ? "" : ", ") + std::string(1, c);
  auto map = [&](const std::string& names) {
    std::string s;
    for (char c : names)
      s += (s.empty() ? "" : ", ") + std::string(1, c);
    return fmt::format("affine_map<({}) -> ({})>", loops, s);
  };
  auto dims = [&](const std::string& names) {
    Dims d;
    for (char c : names)
      d.push_back(extent[c]);
    return d;
  };
  Module m(fmt::format(R"(
    func.func @main(%a: {0}, %b: {1}) -> {2} {{
      %e = tensor.empty() : {2}
      %y = ortc.contract(%a, %b) into %e {{indexing_maps = [{3}, {4}, {5}]{6}}} : {0}, {1} -> {2}
      return %y : {2}
    }})",
                       type(dims(l), in), type(dims(r), in), type(dims(o), out), map(l), map(r),
                       map(o), lhsUnsigned ? ", lhsUnsigned = true" : ""));
  HostTensor a = m.random(in, dims(l), 1), b = m.random(in, dims(r), 2);
  HostTensor y = m.run({a, b})[0];
  HostTensor expected(y.elementType, y.dims);
  std::map<char, int64_t> at;
  for (auto [c, e] : extent)
    at[c] = 0;
  auto index = [&](const std::string& names) {
    int64_t i = 0;
    for (char c : names)
      i = i * extent[c] + at[c];
    return i;
  };
  std::vector<double> sums(y.size());
  std::vector<int64_t> whole(y.size());
  bool isFloat = mlir::isa<mlir::FloatType>(y.elementType);
  for (;;) {
    if (isFloat)
      sums[index(o)] += a.getDouble(index(l)) * b.getDouble(index(r));
    else
      whole[index(o)] += a.getInt(index(l), lhsUnsigned) * b.getInt(index(r));
    bool done = true;
    for (auto& [c, i] : at) {
      if (++i < extent[c]) {
        done = false;
        break;
      }
      i = 0;
    }
    if (done) break;
  }
  for (int64_t i = 0; i < y.size(); ++i)
    isFloat ? expected.setDouble(i, sums[i]) : expected.setInt(i, whole[i]);
  INFO(l << "," << r << "->" << o << " " << in.str());
  REQUIRE(values(y) == values(expected));
}
} // namespace

TEST_CASE("contractions in all layouts") {
  contract("mk", "kn", "mn", {{'m', 7}, {'k', 33}, {'n', 70}}, "f32", "f32");
  contract("km", "nk", "nm", {{'m', 70}, {'k', 600}, {'n', 5}}, "f32", "f32");
  contract("bmk", "bnk", "bmn", {{'b', 3}, {'m', 4}, {'k', 5}, {'n', 6}}, "f32", "f32");
  contract("bmhk", "bnhk", "bhmn", {{'b', 2}, {'h', 12}, {'m', 9}, {'k', 8}, {'n', 11}}, "f64",
           "f64");
  contract("mk", "k", "m", {{'m', 130}, {'k', 40}}, "f32", "f32");
  contract("k", "k", "", {{'k', 1000}}, "f32", "f32");
  contract("m", "n", "nm", {{'m', 5}, {'n', 3}}, "f32", "f32");
  contract("mab", "nba", "mn", {{'m', 5}, {'n', 3}, {'a', 4}, {'b', 7}}, "f16", "f32");
  contract("mk", "kn", "mn", {{'m', 3}, {'k', 50}, {'n', 4}}, "bf16", "bf16");
  contract("bm", "bm", "bm", {{'b', 4}, {'m', 6}}, "f32", "f32");
}

TEST_CASE("integer contractions are exact and wrap") {
  contract("mk", "kn", "mn", {{'m', 7}, {'k', 33}, {'n', 70}}, "i8", "i32");
  contract("mk", "kn", "mn", {{'m', 7}, {'k', 33}, {'n', 20}}, "i8", "i32", /*lhsUnsigned=*/true);
  contract("mk", "kn", "mn", {{'m', 7}, {'k', 33}, {'n', 20}}, "i8", "i8");
  contract("mk", "kn", "mn", {{'m', 7}, {'k', 33}, {'n', 20}}, "i64", "i64");
}

namespace {
struct Conv {
  Dims x, w, y, strides, dilations, pads;
  int64_t group = 1;
  bool nhwc = false;
  std::string in = "f32", out = "f32";
};

void convolution(const Conv& c) {
  size_t n = c.strides.size();
  Module m(fmt::format(R"(
    func.func @main(%x: {0}, %w: {1}) -> {2} {{
      %e = tensor.empty() : {2}
      %y = ortc.conv(%x, %w) into %e {{strides = array<i64: {3}>, dilations = array<i64: {4}>, pads = array<i64: {5}>,
           group = {6} : i64, layout = "{7}"}} : {0}, {1} -> {2}
      return %y : {2}
    }})",
                       type(c.x, c.in), type(c.w, c.in), type(c.y, c.out),
                       fmt::join(c.strides, ", "), fmt::join(c.dilations, ", "),
                       fmt::join(c.pads, ", "), c.group, c.nhwc ? "nhwc" : "nchw"));
  HostTensor x = m.random(c.in, c.x, 3), w = m.random(c.in, c.w, 4);
  HostTensor y = m.run({x, w})[0];
  // Channels first, three spatial dims.
  auto spread = [&](const Dims& d, bool last) {
    Dims r{d[0], last ? d.back() : d[1], 1, 1, 1};
    for (size_t i = 0; i < n; ++i)
      r[5 - n + i] = d[(last ? 1 : 2) + i];
    return r;
  };
  Dims X = spread(c.x, c.nhwc), W = spread(c.w, false), Y = spread(c.y, c.nhwc);
  auto at = [&](const Dims& d, bool last, int64_t a, int64_t ch, int64_t i, int64_t j, int64_t k) {
    return last ? (((a * d[2] + i) * d[3] + j) * d[4] + k) * d[1] + ch
                : (((a * d[1] + ch) * d[2] + i) * d[3] + j) * d[4] + k;
  };
  auto three = [&](const Dims& d, size_t first, int64_t fill) {
    Dims r(3, fill);
    for (size_t i = 0; i < n; ++i)
      r[3 - n + i] = d[first + i];
    return r;
  };
  Dims S = three(c.strides, 0, 1), D = three(c.dilations, 0, 1), P = three(c.pads, 0, 0);
  int64_t wrong = 0;
  for (int64_t b = 0; b < Y[0]; ++b)
    for (int64_t oc = 0; oc < Y[1]; ++oc)
      for (int64_t i = 0; i < Y[2]; ++i)
        for (int64_t j = 0; j < Y[3]; ++j)
          for (int64_t k = 0; k < Y[4]; ++k) {
            double sum = 0;
            for (int64_t ic = 0; ic < W[1]; ++ic)
              for (int64_t p = 0; p < W[2]; ++p)
                for (int64_t q = 0; q < W[3]; ++q)
                  for (int64_t r = 0; r < W[4]; ++r) {
                    int64_t xi = i * S[0] + p * D[0] - P[0], xj = j * S[1] + q * D[1] - P[1],
                            xk = k * S[2] + r * D[2] - P[2];
                    if (xi < 0 || xi >= X[2] || xj < 0 || xj >= X[3] || xk < 0 || xk >= X[4])
                      continue;
                    int64_t ch = oc / (Y[1] / c.group) * W[1] + ic;
                    sum += x.getDouble(at(X, c.nhwc, b, ch, xi, xj, xk)) *
                           w.getDouble(at(W, false, oc, ic, p, q, r));
                  }
            wrong += y.getDouble(at(Y, c.nhwc, b, oc, i, j, k)) != sum;
          }
  REQUIRE(wrong == 0);
}
} // namespace

TEST_CASE("convolutions: strides, dilations, pads, groups, layouts, ranks, types") {
  convolution({{1, 3, 9, 10}, {8, 3, 3, 3}, {1, 8, 9, 10}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  convolution({{2, 4, 15, 13}, {6, 4, 3, 2}, {2, 6, 7, 5}, {2, 3}, {2, 1}, {1, 0, 1, 2}});
  convolution({{1, 6, 8, 8}, {9, 2, 3, 3}, {1, 9, 8, 8}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 3});
  convolution({{2, 8, 8, 8}, {8, 1, 3, 3}, {2, 8, 4, 4}, {2, 2}, {1, 1}, {0, 0, 1, 1}, 8});
  convolution({{1, 9, 10, 3}, {8, 3, 3, 3}, {1, 9, 10, 8}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, true});
  convolution({{1, 9, 10, 8}, {8, 1, 3, 3}, {1, 9, 10, 8}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 8, true});
  convolution({{2, 5, 70}, {4, 5, 7}, {2, 4, 66}, {1}, {1}, {0, 2}});
  convolution({{1, 2, 5, 6, 7},
               {3, 2, 2, 3, 2},
               {1, 3, 4, 3, 6},
               {1, 2, 1},
               {1, 1, 1},
               {0, 1, 0, 0, 1, 0}});
  convolution({{1, 3, 9, 10},
               {8, 3, 3, 3},
               {1, 8, 9, 10},
               {1, 1},
               {1, 1},
               {1, 1, 1, 1},
               1,
               false,
               "i8",
               "i32"});
  convolution({{1, 600, 3, 3}, {5, 600, 1, 1}, {1, 5, 3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
}

TEST_CASE("products do not depend on the number of threads", "[threads]") {
  Module m(R"(
    func.func @main(%a: tensor<65x1000xf32>, %b: tensor<1000x130xf32>) -> tensor<65x130xf32> {
      %e = tensor.empty() : tensor<65x130xf32>
      %y = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
        affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : tensor<65x1000xf32>, tensor<1000x130xf32> -> tensor<65x130xf32>
      return %y : tensor<65x130xf32>
    })");
  HostTensor a(m.type("f32"), {65, 1000}), b(m.type("f32"), {1000, 130});
  for (int64_t i = 0; i < a.size(); ++i)
    a.as<float>()[i] = std::sin(float(i));
  for (int64_t i = 0; i < b.size(); ++i)
    b.as<float>()[i] = std::cos(float(i));
  setThreadCount(1);
  auto one = values(m.run({a, b})[0]);
  setThreadCount(4);
  auto four = values(m.run({a, b})[0]);
  setThreadCount(0);
  REQUIRE(one == four);
}
