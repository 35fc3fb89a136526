// SPDX-License-Identifier: Apache-2.0
#include "codegen/bundle/Bundle.h"
#include "compiler/support/DType.h"
#include "compiler/support/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace ortc::codegen {

std::string resourceFolder() {
  if (const char* given = std::getenv("ORTC_SHARE_DIR")) return given;
  static int anchor;
  std::string exe = llvm::sys::fs::getMainExecutable("ortc", &anchor);
  llvm::SmallString<256> path(llvm::sys::path::parent_path(exe));
  llvm::sys::path::append(path, "..", "share", "ortc");
  llvm::sys::path::remove_dots(path, true);
  return path.str().str();
}

BundleFacts readFacts(ModuleOp program) {
  BundleFacts facts;
  llvm::StringMap<int64_t> dimIndex;
  auto run = program.lookupSymbol<func::FuncOp>("run");
  run.walk([&](DimOp dim) {
    if (dimIndex.try_emplace(dim.getName(), facts.dims.size()).second)
      facts.dims.push_back({dim.getName().str(), static_cast<int64_t>(dim.getMin()),
                            static_cast<int64_t>(dim.getMax()),
                            static_cast<int64_t>(dim.getMultipleOf())});
  });
  NameTable names; // of the parameters of `run` in the typed header, which has names of its own
  for (const char* own : {"inputs", "outputs", "context", "state"})
    names.reserve(own);
  auto read = [&](StringRef attr, std::vector<BundleIo>& list) {
    auto array = program->getAttrOfType<ArrayAttr>(attr);
    for (auto d : array.getAsRange<DictionaryAttr>()) {
      BundleIo io;
      io.name = d.getAs<StringAttr>("name").getValue().str();
      io.identifier = names.fresh(io.name);
      io.dtype = d.getAs<IntegerAttr>("dtype").getInt();
      if (auto dims = d.getAs<ArrayAttr>("dims"))
        for (Attribute s : dims) {
          if (auto fixed = dyn_cast<IntegerAttr>(s))
            io.shape.push_back({BundleDim::Fixed, fixed.getInt()});
          else if (auto name = dyn_cast<StringAttr>(s)) {
            auto [it, isNew] = dimIndex.try_emplace(name.getValue(), facts.dims.size());
            if (isNew) facts.dims.push_back({name.getValue().str()});
            io.shape.push_back({BundleDim::Named, it->second});
          } else
            io.shape.push_back({BundleDim::Computed, 0});
        }
      list.push_back(io);
    }
  };
  read("ortc.inputs", facts.inputs);
  read("ortc.outputs", facts.outputs);
  facts.weightsBytes = program->getAttrOfType<IntegerAttr>("ortc.weights_bytes").getInt();
  if (auto bytes = program->getAttrOfType<IntegerAttr>("ortc.arena_bytes"))
    facts.arenaBytes = bytes.getInt();
  return facts;
}

std::string outputBoundBody(StringRef name, bool computed) {
  return (computed ? "  if (const uint64_t bytes = sizes ? computed_bytes(index, sizes) : 0) "
                     "return bytes;\n"
                   : "") +
         fmt::format("  return output_bytes(*{}_model(), index, sizes);", name.str());
}

bool requireOutputBounds(ModuleOp program, Diagnostics& diagnostics) {
  llvm::DenseSet<int64_t> bounded;
  if (auto bounds = program.lookupSymbol<func::FuncOp>("output_bounds"))
    bounds.walk([&](OutputDimsOp op) { bounded.insert(op.getNumber()); });
  auto outputs = program->getAttrOfType<ArrayAttr>("ortc.outputs");
  bool all = true;
  for (auto [i, a] : llvm::enumerate(outputs ? outputs.getValue() : ArrayRef<Attribute>())) {
    auto output = cast<DictionaryAttr>(a);
    auto dims = output.getAs<ArrayAttr>("dims");
    if (!dims || bounded.contains(i) ||
        !llvm::any_of(dims, [](Attribute d) { return isa<UnitAttr>(d); }))
      continue;
    auto name = output.getAs<StringAttr>("name");
    diagnostics
        .error("",
               "the size of output '{}' depends on data and has no bound, which this target "
               "needs: it makes the memory of outputs before a run",
               name ? name.str() : std::string())
        .help("compile the model up to a tensor before it with --cut-outputs");
    all = false;
  }
  return all;
}

