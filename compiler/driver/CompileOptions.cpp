// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/CompileOptions.h"
#include <charconv>

namespace ortc::driver {
namespace {

std::optional<int64_t> parseInt(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// "name=rest", split at the last '=': names may hold one, sizes cannot.
std::pair<std::string, std::string> splitName(const std::string& text, const char* flag,
                                              const char* form) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0)
    throw UsageError{fmt::format("{} '{}' is not of the form {}", flag, text, form), ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::pair<std::string, std::vector<int64_t>> parseShape(const std::string& text) {
  auto [name, rest] = splitName(text, "--shape", "NAME=1x3x224x224");
  std::vector<int64_t> sizes;
  if (rest == "none") return {name, {ImportOptions::kNone}};
  size_t at = 0;
  while (!rest.empty() && at <= rest.size()) {
    size_t next = std::min(rest.find('x', at), rest.size());
    std::string one = rest.substr(at, next - at);
    std::optional<int64_t> size = one == "?" ? std::optional<int64_t>(-1) : parseInt(one);
    if (!size || (*size < 0 && one != "?"))
      throw UsageError{fmt::format("--shape of '{}': '{}' is not a size", name, one),
                       "write sizes as 1x3x224x224, and ? for one that stays free"};
    sizes.push_back(*size);
    at = next + 1;
  }
  return {name, sizes};
}

std::pair<std::string, std::pair<int64_t, int64_t>> parseDim(const std::string& text) {
  auto [name, rest] = splitName(text, "--dim", "NAME=LOW..HIGH or NAME=SIZE");
  size_t dots = rest.find("..");
  std::optional<int64_t> low = parseInt(rest.substr(0, std::min(dots, rest.size())));
  std::optional<int64_t> high = dots == std::string::npos ? low : parseInt(rest.substr(dots + 2));
  if (!low || !high || *low < 0 || *high < *low)
    throw UsageError{
        fmt::format("--dim of '{}': '{}' is not a size or a range of sizes", name, rest),
        "write 8 or 1..32"};
  return {name, {*low, *high}};
}

} // namespace

std::optional<uint64_t> parseBytes(const std::string& text) {
  size_t digits = 0;
  while (digits < text.size() && isdigit(static_cast<unsigned char>(text[digits])))
    ++digits;
  std::optional<int64_t> value = parseInt(text.substr(0, digits));
  if (!value) return std::nullopt;
  const std::string unit = text.substr(digits);
  for (auto [name, factor] : {std::pair<const char*, uint64_t>{"", 1},
                              {"B", 1},
                              {"KiB", 1u << 10},
                              {"MiB", 1u << 20},
                              {"GiB", 1u << 30},
                              {"kB", 1000},
                              {"MB", 1000000},
                              {"GB", 1000000000}})
    if (unit == name && static_cast<uint64_t>(*value) <= UINT64_MAX / factor)
      return static_cast<uint64_t>(*value) * factor;
  return std::nullopt;
}

void addCompileOptions(CLI::App& command, CompileOptions& o, bool builds) {
  command
      .add_option("--target", o.target, "What to compile for; `ortc doctor` lists what is there")
      ->type_name("T");
  command
      .add_option(
          "--mcpu", o.processors,
          "Processors by name, e.g. x86-64-v3 or sm_80,sm_90; several: one bundle for all of them")
      ->delimiter(',')
      ->type_name("LIST");
  command
      .add_option("--name", o.name,
                  "Prefix of all symbols, and the bundle's name (default: from the file's name)")
      ->type_name("N");
  command
      .add_option(
          "--shape", o.shapes,
          builds
              ? "Sizes of an input: x=1x3x224x224, ? stays free; of a sequence: x[0]=3, x[1]=4; of "
                "an optional without a value: x=none; from-data: as the case's data"
              : "Sizes of an input: x=1x3x224x224, ? stays free; of a sequence: x[0]=3, x[1]=4; of "
                "an optional without a value: x=none")
      ->type_name("X=SIZES")
      ->allow_extra_args(false);
  command
      .add_option("--dim", o.dims, "Bounds of a named dimension: batch=1..32, or its size: batch=8")
      ->type_name("N=RANGE")
      ->allow_extra_args(false);
  command.add_option("--cut-inputs", o.cutInputs, "Values of the graph that become its inputs")
      ->delimiter(',')
      ->type_name("A,B");
  command.add_option("--cut-outputs", o.cutOutputs, "Values of the graph that become its outputs")
      ->delimiter(',')
      ->type_name("A,B");
  command
      .add_option("--weights", o.weights,
                  "Where weights go: embed (linked in), file (mapped), array (const arrays)")
      ->check(CLI::IsMember({"embed", "file", "array"}))
      ->type_name("HOW");
  command
      .add_option(
          "--numerics", o.numerics,
          "strict: plain sums only; default: also Winograd's convolutions, which are faster "
          "and round more")
      ->check(CLI::IsMember({"strict", "default"}))
      ->type_name("HOW");
  command.add_option("--with", o.with, "Libraries that may be used, e.g. onednn")
      ->delimiter(',')
      ->type_name("LIB");
  command.add_option("--max-ram", o.maxRam, "Fail when more memory is needed: 64KiB")
      ->type_name("B");
  command.add_option("--max-flash", o.maxFlash, "Fail when weights and code take more: 256KiB")
      ->type_name("B");
  std::string stages;
  for (const std::string& s : stageNames())
    stages += (stages.empty() ? "" : ", ") + s;
  command.add_option("--emit-ir", o.emitIr, "Print the IR after a stage and stop: " + stages)
      ->type_name("STAGE");
  command.add_flag("--explain", o.explain, "Print which kernel was chosen for what, and why");
  command.add_flag("--print-changed", o.printChanged, "Print the IR after each stage to stderr");
  if (!builds) return;
  command.add_flag("--emulate", o.emulate, "Run a GPU bundle on an emulator, without the device");
  command.add_flag(
      "--sanitize", o.sanitize,
      "With --emulate: also report races, accesses out of bounds, values never written");
  command
      .add_option("--cxx", o.cxx, "C++ compiler (default: CXX, then g++ or clang++ on the PATH)")
      ->type_name("PATH");
  command.add_flag("--no-cache", o.noCache, "Build anew, and keep nothing");
}

PipelineOptions pipelineOptions(const CompileOptions& o) {
  PipelineOptions p;
  for (const std::string& text : o.shapes) {
    auto [name, sizes] = parseShape(text);
    if (!p.import.shapes.emplace(name, sizes).second)
      throw UsageError{fmt::format("--shape is given twice for '{}'", name), ""};
  }
  for (const std::string& text : o.dims) {
    auto [name, range] = parseDim(text);
    if (!p.import.dims.emplace(name, range).second)
      throw UsageError{fmt::format("--dim is given twice for '{}'", name), ""};
  }
  p.import.cutInputs = o.cutInputs;
  p.import.cutOutputs = o.cutOutputs;
  std::vector<std::string> stages = stageNames();
  if (!o.emitIr.empty() && std::find(stages.begin(), stages.end(), o.emitIr) == stages.end()) {
    std::string list;
    for (const std::string& s : stages)
      list += (list.empty() ? "" : ", ") + s;
    throw UsageError{fmt::format("--emit-ir: there is no stage '{}'", o.emitIr),
                     "stages are " + list};
  }
  p.emitIr = o.emitIr;
  p.explain = o.explain;
  p.printChanged = o.printChanged;
  return p;
}

std::unique_ptr<TargetInfo> targetOf(const CompileOptions& o) {
  if (o.isReference()) return nullptr;
  std::unique_ptr<TargetInfo> target = createTarget(o.target);
  if (!target) {
    std::string known = "reference";
    for (auto& [name, summary] : targetNames())
      known += ", " + name;
    throw UsageError{o.target.empty() ? "--target is missing"
                                      : fmt::format("there is no target '{}'", o.target),
                     "targets are " + known};
  }
  return target;
}

std::string defaultTarget() {
  return createTarget("cpu") ? "cpu" : "reference";
}

void checkCompileOptions(const CompileOptions& o, TargetInfo* target) {
  const auto refuse = [&](bool given, const char* flag, const char* why) {
    if (given)
      throw UsageError{fmt::format("{} has no effect on target '{}': {}", flag, o.target, why), ""};
  };
  if (!target) { // the reference evaluates tensor IR: there are no kernels, no weights and no build
    const char* why = "it evaluates the model, nothing is emitted";
    refuse(!o.processors.empty(), "--mcpu", why);
    refuse(!o.weights.empty(), "--weights", why);
    refuse(!o.numerics.empty(), "--numerics", why);
    refuse(!o.with.empty(), "--with", why);
    refuse(!o.maxRam.empty(), "--max-ram", why);
    refuse(!o.maxFlash.empty(), "--max-flash", why);
    refuse(!o.name.empty(), "--name", why);
    refuse(o.explain, "--explain", "no kernels are chosen");
    refuse(o.emulate, "--emulate", "there is no device");
    refuse(o.sanitize, "--sanitize", "there is no device");
    refuse(!o.cxx.empty(), "--cxx", why);
    refuse(o.noCache, "--no-cache", why);
    return;
  }
  std::string error;
  if (!target->setProcessors(o.processors, error))
    throw UsageError{
        error.empty() ? fmt::format("--mcpu has no effect on target '{}'", o.target) : error, ""};
  const std::vector<std::string> forms = target->weightsForms();
  if (!o.weights.empty() && std::find(forms.begin(), forms.end(), o.weights) == forms.end()) {
    std::string known;
    for (const std::string& f : forms)
      known += (known.empty() ? "--weights=" : ", ") + f;
    throw UsageError{fmt::format("--weights={} has no effect on target '{}'", o.weights, o.target),
                     known.empty() ? "leave it out: there is one way only" : "it has " + known};
  }
  if (!o.numerics.empty() && !target->setStrict(o.numerics == "strict"))
    throw UsageError{
        fmt::format("--numerics has no effect on target '{}': its sums are always plain", o.target),
        ""};
  if (!target->allowLibraries(o.with, error))
    throw UsageError{
        error.empty()
            ? fmt::format("--with={} has no effect on target '{}': it has no kernels of libraries",
                          o.with[0], o.target)
            : error,
        ""};
  for (auto [text, flag] : {std::pair{&o.maxRam, "--max-ram"}, {&o.maxFlash, "--max-flash"}})
    if (!text->empty() && !parseBytes(*text))
      throw UsageError{fmt::format("{}: '{}' is not a number of bytes", flag, *text),
                       "write 65536, 64KiB or 1MiB"};
}

} // namespace ortc::driver
