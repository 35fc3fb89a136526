// SPDX-License-Identifier: Apache-2.0
// Whatever is done to the bytes of a model, loading it ends, with a model or with an error. Fixed
// seeds; the fuzz target under test/fuzz goes on from here.
#include <catch2/catch.hpp>

#include <random>

#include "compiler/import/TestModels.h"
#include "compiler/support/NumberFormats.h"

using namespace ortc;
using namespace ortc::test;

namespace {

/// Something of everything: subgraphs, a function, typed and raw data, strings, sparse tensors, all
/// kinds of types.
pb::ModelProto richModel() {
  pb::ModelProto model = smallModel();
  auto* graph = model.mutable_graph();
  auto* typed = graph->add_initializer();
  typed->set_name("typed");
  typed->set_data_type(7);
  typed->add_dims(3);
  for (int64_t v : {int64_t{1}, int64_t{-1}, int64_t{300}})
    typed->add_int64_data(v);
  auto* text = graph->add_initializer();
  text->set_name("text");
  text->set_data_type(8);
  text->add_dims(1);
  text->add_string_data("hello");
  auto* sparse = graph->add_sparse_initializer();
  setRaw<float>(sparse->mutable_values(), "sparse", 1, {2}, {1, 2});
  setRaw<int64_t>(sparse->mutable_indices(), "", 7, {2}, {0, 3});
  sparse->add_dims(4);
  auto* external = graph->add_initializer();
  external->set_name("external");
  external->set_data_type(1);
  external->add_dims(1);
  external->set_data_location(1);
  auto* location = external->add_external_data();
  location->set_key("location");
  location->set_value("w.bin");
  auto* seq = graph->add_input();
  seq->set_name("seq");
  seq->mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_map_type()
      ->set_key_type(8);
  auto* branch = addNode(graph->add_node(), "If", {"x"}, {"z"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* body = addAttribute(branch, name, 5)->mutable_g();
    body->set_name(name);
    auto* inner = addNode(body->add_node(), "Constant", {}, {std::string(name) + "_c"});
    setRaw<float>(addAttribute(inner, "value", 4)->mutable_t(), "", 1, {1}, {3});
    addValue(body->add_output(), std::string(name) + "_c");
  }
  auto* function = model.add_functions();
  function->set_name("F");
  function->set_domain("my");
  function->add_input("a");
  function->add_output("b");
  *function->add_opset_import() = model.opset_import(0);
  addNode(function->add_node(), "Relu", {"a"}, {"b"});
  return model;
}

/// Reads all that a successful load promises to be readable.
size_t touch(const onnx::Graph& graph) {
  size_t sum = 0;
  const auto touchTensor = [&](const onnx::TensorData& t) {
    if (t.dtype == DType::String)
      REQUIRE(static_cast<int64_t>(t.strings.size()) == t.elementCount());
    else
      REQUIRE(static_cast<int64_t>(t.bytes.size()) == byteSize(t.dtype, t.elementCount()));
    for (uint8_t byte : t.bytes)
      sum += byte;
  };
  for (const auto& t : graph.initializers)
    touchTensor(t);
  for (const auto& t : graph.sparseInitializers) {
    touchTensor(t.values);
    touchTensor(t.indices);
  }
  for (const auto& node : graph.nodes) {
    sum += node.describe().size();
    for (const auto& attribute : node.attributes) {
      if (attribute.type == onnx::AttributeType::Tensor && attribute.refName.empty())
        touchTensor(attribute.tensor());
      for (const auto& g : attribute.graphs)
        sum += touch(*g);
    }
  }
  for (const auto& input : graph.inputs)
    sum += onnx::typeText(input.type).size();
  return sum;
}

void tryToLoad(const std::string& bytes, const std::string& folder, int& sound) {
  Loaded loaded(bytes, folder);
  if (loaded.ok()) {
    ++sound;
    touch(loaded.model().graph);
  } else {
    REQUIRE(loaded.diagnostics.hasErrors());
    for (char c : loaded.messages())
      REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  }
}

} // namespace

TEST_CASE("2000 damaged models never crash the importer") {
  TempFolder folder;
  folder.write("w.bin", "1234");
  const std::string whole = richModel().SerializeAsString();
  {
    Loaded loaded(whole, folder.path());
    INFO(loaded.messages());
    REQUIRE(loaded.ok());
  }
  std::mt19937 random(20240611);
  const auto below = [&](size_t n) { return random() % n; };
  int sound = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (size_t k = 0, changes = 1 + below(3); k < changes; ++k)
      switch (below(4)) {
      case 0: bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8)); break;
      case 1: bytes[below(bytes.size())] = static_cast<char>(random()); break;
      case 2: bytes.resize(1 + below(bytes.size())); break;
      case 3: {
        const size_t at = below(bytes.size());
        bytes.insert(at, bytes.substr(at, 1 + below(20)));
        break;
      }
      }
    INFO("round " << round);
    tryToLoad(bytes, folder.path(), sound);
  }
  // Some changes are in names and data and do no harm; most must be noticed.
  CHECK(sound > 10);
  CHECK(sound < 1900);
}