// ---- files ----

bool BundleWriter::write(StringRef path, StringRef text) {
  llvm::SmallString<256> full(request.folder);
  llvm::sys::path::append(full, path);
  if (auto e = llvm::sys::fs::create_directories(llvm::sys::path::parent_path(full))) {
    diagnostics.error("", "cannot make the folder of {}: {}", path.str(), e.message());
    return false;
  }
  std::error_code e;
  llvm::raw_fd_ostream os(full, e);
  if (!e) {
    os << text;
    os.close();
    e = os.error();
    os.clear_error();
  }
  if (e) {
    diagnostics.error("", "cannot write {}: {}", path.str(), e.message());
    return false;
  }
  written.push_back(path.str());
  return true;
}

bool BundleWriter::copyResource(StringRef resource, StringRef path) {
  llvm::SmallString<256> from(resourceFolder());
  llvm::sys::path::append(from, resource);
  auto buffer = llvm::MemoryBuffer::getFile(from);
  if (!buffer) {
    diagnostics
        .error("", "the installation lacks {}: {}", resource.str(), buffer.getError().message())
        .help("ortc looks for its files in ../share/ortc beside its own folder");
    return false;
  }
  return write(path, (*buffer)->getBuffer());
}

bool BundleWriter::copyRuntime(const std::set<std::string>& tags) {
  llvm::SmallString<256> list(resourceFolder());
  llvm::sys::path::append(list, "runtime_min", "FILES");
  auto buffer = llvm::MemoryBuffer::getFile(list);
  if (!buffer) {
    diagnostics.error("", "the installation lacks runtime_min/FILES: {}",
                      buffer.getError().message());
    return false;
  }
  SmallVector<StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, false);
  for (StringRef line : lines) {
    if (line.starts_with("#")) continue;
    SmallVector<StringRef> words;
    line.split(words, ' ', -1, false);
    if (words.empty() || llvm::none_of(ArrayRef(words).drop_front(),
                                       [&](StringRef w) { return tags.count(w.str()); }))
      continue;
    bool isPublic = llvm::is_contained(words, "public");
    StringRef name = llvm::sys::path::filename(words[0]);
    if (!copyResource(("runtime_min/" + words[0]).str(),
                      isPublic ? "include/ortc/" + name.str() : "runtime/" + words[0].str()))
      return false;
  }
  return true;
}

static std::string hex(ArrayRef<uint8_t> bytes) {
  return llvm::toHex(bytes, /*LowerCase=*/true);
}

bool BundleWriter::writeWeights(const Weights& weights) {
  std::string blob;
  llvm::raw_string_ostream os(blob);
  weights.write(os);
  auto hash =
      llvm::SHA256::hash(ArrayRef(reinterpret_cast<const uint8_t*>(blob.data()), blob.size()));
  digest = hex(hash);
  if (blob.empty()) return true;
  if (request.weights == "array") {
    // 64-bit words keep the alignment and the text short; the last one is filled up with zeros.
    std::string text =
        "// The weights as an array: for compilers without .incbin, and for flash.\n";
    text += "alignas(64) static const uint64_t weights_words[] = {";
    for (size_t i = 0; i < blob.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, blob.data() + i, std::min<size_t>(8, blob.size() - i));
      text += i % 48 ? " " : "\n    ";
      text += fmt::format("0x{:x}u,", word);
    }
    return write("weights/" + request.name + ".inc", text + "\n};\n");
  }
  if (request.weights == "file") {
    std::string head(64, '\0');
    std::memcpy(head.data(), "ortcwts1", 8);
    uint64_t n = blob.size();
    std::memcpy(head.data() + 8, &n, 8);
    std::memcpy(head.data() + 16, hash.data(), 32);
    blob = head + blob;
  }
  return write("weights/" + request.name + ".bin", blob);
}

