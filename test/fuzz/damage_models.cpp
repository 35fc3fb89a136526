// SPDX-License-Identifier: Apache-2.0
// Damages models that are otherwise fine and compiles what is left, each in a process of its own:
// whatever a file holds, the compiler must end with a result or a message, within limits of time
// and memory.
//
//   damage_models [--seed N] [--tries N] [--largest BYTES] FOLDER...
//
// Prints the seed and, for each crash, the file it leaves for looking at. Exit code 1 when there
// was one.
#include "compiler/cases/RandomInputs.h"
#include "compiler/driver/EmitBundle.h"
#include "compiler/driver/Session.h"
#include "compiler/driver/WorkerPool.h"
#include "compiler/import/OnnxFile.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace ortc;

namespace {

std::string damaged(std::string bytes, std::mt19937_64& random) {
  auto below = [&](size_t n) { return static_cast<size_t>(random() % std::max<size_t>(n, 1)); };
  switch (random() % 8) {
  case 0: bytes.resize(below(bytes.size())); break; // cut off
  case 1: {                                         // a piece twice
    size_t at = below(bytes.size()), length = below(std::min<size_t>(64, bytes.size() - at));
    bytes.insert(at, bytes.substr(at, length));
    break;
  }
  case 2: { // a piece gone
    size_t at = below(bytes.size());
    bytes.erase(at, below(16) + 1);
    break;
  }
  default: // flips, near the front mostly: that is where the graph is, weights are behind
    for (size_t i = 0, n = 1 + below(6); i < n && !bytes.empty(); ++i) {
      size_t reach = random() % 2 ? bytes.size() : std::min<size_t>(bytes.size(), 4096);
      char& c = bytes[below(reach)];
      c = random() % 2 ? static_cast<char>(c ^ (1 << below(8))) : static_cast<char>(random());
    }
  }
  return bytes;
}

} // namespace

int main(int argc, char** argv) {
  uint64_t seed = std::random_device()(), tries = 2000, largest = 200'000;
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    uint64_t* number = word == "--seed"      ? &seed
                       : word == "--tries"   ? &tries
                       : word == "--largest" ? &largest
                                             : nullptr;
    if (number) {
      *number = i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0;
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(word))
      if (entry.path().extension() == ".onnx" && entry.is_regular_file() &&
          entry.file_size() <= largest)
        models.push_back(entry.path().string());
  }
  std::sort(models.begin(), models.end());
  if (models.empty()) {
    fmt::print(stderr, "no models of at most {} bytes\n", largest);
    return 2;
  }
  fmt::print("seed {}, {} models\n", seed, models.size());
  fflush(stdout);

  driver::CompileOptions compile;
  compile.target = "null";
  std::unique_ptr<TargetInfo> target = createTarget(compile.target);
  const fs::path work = fs::temp_directory_path() / fmt::format("ortc-damage-{}", getpid());
  fs::create_directories(work);
  auto fileOf = [&](size_t i) { return (work / fmt::format("{}.onnx", i)).string(); };
  size_t crashes = 0, refused = 0;
  driver::runInWorkers(
      tries, std::max(1u, static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN))),
      {60, uint64_t{4} << 30},
      [&](size_t i) -> std::string {
        std::mt19937_64 random(seed + i);
        std::ifstream in(models[random() % models.size()], std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(in)), {});
        bytes = damaged(std::move(bytes), random);
        std::ofstream(fileOf(i), std::ios::binary) << bytes;
        Diagnostics diagnostics;
        const PipelineOptions options;
        if (std::unique_ptr<driver::Session> session =
                driver::openReference(fileOf(i), options, diagnostics))
          if (auto inputs = randomInputs(session->signature(), {}, 1, diagnostics))
            session->run(*inputs, diagnostics);
        bool silent = false;
        if (target) {
          const std::string bundle = fileOf(i) + ".bundle";
          fs::create_directories(bundle);
          Diagnostics emitting;
          silent =
              !driver::emitBundle(compile, options, *target, {fileOf(i), "m", bundle}, emitting) &&
              !emitting.hasErrors();
          fs::remove_all(bundle);
        }
        if (silent) abort(); // refused without a word
        return diagnostics.hasErrors() ? "refused" : "fine";
      },
      [&](size_t i, driver::WorkerResult r) {
        refused += r.output == "refused";
        if (r.failure.empty()) {
          fs::remove(fileOf(i));
          return;
        }
        ++crashes;
        fmt::print("try {}: {}: {}\n", i, fileOf(i), r.failure);
        fflush(stdout);
      });
  fmt::print("{} tries, {} refused, {} crashes\n", tries, refused, crashes);
  if (!crashes) fs::remove_all(work);
  return crashes ? 1 : 0;
}
