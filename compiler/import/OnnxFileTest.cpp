// SPDX-License-Identifier: Apache-2.0
// Loading: what a sound file gives, every way of storing tensors, external data, size and memory.
#include <catch2/catch.hpp>

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include "compiler/import/TestModels.h"
#include "compiler/support/NumberFormats.h"

using namespace ortc;
using namespace ortc::test;

TEST_CASE("a small model arrives with all its parts") {
  pb::ModelProto proto = smallModel();
  auto* meta = proto.add_metadata_props();
  meta->set_key("k");
  meta->set_value("v");
  proto.mutable_graph()->mutable_node(0)->set_domain("ai.onnx"); // another way to write ""
  auto* attribute = addAttribute(proto.mutable_graph()->mutable_node(0), "__axes", 7);
  attribute->add_ints(-1);
  attribute->add_ints(int64_t{1} << 40);
  proto.mutable_graph()->add_quantization_annotation()->set_tensor_name("w");
  Loaded loaded(proto);
  INFO(loaded.messages());
  REQUIRE(loaded.ok());
  CHECK(loaded.messages().empty());
  const onnx::Model& model = loaded.model();
  CHECK(model.irVersion == 8);
  CHECK(model.opsetVersion("") == 17);
  CHECK(model.opsetVersion("com.other") == 0);
  CHECK(model.metadata == onnx::Metadata{{"k", "v"}});
  REQUIRE(model.graph.nodes.size() == 2);
  const onnx::Node& node = model.graph.nodes[0];
  CHECK(node.domain.empty());
  CHECK(node.opset == 17);
  CHECK(node.inputs == std::vector<std::string>{"x", "w"});
  CHECK(node.describe() == "node 'add' (Add, opset 17)");
  REQUIRE(node.attribute("__axes"));
  CHECK(node.attribute("__axes")->ints == std::vector<int64_t>{-1, int64_t{1} << 40});
  CHECK(node.attribute("none") == nullptr);
  CHECK(model.graph.quantization.at(0).tensorName == "w");
  const onnx::TensorData* w = model.graph.initializer("w");
  REQUIRE(w);
  CHECK(w->typeText() == "f32[2]");
  CHECK(loadDouble(w->bytes.data(), DType::F32, 1) == -2.0);
  // Not copied: the data is where the file is.
  CHECK(w->bytes.data() >= reinterpret_cast<const uint8_t*>(loaded.bytes.data()));
  CHECK(w->bytes.data() <
        reinterpret_cast<const uint8_t*>(loaded.bytes.data()) + loaded.bytes.size());
}

TEST_CASE("types of all kinds are read and printed") {
  pb::ModelProto proto = smallModel();
  auto* graph = proto.mutable_graph();
  auto* shape = graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("batch");
  shape->add_dim();
  shape->add_dim()->set_dim_value(-1);
  auto* seq = graph->add_input();
  seq->set_name("s");
  seq->mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(7);
  auto* map = graph->add_input();
  map->set_name("m");
  map->mutable_type()->mutable_map_type()->set_key_type(8);
  map->mutable_type()
      ->mutable_map_type()
      ->mutable_value_type()
      ->mutable_tensor_type()
      ->set_elem_type(1);
  auto* opt = graph->add_input();
  opt->set_name("o");
  addValue(graph->add_value_info(), "inner", 16, {3, 4});
  *opt->mutable_type()->mutable_optional_type()->mutable_elem_type() = seq->type();
  Loaded loaded(proto);
  INFO(loaded.messages());
  REQUIRE(loaded.ok());
  const auto& inputs = loaded.model().graph.inputs;
  CHECK(onnx::typeText(inputs[0].type) == "f32[batch,?,?]");
  CHECK(onnx::typeText(inputs[1].type) == "seq(i64[*])");
  CHECK(onnx::typeText(inputs[2].type) == "map(str,f32[*])");
  CHECK(onnx::typeText(inputs[3].type) == "optional(seq(i64[*]))");
  CHECK(onnx::typeText(loaded.model().graph.valueInfos[0].type) == "bf16[3,4]");
}