// ---- headers ----

static std::string dtypeText(int64_t dtype) {
  return std::string(dtypeName(static_cast<DType>(dtype)));
}

static std::string shapeText(const BundleIo& io, const BundleFacts& facts) {
  std::string s = dtypeText(io.dtype) + "[";
  for (auto [i, d] : llvm::enumerate(io.shape)) {
    if (i) s += ",";
    s += d.kind == BundleDim::Fixed   ? std::to_string(d.value)
         : d.kind == BundleDim::Named ? escapeForComment(facts.dims[d.value].name)
                                      : "?";
  }
  return s + "]";
}

bool BundleWriter::writeHeaders(const BundleFacts& facts, StringRef target) {
  const std::string& n = request.name;
  std::string guard = llvm::StringRef(n).upper() + "_H";
  std::string ios;
  for (auto [i, io] : llvm::enumerate(facts.inputs))
    ios +=
        fmt::format(" *   input {}   {}  {}\n", i, escapeForComment(io.name), shapeText(io, facts));
  for (auto [i, io] : llvm::enumerate(facts.outputs))
    ios +=
        fmt::format(" *   output {}  {}  {}\n", i, escapeForComment(io.name), shapeText(io, facts));
  std::string names, forLevel;
  for (const BundleLevel& level : levels)
    names += (names.empty() ? "" : ", ") + level.processor;
  if (!levels.empty())
    forLevel = fmt::format(R"(
/* This bundle holds a program for each of {1}.
 * {0}_model() and the functions above use the first of them that the processor at hand can run; when
 * it can run none, create answers ORTC_UNSUPPORTED. This is the model for one of them by its name,
 * for tests and comparisons; with another name, or one that cannot run here, its create answers
 * ORTC_UNSUPPORTED. Two of them differ by rounding; each gives the same bits in every run. */
const ortc_model* {0}_model_for(const char* processor);
)",
                           n, names);
  std::string c = fmt::format(
      R"(/* {provenance}
 *
{ios} *
 * Target {target}. Weights {weights} bytes, arena {arena}.
 */
#ifndef {guard}
#define {guard}

#include "ortc/ortc.h"

#ifdef __cplusplus
extern "C" {{
#endif
#pragma GCC visibility push(default) /* the rest of a bundle is hidden */

/* All about this model, for generic callers; the functions below are the same as its members. */
const ortc_model* {n}_model(void);

ortc_status {n}_create(const ortc_options* options, ortc_context** context);
/* sizes[num_dims]: the largest that runs will have. */
ortc_status {n}_reserve(ortc_context* context, const int64_t* sizes);
ortc_status {n}_run(ortc_context* context, const ortc_tensor* inputs, ortc_tensor* outputs);
uint64_t {n}_output_bound(int32_t index, const int64_t* sizes);
const char* {n}_error(const ortc_context* context);
void {n}_destroy(ortc_context* context);
{levels}
#pragma GCC visibility pop
#ifdef __cplusplus
}}
#endif
#endif
)",
      fmt::arg("provenance", fmt::format("ortc {}. Do not edit: regenerate with `{}`.",
                                         ORTC_VERSION, escapeForComment(request.command))),
      fmt::arg("ios", ios), fmt::arg("target", target.str()),
      fmt::arg("weights", facts.weightsBytes),
      fmt::arg("arena", facts.arenaBytes ? fmt::format("{} bytes", *facts.arenaBytes)
                                         : std::string("as the sizes need (reserve)")),
      fmt::arg("guard", guard), fmt::arg("n", n), fmt::arg("levels", forLevel));
  if (!write(fmt::format("include/{0}/{0}.h", n), c)) return false;

  // The typed header: shapes are part of the signature.
  auto cType = [](int64_t dtype) -> std::string {
    switch (static_cast<DType>(dtype)) {
    case DType::F32: return "float";
    case DType::F64: return "double";
    case DType::F16: return "ortc_rt::float16";
    case DType::BF16: return "ortc_rt::bfloat16";
    case DType::Bool: return "bool";
    case DType::I8: return "int8_t";
    case DType::U8: return "uint8_t";
    case DType::I16: return "int16_t";
    case DType::U16: return "uint16_t";
    case DType::I32: return "int32_t";
    case DType::U32: return "uint32_t";
    case DType::I64: return "int64_t";
    case DType::U64: return "uint64_t";
    default: return "";
    }
  };
  bool typed = true;
  std::string params, ins, outs, fetch;
  auto view = [&](const BundleIo& io, bool isConst) {
    std::string t = cType(io.dtype);
    if (t.empty()) typed = false;
    std::string s = std::string("ortc_rt::tensor_view<") + (isConst ? "const " : "") + t;
    for (const BundleDim& d : io.shape)
      s += ", " +
           (d.kind == BundleDim::Fixed ? std::to_string(d.value) : std::string("ortc_rt::any"));
    return s + ">";
  };
  for (const BundleIo& io : facts.inputs)
    params += (params.empty() ? "" : ", ") + view(io, true) + " " + io.identifier,
        ins += (ins.empty() ? "" : ", ") + io.identifier + ".tensor()";
  for (const BundleIo& io : facts.outputs)
    params += (params.empty() ? "" : ", ") + view(io, false) + "& " + io.identifier,
        outs += (outs.empty() ? "" : ", ") + io.identifier + ".tensor()";
  if (!typed) return true; // strings, lists and maps have the C interface only
  std::string cpp = fmt::format(
      R"(// {provenance}
//
// The typed interface: a tensor of another type, rank or fixed size does not compile.
#ifndef {guard}PP
#define {guard}PP

#include "{n}/{n}.h"
#include "ortc/typed.hpp"

namespace {n} {{

class model {{
public:
  explicit model(const ortc_options* options = nullptr) : state({n}_create(options, &context)) {{}}
  ~model() {{ {n}_destroy(context); }}
  model(const model&) = delete;
  model& operator=(const model&) = delete;

  // ORTC_OK when create went well.
  ortc_status status() const {{ return state; }}
  const char* error() const {{ return {n}_error(context); }}
  ortc_status reserve(const int64_t* sizes) {{ return {n}_reserve(context, sizes); }}

  ortc_status run({params}) {{
    if (state != ORTC_OK) return state;
    const ortc_tensor inputs[] = {{{ins}}};
    ortc_tensor outputs[] = {{{outs}}};
    return {n}_run(context, inputs, outputs);
  }}

private:
  ortc_context* context = nullptr;
  ortc_status state;
}};

}} // namespace {n}
#endif
)",
      fmt::arg("provenance", fmt::format("ortc {}. Do not edit: regenerate with `{}`.",
                                         ORTC_VERSION, escapeForComment(request.command))),
      fmt::arg("guard", guard), fmt::arg("n", n), fmt::arg("params", params),
      fmt::arg("ins", ins.empty() ? "ortc_tensor{}" : ins),
      fmt::arg("outs", outs.empty() ? "ortc_tensor{}" : outs));
  return write(fmt::format("include/{0}/{0}.hpp", n), cpp);
}

