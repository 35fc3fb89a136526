// SPDX-License-Identifier: 0BSD
// Typed tensors at run time; typed_errors.cpp has what must not compile.
#include "ortc/typed.hpp"

#include <catch2/catch.hpp>

using namespace ortc_rt;

TEST_CASE("a view carries its shape") {
  float data[6] = {};
  auto fixed = tensor_view<float, 2, 3>::of(data);
  const ortc_tensor t = fixed.tensor();
  CHECK(t.data == data);
  CHECK(t.rank == 2);
  CHECK(t.dims[0] == 2);
  CHECK(t.dims[1] == 3);
  CHECK(t.capacity == sizeof data);
  CHECK(t.dtype == ORTC_FLOAT);
  tensor_view<const int64_t, any, 4, any> free(nullptr, 5, 6);
  CHECK(free.dim(0) == 5);
  CHECK(free.dim(1) == 4);
  CHECK(free.dim(2) == 6);
  CHECK(free.size() == 120);
  CHECK(free.tensor().dtype == ORTC_INT64);
  tensor_view<double> scalar(nullptr);
  CHECK(scalar.size() == 1);
  CHECK(scalar.tensor().rank == 0);
}

TEST_CASE("views of fitting shapes convert, and a free size that differs is noticed") {
  float data[6] = {};
  const tensor_view<float, any, 3> free(data, 2);
  const tensor_view<const float, 2, any> to = free;
  CHECK(to.dim(1) == 3);
  CHECK_FALSE(to.wrong());
  const tensor_view<float, 7, 3> other = free;
  CHECK(other.wrong());
  const tensor_view<float, any, any> back = other;
  CHECK(back.wrong());
}
