// SPDX-License-Identifier: Apache-2.0
// Calls a bundle in every wrong way: each must end with a status and a text, never with a crash.
// Built with sanitizers.
#include "net/net.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <vector>

static int wrong = 0;

static void expect(const char* what, ortc_status got, ortc_status want, const char* text,
                   const char* part) {
  if (got == want && text && std::strstr(text, part)) return;
  std::printf("%s: status %s, expected %s; text '%s', expected '%s' in it\n", what,
              ortc_status_name(got), ortc_status_name(want), text ? text : "(null)", part);
  ++wrong;
}

struct Call {
  int64_t n = 4, m = 4, k = 3, p = 4;
  std::vector<int64_t> at;
  std::vector<float> x, w, y;
  std::vector<float> shaped, joined;
  int64_t atDims[1], xDims[2], wDims[2], yDims[2], shapedDims[2] = {}, joinedDims[2] = {};
  ortc_tensor in[4], out[2];

  explicit Call(int64_t n_ = 4, int64_t m_ = 4, int64_t k_ = 3, int64_t p_ = 4,
                size_t outputBytes = 4096)
      : n(n_), m(m_), k(k_), p(p_), at(size_t(n), 1), x(size_t(m) * 3, 1.f), w(size_t(k) * 2, 1.f),
        y(size_t(p) * 2, 1.f), shaped(outputBytes / 4), joined(outputBytes / 4) {
    atDims[0] = n, xDims[0] = m, xDims[1] = 3, wDims[0] = k, wDims[1] = 2, yDims[0] = p,
    yDims[1] = 2;
    in[0] = {at.data(), atDims, at.size() * 8, 1, ORTC_INT64, ORTC_HOST, 0};
    in[1] = {x.data(), xDims, x.size() * 4, 2, ORTC_FLOAT, ORTC_HOST, 0};
    in[2] = {w.data(), wDims, w.size() * 4, 2, ORTC_FLOAT, ORTC_HOST, 0};
    in[3] = {y.data(), yDims, y.size() * 4, 2, ORTC_FLOAT, ORTC_HOST, 0};
    out[0] = {shaped.data(), shapedDims, shaped.size() * 4, 2, ORTC_FLOAT, ORTC_HOST, 0};
    out[1] = {joined.data(), joinedDims, joined.size() * 4, 2, ORTC_FLOAT, ORTC_HOST, 0};
  }
};

