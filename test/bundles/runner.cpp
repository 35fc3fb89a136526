// SPDX-License-Identifier: Apache-2.0
// Emitted bundles under test, linked into one program: each with several data sets, by the C
// interface alone.
//
//   runner threads DATA      outputs are equal to the last bit with 1, 2, 3 and 5 threads
//   runner contexts DATA     several threads, each with contexts of its own and a pool, get the
//   same outputs runner allocations DATA  a run takes no memory from the system, after create and
//   reserve runner sets DATA         runs everything once (for sanitizers)
//
// DATA: written by data.py. models.inc, written by the script that builds this: MODEL(name) for
// each bundle.
#include "ortc/ortc.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#ifdef COUNT_ALLOCATIONS
#include <atomic>
#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static std::atomic<bool> watching{false};
static std::atomic<long> taken{0};
static void note() {
  if (watching.load(std::memory_order_relaxed)) taken.fetch_add(1);
}
// Everything that gives memory in a C++ program comes by here, whichever library asks.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
void* malloc(size_t n) {
  return note(), __libc_malloc(n);
}
void* calloc(size_t n, size_t m) {
  return note(), __libc_calloc(n, m);
}
void* realloc(void* p, size_t n) {
  return note(), __libc_realloc(p, n);
}
void* memalign(size_t a, size_t n) {
  return note(), __libc_memalign(a, n);
}
void* aligned_alloc(size_t a, size_t n) {
  return note(), __libc_memalign(a, n);
}
int posix_memalign(void** p, size_t a, size_t n) {
  note();
  *p = __libc_memalign(a, n);
  return *p ? 0 : ENOMEM;
}
void free(void* p) {
  __libc_free(p);
}
void* mmap(void* at, size_t n, int protection, int flags, int file, off_t offset) {
  note();
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, n, protection, flags, file, offset));
}
}
#endif

extern "C" {
#define MODEL(name) const ortc_model* name##_model();
#include "models.inc"
#undef MODEL
}

