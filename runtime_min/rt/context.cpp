// SPDX-License-Identifier: 0BSD
// Checks at entry, with texts that say where, what was found and what was expected.
#include "context.h"

ORTC_RT_BEGIN

ortc_status context::open(const ortc_model& m, const ortc_options* options,
                          uint64_t default_heap_bytes) {
  model = &m;
  if (options && options->size < sizeof(ortc_options))
    return why() << "options.size is " << uint64_t(options->size) << ", expected at least "
                 << uint64_t(sizeof(ortc_options)),
           ORTC_INVALID_ARGUMENT;
  if (options && options->threads < 0)
    return why() << "options.threads is " << options->threads << ", expected 0 or more",
           ORTC_INVALID_ARGUMENT;
  if (options && options->parallel) {
    threads = {options->parallel, options->pool};
  } else {
    bool ok = true;
    own_pool = pool_acquire(options ? options->threads : 0, &ok);
    if (!ok)
      return why() << "cannot start " << (options ? options->threads : 0) << " threads",
             ORTC_OUT_OF_MEMORY;
    if (own_pool) threads = {pool_run, own_pool};
  }
  const uint64_t heap_bytes =
      options && options->heap_bytes ? options->heap_bytes : default_heap_bytes;
  if (heap_bytes) {
    results.data = static_cast<char*>(memory_alloc(heap_bytes));
    if (!results.data)
      return why() << "no memory for a heap of " << heap_bytes << " bytes", ORTC_OUT_OF_MEMORY;
    results.size = heap_bytes;
  }
  return ORTC_OK;
}

void context::close() {
  pool_release(own_pool);
  own_pool = nullptr;
  memory_free(results.data, results.size);
  results = heap();
  arena_release(memory);
  weights_close(params);
}

namespace {

bool absent(const ortc_tensor& t) {
  return t.rank == -1 && !t.data;
}

// Tensors of so many f32 at most are counted without a look at overflow: 2^15 to the 4th.
constexpr int kPlainRank = 4;
constexpr int64_t kPlainSize = 32768;

// What nearly every run passes: f32 of exactly the declared sizes. False says nothing: the checks
// in full follow, which take as long as a small layer.
bool is_plain(const ortc_io& io, const ortc_tensor& t, ortc_space space) {
  if (io.dtype != ORTC_FLOAT || t.dtype != ORTC_FLOAT || t.rank != io.rank || t.rank > kPlainRank ||
      t.space != space || !t.data || !t.dims)
    return false;
  uint64_t bytes = sizeof(float);
  for (int i = 0; i < t.rank; ++i) {
    if (t.dims[i] != io.shape[i] || uint64_t(t.dims[i]) >= uint64_t(kPlainSize)) return false;
    bytes *= uint64_t(t.dims[i]);
  }
  return bytes <= t.capacity;
}

// Lists and maps have no shape of their own to compare.
bool has_shape(const ortc_io& io) {
  return io.dtype != ORTC_LIST && io.dtype != ORTC_MAP;
}

} // namespace

ortc_status context::wrong_shape(const char* kind, const ortc_io& io, const ortc_tensor& t) {
  text w = why();
  w << kind << " '" << io.name << "' is ";
  put_shape(w, t.dtype, t.dims, t.rank < 0 ? 0 : t.rank);
  w << ", expected ";
  put_declared(w, *model, io);
  return ORTC_INVALID_ARGUMENT;
}