int main() {
  const ortc_model* net = net_model();
  expect("create without a place", net->create(nullptr, nullptr), ORTC_INVALID_ARGUMENT, "", "");
  expect("no context", net->error(nullptr) ? ORTC_OK : ORTC_RUN_ERROR, ORTC_OK, net->error(nullptr),
         "no context");
  net->destroy(nullptr);
  {
    Call c;
    expect("run without a context", net->run(nullptr, c.in, c.out), ORTC_INVALID_ARGUMENT, "", "");
    const int64_t sizes[4] = {1, 1, 1, 1};
    expect("reserve without a context", net->reserve(nullptr, sizes), ORTC_INVALID_ARGUMENT, "",
           "");
  }
  {
    ortc_options bad = {};
    ortc_context* c = nullptr;
    ortc_status s = net->create(&bad, &c);
    expect("options of size 0", s, ORTC_INVALID_ARGUMENT, net->error(c), "options.size");
    net->destroy(c);
    bad.size = sizeof bad, bad.threads = -1, c = nullptr;
    s = net->create(&bad, &c);
    expect("-1 threads", s, ORTC_INVALID_ARGUMENT, net->error(c), "threads");
    net->destroy(c);
  }
  ortc_options options = {};
  options.size = sizeof options, options.threads = 2;
  ortc_context* context = nullptr;
  expect("create", net->create(&options, &context), ORTC_OK, "", "");
  auto run = [&](const char* what, Call& c, ortc_status want, const char* part) {
    ortc_status s = net->run(context, c.in, c.out);
    if (s == ORTC_NEED_RESERVE && want != s) {
      const int64_t sizes[4] = {c.n, c.m, c.k, c.p};
      s = net->reserve(context, sizes);
      if (s == ORTC_OK) s = net->run(context, c.in, c.out);
    }
    expect(what, s, want, net->error(context), part);
  };
  {
    Call c;
    run("need reserve", c, ORTC_NEED_RESERVE, "reserve");
    ortc_status s = net->reserve(context, nullptr);
    expect("reserve without sizes", s, ORTC_INVALID_ARGUMENT, net->error(context), "sizes");
    const int64_t negative[4] = {-1, 1, 1, 1};
    s = net->reserve(context, negative);
    expect("reserve of -1", s, ORTC_INVALID_ARGUMENT, net->error(context), "'n'");
    run("all is well", c, ORTC_OK, "");
    if (c.shapedDims[0] != 2 || c.shapedDims[1] != 6 || c.joinedDims[0] != 4 ||
        c.joinedDims[1] != 4)
      std::printf("wrong sizes\n"), ++wrong;
  }
  {
    Call c;
    ortc_status s = net->run(context, nullptr, c.out);
    expect("no inputs", s, ORTC_INVALID_ARGUMENT, net->error(context), "inputs");
    s = net->run(context, c.in, nullptr);
    expect("no outputs", s, ORTC_INVALID_ARGUMENT, net->error(context), "outputs");
  }
  for (int i = 0; i < 4; ++i) {
    {
      Call c;
      c.in[i].data = nullptr;
      run("no data", c, ORTC_INVALID_ARGUMENT, "has no data");
    }
    {
      Call c;
      c.in[i].dims = nullptr;
      run("no dims", c, ORTC_INVALID_ARGUMENT, "expected");
    }
    {
      Call c;
      c.in[i].rank = 3;
      run("another rank", c, ORTC_INVALID_ARGUMENT, "expected");
    }
    {
      Call c;
      c.in[i].rank = -1;
      run("rank -1", c, ORTC_INVALID_ARGUMENT, "expected");
    }
    {
      Call c;
      c.in[i].rank = -1, c.in[i].data = nullptr;
      run("absent", c, ORTC_INVALID_ARGUMENT, "not optional");
    }
    {
      Call c;
      c.in[i].dtype = ORTC_DOUBLE;
      run("another type", c, ORTC_INVALID_ARGUMENT, "expected");
    }
    {
      Call c;
      c.in[i].dtype = 99;
      run("no type", c, ORTC_INVALID_ARGUMENT, "expected");
    }
    {
      Call c;
      c.in[i].space = ORTC_DEVICE;
      run("device memory", c, ORTC_INVALID_ARGUMENT, "device");
    }
    {
      Call c;
      c.in[i].capacity -= 1;
      run("too few bytes", c, ORTC_INVALID_ARGUMENT, "capacity");
    }
    {
      Call c;
      c.in[i].dims[0] = -1;
      run("negative size", c, ORTC_INVALID_ARGUMENT, "expected");
    }
    {
      Call c;
      c.in[i].dims[0] = INT64_MAX;
      run("huge size", c, ORTC_INVALID_ARGUMENT, "input");
    }
    {
      Call c;
      c.in[i].dims[0] = INT64_C(1) << 61;
      run("size that wraps", c, ORTC_INVALID_ARGUMENT, "input");
    }
  }
  for (int i = 0; i < 2; ++i) {
    {
      Call c;
      c.out[i].data = nullptr;
      run("output without data", c, ORTC_CAPACITY, "capacity");
    }
    {
      Call c;
      c.out[i].dims = nullptr;
      run("output without dims", c, ORTC_INVALID_ARGUMENT, "expected");
    }
    {
      Call c;
      c.out[i].rank = 1;
      run("output of another rank", c, ORTC_INVALID_ARGUMENT, "expected");
    }
    {
      Call c;
      c.out[i].dtype = ORTC_INT64;
      run("output of another type", c, ORTC_INVALID_ARGUMENT, "expected");
    }
    {
      Call c;
      c.out[i].space = ORTC_DEVICE;
      run("output on a device", c, ORTC_INVALID_ARGUMENT, "device");
    }
    {
      Call c;
      c.out[i].capacity = 47;
      run("output too small", c, ORTC_CAPACITY, "needs");
    }
  }
  // Sizes that contradict each other, although each is right by itself.
  {
    Call c(4, 2);
    run("rows that do not broadcast", c, ORTC_RUN_ERROR, "broadcast");
  }
  {
    Call c(4, 1);
    run("one row for all", c, ORTC_OK, "");
  }
  {
    Call c(1, 4, 3, 4);
    run("one row for all, the other way", c, ORTC_OK, "");
  }
  {
    Call c(4, 4, 2);
    run("inner sizes", c, ORTC_RUN_ERROR, "product");
  }
  {
    Call c(4, 4, 300);
    run("inner sizes, larger", c, ORTC_RUN_ERROR, "product");
  }
  {
    Call c(3, 3, 3, 3);
    run("a shape that does not divide", c, ORTC_RUN_ERROR, "reshape");
  }
  {
    Call c(4, 4, 3, 2);
    run("parts of other heights", c, ORTC_RUN_ERROR, "concat");
  }
  {
    Call c(4, 4, 3, 400);
    run("parts of other heights, larger", c, ORTC_RUN_ERROR, "concat");
  }
  {
    Call c(0, 0, 3, 0);
    run("nothing at all", c, ORTC_OK, "");
  }
  {
    Call c(0, 1, 3, 0);
    run("nothing, broadcast", c, ORTC_OK, "");
  }
  {
    Call c(1, 0, 3, 0);
    run("nothing, broadcast the other way", c, ORTC_OK, "");
  }
  // Indices count from the end, and out of range they end the run: none reads foreign memory.
  for (int64_t index : {int64_t(-1), int64_t(-5), int64_t(4), INT64_MAX, INT64_MIN,
                        int64_t(1) << 32, int64_t(1) << 62}) {
    Call c;
    for (int64_t& a : c.at)
      a = index;
    bool inside = index == -1;
    run("index", c, inside ? ORTC_OK : ORTC_RUN_ERROR, inside ? "" : "out of range");
  }
  {
    Call c;
    c.x[0] = 0.f / 0.f, c.x[1] = 1e38f * 1e38f;
    run("NaN and infinity", c, ORTC_OK, "");
  }
  // Several callers: one context serves one, the others are told so; contexts of their own do not
  // disturb each other.
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      ortc_context* own = nullptr;
      if (net->create(nullptr, &own) != ORTC_OK) std::abort();
      const int64_t sizes[4] = {4, 4, 3, 4};
      if (net->reserve(own, sizes) != ORTC_OK) std::abort();
      for (int i = 0; i < 50; ++i) {
        Call c;
        if (net->run(own, c.in, c.out) != ORTC_OK || c.joined[0] != 15.f) std::abort();
        const ortc_status s = net->run(context, c.in, c.out);
        if (s != ORTC_OK && s != ORTC_BUSY) std::abort();
      }
      net->destroy(own);
    });
  for (std::thread& t : callers)
    t.join();
  net->destroy(context);
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