namespace {

[[noreturn]] void die(const std::string& why) {
  std::printf("%s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

// ---- data ----

struct Tensor {
  int32_t dtype = 0, rank = 0;
  std::vector<int64_t> dims;
  std::vector<char> bytes;
  std::vector<std::string> texts;
  std::vector<ortc_string> strings;
};
struct Set {
  std::string name;
  const ortc_model* model = nullptr;
  std::vector<Tensor> inputs;
};

struct Reader {
  FILE* file;
  template <class T> T number() {
    T v;
    if (std::fread(&v, sizeof v, 1, file) != 1) die("the data file ends early");
    return v;
  }
  std::string text() {
    std::string s(number<uint64_t>(), '\0');
    if (!s.empty() && std::fread(&s[0], 1, s.size(), file) != s.size())
      die("the data file ends early");
    return s;
  }
};

std::vector<Set> read(const char* path) {
  struct Entry {
    const char* name;
    const ortc_model* model;
  };
  const Entry models[] = {
#define MODEL(name) {#name, name##_model()},
#include "models.inc"
#undef MODEL
  };
  Reader r{std::fopen(path, "rb")};
  if (!r.file) die("no data file");
  std::vector<Set> sets(r.number<uint64_t>());
  for (Set& s : sets) {
    s.name = r.text();
    const std::string model = r.text();
    for (const Entry& e : models)
      if (model == e.name) s.model = e.model;
    if (!s.model) die("no bundle for " + model);
    s.inputs.resize(r.number<uint64_t>());
    for (Tensor& t : s.inputs) {
      t.dtype = r.number<int32_t>();
      t.rank = r.number<int32_t>();
      for (int i = 0; i < t.rank; ++i)
        t.dims.push_back(r.number<int64_t>());
      t.dims.push_back(0);
      if (t.dtype == ORTC_STRING) {
        t.texts.resize(r.number<uint64_t>());
        for (std::string& one : t.texts)
          one = r.text();
        for (const std::string& one : t.texts)
          t.strings.push_back({one.data(), one.size()});
      } else {
        const std::string raw = r.text();
        t.bytes.assign(raw.begin(), raw.end());
      }
    }
  }
  std::fclose(r.file);
  return sets;
}

// ---- one context ----

/// Everything of an output, as bytes that can be compared.
void flatten(const ortc_tensor& t, std::string& into) {
  static const int widths[] = {0, 4, 1, 1, 2, 2, 4, 8, 16, 1, 2, 8, 4, 8, 8, 16, 2};
  into.append(reinterpret_cast<const char*>(&t.dtype), sizeof t.dtype);
  if (!t.data && t.rank == -1) return;
  int64_t count = 1;
  for (int i = 0; i < t.rank; ++i) {
    count *= t.dims[i];
    into.append(reinterpret_cast<const char*>(&t.dims[i]), sizeof t.dims[i]);
  }
  if (t.dtype == ORTC_LIST || t.dtype == ORTC_MAP) {
    const int64_t parts = t.dtype == ORTC_LIST ? t.dims[0] : 2;
    for (int64_t i = 0; i < parts; ++i)
      flatten(static_cast<const ortc_tensor*>(t.data)[i], into);
  } else if (t.dtype == ORTC_STRING) {
    for (int64_t i = 0; i < count; ++i) {
      const ortc_string& s = static_cast<const ortc_string*>(t.data)[i];
      into.append(s.data ? s.data : "", s.size);
      into.push_back('\0');
    }
  } else if (count) {
    into.append(static_cast<const char*>(t.data), size_t(count) * size_t(widths[t.dtype]));
  }
}

struct Runner {
  const Set& set;
  ortc_context* context = nullptr;
  std::vector<ortc_tensor> in, out;
  std::vector<std::vector<int64_t>> dims;
  std::vector<std::vector<char>> memory;

  Runner(const Set& set, int threads) : set(set) {
    const ortc_model& m = *set.model;
    ortc_options options = {};
    options.size = sizeof options;
    options.threads = threads;
    check(m.create(&options, &context), "create");
    std::vector<int64_t> sizes;
    for (int i = 0; i < m.num_dims; ++i)
      sizes.push_back(m.dims[i].min);
    for (int i = 0; i < m.num_inputs; ++i) {
      const Tensor& t = set.inputs[size_t(i)];
      const ortc_io& io = m.inputs[i];
      for (int d = 0; d < io.rank && d < t.rank; ++d)
        if (io.shape[d] < 0 && io.shape[d] != ORTC_COMPUTED)
          sizes[size_t(~io.shape[d])] = t.dims[size_t(d)];
      const bool strings = t.dtype == ORTC_STRING;
      in.push_back({strings ? (void*)t.strings.data() : (void*)t.bytes.data(),
                    const_cast<int64_t*>(t.dims.data()),
                    strings ? t.strings.size() * sizeof(ortc_string) : t.bytes.size(), t.rank,
                    t.dtype, ORTC_HOST, 0});
    }
    if (m.arena_bytes == UINT64_MAX)
      check(m.reserve(context, sizes.empty() ? nullptr : sizes.data()), "reserve");
    for (int i = 0; i < m.num_outputs; ++i) {
      const ortc_io& io = m.outputs[i];
      dims.emplace_back(size_t(io.rank) + 8);
      const bool handle = io.dtype == ORTC_LIST || io.dtype == ORTC_MAP;
      const uint64_t bound = handle ? 0 : m.output_bound(i, sizes.data());
      memory.emplace_back(handle ? 0 : bound ? bound : 1 << 16, char(0x5A));
      out.push_back({handle ? nullptr : memory.back().data(), dims.back().data(),
                     memory.back().size(), io.rank, io.dtype, ORTC_HOST, 0});
    }
  }
  ~Runner() { set.model->destroy(context); }
  Runner(const Runner&) = delete;

  void check(ortc_status s, const char* what) {
    if (s != ORTC_OK)
      die(set.name + ": " + what + ": " + ortc_status_name(s) + ": " +
          (context ? set.model->error(context) : ""));
  }
  void run() { check(set.model->run(context, in.data(), out.data()), "run"); }
  std::string result() {
    std::string all;
    for (const ortc_tensor& t : out)
      flatten(t, all);
    return all;
  }
};

std::string once(const Set& set, int threads) {
  Runner r(set, threads);
  r.run();
  std::string first = r.result();
  for (auto& m : r.memory) // what is left from the run before must not matter
    std::fill(m.begin(), m.end(), char(0x33));
  r.run();
  if (r.result() != first) die(set.name + ": a second run gives something else");
  return first;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string mode = argv[1];
  const std::vector<Set> sets = read(argv[2]);
  if (mode == "sets") {
    for (const Set& s : sets)
      once(s, 2);
  } else if (mode == "threads") {
    for (const Set& s : sets) {
      const std::string one = once(s, 1);
      for (int n : {2, 3, 5})
        if (once(s, n) != one) die(s.name + ": other bits with " + std::to_string(n) + " threads");
    }
  } else if (mode == "contexts") {
    std::vector<std::string> wanted;
    for (const Set& s : sets)
      wanted.push_back(once(s, 1));
    std::vector<std::thread> callers;
    for (int c = 0; c < 3; ++c)
      callers.emplace_back([&, c] {
        for (size_t i = 0; i < sets.size(); ++i) {
          const size_t k = (i + size_t(c) * 5) % sets.size();
          Runner r(sets[k], 1 + c); // the pool of n threads is shared by the contexts that want n
          Runner other(sets[k], 1 + c);
          r.run();
          other.run();
          if (r.result() != wanted[k] || other.result() != wanted[k])
            die(sets[k].name + ": another result among others");
        }
      });
    for (std::thread& t : callers)
      t.join();
  } else if (mode == "allocations") {
#ifdef COUNT_ALLOCATIONS
    // Proof that the counter counts.
    watching = true;
    void* p = std::malloc(10);
    watching = false;
    std::free(p);
    if (taken != 1) die("the counter does not see malloc");
    for (const Set& s : sets)
      for (int threads : {1, 3}) {
        Runner r(s, threads);
        taken = 0;
        watching = true; // the first run, too
        const ortc_status first = s.model->run(r.context, r.in.data(), r.out.data());
        const ortc_status second = s.model->run(r.context, r.in.data(), r.out.data());
        watching = false;
        r.check(first, "run");
        r.check(second, "run");
        if (taken) die(s.name + ": " + std::to_string(taken) + " allocations in two runs");
      }
#else
    die("built without -DCOUNT_ALLOCATIONS");
#endif
  } else {
    return 2;
  }
  std::printf("%zu data sets\n", sets.size());
  return 0;
}
