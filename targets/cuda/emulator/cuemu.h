// SPDX-License-Identifier: 0BSD
//
// CUDA text on a CPU: include this where a .cu file would get CUDA's own headers. README.md tells
// how it works and what it cannot see.
#ifndef CUEMU_H
#define CUEMU_H

#include "core.h"
#include "device_api.h"
#include "half.h"
#include "host_api.h"
#include "vector_types.h"

#endif