std::string BundleWriter::ioTables(const BundleFacts& facts) {
  std::string text;
  auto list = [&](const std::vector<BundleIo>& ios, StringRef kind) {
    std::string table;
    for (auto [i, io] : llvm::enumerate(ios)) {
      std::string shape = "nullptr";
      if (!io.shape.empty()) {
        shape = fmt::format("{}_{}_shape", kind.str(), i);
        text += fmt::format("const int64_t {}[] = {{", shape);
        for (auto [k, d] : llvm::enumerate(io.shape))
          text +=
              (k ? ", " : "") + (d.kind == BundleDim::Fixed   ? std::to_string(d.value)
                                 : d.kind == BundleDim::Named ? fmt::format("~INT64_C({})", d.value)
                                                              : std::string("ORTC_COMPUTED"));
        text += "};\n";
      }
      table += fmt::format("    {{\"{}\", {}, {}, {}, 0, 0}},\n", escapeForString(io.name), shape,
                           io.shape.size(), io.dtype);
    }
    if (!table.empty()) text += fmt::format("const ortc_io {}s[] = {{\n{}}};\n", kind.str(), table);
  };
  list(facts.inputs, "input");
  list(facts.outputs, "output");
  if (!facts.dims.empty()) {
    text += "const ortc_dim dimensions[] = {\n";
    for (const BundleDimension& d : facts.dims)
      text += fmt::format("    {{\"{}\", {}, {}, {}}},\n", escapeForString(d.name), d.min,
                          d.max == INT64_MAX ? "INT64_MAX" : std::to_string(d.max), d.multipleOf);
    text += "};\n";
  }
  return text;
}

