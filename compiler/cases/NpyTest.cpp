// SPDX-License-Identifier: Apache-2.0
// Arrays as numpy writes them, as we write them, and damaged.
#include <catch2/catch.hpp>

#include <random>

#include "compiler/cases/Npy.h"
#include "compiler/cases/Npz.h"
#include "compiler/cases/RandomInputs.h"
#include "compiler/import/TestModels.h"
#include "compiler/support/NumberFormats.h"

using namespace ortc;
using namespace ortc::test;

namespace {

using Bytes = std::vector<uint8_t>;

/// numpy.savez_compressed(f, a=numpy.zeros(40, '<i4'), b=numpy.array(3.5)), by numpy 2.
const unsigned char kNumpyNpz[] = {
    80,  75,  3,   4,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   49,  50,  66,  146, 255,
    255, 255, 255, 255, 255, 255, 255, 5,   0,   20,  0,   97,  46,  110, 112, 121, 1,   0,   16,
    0,   32,  1,   0,   0,   0,   0,   0,   0,   72,  0,   0,   0,   0,   0,   0,   0,   155, 236,
    23,  234, 27,  16,  201, 200, 80,  198, 80,  173, 158, 146, 90,  156, 92,  164, 110, 165, 160,
    110, 147, 105, 162, 174, 163, 160, 158, 150, 95,  84,  82,  148, 152, 23,  159, 95,  148, 146,
    10,  18,  119, 75,  204, 41,  78,  5,   138, 23,  103, 36,  22,  164, 2,   249, 26,  38,  6,
    58,  154, 58,  10,  181, 10,  228, 3,   46,  134, 65,  14,  0,   80,  75,  3,   4,   45,  0,
    0,   0,   8,   0,   0,   0,   33,  0,   61,  62,  227, 91,  255, 255, 255, 255, 255, 255, 255,
    255, 5,   0,   20,  0,   98,  46,  110, 112, 121, 1,   0,   16,  0,   136, 0,   0,   0,   0,
    0,   0,   0,   71,  0,   0,   0,   0,   0,   0,   0,   155, 236, 23,  234, 27,  16,  201, 200,
    80,  198, 80,  173, 158, 146, 90,  156, 92,  164, 110, 165, 160, 110, 147, 102, 161, 174, 163,
    160, 158, 150, 95,  84,  82,  148, 152, 23,  159, 95,  148, 146, 10,  18,  119, 75,  204, 41,
    78,  5,   138, 23,  103, 36,  22,  164, 2,   249, 26,  154, 58,  10,  181, 10,  20,  1,   46,
    6,   48,  224, 113, 0,   0,   80,  75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,   0,
    0,   33,  0,   49,  50,  66,  146, 72,  0,   0,   0,   32,  1,   0,   0,   5,   0,   0,   0,
    0,   0,   0,   0,   0,   0,   0,   0,   128, 1,   0,   0,   0,   0,   97,  46,  110, 112, 121,
    80,  75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   61,  62,  227,
    91,  71,  0,   0,   0,   136, 0,   0,   0,   5,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    0,   0,   128, 1,   127, 0,   0,   0,   98,  46,  110, 112, 121, 80,  75,  5,   6,   0,   0,
    0,   0,   2,   0,   2,   0,   102, 0,   0,   0,   253, 0,   0,   0,   0,   0};

Bytes npy(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string header = dictionary + "\n";
  std::string text("\x93NUMPY");
  text += static_cast<char>(version);
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    text += static_cast<char>(header.size() >> (8 * i));
  text += header + data;
  return {text.begin(), text.end()};
}

Bytes npy(const char* descr, const char* shape, const std::string& data, bool fortran = false) {
  return npy(fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr,
                         fortran ? "True" : "False", shape),
             data);
}

struct Parsed {
  explicit Parsed(const Bytes& bytes, DType wanted = DType::Undefined) {
    Diagnostics diagnostics;
    tensor = parseNpy(bytes, wanted, {}, diagnostics);
    text = diagnostics.str();
    CHECK(tensor.has_value() == text.empty());
  }
  std::optional<CaseTensor> tensor;
  std::string text;
};

std::string bytesOf(const Parsed& parsed) {
  REQUIRE(parsed.tensor);
  return {parsed.tensor->bytes.begin(), parsed.tensor->bytes.end()};
}

} // namespace