TEST_CASE("typed fields hold the same data as raw ones") {
  struct Row {
    DType type;
    std::vector<int64_t> dims;
    std::vector<uint8_t> bytes; // as raw_data
    std::function<void(pb::TensorProto&)> fill;
  };
  const std::vector<Row> rows = {
      {DType::F32,
       {2},
       {0, 0, 128, 63, 0, 0, 0, 192},
       [](auto& t) {
         t.add_float_data(1);
         t.add_float_data(-2);
       }},
      {DType::F64, {1}, {0, 0, 0, 0, 0, 0, 240, 63}, [](auto& t) { t.add_double_data(1); }},
      {DType::C64,
       {1},
       {0, 0, 128, 63, 0, 0, 0, 192},
       [](auto& t) {
         t.add_float_data(1);
         t.add_float_data(-2);
       }},
      {DType::I32,
       {2},
       {255, 255, 255, 255, 4, 3, 2, 1},
       [](auto& t) {
         t.add_int32_data(-1);
         t.add_int32_data(0x01020304);
       }},
      {DType::I64,
       {1},
       {254, 255, 255, 255, 255, 255, 255, 255},
       [](auto& t) { t.add_int64_data(-2); }},
      {DType::U64,
       {1},
       {255, 255, 255, 255, 255, 255, 255, 255},
       [](auto& t) { t.add_uint64_data(~uint64_t{0}); }},
      {DType::U32, {1}, {255, 255, 255, 255}, [](auto& t) { t.add_uint64_data(0xFFFFFFFF); }},
      {DType::I8,
       {3},
       {255, 2, 128},
       [](auto& t) {
         for (int v : {-1, 2, -128})
           t.add_int32_data(v);
       }},
      {DType::U16,
       {2},
       {255, 255, 1, 0},
       [](auto& t) {
         for (int v : {65535, 1})
           t.add_int32_data(v);
       }},
      {DType::Bool,
       {2},
       {1, 0},
       [](auto& t) {
         for (int v : {1, 0})
           t.add_int32_data(v);
       }},
      {DType::F16,
       {2},
       {0, 60, 0, 192},
       [](auto& t) {
         for (int v : {0x3C00, 0xC000})
           t.add_int32_data(v);
       }},
      {DType::BF16, {1}, {128, 63}, [](auto& t) { t.add_int32_data(0x3F80); }},
      {DType::F8E4M3FN,
       {2},
       {0x38, 0xC0},
       [](auto& t) {
         for (int v : {0x38, 0xC0})
           t.add_int32_data(v);
       }},
      {DType::I4,
       {3},
       {0x21, 0x0F},
       [](auto& t) {
         for (int v : {0x21, 0x0F})
           t.add_int32_data(v);
       }},
      {DType::U2,
       {5},
       {0xE4, 0x01},
       [](auto& t) {
         for (int v : {0xE4, 0x01})
           t.add_int32_data(v);
       }},
      {DType::F4E2M1, {2}, {0x72}, [](auto& t) { t.add_int32_data(0x72); }},
      // 6-bit floats come one to an entry but are packed as a stream of bits: 1, 63, 0, 32, 5.
      {DType::F6E2M3,
       {5},
       {0xC1, 0x0F, 0x80, 0x05},
       [](auto& t) {
         for (int v : {1, 63, 0, 32, 5})
           t.add_int32_data(v);
       }},
  };
  for (const Row& row : rows) {
    DYNAMIC_SECTION(dtypeName(row.type)) {
      pb::ModelProto proto = smallModel();
      auto* tensor = proto.mutable_graph()->add_initializer();
      tensor->set_name("t");
      tensor->set_data_type(static_cast<int>(row.type));
      for (int64_t d : row.dims)
        tensor->add_dims(d);
      row.fill(*tensor);
      setRaw(proto.mutable_graph()->add_initializer(), "raw", static_cast<int>(row.type), row.dims,
             row.bytes);
      Loaded loaded(proto);
      INFO(loaded.messages());
      REQUIRE(loaded.ok());
      for (const char* name : {"t", "raw"}) {
        const onnx::TensorData* t = loaded.model().graph.initializer(name);
        REQUIRE(t);
        CHECK(std::vector<uint8_t>(t->bytes.begin(), t->bytes.end()) == row.bytes);
      }
    }
  }
}

TEST_CASE("elements written one by one and in several chunks are joined") {
  // dims: 3, data_type 1; float_data as an unpacked entry, a packed pair; then once more as int64
  // with varints.
  std::string floats("\x08\x03\x10\x01\x42\x01"
                     "f"
                     "\x25\x00\x00\x80\x3f\x22\x08\x00\x00\x00\x40\x00\x00\x40\x40",
                     22);
  std::string ints("\x08\x03\x10\x07\x42\x01"
                   "i"
                   "\x38\x01\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x3a\x02\x80\x01",
                   24);
  pb::ModelProto proto = smallModel();
  std::string bytes = proto.SerializeAsString();
  // A second graph field is merged with the first; it holds just the initializers.
  std::string graph;
  for (const std::string& tensor : {floats, ints})
    graph += std::string("\x2a") + static_cast<char>(tensor.size()) + tensor;
  bytes += std::string("\x3a") + static_cast<char>(graph.size()) + graph;
  Loaded loaded(bytes);
  INFO(loaded.messages());
  REQUIRE(loaded.ok());
  const onnx::TensorData* f = loaded.model().graph.initializer("f");
  REQUIRE(f);
  for (int i = 0; i < 3; ++i)
    CHECK(loadDouble(f->bytes.data(), DType::F32, i) == i + 1);
  const onnx::TensorData* t = loaded.model().graph.initializer("i");
  REQUIRE(t);
  CHECK(loadInt(t->bytes.data(), DType::I64, 0) == 1);
  CHECK(loadInt(t->bytes.data(), DType::I64, 1) == -1);
  CHECK(loadInt(t->bytes.data(), DType::I64, 2) == 128);
}

