// SPDX-License-Identifier: Apache-2.0
#include "bench/Bundle.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace fs = std::filesystem;

namespace ortc::bench {
namespace {

std::string quoted(const std::string& text) {
  std::string r = "'";
  for (char c : text)
    r += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return r + "'";
}

std::string readAll(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

void shell(const std::string& command, const std::string& log) {
  if (std::system(("{ " + command + "; } > " + quoted(log) + " 2>&1").c_str()) == 0) return;
  std::string text = readAll(log);
  // The first line that names an error says most.
  size_t at = text.find("error:");
  if (at != std::string::npos) {
    size_t begin = text.rfind('\n', at);
    text = text.substr(begin == std::string::npos ? 0 : begin + 1);
    text = text.substr(0, text.find('\n'));
  }
  throw std::runtime_error(text.empty() ? "failed: " + command : text);
}

} // namespace

std::string buildBundle(const BuildRequest& r) {
  fs::create_directories(r.folder);
  const std::string bundle = r.folder + "/bundle", log = r.folder + "/log.txt",
                    library = r.folder + "/build/libmodel_run.so";
  std::string command = fmt::format("{} compile {} --target=cpu --name=model -o {}", quoted(r.ortc),
                                    quoted(r.model), quoted(bundle + ".new"));
  for (const std::string& f : r.flags)
    command += " " + quoted(f);
  fs::remove_all(bundle + ".new");
  shell(command, log);
  // Equal files keep their times, so that only what changed is built again.
  for (const auto& e : fs::recursive_directory_iterator(bundle + ".new")) {
    if (!e.is_regular_file()) continue;
    fs::path target = fs::path(bundle) / fs::relative(e.path(), bundle + ".new");
    if (fs::exists(target) && fs::file_size(target) == e.file_size() &&
        readAll(target) == readAll(e.path()))
      continue;
    fs::create_directories(target.parent_path());
    fs::copy_file(e.path(), target, fs::copy_options::overwrite_existing);
  }
  // What the compiler no longer writes must not stay.
  std::vector<fs::path> stale;
  for (const auto& e : fs::recursive_directory_iterator(bundle))
    if (e.is_regular_file() &&
        !fs::exists(fs::path(bundle + ".new") / fs::relative(e.path(), bundle)))
      stale.push_back(e.path());
  for (const fs::path& p : stale)
    fs::remove(p);
  fs::remove_all(bundle + ".new");
  writeBundleProject(r.folder);
  shell(fmt::format("cmake -S {} -B {} -DCMAKE_BUILD_TYPE=Release && cmake --build {} -j",
                    quoted(r.folder), quoted(r.folder + "/build"), quoted(r.folder + "/build")),
        log);
  return library;
}

void writeBundleProject(const std::string& folder) {
  const std::string project = folder + "/CMakeLists.txt";
  const std::string text =
      "cmake_minimum_required(VERSION 3.16)\nproject(run CXX)\nadd_subdirectory(bundle)\n"
      "file(WRITE ${CMAKE_BINARY_DIR}/empty.cpp \"\")\nadd_library(model_run SHARED "
      "${CMAKE_BINARY_DIR}/empty.cpp)\n"
      "target_link_libraries(model_run PRIVATE -Wl,--whole-archive model::model "
      "-Wl,--no-whole-archive)\n";
  if (readAll(project) != text) std::ofstream(project) << text;
}

CodeSize codeSize(const std::string& library) {
  CodeSize size;
  const std::string bytes = readAll(library);
  if (bytes.size() < sizeof(Elf64_Ehdr) || memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) return size;
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (header.e_shoff + sections.size() * sizeof(Elf64_Shdr) > bytes.size()) return size;
  memcpy(sections.data(), bytes.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& s : sections) {
    const char* name = bytes.data() + sections[header.e_shstrndx].sh_offset + s.sh_name;
    if (!strcmp(name, ".text")) size.text += s.sh_size;
    if (!strcmp(name, ".rodata")) size.rodata += s.sh_size;
  }
  return size;
}

Bundle::Bundle(const std::string& library, const std::string& weights, int threads) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(dlerror());
  auto describe = reinterpret_cast<const ortc_model* (*)()>(dlsym(handle, "model_model"));
  if (!describe) throw std::runtime_error(dlerror());
  model = describe();
  ortc_options options{};
  options.size = sizeof options;
  options.threads = threads;
  if (!weights.empty()) options.weights_path = weights.c_str();
  if (ortc_status s = model->create(&options, &context)) fail(s);
}

Bundle::~Bundle() {
  if (context) model->destroy(context);
  for (void* p : memory)
    free(p);
}

void Bundle::fail(ortc_status status) const {
  throw std::runtime_error(
      fmt::format("{}: {}", ortc_status_name(status), context ? model->error(context) : ""));
}

void* Bundle::allocate(size_t bytes) {
  void* p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  memset(p, 0, bytes);
  memory.push_back(p);
  return p;
}

void Bundle::prepare(const std::vector<CaseValue>& values) {
  if (static_cast<int32_t>(values.size()) != model->num_inputs)
    throw std::runtime_error(
        fmt::format("the bundle has {} inputs, the data set {}", model->num_inputs, values.size()));
  dims.reserve(values.size() + static_cast<size_t>(model->num_outputs));
  std::vector<int64_t> sizes;
  for (int32_t i = 0; i < model->num_dims; ++i)
    sizes.push_back(model->dims[i].min);
  for (size_t i = 0; i < values.size(); ++i) {
    const CaseTensor& t = values[i].tensor;
    if (!values[i].isTensor() || t.dtype == DType::String)
      throw std::runtime_error("inputs that are no tensors of numbers are not timed");
    dims.push_back(t.dims);
    dims.back().push_back(0); // never a null pointer
    void* data = allocate(t.bytes.size());
    if (!t.bytes.empty()) memcpy(data, t.bytes.data(), t.bytes.size());
    in.push_back({data, dims.back().data(), t.bytes.size(), static_cast<int32_t>(t.dims.size()),
                  static_cast<ortc_dtype>(t.dtype), ORTC_HOST, 0});
    const ortc_io& io = model->inputs[i];
    for (int32_t d = 0; d < io.rank && d < static_cast<int32_t>(t.dims.size()); ++d)
      if (io.shape[d] < 0 && io.shape[d] != ORTC_COMPUTED)
        sizes[static_cast<size_t>(~io.shape[d])] = t.dims[static_cast<size_t>(d)];
  }
  if (model->arena_bytes == UINT64_MAX)
    if (ortc_status s = model->reserve(context, sizes.empty() ? nullptr : sizes.data())) fail(s);
  for (int32_t i = 0; i < model->num_outputs; ++i) {
    const ortc_io& io = model->outputs[i];
    if (io.dtype >= ORTC_LIST || io.dtype == ORTC_STRING)
      throw std::runtime_error("outputs that are no tensors of numbers are not timed");
    dims.push_back(std::vector<int64_t>(static_cast<size_t>(io.rank) + 1));
    uint64_t bytes = model->output_bound(i, sizes.data());
    if (!bytes) bytes = 1 << 20;
    out.push_back({allocate(bytes), dims.back().data(), bytes, io.rank, io.dtype, ORTC_HOST, 0});
  }
}

std::vector<CaseValue> Bundle::outputs() const {
  std::vector<CaseValue> r;
  for (const ortc_tensor& t : out) {
    CaseTensor one = CaseTensor::zeros(static_cast<DType>(t.dtype), {t.dims, t.dims + t.rank});
    if (!one.bytes.empty()) memcpy(one.bytes.data(), t.data, one.bytes.size());
    r.emplace_back(std::move(one));
  }
  return r;
}

} // namespace ortc::bench
