// SPDX-License-Identifier: Apache-2.0
// Every bit pattern of the small formats against LLVM's APFloat where it has the format, and
// against the values in the OCP specification where it has not.
#include <catch2/catch.hpp>

#include <cmath>
#include <random>
#include <vector>

#include <llvm/ADT/APFloat.h>

#include "compiler/support/NumberFormats.h"

using namespace ortc;

static const llvm::fltSemantics* semantics(DType type) {
  switch (type) {
  case DType::F16: return &llvm::APFloat::IEEEhalf();
  case DType::BF16: return &llvm::APFloat::BFloat();
  case DType::F8E4M3FN: return &llvm::APFloat::Float8E4M3FN();
  case DType::F8E4M3FNUZ: return &llvm::APFloat::Float8E4M3FNUZ();
  case DType::F8E5M2: return &llvm::APFloat::Float8E5M2();
  case DType::F8E5M2FNUZ: return &llvm::APFloat::Float8E5M2FNUZ();
  case DType::F6E2M3: return &llvm::APFloat::Float6E2M3FN();
  case DType::F6E3M2: return &llvm::APFloat::Float6E3M2FN();
  case DType::F4E2M1: return &llvm::APFloat::Float4E2M1FN();
  default: return nullptr;
  }
}

static const DType kSmallFloats[] = {DType::F16,        DType::BF16,   DType::F8E4M3FN,
                                     DType::F8E4M3FNUZ, DType::F8E5M2, DType::F8E5M2FNUZ,
                                     DType::F6E2M3,     DType::F6E3M2, DType::F4E2M1};

static double reference(DType type, uint64_t bits) {
  llvm::APFloat value(*semantics(type), llvm::APInt(bitWidth(type), bits));
  if (value.isNaN()) return NAN;
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

TEST_CASE("every pattern decodes to its value, and the value encodes to the pattern") {
  for (DType type : kSmallFloats) {
    INFO(dtypeName(type));
    for (uint64_t bits = 0; bits < uint64_t{1} << bitWidth(type); ++bits) {
      const double value = decodeFloat(type, bits), wanted = reference(type, bits);
      if (std::isnan(wanted)) {
        REQUIRE(std::isnan(value));
        REQUIRE(std::isnan(decodeFloat(type, encodeFloat(type, value))));
      } else {
        REQUIRE(value == wanted);
        REQUIRE(std::signbit(value) == std::signbit(wanted));
        REQUIRE(encodeFloat(type, value) == bits);
      }
    }
  }
}

TEST_CASE("rounding is to nearest even") {
  std::mt19937_64 random(3);
  for (DType type :
       {DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2, DType::F8E4M3FNUZ, DType::F32}) {
    INFO(dtypeName(type));
    const llvm::fltSemantics& sem =
        type == DType::F32 ? llvm::APFloat::IEEEsingle() : *semantics(type);
    const double largest = decodeFloat(type, largestFiniteBits(type));
    for (int round = 0; round < 20000; ++round) {
      // From deep subnormals up to the largest; every third one half way between two neighbours.
      double value =
          std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 60) - 90);
      if (round % 3 == 0 && type != DType::F32) {
        const uint64_t bits = random() % largestFiniteBits(type);
        value = (decodeFloat(type, bits) + decodeFloat(type, bits + 1)) / 2;
      }
      if (random() & 1) value = -value;
      if (std::fabs(value) > largest) continue;
      llvm::APFloat exact(value);
      bool losesInfo;
      exact.convert(sem, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      const uint64_t wanted = exact.bitcastToAPInt().getZExtValue();
      INFO(value);
      REQUIRE(encodeFloat(type, value) == wanted);
    }
  }
}