TEST_CASE("tensors that do not fit their shape are refused by name") {
  pb::ModelProto proto = smallModel();
  auto* w = proto.mutable_graph()->mutable_initializer(0);
  SECTION("raw too short") {
    w->set_raw_data("abc");
    CHECK(Loaded(proto).says(
        "m.onnx: initializer 'w': error: f32[2] needs 8 bytes but raw_data has 3\n"));
  }
  SECTION("no data") {
    w->clear_raw_data();
    CHECK(Loaded(proto).says("f32[2] needs 8 bytes but the tensor has no data"));
  }
  SECTION("typed too short, and a shape that would be terabytes") {
    w->clear_raw_data();
    w->set_data_type(7);
    w->set_dims(0, int64_t{1} << 40);
    w->add_int64_data(3);
    CHECK(Loaded(proto).says("needs 1099511627776 entries of int64_data but there are fewer"));
  }
  SECTION("typed too long") {
    w->clear_raw_data();
    w->set_data_type(7);
    for (int i = 0; i < 3; ++i)
      w->add_int64_data(i);
    CHECK(Loaded(proto).says("needs 2 entries of int64_data but there are more"));
  }
  SECTION("in the wrong field") {
    w->clear_raw_data();
    w->add_int64_data(1);
    w->add_int64_data(1);
    CHECK(Loaded(proto).says("data of f32 is in int64_data; it belongs in float_data or raw_data"));
  }
  SECTION("twice") {
    w->add_float_data(1);
    CHECK(Loaded(proto).says("the tensor has both"));
  }
  SECTION("negative and overflowing shapes") {
    w->set_dims(0, -1);
    CHECK(Loaded(proto).says("a dimension of a constant is negative"));
    w->set_dims(0, int64_t{1} << 62);
    w->add_dims(int64_t{1} << 62);
    CHECK(Loaded(proto).says("the tensor is too large"));
  }
  SECTION("unknown type") {
    w->set_data_type(99);
    CHECK(Loaded(proto).says("unknown element type 99"));
  }
  SECTION("strings") {
    w->clear_raw_data();
    w->set_data_type(8);
    w->add_string_data("a");
    CHECK(Loaded(proto).says("str[2] needs 2 strings but string_data has 1"));
  }
  SECTION("nothing is needed for nothing") {
    w->clear_raw_data();
    w->set_dims(0, 0);
    addValue(proto.mutable_graph()->add_value_info(), "w", 1, {0});
    CHECK(Loaded(proto).ok());
  }
}

TEST_CASE("tensors inside attributes, subgraphs and functions stay in the file too") {
  pb::ModelProto proto = smallModel();
  std::vector<float> data(300, 0.5f);
  auto* constant = addNode(proto.mutable_graph()->add_node(), "Constant", {}, {"c"});
  setRaw(addAttribute(constant, "value", 4)->mutable_t(), "", 1, {300}, data);
  auto* body = addIf(proto.mutable_graph(), "x", "z", "if");
  body->set_name("then");
  auto* inner = addNode(body->add_node(), "Constant", {}, {"ci"});
  setRaw(addAttribute(inner, "value", 4)->mutable_t(), "", 1, {300}, data);
  addValue(body->add_output(), "ci", 1, {300});
  auto* function = proto.add_functions();
  function->set_name("F");
  function->set_domain("my");
  function->add_output("o");
  *function->add_opset_import() = proto.opset_import(0);
  setRaw(
      addAttribute(addNode(function->add_node(), "Constant", {}, {"o"}), "value", 4)->mutable_t(),
      "", 1, {300}, data);
  Loaded loaded(proto);
  INFO(loaded.messages());
  REQUIRE(loaded.ok());
  const onnx::Graph& graph = loaded.model().graph;
  const auto inFile = [&](const onnx::TensorData& t) {
    return t.bytes.size() == 1200 && t.bytes.data() > (const uint8_t*)loaded.bytes.data() &&
           t.bytes.data() < (const uint8_t*)loaded.bytes.data() + loaded.bytes.size();
  };
  CHECK(inFile(graph.nodes[2].attribute("value")->tensor()));
  const onnx::Graph& then = graph.nodes[3].attribute("then_branch")->graph();
  CHECK(inFile(then.nodes[0].attribute("value")->tensor()));
  CHECK(inFile(loaded.model().functions[0].nodes[0].attribute("value")->tensor()));
}

