// SPDX-License-Identifier: Apache-2.0
// All ops of the `ortc` dialect. The list is made by CMake from the folders here.
#pragma once
#include "compiler/ir/Dialect.h"
#include "compiler/ops/AllOps.h.inc"
