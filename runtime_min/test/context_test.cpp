// SPDX-License-Identifier: 0BSD
// A small hand-written bundle on top of context.h: what it refuses and with which words,
// capacities, heap, BUSY.
#include "rt/context.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace rt = ortc_rt;

namespace {

// x f32[batch,3], y i64[batch,width] (optional) -> sum f32[batch], picked f32[?]
const int64_t xShape[] = {~int64_t(0), 3}, yShape[] = {~int64_t(0), ~int64_t(1)};
const int64_t sumShape[] = {~int64_t(0)}, pickedShape[] = {ORTC_COMPUTED};
const ortc_io inputs[] = {{"x", xShape, 2, ORTC_FLOAT, 0, 0}, {"y", yShape, 2, ORTC_INT64, 1, 0}};
const ortc_io outputs[] = {{"sum", sumShape, 1, ORTC_FLOAT, 0, 0},
                           {"picked", pickedShape, 1, ORTC_FLOAT, 0, 0}};
const ortc_dim dims[] = {{"batch", 1, 8, 1}, {"width", 0, INT64_MAX, 4}};

ortc_status create(const ortc_options*, ortc_context**);
ortc_status run(ortc_context*, const ortc_tensor*, ortc_tensor*);
const char* error(const ortc_context* c) {
  return rt::context_cast<rt::context>(c)->message;
}
struct tiny_context;
void destroy(ortc_context* c);

const ortc_model model = {ORTC_ABI_VERSION,
                          sizeof(ortc_model),
                          "tiny",
                          "cpu",
                          "",
                          2,
                          2,
                          2,
                          0,
                          inputs,
                          outputs,
                          dims,
                          0,
                          64,
                          create,
                          nullptr,
                          run,
                          nullptr,
                          nullptr,
                          error,
                          destroy};

struct tiny_context : rt::context {
  int runs = 0;
  void (*during)(ortc_context*) = nullptr;
};

ortc_status create(const ortc_options* options, ortc_context** context) {
  auto* c = rt::create_context<tiny_context>();
  *context = rt::context_handle(c);
  return c ? c->open(model, options, 1024) : ORTC_OUT_OF_MEMORY;
}

ortc_status run(ortc_context* handle, const ortc_tensor* in, ortc_tensor* out) {
  auto& ctx = *rt::context_cast<tiny_context>(handle);
  const rt::run_scope scope(ctx);
  if (scope.busy) return ORTC_BUSY;
  int64_t dim[2];
  if (const ortc_status s = ctx.check_inputs(in, dim)) return s;
  if (const ortc_status s = ctx.check_outputs(out, dim)) return s;
  ++ctx.runs;
  if (ctx.during) ctx.during(handle);
  const auto* x = static_cast<const float*>(in[0].data);
  auto* sum = static_cast<float*>(out[0].data);
  rt::parallel_for(ctx.threads, dim[0],
                   [&](int64_t i) { sum[i] = x[3 * i] + x[3 * i + 1] + x[3 * i + 2]; });
  int64_t picked = 0;
  for (int64_t i = 0; i < dim[0]; ++i)
    picked += sum[i] > 0;
  if (const ortc_status s = ctx.set_output(out, 1, &picked)) return s;
  auto* p = static_cast<float*>(out[1].data);
  for (int64_t i = 0; i < dim[0]; ++i)
    if (sum[i] > 0) *p++ = sum[i];
  return ORTC_OK;
}

void destroy(ortc_context* c) {
  rt::destroy_context(rt::context_cast<tiny_context>(c));
}

// Inputs and outputs that are right; each test spoils one thing.
struct call {
  ortc_context* c = nullptr;
  float x[24] = {1, 2, 3, -1, -2, -3};
  int64_t y[16] = {};
  float sum[8] = {}, picked[8] = {};
  int64_t xDims[2] = {2, 3}, yDims[2] = {2, 4}, sumDims[1] = {}, pickedDims[1] = {};
  ortc_tensor in[2] = {{x, xDims, sizeof x, 2, ORTC_FLOAT, ORTC_HOST, 0},
                       {y, yDims, sizeof y, 2, ORTC_INT64, ORTC_HOST, 0}};
  ortc_tensor out[2] = {{sum, sumDims, sizeof sum, 1, ORTC_FLOAT, ORTC_HOST, 0},
                        {picked, pickedDims, sizeof picked, 1, ORTC_FLOAT, ORTC_HOST, 0}};

  explicit call(int threads = 1) {
    ortc_options options = {};
    options.size = sizeof options;
    options.threads = threads;
    REQUIRE(model.create(&options, &c) == ORTC_OK);
  }
  ~call() { model.destroy(c); }
  call(const call&) = delete;
  ortc_status run() { return model.run(c, in, out); }
  std::string error() const { return model.error(c); }
};

} // namespace

