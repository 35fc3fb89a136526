// SPDX-License-Identifier: 0BSD
// What the contexts of all bundles share, so that the emitted functions are short. A bundle derives
// its own:
//
//   struct net_context : ortc_rt::context { float* scratch; };
//
//   static ortc_status net_run(ortc_context* c, const ortc_tensor* in, ortc_tensor* out) {
//     auto& ctx = *ortc_rt::context_cast<net_context>(c);
//     const ortc_rt::run_scope scope(ctx);
//     if (scope.busy) return ORTC_BUSY;
//     int64_t dim[2];
//     if (const ortc_status s = ctx.check_inputs(in, dim)) return s;
//     if (const ortc_status s = ctx.check_outputs(out, dim)) return s;
//     ...
//   }
#ifndef ORTC_RT_CONTEXT_H
#define ORTC_RT_CONTEXT_H

#include "ortc/ortc.h"

#include "arena.h"
#include "heap.h"
#include "pool.h"
#include "tensors.h"
#include "text.h"
#include "weights.h"

ORTC_RT_BEGIN

struct context {
  const ortc_model* model = nullptr;
  executor threads = {nullptr, nullptr}; // for parallel_for
  pool* own_pool = nullptr;              // NULL with the caller's pool or a single thread
  arena memory;
  uint64_t asked_for = 0; // bytes of arena that a run lacked, when its data said so
  weights params;
  heap results; // strings, sequences, maps, outputs of unknown size
  int busy_flag = 0;
  ortc_tensor* outputs = nullptr; // of the run in progress, for steps that hand out lists and maps
  char message[512] = {0};

  // Construction in given memory, without <new>.
  static void* operator new(size_t, void* p) noexcept { return p; }
  static void operator delete(void*, void*) noexcept {}

  // Begins a new error text: `return ctx.why() << "...", ORTC_RUN_ERROR;`
  text why() { return text(message, sizeof message); }

  // Threads and heap as the options say (NULL: the defaults).
  ortc_status open(const ortc_model& m, const ortc_options* options, uint64_t default_heap_bytes);
  void close();

  // Rank, type, sizes, capacity and place of every input; dims[num_dims] receives the sizes of the
  // named dimensions, equal wherever they occur and within their bounds.
  ortc_status check_inputs(const ortc_tensor* inputs, int64_t* dims, ortc_space space = ORTC_HOST);

  // Type, rank and place of every output. Sizes that follow from the dims are written, and the
  // buffer must hold them; the others are for set_output.
  ortc_status check_outputs(ortc_tensor* outputs, const int64_t* dims,
                            ortc_space space = ORTC_HOST);

  // The sizes of an output that the run has computed.
  ortc_status set_output(ortc_tensor* outputs, int index, const int64_t* sizes);

  // Bounds of the dimensions, for reserve and for what check_inputs has bound.
  ortc_status check_dims(const int64_t* dims);

  // NEED_RESERVE when the arena is smaller than that. `of_data`: the dims do not say so, and the
  // next reserve makes room for it.
  ortc_status need_arena(uint64_t bytes, bool of_data = false);
  ortc_status reserve_arena(uint64_t bytes);

  // OUT_OF_MEMORY when an allocation on the context heap has failed since the run began.
  ortc_status check_heap();

private:
  ortc_status check_input(const ortc_io& io, const ortc_tensor& t, int64_t* dims, ortc_space space);
  ortc_status bind_dims(const ortc_io& io, const ortc_tensor& t, int64_t* dims);
  ortc_status wrong_shape(const char* kind, const ortc_io& io, const ortc_tensor& t);
};

template <class C> inline C* context_cast(ortc_context* c) {
  return reinterpret_cast<C*>(c);
}
template <class C> inline const C* context_cast(const ortc_context* c) {
  return reinterpret_cast<const C*>(c);
}
inline ortc_context* context_handle(context* c) {
  return reinterpret_cast<ortc_context*>(c);
}

// Memory for a context and its construction; NULL: none. destroy_context closes it too.
void* context_memory(uint64_t bytes);
void context_memory_free(void* p, uint64_t bytes);
template <class C> C* create_context() {
  void* p = context_memory(sizeof(C));
  return p ? new (p) C() : nullptr;
}
template <class C> void destroy_context(C* c) {
  if (!c) return;
  c->close();
  c->~C();
  context_memory_free(c, sizeof(C));
}

// Holds the context for one call: the error text is emptied, the heap reset, the workers wake.
// `busy`: another caller has it, and nothing was touched.
struct run_scope {
  context& ctx;
  const bool busy;
  explicit run_scope(context& c);
  ~run_scope();
  run_scope(const run_scope&) = delete;
  run_scope& operator=(const run_scope&) = delete;
};

ORTC_RT_END
#endif