TEST_CASE("what is too large") {
  CHECK(std::isinf(decodeFloat(DType::F16, encodeFloat(DType::F16, 65520))));
  CHECK(decodeFloat(DType::F16, encodeFloat(DType::F16, 65519)) == 65504);
  CHECK(decodeFloat(DType::F16, encodeFloat(DType::F16, 1e9, true)) == 65504);
  CHECK(std::isnan(decodeFloat(DType::F8E4M3FN, encodeFloat(DType::F8E4M3FN, 465))));
  CHECK(decodeFloat(DType::F8E4M3FN, encodeFloat(DType::F8E4M3FN, -1e9, true)) == -448);
  CHECK(decodeFloat(DType::F8E4M3FNUZ, encodeFloat(DType::F8E4M3FNUZ, INFINITY, true)) == 240);
  CHECK(std::isnan(decodeFloat(DType::F8E4M3FNUZ, encodeFloat(DType::F8E4M3FNUZ, INFINITY))));
  CHECK(decodeFloat(DType::F4E2M1, encodeFloat(DType::F4E2M1, -100)) == -6);
  CHECK(std::isinf(decodeFloat(DType::F32, encodeFloat(DType::F32, 1e39))));
}

TEST_CASE("powers of two as a type") {
  CHECK(decodeFloat(DType::F8E8M0, 127) == 1);
  CHECK(decodeFloat(DType::F8E8M0, 0) == std::ldexp(1.0, -127));
  CHECK(decodeFloat(DType::F8E8M0, 254) == std::ldexp(1.0, 127));
  CHECK(std::isnan(decodeFloat(DType::F8E8M0, 255)));
  for (uint64_t bits = 0; bits < 255; ++bits)
    CHECK(encodeFloat(DType::F8E8M0, decodeFloat(DType::F8E8M0, bits)) == bits);
  CHECK(encodeFloat(DType::F8E8M0, 1.5) == 128); // half way between 127 and 128
  CHECK(encodeFloat(DType::F8E8M0, 3.0) == 128); // half way between 128 and 129
  CHECK(encodeFloat(DType::F8E8M0, 3.01) == 129);
  CHECK(encodeFloat(DType::F8E8M0, -1.0) == 255);
}

TEST_CASE("elements narrower than a byte") {
  std::mt19937 random(5);
  for (DType type : {DType::U2, DType::I2, DType::U4, DType::I4, DType::F4E2M1, DType::F6E2M3,
                     DType::I8, DType::U32, DType::I64}) {
    const unsigned bits = bitWidth(type);
    std::vector<uint8_t> data(byteSize(type, 37).value());
    std::vector<uint64_t> values(37);
    for (int i : {5, 0, 36, 20, 7})
      storeBits(data.data(), type, i,
                values[i] = bits == 64 ? random() : random() & ((uint64_t{1} << bits) - 1));
    for (int i = 0; i < 37; ++i)
      CHECK(loadBits(data.data(), type, i) == values[i]);
  }
  const uint8_t byte[] = {0xF8};
  CHECK(loadInt(byte, DType::I4, 0) == -8);
  CHECK(loadInt(byte, DType::I4, 1) == -1);
  CHECK(loadInt(byte, DType::U4, 1) == 15);
  CHECK(loadInt(byte, DType::I2, 1) == -2);
  CHECK(loadDouble(byte, DType::I8, 0) == -8);
}

TEST_CASE("sizes") {
  CHECK(byteSize(DType::I4, 3) == 2);
  CHECK(byteSize(DType::F6E3M2, 5) == 4);
  CHECK(byteSize(DType::U2, 5) == 2);
  CHECK(byteSize(DType::C128, 2) == 32);
  CHECK(byteSize(DType::String, 7) == 0);
  CHECK(byteSize(DType::F32, INT64_MAX / 4) == INT64_MAX / 4 * 4);
  CHECK(!byteSize(DType::F32, INT64_MAX / 2));
  CHECK(elementCount({}) == 1);
  CHECK(elementCount({2, 3}) == 6);
  CHECK(elementCount({int64_t{1} << 40, int64_t{1} << 40, 0}) == 0);
  CHECK(!elementCount({int64_t{1} << 40, int64_t{1} << 40}));
  CHECK(!elementCount({-1}));
  for (int i = 1; i <= kLastDType; ++i)
    CHECK(dtypeFromName(dtypeName(static_cast<DType>(i))) == static_cast<DType>(i));
  CHECK(!dtypeFromOnnx(0));
  CHECK(!dtypeFromOnnx(kLastDType + 1));
  CHECK(shapedName(DType::F32, {1, 64}) == "f32[1,64]");
}
