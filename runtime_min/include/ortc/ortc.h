/* SPDX-License-Identifier: 0BSD
 *
 * The C interface that every bundle speaks, whatever its target. A bundle named NAME exports
 * NAME_model() and the functions that the descriptor points to; this header is all that a generic
 * runner needs.
 *
 * Who owns what: the caller owns inputs and outputs; the context owns its arena, its heap and its
 * error text; weights are immutable and shared by all contexts of a process. A context serves one
 * caller at a time: a second one gets ORTC_BUSY. No function throws, and `run` allocates nothing.
 */
#ifndef ORTC_ORTC_H
#define ORTC_ORTC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORTC_ABI_VERSION 1

typedef int32_t ortc_status;
enum {
  ORTC_OK = 0,
  ORTC_INVALID_ARGUMENT =
      1,                 /* wrong rank, dtype, size, or a null pointer; the text names the tensor */
  ORTC_CAPACITY = 2,     /* an output buffer is too small; dims of the output say what is needed */
  ORTC_NEED_RESERVE = 3, /* free sizes, or sizes that follow from the data of this run, exceed what
                          * was reserved: call reserve with the dims of this run, and run again */
  ORTC_BUSY = 4,         /* the context is in use by another caller */
  ORTC_OUT_OF_MEMORY =
      5, /* at create or reserve; or the context heap is too small for the strings of a run */
  ORTC_NO_DEVICE = 6, /* no driver, no device, or one that the bundle was not compiled for */
  ORTC_IO = 7,        /* the weights file is absent or is not the one of this bundle */
  ORTC_RUN_ERROR =
      8, /* the model itself says so: an index out of range, a size that does not fit */
  ORTC_UNSUPPORTED = 9 /* this bundle lacks the feature, e.g. run_async on a CPU */
};

/* The numbers are those of ONNX's TensorProto.DataType; kinds that are no tensors start at 100.
 * Types of less than 8 bits take a byte each, of which the low bits count. */
typedef int32_t ortc_dtype;
enum {
  ORTC_FLOAT = 1,
  ORTC_UINT8 = 2,
  ORTC_INT8 = 3,
  ORTC_UINT16 = 4,
  ORTC_INT16 = 5,
  ORTC_INT32 = 6,
  ORTC_INT64 = 7,
  ORTC_STRING = 8,
  ORTC_BOOL = 9,
  ORTC_FLOAT16 = 10,
  ORTC_DOUBLE = 11,
  ORTC_UINT32 = 12,
  ORTC_UINT64 = 13,
  ORTC_COMPLEX64 = 14,
  ORTC_COMPLEX128 = 15,
  ORTC_BFLOAT16 = 16,
  ORTC_FLOAT8E4M3FN = 17,
  ORTC_FLOAT8E4M3FNUZ = 18,
  ORTC_FLOAT8E5M2 = 19,
  ORTC_FLOAT8E5M2FNUZ = 20,
  ORTC_UINT4 = 21,
  ORTC_INT4 = 22,
  ORTC_FLOAT4E2M1 = 23,
  ORTC_FLOAT8E8M0 = 24,
  ORTC_UINT2 = 25,
  ORTC_INT2 = 26,
  ORTC_LIST = 100, /* data is ortc_tensor[dims[0]] */
  ORTC_MAP = 101   /* data is ortc_tensor[2]: keys, values */
};

typedef int32_t ortc_space;
enum { ORTC_HOST = 0, ORTC_DEVICE = 1 };

/* An element of a tensor of ORTC_STRING: UTF-8, not terminated. Strings of outputs live in the
 * context's heap and are valid until its next run. */
typedef struct ortc_string {
  const char* data;
  uint64_t size;
} ortc_string;

/* A dense row-major tensor. Input: everything is set by the caller. Output: data and capacity are
 * set by the caller, dims points to room for `rank` sizes that run writes. An absent optional has
 * data == NULL and rank == -1. */
typedef struct ortc_tensor {
  void* data;
  int64_t* dims;
  uint64_t capacity; /* bytes at data */
  int32_t rank;
  ortc_dtype dtype;
  ortc_space space;
  int32_t reserved;
} ortc_tensor;

/* A size that the caller chooses: a named dimension of the model, checked once at entry against
 * these bounds. */
