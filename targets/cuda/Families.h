// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "targets/common/catalogue/Families.h"
#include "targets/cuda/Device.h"

namespace ortc::cuda {

using Families = catalogue::Families<Device>;

} // namespace ortc::cuda