TEST_CASE("a model cut off anywhere is refused, never half loaded") {
  const std::string whole = smallModel().SerializeAsString();
  for (size_t size = 0; size < whole.size(); ++size) {
    // Protobuf writes in the order of field numbers: opset_import (8) behind the graph, so that no
    // prefix is sound.
    Loaded loaded(whole.substr(0, size));
    CHECK(!loaded.ok());
    CHECK(loaded.diagnostics.hasErrors());
  }
}

TEST_CASE("corrupt wire data is told with its place") {
  const std::string whole = smallModel().SerializeAsString();
  CHECK(Loaded(whole.substr(0, whole.size() - 1)).says(fmt::format("of {}", whole.size() - 1)));
  CHECK(Loaded(std::string("\x3a\x05\x0a\x03\x0a\x09x", 7)).says("in graph.node"));
  CHECK(Loaded(std::string("\x3b", 1)).says("invalid wire type at byte 0 of 1"));
  CHECK(Loaded(std::string("\x00\x01", 2)).says("invalid field number at byte 0 of 2"));
  CHECK(Loaded(std::string(12, '\xff')).says("number of more than ten bytes at byte 0"));
  CHECK(Loaded(std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11))
            .says("truncated field 7"));
}

TEST_CASE("a file cannot smuggle in a payload of its own") {
  pb::ModelProto model = smallModel();
  auto* thief = model.mutable_graph()->add_initializer();
  thief->set_name("thief");
  thief->set_data_type(1);
  thief->add_dims(2);
  thief->set_payload(0); // would be the data of 'w'
  CHECK(Loaded(model).says(
      "initializer 'thief': error: f32[2] needs 8 bytes but the tensor has no data"));
}

TEST_CASE("protobuf nested without end is refused") {
  std::string type = "\x08\x01";
  // optional(optional(...)) a thousand deep, in a type that the scanner does not look into.
  for (int i = 0; i < 1000; ++i) {
    const auto wrap = [&](char tag) {
      std::string length;
      for (size_t v = type.size();; v >>= 7) {
        length += static_cast<char>(v >= 0x80 ? (v | 0x80) : v);
        if (v < 0x80) break;
      }
      type = tag + length + type;
    };
    wrap('\x0a'); // elem_type
    wrap('\x4a'); // optional_type
  }
  pb::ModelProto model = smallModel();
  std::string bytes = model.SerializeAsString();
  const auto field = [](char tag, const std::string& body) {
    std::string length;
    for (size_t v = body.size();; v >>= 7) {
      length += static_cast<char>(v >= 0x80 ? (v | 0x80) : v);
      if (v < 0x80) break;
    }
    return tag + length + body;
  };
  bytes += field('\x3a', field('\x5a', field('\x0a', "deep") + field('\x12', type)));
  CHECK(Loaded(bytes).says("its structure does not decode"));
}