typedef struct ortc_dim {
  const char* name;
  int64_t min;
  int64_t max; /* INT64_MAX when nothing was stated */
  int64_t multiple_of;
} ortc_dim;

/* One input or output. shape[i] >= 0 is a fixed size; shape[i] < 0 is the dimension ~shape[i] of
 * the model's table (ortc_model.dims), or ORTC_COMPUTED when it is computed by the run. */
#define ORTC_COMPUTED INT64_MIN
typedef struct ortc_io {
  const char* name; /* as in the ONNX file */
  const int64_t* shape;
  int32_t rank;
  ortc_dtype dtype;
  int32_t optional;
  int32_t reserved;
} ortc_io;

typedef struct ortc_context ortc_context;

/* Runs `body(index, arg)` for index in [0, count) and returns when all are done; may use any number
 * of threads. */
typedef void (*ortc_parallel_for)(void* pool, int64_t count, void (*body)(int64_t index, void* arg),
                                  void* arg);

typedef struct ortc_options {
  uint32_t size;   /* sizeof(ortc_options): so that fields can be added */
  int32_t threads; /* 0: one per core of the process's affinity mask; 1: none but the caller's */
  const char* weights_path; /* for --weights=file; NULL: beside the library or program, as the
                               README says */
  uint64_t heap_bytes;      /* context heap for strings and outputs of unknown size; 0: the bundle's
                               default */
  ortc_parallel_for parallel; /* the caller's own pool instead of ours; NULL: ours */
  void* pool;                 /* first argument of `parallel` */
  void* device; /* GPU targets: device ordinal or handle, as the bundle's header says */
} ortc_options;

typedef struct ortc_model {
  uint32_t abi_version; /* ORTC_ABI_VERSION */
  uint32_t size;        /* sizeof(ortc_model) */
  const char* name;
  const char* target;       /* "cpu", "cuda", "vulkan", ... */
  const char* model_sha256; /* of the ONNX file and its external data */
  int32_t num_inputs, num_outputs, num_dims, reserved;
  const ortc_io* inputs;
  const ortc_io* outputs;
  const ortc_dim* dims;
  uint64_t weights_bytes;
  uint64_t arena_bytes; /* at the upper bounds; UINT64_MAX when a dim has none */

  /* options may be NULL. On failure *context is still set when memory allows, so that `error` can
   * tell why. */
  ortc_status (*create)(const ortc_options* options, ortc_context** context);
  /* sizes[num_dims]: grows the arena so that runs with dims up to these do not need more, but for
   * sizes that are data: there is room for what runs on this context have asked for so far. */
  ortc_status (*reserve)(ortc_context* context, const int64_t* sizes);
  ortc_status (*run)(ortc_context* context, const ortc_tensor* inputs, ortc_tensor* outputs);
  /* GPU targets: device pointers and a stream (cudaStream_t); NULL elsewhere. */
  ortc_status (*run_async)(ortc_context* context, const ortc_tensor* inputs, ortc_tensor* outputs,
                           void* stream);
  /* Bytes that output `index` may need when the dims are sizes[num_dims]; 0 when there is no bound.
   */
  uint64_t (*output_bound)(int32_t index, const int64_t* sizes);
  /* What went wrong in the last call on this context; "" after a success. Valid until the next
   * call. */
  const char* (*error)(const ortc_context* context);
  void (*destroy)(ortc_context* context);
} ortc_model;

/* Short name of a status ("invalid argument", ...). Each bundle carries its own copy under its
 * prefix; this one is for generic runners and is defined inline so that the header needs no
 * library. */
static inline const char* ortc_status_name(ortc_status status) {
  switch (status) {
  case ORTC_OK: return "ok";
  case ORTC_INVALID_ARGUMENT: return "invalid argument";
  case ORTC_CAPACITY: return "output buffer too small";
  case ORTC_NEED_RESERVE: return "sizes exceed what was reserved";
  case ORTC_BUSY: return "context in use";
  case ORTC_OUT_OF_MEMORY: return "out of memory";
  case ORTC_NO_DEVICE: return "no usable device";
  case ORTC_IO: return "weights not readable";
  case ORTC_RUN_ERROR: return "model error";
  case ORTC_UNSUPPORTED: return "not supported by this bundle";
  default: return "unknown status";
  }
}

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* ORTC_ORTC_H */