ortc_status context::check_input(const ortc_io& io, const ortc_tensor& t, int64_t* dims,
                                 ortc_space space) {
  if (is_plain(io, t, space)) return ORTC_OK;
  if (absent(t)) {
    if (io.optional) return ORTC_OK;
    return why() << "input '" << io.name << "' is absent, but it is not optional",
           ORTC_INVALID_ARGUMENT;
  }
  if (t.dtype != io.dtype) return wrong_shape("input", io, t);
  if (has_shape(io) && (t.rank != io.rank || (t.rank > 0 && !t.dims)))
    return wrong_shape("input", io, t);
  if (!has_shape(io) &&
      (t.rank < 0 || (t.rank > 0 && !t.dims) || (io.dtype == ORTC_LIST && t.rank != 1)))
    return why() << "input '" << io.name << "' is a " << dtype_name(io.dtype) << " of rank "
                 << t.rank,
           ORTC_INVALID_ARGUMENT;
  if (t.space != space)
    return why() << "input '" << io.name << "' is in " << (t.space == ORTC_HOST ? "host" : "device")
                 << " memory, expected " << (space == ORTC_HOST ? "host" : "device"),
           ORTC_INVALID_ARGUMENT;
  if (has_shape(io)) {
    if (const ortc_status s = bind_dims(io, t, dims)) return s;
  }
  uint64_t bytes = 0;
  if (!tensor_bytes(t.dtype, t.dims, t.rank, &bytes)) {
    text w = why();
    w << "input '" << io.name << "' is ";
    put_shape(w, t.dtype, t.dims, t.rank);
    w << ": more bytes than there are addresses, or a negative size";
    return ORTC_INVALID_ARGUMENT;
  }
  if (bytes > t.capacity)
    return why() << "input '" << io.name << "' needs " << bytes << " bytes, and its capacity is "
                 << t.capacity,
           ORTC_INVALID_ARGUMENT;
  if (bytes && !t.data)
    return why() << "input '" << io.name << "' has no data", ORTC_INVALID_ARGUMENT;
  return ORTC_OK;
}

ortc_status context::bind_dims(const ortc_io& io, const ortc_tensor& t, int64_t* dims) {
  for (int i = 0; i < io.rank; ++i) {
    const int64_t declared = io.shape[i], found = t.dims[i];
    if (found < 0 || (declared >= 0 && found != declared)) return wrong_shape("input", io, t);
    if (declared >= 0 || declared == ORTC_COMPUTED) continue;
    int64_t& bound = dims[~declared];
    if (bound < 0) bound = found;
    if (bound != found) {
      text w = why();
      w << "input '" << io.name << "' is ";
      put_shape(w, t.dtype, t.dims, t.rank);
      w << ", expected ";
      put_declared(w, *model, io);
      w << " with '" << model->dims[~declared].name << "' = " << bound << " as before";
      return ORTC_INVALID_ARGUMENT;
    }
  }
  return ORTC_OK;
}

ortc_status context::check_inputs(const ortc_tensor* inputs, int64_t* dims, ortc_space space) {
  if (!inputs && model->num_inputs)
    return why() << "no inputs given, " << model->num_inputs << " expected", ORTC_INVALID_ARGUMENT;
  for (int i = 0; i < model->num_dims; ++i)
    dims[i] = -1;
  for (int i = 0; i < model->num_inputs; ++i)
    if (const ortc_status s = check_input(model->inputs[i], inputs[i], dims, space)) return s;
  // Only absent optional inputs can leave a dimension open; its smallest size is as good as any.
  for (int i = 0; i < model->num_dims; ++i)
    if (dims[i] < 0) dims[i] = model->dims[i].min;
  return check_dims(dims);
}

ortc_status context::check_dims(const int64_t* dims) {
  if (!dims && model->num_dims)
    return why() << "no sizes given, " << model->num_dims << " expected", ORTC_INVALID_ARGUMENT;
  for (int i = 0; i < model->num_dims; ++i) {
    const ortc_dim& d = model->dims[i];
    if (dims[i] < d.min || dims[i] > d.max) {
      text w = why();
      w << "dim '" << d.name << "' is " << dims[i] << ", expected ";
      if (d.max == INT64_MAX)
        w << "at least " << d.min;
      else
        w << d.min << " to " << d.max;
      return ORTC_INVALID_ARGUMENT;
    }
    if (d.multiple_of > 1 && dims[i] % d.multiple_of != 0)
      return why() << "dim '" << d.name << "' is " << dims[i] << ", expected a multiple of "
                   << d.multiple_of,
             ORTC_INVALID_ARGUMENT;
  }
  return ORTC_OK;
}