static pb::ModelProto externalModel(const std::string& location,
                                    std::vector<std::pair<std::string, std::string>> more = {}) {
  pb::ModelProto proto = smallModel();
  auto* w = proto.mutable_graph()->mutable_initializer(0);
  w->clear_raw_data();
  w->set_data_location(1);
  more.insert(more.begin(), {"location", location});
  for (const auto& [key, value] : more) {
    auto* entry = w->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return proto;
}

TEST_CASE("external data is mapped, and kept inside the folder of the model") {
  TempFolder folder;
  folder.write("w.bin", std::string("abcd\0\0\x80\x3f\0\0\0\x40", 12));
  folder.write("sub/w.bin", std::string(8, '\0'));
  const auto load = [&](const pb::ModelProto& proto) {
    Diagnostics diagnostics;
    auto file =
        onnx::OnnxFile::open(folder.write("m.onnx", proto.SerializeAsString()), diagnostics);
    return std::pair(std::move(file), diagnostics.str());
  };
  SECTION("offset and length") {
    auto [file, text] = load(externalModel("w.bin", {{"offset", "4"}, {"length", "8"}}));
    INFO(text);
    REQUIRE(file);
    const onnx::TensorData& w = file->model().graph.initializers[0];
    CHECK(loadDouble(w.bytes.data(), DType::F32, 0) == 1);
    CHECK(w.externalFile == "w.bin");
    REQUIRE(file->parts().size() == 2);
    CHECK(file->parts()[1].name == "w.bin");
    CHECK(file->sha256().size() == 64);
  }
  SECTION("below the folder, without a length, with a redundant dot") {
    CHECK(load(externalModel("sub/w.bin")).first);
    CHECK(load(externalModel("./sub/../w.bin")).second.find("goes up with '..'") !=
          std::string::npos);
    CHECK(load(externalModel("./sub/w.bin")).first);
  }
  SECTION("refused") {
    const auto refused = [&](const pb::ModelProto& proto, const std::string& why) {
      auto [file, text] = load(proto);
      INFO(text);
      CHECK(!file);
      CHECK(text.find("initializer 'w': error: ") != std::string::npos);
      CHECK(text.find(why) != std::string::npos);
    };
    refused(externalModel("/etc/passwd"), "the path is absolute");
    refused(externalModel("C:\\w.bin"), "the path is absolute");
    refused(externalModel("a\\w.bin"), "backslash");
    refused(externalModel("../w.bin"), "goes up with '..'");
    refused(externalModel(""), "the location is empty");
    refused(externalModel(std::string("w.bin\0x", 7)), "zero byte");
    refused(externalModel("none.bin"), "no such file beside the model");
    refused(externalModel("sub"), "it is a folder");
    refused(externalModel("w.bin", {{"offset", "5"}}), "reaches past the end of 'w.bin'");
    refused(externalModel("w.bin", {{"offset", "18446744073709551615"}}), "reaches past the end");
    refused(externalModel("w.bin", {{"offset", "-4"}}), "offset is '-4', not a number");
    refused(externalModel("w.bin", {{"length", "4"}}),
            "needs 8 bytes but its external data has length 4");
    TempFolder elsewhere;
    std::filesystem::create_symlink(elsewhere.write("w.bin", std::string(8, 'x')),
                                    folder / "link.bin");
    refused(externalModel("link.bin"), "a symbolic link leads out of the folder");
    std::filesystem::create_directory_symlink(elsewhere.path(), folder / "linked");
    refused(externalModel("linked/w.bin"), "a symbolic link leads out of the folder");
    // Not even of a folder whose name begins alike.
    std::filesystem::create_directory(folder.path() + "x");
    std::filesystem::copy(folder / "w.bin", folder.path() + "x/w.bin");
    std::filesystem::create_symlink(folder.path() + "x/w.bin", folder / "twin.bin");
    refused(externalModel("twin.bin"), "a symbolic link leads out of the folder");
    std::filesystem::remove_all(folder.path() + "x");
  }
  SECTION("a link that stays inside is fine") {
    std::filesystem::create_symlink("w.bin", folder / "in.bin");
    CHECK(load(externalModel("in.bin")).first);
  }
  SECTION("from memory there is no folder") {
    CHECK(Loaded(externalModel("w.bin")).says("the model has no folder"));
    CHECK(Loaded(externalModel("w.bin"), folder.path()).ok());
  }
}

TEST_CASE("the hash of a single file is what sha256sum prints") {
  TempFolder folder;
  Diagnostics diagnostics;
  std::string path = folder.write("m.onnx", smallModel().SerializeAsString());
  auto file = onnx::OnnxFile::open(path, diagnostics);
  REQUIRE(file);
  std::string printed(64, ' ');
  FILE* pipe = popen(("sha256sum " + path).c_str(), "r");
  REQUIRE(pipe);
  CHECK(fread(printed.data(), 1, 64, pipe) == 64);
  pclose(pipe);
  CHECK(file->sha256() == printed);
}

TEST_CASE("files that cannot be models") {
  TempFolder folder;
  const auto open = [](const std::string& path) {
    Diagnostics diagnostics;
    CHECK(!onnx::OnnxFile::open(path, diagnostics));
    CHECK(diagnostics.hasErrors());
    return diagnostics.str();
  };
  CHECK(open(folder / "none.onnx").find("no such file") != std::string::npos);
  CHECK(open(folder.path()).find("it is a folder") != std::string::npos);
  CHECK(open("/dev/null").find("not a regular file") != std::string::npos);
  CHECK(open(folder.write("empty", "")).find("the file is empty") != std::string::npos);
  CHECK(open(folder.write("text", "hello world")).find("error:") != std::string::npos);
}

// Bytes of this process that are neither file nor shared.
static size_t anonymousBytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string word; rollup >> word;)
    if (word == "Anonymous:") {
      size_t kib;
      rollup >> kib;
      return kib << 10;
    }
  return 0;
}

