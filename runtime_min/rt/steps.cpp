// SPDX-License-Identifier: 0BSD
#include "steps.h"

ORTC_RT_BEGIN

namespace {

ortc_tensor tensor_of(void* data, ortc_dtype dtype, int32_t rank, int64_t* dims, uint64_t bytes) {
  return {data, dims, bytes, rank, dtype, ORTC_HOST, 0};
}

// Keys are shared by all maps: they are part of the program.
ortc_status zip(context& c, const void* keys, ortc_dtype key_type, uint64_t key_bytes, int64_t n,
                const float* scores, int64_t rows, int64_t columns, ortc_tensor* maps) {
  if (columns != n)
    return c.why() << "a map has " << n << " keys, but there are " << columns << " scores",
           ORTC_RUN_ERROR;
  auto* list = c.results.alloc_array<ortc_tensor>(uint64_t(rows));
  auto* parts = c.results.alloc_array<ortc_tensor>(2 * uint64_t(rows));
  auto* dims = c.results.alloc_array<int64_t>(2);
  if (!list || !parts || !dims) return c.check_heap();
  dims[0] = n;
  dims[1] = rows;
  for (int64_t r = 0; r < rows; ++r) {
    parts[2 * r] = tensor_of(const_cast<void*>(keys), key_type, 1, dims, key_bytes * uint64_t(n));
    parts[2 * r + 1] = tensor_of(const_cast<float*>(scores + r * columns), ORTC_FLOAT, 1, dims,
                                 sizeof(float) * uint64_t(n));
    list[r] = tensor_of(parts + 2 * r, ORTC_MAP, 0, nullptr, 2 * sizeof(ortc_tensor));
  }
  *maps = tensor_of(list, ORTC_LIST, 1, dims + 1, sizeof(ortc_tensor) * uint64_t(rows));
  return ORTC_OK;
}

} // namespace

ortc_status zip_map(context& c, const int64_t* keys, int64_t n, const float* scores, int64_t rows,
                    int64_t columns, ortc_tensor* maps) {
  return zip(c, keys, ORTC_INT64, sizeof(int64_t), n, scores, rows, columns, maps);
}
ortc_status zip_map(context& c, const ortc_string* keys, int64_t n, const float* scores,
                    int64_t rows, int64_t columns, ortc_tensor* maps) {
  return zip(c, keys, ORTC_STRING, sizeof(ortc_string), n, scores, rows, columns, maps);
}

ortc_status set_output(context& c, int64_t number, const ortc_tensor& value) {
  ortc_tensor& out = c.outputs[number];
  // The caller's room for sizes stays the caller's.
  if (out.dims && value.rank > 0 && out.rank >= value.rank)
    for (int32_t d = 0; d < value.rank; ++d)
      out.dims[d] = value.dims[d];
  else
    out.dims = value.dims;
  out.data = value.data;
  out.capacity = value.capacity;
  out.rank = value.rank;
  out.dtype = value.dtype;
  return ORTC_OK;
}

ORTC_RT_END