TEST_CASE("a run computes and says its sizes") {
  for (int threads : {1, 3}) {
    call a(threads);
    CHECK(a.run() == ORTC_OK);
    CHECK(a.error() == "");
    CHECK(a.sumDims[0] == 2);
    CHECK(a.sum[0] == 6.0f);
    CHECK(a.sum[1] == -6.0f);
    CHECK(a.pickedDims[0] == 1);
    CHECK(a.picked[0] == 6.0f);
  }
}

TEST_CASE("wrong inputs are refused with what was found and expected") {
  call a;
  SECTION("a fixed size") {
    a.xDims[1] = 4;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "input 'x' is f32[2,4], expected f32[batch,3]");
  }
  SECTION("the rank") {
    a.in[0].rank = 1;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "input 'x' is f32[2], expected f32[batch,3]");
  }
  SECTION("the type") {
    a.in[0].dtype = ORTC_DOUBLE;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "input 'x' is f64[2,3], expected f32[batch,3]");
  }
  SECTION("two sizes of one dim") {
    a.yDims[0] = 3;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() ==
          "input 'y' is i64[3,4], expected i64[batch,width] with 'batch' = 2 as before");
  }
  SECTION("a dim beyond its bound") {
    a.xDims[0] = a.yDims[0] = 9;
    a.in[0].capacity = a.in[1].capacity = 1000;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "dim 'batch' is 9, expected 1 to 8");
  }
  SECTION("a dim below its bound") {
    a.xDims[0] = a.yDims[0] = 0;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "dim 'batch' is 0, expected 1 to 8");
  }
  SECTION("a dim that is no multiple") {
    a.yDims[1] = 6;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "dim 'width' is 6, expected a multiple of 4");
  }
  SECTION("a negative size") {
    a.yDims[1] = -4;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "input 'y' is i64[2,-4], expected i64[batch,width]");
  }
  SECTION("a size that overflows") {
    a.yDims[1] = INT64_MAX - 3;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "input 'y' is i64[2,9223372036854775804]: more bytes than there are "
                       "addresses, or a negative "
                       "size");
  }
  SECTION("too few bytes") {
    a.in[0].capacity = 23;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "input 'x' needs 24 bytes, and its capacity is 23");
  }
  SECTION("no data") {
    a.in[0].data = nullptr;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "input 'x' has no data");
  }
  SECTION("an absent input that is needed") {
    a.in[0].data = nullptr;
    a.in[0].rank = -1;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "input 'x' is absent, but it is not optional");
  }
  SECTION("device memory") {
    a.in[1].space = ORTC_DEVICE;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "input 'y' is in device memory, expected host");
  }
  SECTION("no dims") {
    a.in[0].dims = nullptr;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "input 'x' is f32[?,?], expected f32[batch,3]");
  }
  SECTION("no inputs at all") {
    CHECK(model.run(a.c, nullptr, a.out) == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "no inputs given, 2 expected");
  }
  SECTION("an output of another type") {
    a.out[0].dtype = ORTC_FLOAT16;
    CHECK(a.run() == ORTC_INVALID_ARGUMENT);
    CHECK(a.error() == "output 'sum' is f16[?], expected f32[batch]");
  }
  CHECK(rt::context_cast<tiny_context>(a.c)->runs == 0);
}

TEST_CASE("an absent optional is accepted, and an empty tensor needs no data") {
  call a;
  a.in[1].data = nullptr;
  a.in[1].rank = -1;
  CHECK(a.run() == ORTC_OK);
  a.in[1].rank = 2;
  a.yDims[1] = 0;
  CHECK(a.run() == ORTC_OK);
}

TEST_CASE("a buffer that is too small is reported with the size that is needed") {
  call a;
  a.xDims[0] = a.yDims[0] = 4;
  for (float& v : a.x)
    v = 1;
  a.out[0].capacity = 15;
  CHECK(a.run() == ORTC_CAPACITY);
  CHECK(a.error() == "output 'sum' is f32[4] and needs 16 bytes; its capacity is 15");
  CHECK(a.sumDims[0] == 4);
  a.out[0].capacity = 16;
  a.out[1].capacity = 8; // of a size that the run computes
  CHECK(a.run() == ORTC_CAPACITY);
  CHECK(a.error() == "output 'picked' is f32[4] and needs 16 bytes; its capacity is 8");
  CHECK(a.pickedDims[0] == 4);
  a.out[1].capacity = 16;
  CHECK(a.run() == ORTC_OK);
  CHECK(a.error() == "");
}

TEST_CASE("a second caller gets BUSY and disturbs nothing") {
  call a;
  static call* self;
  static ortc_status inner;
  self = &a;
  rt::context_cast<tiny_context>(a.c)->during = [](ortc_context*) { inner = self->run(); };
  CHECK(a.run() == ORTC_OK);
  CHECK(inner == ORTC_BUSY);
  rt::context_cast<tiny_context>(a.c)->during = nullptr;
  CHECK(a.run() == ORTC_OK);
}