ortc_status context::check_outputs(ortc_tensor* outputs, const int64_t* dims, ortc_space space) {
  if (!outputs && model->num_outputs)
    return why() << "no outputs given, " << model->num_outputs << " expected",
           ORTC_INVALID_ARGUMENT;
  ortc_status result = ORTC_OK;
  for (int o = 0; o < model->num_outputs; ++o) {
    const ortc_io& io = model->outputs[o];
    ortc_tensor& t = outputs[o];
    if (!has_shape(io)) continue; // filled in from the heap
    if (t.dtype != io.dtype || t.rank != io.rank || (t.rank > 0 && !t.dims))
      return wrong_shape("output", io, {t.data, nullptr, t.capacity, t.rank, t.dtype, t.space, 0});
    if (t.space != space)
      return why() << "output '" << io.name << "' is in "
                   << (t.space == ORTC_HOST ? "host" : "device") << " memory, expected "
                   << (space == ORTC_HOST ? "host" : "device"),
             ORTC_INVALID_ARGUMENT;
    bool known = true;
    for (int i = 0; i < io.rank; ++i) {
      const int64_t size = io.shape[i];
      t.dims[i] = size >= 0 ? size : size == ORTC_COMPUTED ? -1 : dims[~size];
      known = known && t.dims[i] >= 0;
    }
    // All outputs get their sizes, also behind one that is too small: one failing call tells them
    // all.
    if (known && result == ORTC_OK && !is_plain(io, t, space))
      result = set_output(outputs, o, t.dims);
  }
  return result;
}

ortc_status context::set_output(ortc_tensor* outputs, int index, const int64_t* sizes) {
  const ortc_io& io = model->outputs[index];
  ortc_tensor& t = outputs[index];
  for (int i = 0; i < t.rank; ++i)
    t.dims[i] = sizes[i];
  uint64_t bytes = 0;
  if (!tensor_bytes(t.dtype, t.dims, t.rank, &bytes) || bytes > t.capacity || (bytes && !t.data)) {
    text w = why();
    w << "output '" << io.name << "' is ";
    put_shape(w, t.dtype, t.dims, t.rank);
    w << " and needs " << bytes << " bytes; its capacity is " << (t.data ? t.capacity : 0);
    return ORTC_CAPACITY;
  }
  return ORTC_OK;
}

ortc_status context::need_arena(uint64_t bytes, bool of_data) {
  if (bytes <= memory.size) return ORTC_OK;
  if (of_data && bytes > asked_for) asked_for = bytes;
  return why() << (of_data ? "the data of this run needs " : "these sizes need ") << bytes
               << " bytes of arena, and " << memory.size
               << (of_data ? " are reserved: call reserve, and run again"
                           : " are reserved: call reserve with them"),
         ORTC_NEED_RESERVE;
}

ortc_status context::reserve_arena(uint64_t bytes) {
  if (bytes < asked_for) bytes = asked_for;
  if (arena_reserve(memory, bytes)) return ORTC_OK;
  return why() << "no memory for an arena of " << bytes << " bytes", ORTC_OUT_OF_MEMORY;
}

ortc_status context::check_heap() {
  if (results.missing == 0) return ORTC_OK;
  return why() << "the context heap of " << results.size << " bytes is full (" << results.missing
               << " more were asked for): set heap_bytes in the options",
         ORTC_OUT_OF_MEMORY;
}

void* context_memory(uint64_t bytes) {
  return memory_alloc(bytes);
}
void context_memory_free(void* p, uint64_t bytes) {
  memory_free(p, bytes);
}

namespace {
bool take(int& flag) {
#ifdef ORTC_NO_THREADS
  return flag ? false : (flag = 1, true);
#else
  return __atomic_exchange_n(&flag, 1, __ATOMIC_ACQUIRE) == 0;
#endif
}
void give(int& flag) {
#ifdef ORTC_NO_THREADS
  flag = 0;
#else
  __atomic_store_n(&flag, 0, __ATOMIC_RELEASE);
#endif
}
} // namespace

run_scope::run_scope(context& c) : ctx(c), busy(!take(c.busy_flag)) {
  if (busy) return;
  c.message[0] = 0;
  c.results.reset();
  pool_begin(c.own_pool);
}

run_scope::~run_scope() {
  if (busy) return;
  pool_end(ctx.own_pool);
  give(ctx.busy_flag);
}

ORTC_RT_END