// ---- build files ----

bool BundleWriter::writeCMake(ArrayRef<std::string> sources, ArrayRef<std::string> compileOptions,
                              ArrayRef<std::string> extra) {
  const std::string& n = request.name;
  std::string list, options, more, dependencies;
  for (const std::string& s : sources)
    list += "  " + s + "\n";
  for (const std::string& o : compileOptions)
    options += " " + o;
  for (const std::string& e : extra)
    more += e + "\n";
  const auto joined = [](ArrayRef<std::string> words, const char* before) {
    std::string text;
    for (const std::string& w : words)
      text += before + w;
    return text;
  };
  if (!levels.empty())
    more +=
        "\n# One library of objects per level: its program and its own copy of the runtime. Their "
        "names "
        "carry the\n# level, so that nothing compiled for one processor is ever linked into the "
        "program for another.\n";
  for (const BundleLevel& level : levels)
    more += fmt::format(
        R"(add_library({p} OBJECT{sources})
target_compile_features({p} PRIVATE cxx_std_17)
set_target_properties({p} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
target_include_directories({p} PRIVATE include runtime)
target_compile_options({p} PRIVATE -O3{options})
target_compile_definitions({p} PRIVATE ORTC_RT_PREFIX={p})
target_sources({n} PRIVATE $<TARGET_OBJECTS:{p}>)
)",
        fmt::arg("p", level.prefix), fmt::arg("n", n),
        fmt::arg("sources", joined(level.sources, "\n  ")),
        fmt::arg("options", joined(level.compileOptions, " ") + options));
  // By their plain names: packages of distributions do not always bring a CMake package that works.
  for (const BundleLibrary& library : libraries) {
    const std::string variable = n + "_" + library.link;
    const std::string missing = fmt::format("{} calls {}, and no library {} was found ({})", n,
                                            library.name, library.link, library.origin);
    more +=
        fmt::format("find_library({0} {1})\nif(NOT {0})\n  message(FATAL_ERROR \"{2}\")\nendif()\n"
                    "target_link_libraries({3} PUBLIC {1})\n",
                    variable, library.link, missing, n);
    dependencies += fmt::format("find_library({0} {1})\nif(NOT {0})\n  set({2}_FOUND FALSE)\n  "
                                "set({2}_NOT_FOUND_MESSAGE \"{3}\")\n  return()\nendif()\n",
                                variable, library.link, n, missing);
  }
  bool incbin = request.weights == "embed";
  std::string text = fmt::format(
      R"(# {command}
# Use with add_subdirectory, or install and find_package({n}); the target is {n}::{n} either way.
cmake_minimum_required(VERSION 3.16)
project({n} VERSION 1.0.0 LANGUAGES CXX)

add_library({n} STATIC
{list})
add_library({n}::{n} ALIAS {n})
target_compile_features({n} PUBLIC cxx_std_17)
set_target_properties({n} PROPERTIES POSITION_INDEPENDENT_CODE {pic} CXX_EXTENSIONS OFF)
target_include_directories({n}
  PUBLIC $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/include> $<INSTALL_INTERFACE:include>
  PRIVATE runtime{weightsFolder})
target_compile_options({n} PRIVATE -O3{options})
target_compile_definitions({n} PRIVATE ORTC_RT_PREFIX={n})
{embed}{system}{more}
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS {n} EXPORT {n}Targets ARCHIVE DESTINATION ${{CMAKE_INSTALL_LIBDIR}} LIBRARY DESTINATION ${{CMAKE_INSTALL_LIBDIR}})
install(DIRECTORY include/ DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})
{installWeights}install(EXPORT {n}Targets NAMESPACE {n}:: DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{n})
configure_package_config_file({n}Config.cmake.in ${{CMAKE_CURRENT_BINARY_DIR}}/{n}Config.cmake
  INSTALL_DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{n})