TEST_CASE("wrong options are refused") {
  ortc_options options = {};
  ortc_context* c = nullptr;
  options.size = 4;
  CHECK(model.create(&options, &c) == ORTC_INVALID_ARGUMENT);
  CHECK(std::string(model.error(c)).find("options.size is 4, expected at least ") == 0);
  model.destroy(c);
  options.size = sizeof options;
  options.threads = -2;
  CHECK(model.create(&options, &c) == ORTC_INVALID_ARGUMENT);
  CHECK(std::string(model.error(c)) == "options.threads is -2, expected 0 or more");
  model.destroy(c);
  model.destroy(nullptr);
}

TEST_CASE("the context heap gives out its bytes, says when it is full, and starts over") {
  rt::context ctx;
  REQUIRE(ctx.open(model, nullptr, 256) == ORTC_OK);
  CHECK(ctx.results.alloc(100) != nullptr);
  const ortc_string s = ctx.results.copy("abc", 3);
  CHECK(std::string(s.data, s.size) == "abc");
  const uint64_t mark = ctx.results.mark();
  auto* p = ctx.results.alloc_array<int64_t>(4);
  CHECK(uintptr_t(p) % alignof(int64_t) == 0);
  ctx.results.release(mark);
  CHECK(ctx.results.alloc_array<int64_t>(4) == p);
  CHECK(ctx.check_heap() == ORTC_OK);
  CHECK(ctx.results.alloc(1000) == nullptr);
  CHECK(ctx.results.alloc_array<int64_t>(UINT64_MAX / 4) == nullptr);
  CHECK(ctx.check_heap() == ORTC_OUT_OF_MEMORY);
  CHECK(std::string(ctx.message) == "the context heap of 256 bytes is full (1000 more were asked "
                                    "for): set heap_bytes in the options");
  ctx.results.reset();
  CHECK(ctx.check_heap() == ORTC_OK);
  CHECK(ctx.results.alloc(256) != nullptr);
  ctx.close();
}

TEST_CASE("the arena grows by reserve only") {
  rt::context ctx;
  REQUIRE(ctx.open(model, nullptr, 0) == ORTC_OK);
  CHECK(ctx.need_arena(100) == ORTC_NEED_RESERVE);
  CHECK(ctx.reserve_arena(100) == ORTC_OK);
  CHECK(ctx.need_arena(100) == ORTC_OK);
  // What data asked for is there after the next reserve, whatever the dims say.
  CHECK(ctx.need_arena(5000, true) == ORTC_NEED_RESERVE);
  CHECK(std::string(ctx.message) == "the data of this run needs 5000 bytes of arena, and " +
                                        std::to_string(ctx.memory.size) +
                                        " are reserved: call reserve, and run again");
  CHECK(ctx.reserve_arena(100) == ORTC_OK);
  CHECK(ctx.need_arena(5000, true) == ORTC_OK);
  CHECK(uintptr_t(ctx.memory.data) % 64 == 0);
  const uint64_t big = uint64_t(5) << 20;
  CHECK(ctx.reserve_arena(big) == ORTC_OK);
  CHECK(uintptr_t(ctx.memory.data) % 64 == 0);
  for (uint64_t i = 0; i < big; i += 4093)
    REQUIRE(ctx.memory.data[i] == 0);
  std::memset(ctx.memory.data, 1, big);
  CHECK(ctx.reserve_arena(UINT64_MAX) == ORTC_OUT_OF_MEMORY);
  CHECK(ctx.memory.size == big); // as it was
  CHECK(ctx.memory.data[big - 1] == 1);
  ctx.close();
}

TEST_CASE("texts are cut off, never overrun") {
  char buffer[8];
  rt::text t(buffer, sizeof buffer);
  t << "ab" << -12 << "xyz" << 99;
  CHECK(std::string(buffer) == "ab-12xy");
  char number[32];
  rt::text(number, sizeof number) << INT64_MIN;
  CHECK(std::string(number) == "-9223372036854775808");
  rt::text(number, sizeof number) << UINT64_MAX;
  CHECK(std::string(number) == "18446744073709551615");
}

TEST_CASE("bytes of tensors") {
  const int64_t d[] = {3, 5};
  uint64_t bytes = 0;
  CHECK(rt::tensor_bytes(ORTC_INT4, d, 2, &bytes)); // a byte each
  CHECK(bytes == 15);
  CHECK(rt::tensor_bytes(ORTC_STRING, d, 2, &bytes));
  CHECK(bytes == 15 * sizeof(ortc_string));
  CHECK(rt::tensor_bytes(ORTC_LIST, d, 1, &bytes));
  CHECK(bytes == 3 * sizeof(ortc_tensor));
  const int64_t empty[] = {INT64_MAX, INT64_MAX, 0};
  CHECK(rt::tensor_bytes(ORTC_DOUBLE, empty, 3, &bytes));
  CHECK(bytes == 0);
  CHECK_FALSE(rt::tensor_bytes(ORTC_DOUBLE, empty, 2, &bytes));
}