/// Writes a model whose initializer "big" holds `size` bytes in `field` of TensorProto, as a sparse
/// file.
static void writeSparse(const std::string& path, uint64_t size, uint32_t field, int type) {
  const auto varint = [](uint64_t v) {
    std::string s;
    for (; v >= 0x80; v >>= 7)
      s += static_cast<char>(v | 0x80);
    return s + static_cast<char>(v);
  };
  pb::TensorProto head;
  head.add_dims(static_cast<int64_t>(size / 4));
  head.set_data_type(type);
  head.set_name("big");
  std::string tensor = head.SerializeAsString() + varint(field << 3 | 2) + varint(size);
  std::string graph = varint(5 << 3 | 2) + varint(tensor.size() + size) + tensor;
  std::string model =
      smallModel().SerializeAsString() + varint(7 << 3 | 2) + varint(graph.size() + size) + graph;
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, model.data(), model.size()) == static_cast<ssize_t>(model.size()));
  REQUIRE(::ftruncate(fd, static_cast<off_t>(model.size() + size)) == 0);
  ::close(fd);
}

TEST_CASE("weights cost no memory of their own, raw or as packed floats, and may exceed 2 GiB") {
  TempFolder folder;
  const auto [size, field] =
      GENERATE(std::pair(uint64_t{100} << 20, 9u), std::pair(uint64_t{100} << 20, 4u),
               std::pair(uint64_t{5} << 30, 9u));
  writeSparse(folder / "m.onnx", size, field, 1);
  const size_t before = anonymousBytes();
  Diagnostics diagnostics;
  auto file = onnx::OnnxFile::open(folder / "m.onnx", diagnostics);
  INFO(diagnostics.str());
  REQUIRE(file);
  CHECK(file->model().graph.initializer("big")->bytes.size() == size);
  CHECK(anonymousBytes() - before < (uint64_t{1} << 20));
}

TEST_CASE("external weights cost no memory of their own either") {
  TempFolder folder;
  const uint64_t size = uint64_t{100} << 20;
  pb::ModelProto proto = externalModel("w.bin");
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, size / 4);
  folder.write("m.onnx", proto.SerializeAsString());
  folder.write("w.bin", "");
  std::filesystem::resize_file(folder / "w.bin", size);
  const size_t before = anonymousBytes();
  Diagnostics diagnostics;
  auto file = onnx::OnnxFile::open(folder / "m.onnx", diagnostics);
  INFO(diagnostics.str());
  REQUIRE(file);
  size_t sum = 0;
  for (uint8_t byte : file->model().graph.initializer("w")->bytes)
    sum += byte;
  CHECK(sum == 0);
  CHECK(anonymousBytes() - before < (uint64_t{1} << 20)); // also once all of it was read
}