TEST_CASE("headers of numpy") {
  Parsed p(npy("<i4", "(1, 2)", "abcdefgh"));
  REQUIRE(p.tensor);
  CHECK(p.tensor->typeText() == "i32[1,2]");
  CHECK(Parsed(npy("<f8", "()", "12345678")).tensor->typeText() == "f64[]");
  CHECK(Parsed(npy("|b1", "(2,)", "\1\1")).tensor->typeText() == "bool[2]");
  CHECK(Parsed(npy("<c8", "(1,)", "12345678")).tensor->typeText() == "c64[1]");
  CHECK(Parsed(npy("<f4", "(0, 3)", "")).tensor->typeText() == "f32[0,3]");
  CHECK(Parsed(npy("<f4", "(1L,)", "abcd")).tensor->typeText() == "f32[1]"); // Python 2
  CHECK(Parsed(npy("{\"shape\": (1,), \"fortran_order\":False,\"descr\":\"<u2\"}", "ab", 3))
            .tensor->typeText() == "u16[1]");
  // More data than needed is what follows in a stream.
  CHECK(bytesOf(Parsed(npy("|u1", "(1,)", "ab"))) == "a");
}

TEST_CASE("other byte and axis orders") {
  CHECK(bytesOf(Parsed(npy(">i4", "(2,)", "abcdefgh"))) == "dcbahgfe");
  CHECK(bytesOf(Parsed(npy(">c8", "(1,)", "abcdefgh"))) == "dcbahgfe");
  CHECK(bytesOf(Parsed(npy("|u1", "(2, 3)", "adbecf", true))) == "abcdef");
  CHECK(bytesOf(Parsed(npy("<u2", "(2, 1, 2)", "AaCcBbDd", true))) == "AaBbCcDd");
  CHECK(bytesOf(Parsed(npy("|u1", "(0, 3)", "", true))).empty());
}

TEST_CASE("strings") {
  const std::string utf32("a\0\0\0\x2d\x4e\0\0b\0\0\0\0\0\0\0", 16);
  CHECK(Parsed(npy("<U2", "(2,)", utf32)).tensor->strings ==
        std::vector<std::string>{"a\u4e2d", "b"});
  CHECK(Parsed(npy(">U1", "(1,)", std::string("\0\0\0a", 4))).tensor->strings ==
        std::vector<std::string>{"a"});
  CHECK(Parsed(npy("|S3", "(2,)", std::string("abcd\0\0", 6))).tensor->strings ==
        std::vector<std::string>{"abc", "d"});
  CHECK(Parsed(npy("<U0", "(2,)", "")).tensor->strings.size() == 2);
}

TEST_CASE("types without a name in numpy are what the model wants") {
  CHECK(Parsed(npy("<V2", "(1,)", "ab"), DType::BF16).tensor->typeText() == "bf16[1]");
  CHECK(Parsed(npy("<u2", "(1,)", "ab"), DType::BF16).tensor->typeText() == "bf16[1]");
  CHECK(Parsed(npy("|V1", "(1,)", "a"), DType::F8E5M2).tensor->typeText() == "f8e5m2[1]");
  CHECK(Parsed(npy("<V2", "(1,)", "ab")).tensor->typeText() == "u16[1]");
  Parsed four(npy("|i1", "(3,)", "\xff\x07\x01"), DType::I4);
  CHECK(four.tensor->typeText() == "i4[3]");
  CHECK(bytesOf(four) == "\x7f\x01");
  // Not a conversion.
  CHECK(Parsed(npy("<f8", "(1,)", "12345678"), DType::F32).tensor->typeText() == "f64[1]");
}

TEST_CASE("what cannot be used is told") {
  CHECK(Parsed(Bytes{}).text.find("numpy's mark") != std::string::npos);
  CHECK(Parsed(npy("|O", "(1,)", "12345678")).text.find("Python objects") != std::string::npos);
  CHECK(Parsed(npy("<f16", "(1,)", "1234567812345678")).text.find("'f16' is not supported") !=
        std::string::npos);
  CHECK(Parsed(npy("<M8[ns]", "(1,)", "12345678")).text.find("'M8' is not supported") !=
        std::string::npos);
  CHECK(Parsed(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd"))
            .text.find("structured") != std::string::npos);
  CHECK(Parsed(npy("<f4", "(2,)", "abcd"))
            .text.find("2 elements of 4 bytes are promised but 4 bytes are there") !=
        std::string::npos);
  CHECK(
      Parsed(npy("<f4", "(4611686018427387904, 4)", "abcd")).text.find("the shape is too large") !=
      std::string::npos);
  CHECK(Parsed(npy("<U4611686018427387904", "(1,)", "abcd")).text.find("too long") !=
        std::string::npos);
  CHECK(Parsed(npy("<U0", "(1099511627776,)", "")).text.find("too many empty strings") !=
        std::string::npos);
  CHECK(!Parsed(npy("<f4", "(-1,)", "abcd")).tensor);
  CHECK(!Parsed(npy("{'descr': '<f4'}", "abcd")).tensor);
  CHECK(!Parsed(npy("{", "")).tensor);
}

TEST_CASE("every type survives .npy") {
  for (int type = 1; type <= kLastDType; ++type)
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {7}, {2, 3}, {0}, {1, 1, 2}}) {
      const CaseTensor tensor = randomTensor(static_cast<DType>(type), dims, 5);
      INFO(tensor.typeText());
      const Bytes bytes = formatNpy(tensor);
      CHECK(bytes.size() >= 64);
      Parsed back(bytes, tensor.dtype);
      REQUIRE(back.tensor);
      CHECK(*back.tensor == tensor);
    }
  // The data is aligned, and the header ends as numpy's does.
  const Bytes bytes = formatNpy(randomTensor(DType::F32, {3}, 1));
  CHECK(bytes.size() == 128 + 12);
  CHECK(bytes[127] == '\n');
  CHECK(std::string(bytes.begin() + 10, bytes.begin() + 66) ==
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), ");
}

