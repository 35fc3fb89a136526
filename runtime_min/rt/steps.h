// SPDX-License-Identifier: 0BSD
// Steps of host programs on values that are no dense tensors: lists and maps. Each takes the
// context, its settings in the order of their names, its arguments (a tensor is a pointer and its
// sizes), then its results. What they make lives on the context's heap until the next run.
#ifndef ORTC_RT_STEPS_H
#define ORTC_RT_STEPS_H

#include "context.h"

ORTC_RT_BEGIN

// One map per row, from keys[i] to scores[row * columns + i]; n is the number of keys, which is
// that of columns.
ortc_status zip_map(context& c, const int64_t* keys, int64_t n, const float* scores, int64_t rows,
                    int64_t columns, ortc_tensor* maps);
ortc_status zip_map(context& c, const ortc_string* keys, int64_t n, const float* scores,
                    int64_t rows, int64_t columns, ortc_tensor* maps);

// Hands a list or a map to the caller as output `number`.
ortc_status set_output(context& c, int64_t number, const ortc_tensor& value);

ORTC_RT_END
#endif
