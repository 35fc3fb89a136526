// SPDX-License-Identifier: Apache-2.0
// A case on disk, values in ONNX's form, seeded inputs.
#include <catch2/catch.hpp>

#include "compiler/cases/Case.h"
#include "compiler/cases/RandomInputs.h"
#include "compiler/cases/ValueFile.h"
#include "compiler/import/TestModels.h"
#include "compiler/support/NumberFormats.h"

using namespace ortc;
using namespace ortc::test;
using Kind = onnx::Type::Kind;

TEST_CASE("a case is read and judged") {
  TempFolder folder;
  pb::ModelProto model = smallModel();
  addValue(model.mutable_graph()->add_input(), "w"); // has an initializer: no input of the data
  addValue(model.mutable_graph()->add_input(), "extra");
  addValue(model.mutable_graph()->add_output(), "sum");
  folder.write("c/model.onnx", model.SerializeAsString());
  folder.write("c/expect.json", R"({"outputs": {"y": {"rtol": 0, "atol": 0.5}}})");
  Diagnostics diagnostics;
  CaseTensor x = randomTensor(DType::F32, {2}, 1), y = randomTensor(DType::F32, {2}, 2);
  std::filesystem::create_directories(folder / "c/test_data_set_0");
  REQUIRE(writeValueFile(folder / "c/test_data_set_0/input_0.pb", x, Kind::Tensor, diagnostics));
  REQUIRE(writeValueFile(folder / "c/test_data_set_0/output_0.pb", y, Kind::Tensor, diagnostics));
  CHECK(findCases(folder.path()) == std::vector<std::string>{folder / "c"});
  CHECK(findCases(folder / "c") == std::vector<std::string>{folder / "c"});

  auto read = readCase(folder / "c", diagnostics);
  REQUIRE(read);
  REQUIRE(read->dataSets.size() == 1);
  auto file = onnx::OnnxFile::open(read->modelPath, diagnostics);
  REQUIRE(file);
  const onnx::Graph& graph = file->model().graph;
  auto data = readDataSet(read->dataSets[0], graph, diagnostics);
  REQUIRE(data);
  REQUIRE(data->inputs.size() == 2);
  CHECK(data->inputs[0] == CaseValue(x));
  CHECK(data->inputs[1].isAbsent());
  REQUIRE(data->outputs.size() == 2);
  CHECK(!data->outputs[1]);

  CaseTensor near = y;
  storeBits(near.bytes.data(), DType::F32, 0,
            encodeFloat(DType::F32, loadDouble(y.bytes.data(), DType::F32, 0) + 0.4));
  CHECK(compareOutputs({near, CaseValue()}, *data, graph, read->expect).passed);
  Comparison off = compareOutputs({near, CaseValue()}, *data, graph, Expectation());
  CHECK(!off.passed);
  CHECK(off.reason.starts_with("output 'y': 1 of 2 elements are off"));
  CHECK(!compareOutputs({}, *data, graph, read->expect).passed);

  // Data that nobody would read is no case: a default may stand for an input that has one.
  REQUIRE(writeValueFile(folder / "c/test_data_set_0/input_2.pb", x, Kind::Tensor, diagnostics));
  CHECK(!readDataSet(read->dataSets[0], graph, diagnostics));
  CHECK(diagnostics.str().find("input_2.pb: error: the model has 2 inputs; those that it holds a "
                               "value for are no inputs") != std::string::npos);
}

TEST_CASE("folders that are no cases") {
  TempFolder folder;
  Diagnostics diagnostics;
  CHECK(!readCase(folder.path(), diagnostics));
  CHECK(findCases(folder.path()).empty());
  CHECK(findCases(folder / "none").empty());
  folder.write("model.onnx", "x");
  CHECK(readCase(folder.path(), diagnostics));
  folder.write("expect.json", "{");
  CHECK(!readCase(folder.path(), diagnostics));
  CHECK(diagnostics.str().find("expect.json: error: not valid JSON") != std::string::npos);
}

TEST_CASE("values of every kind survive being written and read") {
  TempFolder folder;
  Diagnostics diagnostics;
  const auto roundTrip = [&](const CaseValue& value, Kind kind) {
    REQUIRE(writeValueFile(folder / "v.pb", value, kind, diagnostics));
    auto back = readValueFile(folder / "v.pb", kind, diagnostics);
    INFO(diagnostics.str());
    REQUIRE(back);
    CHECK(*back == value);
  };
  for (int type = 1; type <= kLastDType; ++type)
    roundTrip(randomTensor(static_cast<DType>(type), {3, 5}, 9), Kind::Tensor);
  roundTrip(randomTensor(DType::F32, {}, 1), Kind::Tensor);
  roundTrip(randomTensor(DType::F32, {0, 3}, 1), Kind::Tensor);
  const CaseValue tensor = randomTensor(DType::F32, {2}, 1);
  const CaseValue list = CaseValue::list({tensor, randomTensor(DType::F32, {3, 1}, 2)});
  roundTrip(list, Kind::Sequence);
  roundTrip(CaseValue::list({}), Kind::Sequence);
  roundTrip(CaseValue::list({list, list}), Kind::Sequence);
  CaseTensor keys = CaseTensor::zeros(DType::String, {2});
  keys.strings = {"cat", "\u4e2d"};
  const CaseValue map = CaseValue::map(keys, {tensor, tensor});
  roundTrip(map, Kind::Map);
  roundTrip(CaseValue::list({map, map}), Kind::Sequence);
  CaseTensor numbers = CaseTensor::zeros(DType::I64, {2});
  storeBits(numbers.bytes.data(), DType::I64, 1, static_cast<uint64_t>(-7));
  roundTrip(CaseValue::map(numbers, {tensor, tensor}), Kind::Map);
  roundTrip(CaseValue(), Kind::Optional);
  roundTrip(tensor, Kind::Optional);
  roundTrip(list, Kind::Optional);
  CHECK(!writeValueFile(folder / "v.pb", list, Kind::Tensor, diagnostics));
  CHECK(!writeValueFile(folder / "no/v.pb", tensor, Kind::Tensor, diagnostics));
}

