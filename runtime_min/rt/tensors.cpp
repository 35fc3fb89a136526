// SPDX-License-Identifier: 0BSD
// Tables of the element types.
#include "tensors.h"

ORTC_RT_BEGIN

namespace {
struct dtype_row {
  ortc_dtype dtype;
  uint8_t bits_low; // low byte and high byte: the widest element has 448 bits
  uint8_t bits_high;
  const char* name;
};
#define ROW(dtype, bits, name) {dtype, uint8_t((bits) % 256), uint8_t((bits) / 256), name}
constexpr dtype_row kRows[] = {
    ROW(ORTC_FLOAT, 32, "f32"),
    ROW(ORTC_UINT8, 8, "u8"),
    ROW(ORTC_INT8, 8, "i8"),
    ROW(ORTC_UINT16, 16, "u16"),
    ROW(ORTC_INT16, 16, "i16"),
    ROW(ORTC_INT32, 32, "i32"),
    ROW(ORTC_INT64, 64, "i64"),
    ROW(ORTC_STRING, 8 * sizeof(ortc_string), "string"),
    ROW(ORTC_BOOL, 8, "bool"),
    ROW(ORTC_FLOAT16, 16, "f16"),
    ROW(ORTC_DOUBLE, 64, "f64"),
    ROW(ORTC_UINT32, 32, "u32"),
    ROW(ORTC_UINT64, 64, "u64"),
    ROW(ORTC_COMPLEX64, 64, "c64"),
    ROW(ORTC_COMPLEX128, 128, "c128"),
    ROW(ORTC_BFLOAT16, 16, "bf16"),
    ROW(ORTC_FLOAT8E4M3FN, 8, "f8e4m3fn"),
    ROW(ORTC_FLOAT8E4M3FNUZ, 8, "f8e4m3fnuz"),
    ROW(ORTC_FLOAT8E5M2, 8, "f8e5m2"),
    ROW(ORTC_FLOAT8E5M2FNUZ, 8, "f8e5m2fnuz"),
    ROW(ORTC_UINT4, 8, "u4"), // a byte each
    ROW(ORTC_INT4, 8, "i4"),
    ROW(ORTC_UINT2, 8, "u2"),
    ROW(ORTC_INT2, 8, "i2"),
    ROW(ORTC_FLOAT4E2M1, 8, "f4e2m1"),
    ROW(ORTC_FLOAT8E8M0, 8, "f8e8m0"),
    ROW(ORTC_LIST, 8 * sizeof(ortc_tensor), "list"),
    ROW(ORTC_MAP, 8 * sizeof(ortc_tensor), "map"),
};
#undef ROW

const dtype_row* row(ortc_dtype dtype) {
  for (const dtype_row& r : kRows)
    if (r.dtype == dtype) return &r;
  return nullptr;
}
} // namespace

int dtype_bits(ortc_dtype dtype) {
  const dtype_row* r = row(dtype);
  return r ? r->bits_low + 256 * r->bits_high : 0;
}

const char* dtype_name(ortc_dtype dtype) {
  const dtype_row* r = row(dtype);
  return r ? r->name : "?";
}

bool tensor_bytes(ortc_dtype dtype, const int64_t* dims, int rank, uint64_t* bytes) {
  if (dtype == ORTC_MAP) { // two records, whatever the dims
    *bytes = 2 * sizeof(ortc_tensor);
    return true;
  }
  uint64_t bits = uint64_t(dtype_bits(dtype));
  bool empty = false, fits = true;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 0) return false;
    empty = empty || dims[i] == 0;
    fits = fits && !__builtin_mul_overflow(bits, uint64_t(dims[i]), &bits);
  }
  *bytes = empty ? 0 : bits / 8 + (bits % 8 != 0);
  return empty || (fits && *bytes <= SIZE_MAX / 2);
}

uint64_t output_bytes(const ortc_model& model, int32_t index, const int64_t* sizes) {
  if (index < 0 || index >= model.num_outputs) return 0;
  const ortc_io& io = model.outputs[index];
  uint64_t count = 1;
  for (int32_t d = 0; d < io.rank; ++d) {
    if (io.shape[d] == ORTC_COMPUTED) return 0;
    const int64_t size = io.shape[d] >= 0 ? io.shape[d] : sizes ? sizes[~io.shape[d]] : -1;
    if (size < 0 || __builtin_mul_overflow(count, uint64_t(size), &count)) return 0;
  }
  uint64_t bits = 0;
  if (__builtin_mul_overflow(count, uint64_t(dtype_bits(io.dtype)), &bits)) return 0;
  return (bits + 7) / 8;
}

void put_shape(text& t, ortc_dtype dtype, const int64_t* dims, int rank) {
  t << dtype_name(dtype) << "[";
  for (int i = 0; i < rank; ++i) {
    if (i) t << ",";
    if (dims)
      t << dims[i];
    else
      t << "?";
  }
  t << "]";
}

void put_declared(text& t, const ortc_model& model, const ortc_io& io) {
  t << dtype_name(io.dtype) << "[";
  for (int i = 0; i < io.rank; ++i) {
    if (i) t << ",";
    if (io.shape[i] >= 0)
      t << io.shape[i];
    else if (io.shape[i] == ORTC_COMPUTED)
      t << "?";
    else
      t << model.dims[~io.shape[i]].name;
  }
  t << "]";
}

ORTC_RT_END
