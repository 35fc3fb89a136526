// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/AllOps.h"
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/program/Program.cpp.inc"