TEST_CASE("sparse values become dense") {
  TempFolder folder;
  pb::SequenceProto sequence;
  sequence.set_elem_type(2);
  auto* sparse = sequence.add_sparse_tensor_values();
  setRaw<float>(sparse->mutable_values(), "", 1, {2}, {5, 6});
  setRaw<int64_t>(sparse->mutable_indices(), "", 7, {2, 2}, {0, 1, 1, 2});
  sparse->add_dims(2);
  sparse->add_dims(3);
  Diagnostics diagnostics;
  auto value = readValueFile(folder.write("s.pb", sequence.SerializeAsString()), Kind::Sequence,
                             diagnostics);
  REQUIRE(value);
  const CaseTensor& dense = value->items.at(0).tensor;
  CHECK(dense.dims == std::vector<int64_t>{2, 3});
  for (int i = 0; i < 6; ++i)
    CHECK(loadDouble(dense.bytes.data(), DType::F32, i) == (i == 1 ? 5 : i == 5 ? 6 : 0));
  setRaw<int64_t>(sparse->mutable_indices(), "", 7, {}, {0, 1, 2, 2});
  CHECK(!readValueFile(folder.write("s.pb", sequence.SerializeAsString()), Kind::Sequence,
                       diagnostics));
  CHECK(diagnostics.str().find("sparse tensor index 2 is outside of [0, 2)") != std::string::npos);
}

TEST_CASE("damaged values are errors that name the file") {
  TempFolder folder;
  Diagnostics diagnostics("model.onnx");
  const std::string path = folder.write("input_0.pb", "\x08\x02\x10\x01\x4a\x03"
                                                      "abc");
  CHECK(!readValueFile(path, Kind::Tensor, diagnostics));
  CHECK(diagnostics.str() == path + ": error: f32[2] needs 8 bytes but raw_data has 3\n");
  CHECK(diagnostics.file() == "model.onnx");
}

TEST_CASE("random inputs are the same everywhere") {
  // Figures that must not change from machine to machine, compiler to compiler or version to
  // version.
  const CaseTensor f = randomTensor(DType::F32, {4}, 42);
  std::vector<uint32_t> bits;
  for (int i = 0; i < 4; ++i)
    bits.push_back(static_cast<uint32_t>(loadBits(f.bytes.data(), DType::F32, i)));
  CHECK(bits == std::vector<uint32_t>{0xbea07815, 0x3f749f29, 0xbddac6ac, 0xbe2f3b4d});
  CHECK(randomTensor(DType::F32, {4}, 42) == f);
  CHECK(!(randomTensor(DType::F32, {4}, 43) == f));
  const CaseTensor s = randomTensor(DType::String, {2}, 42);
  CHECK(s.strings == std::vector<std::string>{"cjf", "hyzgtppd"});
}

TEST_CASE("random values keep to their range") {
  for (int type = 1; type <= kLastDType; ++type) {
    const DType dtype = static_cast<DType>(type);
    INFO(dtypeName(dtype));
    const CaseTensor t = randomTensor(dtype, {1000}, 3);
    if (dtype == DType::String || isComplex(dtype)) continue;
    double low = 1e9, high = -1e9;
    for (int i = 0; i < 1000; ++i) {
      const double v = loadDouble(t.bytes.data(), dtype, i);
      low = std::min(low, v);
      high = std::max(high, v);
    }
    CHECK(low < high);
    if (isFloat(dtype) && dtype != DType::F8E8M0) {
      CHECK(low >= -1);
      CHECK(high <= 1);
      CHECK(low < -0.9);
    } else if (isInteger(dtype) && bitWidth(dtype) >= 32) {
      CHECK(low == 0);
      CHECK(high == 3);
    } else if (dtype == DType::I8) {
      CHECK(low < -100);
      CHECK(high > 100);
    }
  }
}

TEST_CASE("random inputs follow the model's types") {
  pb::ModelProto model = smallModel();
  auto* shape = model.mutable_graph()
                    ->mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape();
  shape->add_dim()->set_dim_param("n");
  shape->add_dim();
  auto* map = model.mutable_graph()->add_input();
  map->set_name("m");
  map->mutable_type()->mutable_map_type()->set_key_type(8);
  map->mutable_type()
      ->mutable_map_type()
      ->mutable_value_type()
      ->mutable_tensor_type()
      ->set_elem_type(1);
  map->mutable_type()
      ->mutable_map_type()
      ->mutable_value_type()
      ->mutable_tensor_type()
      ->mutable_shape();
  Loaded loaded(model);
  REQUIRE(loaded.ok());
  Diagnostics diagnostics;
  auto inputs = randomInputs(loaded.model().graph, {{"n", 7}}, 1, diagnostics);
  REQUIRE(inputs);
  CHECK(inputs->at(0).tensor.dims == std::vector<int64_t>{2, 7, 1});
  CHECK(inputs->at(1).items.size() == 3);
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  Loaded rankless(model);
  CHECK(!randomInputs(rankless.model().graph, {}, 1, diagnostics));
  CHECK(diagnostics.str().find("input 'x': error: no random value can be made for f32[*]") !=
        std::string::npos);
}
