// SPDX-License-Identifier: 0BSD
// Weights files and embedded weights.
#include "rt/weights.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace rt = ortc_rt;

ORTC_EMBED(ortc_test_embedded, ORTC_TEST_EMBED)

namespace {

const unsigned char digest[32] = {1, 2, 3};
constexpr uint64_t kBytes = uint64_t(3) << 20;

struct weights_file {
  std::string path;
  weights_file() {
    char name[] = "/tmp/ortc-weights-XXXXXX";
    const int f = mkstemp(name);
    REQUIRE(f >= 0);
    close(f);
    path = name;
    write("ortcwts1", kBytes, kBytes);
  }
  ~weights_file() { std::remove(path.c_str()); }
  void write(const char* magic, uint64_t stated, uint64_t real) {
    rt::weights_header h = {};
    std::memcpy(h.magic, magic, 8);
    h.bytes = stated;
    std::memcpy(h.digest, digest, 32);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(&h), sizeof h);
    const std::vector<char> blob(real, 'w');
    out.write(blob.data(), std::streamsize(blob.size()));
  }
};

ortc_status open(rt::weights& w, const char* path, std::string& error,
                 const unsigned char* d = digest, const char* name = "none.bin") {
  char buffer[512];
  rt::text why(buffer, sizeof buffer);
  const ortc_status s = rt::weights_open(w, path, name, digest, kBytes, d, why);
  error = buffer;
  return s;
}

// Resident bytes of the mapping that holds p.
long residentKilobytes(const void* p) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool ours = false;
  while (std::getline(maps, line)) {
    unsigned long from = 0, to = 0;
    long kb = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
      ours = from <= uintptr_t(p) && uintptr_t(p) < to;
    else if (ours && std::sscanf(line.c_str(), "Rss: %ld kB", &kb) == 1)
      return kb;
  }
  return -1;
}

} // namespace

TEST_CASE("a weights file is mapped and not read") {
  weights_file file;
  rt::weights w;
  std::string error;
  REQUIRE(open(w, file.path.c_str(), error) == ORTC_OK);
  CHECK(error == "");
  CHECK(w.size == kBytes);
  CHECK(uintptr_t(w.data) % 64 == 0);
#if defined(__linux__)
  CHECK(residentKilobytes(w.data) == 0);
#endif
  CHECK(w.data[0] == 'w');
  CHECK(w.at<char>(kBytes - 1)[0] == 'w');
  rt::weights_close(w);
  CHECK(w.data == nullptr);
}

TEST_CASE("a file that is not the bundle's is refused") {
  weights_file file;
  rt::weights w;
  std::string error;
  const unsigned char other[32] = {9};
  CHECK(open(w, file.path.c_str(), error, other) == ORTC_IO);
  CHECK(error == "'" + file.path + "' holds the weights of another model");
  file.write("ortcwts1", kBytes, kBytes - 1);
  CHECK(open(w, file.path.c_str(), error) == ORTC_IO);
  CHECK(error == "'" + file.path + "' is cut short: 3145791 bytes, 3145792 expected");
  file.write("whatever", kBytes, kBytes);
  CHECK(open(w, file.path.c_str(), error) == ORTC_IO);
  CHECK(error == "'" + file.path + "' is no weights file");
  std::ofstream(file.path, std::ios::trunc) << "x";
  CHECK(open(w, file.path.c_str(), error) == ORTC_IO);
  CHECK(error == "'" + file.path + "' is no weights file");
  CHECK(open(w, "/nowhere/x.bin", error) == ORTC_IO);
  CHECK(error == "cannot open '/nowhere/x.bin'");
}

#if defined(__linux__)
TEST_CASE("without a path the file beside the program is taken") {
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  REQUIRE(n > 0);
  self[n] = 0;
  const std::string folder = std::string(self).substr(0, std::string(self).rfind('/') + 1);
  const std::string name = "ortc-beside-" + std::to_string(getpid()) + ".bin";
  weights_file file;
  REQUIRE(std::ifstream(file.path).good());
  std::ofstream(folder + name, std::ios::binary)
      << std::ifstream(file.path, std::ios::binary).rdbuf();
  rt::weights w;
  std::string error;
  CHECK(open(w, nullptr, error, digest, name.c_str()) == ORTC_OK);
  CHECK(error == "");
  rt::weights_close(w);
  std::remove((folder + name).c_str());
  CHECK(open(w, nullptr, error, digest, name.c_str()) == ORTC_IO);
  CHECK(error == "cannot open '" + folder + name + "'");
}
#endif

TEST_CASE("a file is linked in, aligned") {
  const std::string text(ortc_test_embedded, ortc_test_embedded_end);
  CHECK(text == "weights as they are\n");
  CHECK(uintptr_t(ortc_test_embedded) % 64 == 0);
}