write_basic_package_version_file(${{CMAKE_CURRENT_BINARY_DIR}}/{n}ConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{n}Config.cmake ${{CMAKE_CURRENT_BINARY_DIR}}/{n}ConfigVersion.cmake
  DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{n})
)",
      fmt::arg("command", request.command), fmt::arg("n", n), fmt::arg("list", list),
      fmt::arg("options", options), fmt::arg("more", more), fmt::arg("pic", hosted ? "ON" : "OFF"),
      fmt::arg("system",
               hosted ? fmt::format("find_package(Threads REQUIRED)\ntarget_link_libraries({} "
                                    "PUBLIC Threads::Threads ${{CMAKE_DL_LIBS}})\n",
                                    n)
                      : ""),
      // The source includes "weights/NAME.inc".
      fmt::arg("weightsFolder", request.weights == "array" ? " ${CMAKE_CURRENT_SOURCE_DIR}" : ""),
      fmt::arg("embed",
               incbin
                   ? fmt::format(
                         "# .incbin looks for the weights here, and a change of them rebuilds.\n"
                         "set_source_files_properties(src/{0}.cpp PROPERTIES\n  COMPILE_OPTIONS "
                         "\"-I${{CMAKE_CURRENT_SOURCE_DIR}};-Wa,-I${{CMAKE_CURRENT_SOURCE_DIR}}\"\n"
                         "  OBJECT_DEPENDS \"${{CMAKE_CURRENT_SOURCE_DIR}}/manifest.json\")\n",
                         n)
                   : ""),
      fmt::arg(
          "installWeights",
          request.weights == "file"
              ? fmt::format(
                    "install(FILES weights/{0}.bin DESTINATION ${{CMAKE_INSTALL_DATADIR}}/{0})\n",
                    n)
              : ""));
  std::string config = fmt::format(
      "@PACKAGE_INIT@\n{1}{2}include(\"${{CMAKE_CURRENT_LIST_DIR}}/{0}Targets.cmake\")\n", n,
      hosted ? "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n" : "", dependencies);
  return write("CMakeLists.txt", text) && write(n + "Config.cmake.in", config);
}

