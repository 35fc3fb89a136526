// SPDX-License-Identifier: 0BSD
// Sizes and names of tensors at the C interface.
#ifndef ORTC_RT_TENSORS_H
#define ORTC_RT_TENSORS_H

#include "ortc/ortc.h"

#include "config.h"
#include "text.h"

ORTC_RT_BEGIN

// Bits of one element in memory; 0 for what is no element type. Lists and maps count their
// ortc_tensor records.
int dtype_bits(ortc_dtype dtype);
const char* dtype_name(ortc_dtype dtype); // "f32"

// Bytes of a dense tensor; false when a size is negative or the product does not fit.
bool tensor_bytes(ortc_dtype dtype, const int64_t* dims, int rank, uint64_t* bytes);

// Bytes that output `index` needs when the dims of the model are sizes[num_dims]; 0 when it has a
// size that only the run computes, or `index` is out of range.
uint64_t output_bytes(const ortc_model& model, int32_t index, const int64_t* sizes);

// "f32[2,3,224,224]", and as the model states it: "f32[batch,3,224,?]"
void put_shape(text& t, ortc_dtype dtype, const int64_t* dims, int rank);
void put_declared(text& t, const ortc_model& model, const ortc_io& io);

ORTC_RT_END
#endif
