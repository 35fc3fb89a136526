// SPDX-License-Identifier: Apache-2.0
// What the families of catalogue kernels are told to choose by.
#pragma once
#include "targets/common/catalogue/Families.h"
#include "targets/cpu/Processor.h"

namespace ortc::cpu {

struct Machine {
  Processor processor;
  bool oneDnn = false; // may be called
  bool strict = false; // nothing whose rounding is larger than that of the plain sum
};
using Families = catalogue::Families<Machine>;

} // namespace ortc::cpu