bool BundleWriter::writeManifest(const BundleFacts& facts, const ProgramFacts& program,
                                 ModuleOp module, const TargetInfo& target,
                                 ArrayRef<std::string> sources,
                                 ArrayRef<std::string> compileOptions) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream j(os, 1);
  auto strings = [&](StringRef key, ArrayRef<std::string> list) {
    j.attributeArray(key, [&] {
      for (const std::string& s : list)
        j.value(llvm::json::fixUTF8(s));
    });
  };
  auto ios = [&](StringRef key, const std::vector<BundleIo>& list) {
    j.attributeArray(key, [&] {
      for (const BundleIo& io : list)
        j.object([&] {
          j.attribute("name", llvm::json::fixUTF8(io.name));
          j.attribute("type", dtypeText(io.dtype));
          j.attributeArray("dims", [&] {
            for (const BundleDim& d : io.shape) {
              if (d.kind == BundleDim::Fixed)
                j.value(d.value);
              else if (d.kind == BundleDim::Named)
                j.value(llvm::json::fixUTF8(facts.dims[d.value].name));
              else
                j.value(nullptr);
            }
          });
        });
    });
  };
  // What planning and selection have to say of a program.
  auto programOf = [&](ModuleOp of, const ProgramFacts& its) {
    if (its.arenaBytes) {
      j.attribute("arena_bytes", *its.arenaBytes);
      j.attribute("largest_live_set_bytes", its.largestLiveSet);
    } else {
      j.attribute("arena_bytes", nullptr);
    }
    j.attribute("copies", its.copies);
    j.attribute("launches", its.launches);
    j.attributeArray("kernels", [&] {
      for (auto f : of.getOps<func::FuncOp>()) {
        if (!f->hasAttr("ortc.kernel")) continue;
        j.object([&] {
          j.attribute("name", f.getName());
          if (auto choice = f->getAttrOfType<DictionaryAttr>("ortc.choice")) {
            j.attribute("choice", choice.getAs<StringAttr>("kernel").getValue());
            if (auto cost = choice.getAs<FloatAttr>("cost_us"))
              j.attribute("cost_us", cost.getValueAsDouble());
            if (auto chosen = choice.getAs<StringAttr>("in_place_of"))
              j.attribute("in_place_of", chosen.getValue());
            if (auto next = choice.getAs<StringAttr>("next")) {
              j.attribute("next", next.getValue());
              j.attribute("next_us", choice.getAs<FloatAttr>("next_us").getValueAsDouble());
            }
          }
          j.attributeArray("nodes", [&] {
            for (auto node : f->getAttrOfType<ArrayAttr>("ortc.nodes").getAsRange<StringAttr>())
              j.value(llvm::json::fixUTF8(node.getValue()));
          });
        });
      }
    });
  };
  j.object([&] {
    j.attribute("generator", "ortc");
    j.attribute("version", ORTC_VERSION);
    j.attribute("schema", 1);
    j.attribute("abi", 1);
    j.attribute("name", request.name);
    j.attribute("target", target.name());
    j.attribute("model", llvm::json::fixUTF8(request.modelFile));
    j.attribute("model_sha256", request.sha256);
    j.attribute("command", llvm::json::fixUTF8(request.command));
    ios("inputs", facts.inputs);
    ios("outputs", facts.outputs);
    j.attributeArray("dims", [&] {
      for (const BundleDimension& d : facts.dims)
        j.object([&] {
          j.attribute("name", llvm::json::fixUTF8(d.name));
          j.attribute("min", d.min);
          if (d.max != INT64_MAX)
            j.attribute("max", d.max);
          else
            j.attribute("max", nullptr);
        });
    });
    j.attribute("weights_bytes", static_cast<int64_t>(facts.weightsBytes));
    j.attribute("weights", request.weights);
    j.attribute("weights_sha256", digest);
    if (levels.empty()) {
      programOf(module, program);
    } else {
      j.attributeArray("levels", [&] {
        for (const BundleLevel& level : levels)
          j.object([&] {
            j.attribute("processor", level.processor);
            strings("needs", level.needs);
            programOf(level.module, *level.program);
          });
      });
    }
    j.attributeArray("host_steps",
                     [&] { module.walk([&](HostStepOp step) { j.value(step.getStep()); }); });
    j.attributeArray("sources", [&] {
      for (const std::string& source : sources)
        j.value(source);
      for (const BundleLevel& level : levels)
        for (const std::string& source : level.sources)
          j.object([&] {
            j.attribute("path", source);
            std::vector<std::string> options = level.compileOptions;
            options.push_back("-DORTC_RT_PREFIX=" + level.prefix);
            strings("compile_options", options);
          });
    });
    strings("compile_options", compileOptions);
    if (!needs.empty()) strings("needs", needs);
    if (!libraries.empty())
      j.attributeArray("libraries", [&] {
        for (const BundleLibrary& library : libraries)
          j.value(library.link);
      });
    strings("include_dirs", {"include"});
    strings("private_include_dirs", {"runtime"});
    strings("notes", request.notes);
    // What may be replaced when the bundle is written anew; the manifest itself goes without
    // saying.
    std::vector<std::string> files = written;
    llvm::sort(files);
    strings("files", files);
  });
  os << "\n";
  return write("manifest.json", os.str());
}

} // namespace ortc::codegen