TEST_CASE(".npz, stored and deflated") {
  NamedTensors tensors;
  tensors.emplace_back("x", randomTensor(DType::F32, {3, 4}, 1));
  tensors.emplace_back("a/b \u4e2d", CaseTensor::zeros(DType::I64, {1000}));
  tensors.emplace_back("empty", CaseTensor::zeros(DType::F32, {0}));
  for (bool compress : {false, true}) {
    const Bytes bytes = formatNpz(tensors, compress);
    CHECK(bytes == formatNpz(tensors, compress));
    CHECK((bytes.size() < 4000) == compress);
    Diagnostics diagnostics;
    auto back = parseNpz(bytes, nullptr, diagnostics);
    INFO(diagnostics.str());
    REQUIRE(back);
    CHECK(*back == tensors);
  }
  Diagnostics diagnostics;
  auto none = parseNpz(formatNpz({}), nullptr, diagnostics);
  REQUIRE(none);
  CHECK(none->empty());
}

TEST_CASE("an archive of numpy, with 64-bit fields") {
  Diagnostics diagnostics;
  auto tensors = parseNpz(kNumpyNpz, nullptr, diagnostics);
  INFO(diagnostics.str());
  REQUIRE(tensors);
  REQUIRE(tensors->size() == 2);
  CHECK(tensors->at(0).first == "a");
  CHECK(tensors->at(0).second == CaseTensor::zeros(DType::I32, {40}));
  CHECK(loadDouble(tensors->at(1).second.bytes.data(), DType::F64, 0) == 3.5);
}

TEST_CASE("damaged archives end in an error or in sound tensors") {
  NamedTensors tensors;
  tensors.emplace_back("x", randomTensor(DType::F32, {30}, 1));
  tensors.emplace_back("y", CaseTensor::zeros(DType::I64, {100}));
  const Bytes whole = formatNpz(tensors, true);
  for (size_t size = 0; size < whole.size(); ++size) {
    Diagnostics diagnostics;
    CHECK(!parseNpz({whole.data(), size}, nullptr, diagnostics));
    CHECK(diagnostics.hasErrors());
  }
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes = whole;
    for (size_t k = 0, n = 1 + random() % 3; k < n; ++k)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    Diagnostics diagnostics;
    auto back = parseNpz(bytes, nullptr, diagnostics);
    refused += !back;
    CHECK((back || diagnostics.hasErrors()));
  }
  CHECK(refused > 1000);
}

TEST_CASE("arrays in files") {
  TempFolder folder;
  Diagnostics diagnostics;
  const CaseTensor tensor = randomTensor(DType::F32, {3}, 1);
  REQUIRE(writeNpyFile(folder / "a.npy", tensor, diagnostics));
  CHECK(readNpyFile(folder / "a.npy", DType::Undefined, diagnostics) == tensor);
  REQUIRE(writeNpzFile(folder / "a.npz", {{"x", tensor}}, diagnostics));
  CHECK(readNpzFile(folder / "a.npz", nullptr, diagnostics) == NamedTensors{{"x", tensor}});
  CHECK(!diagnostics.hasErrors());
  CHECK(!readNpyFile(folder / "a.npz", DType::Undefined, diagnostics));
  CHECK(!readNpzFile(folder / "a.npy", nullptr, diagnostics));
  CHECK(!readNpzFile(folder / "none.npz", nullptr, diagnostics));
  CHECK(!writeNpyFile(folder / "no/a.npy", tensor, diagnostics));
  CHECK(diagnostics.errorCount() == 4);
}
