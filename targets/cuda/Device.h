// SPDX-License-Identifier: Apache-2.0
// What costs are reckoned with. A bundle runs on whatever device it meets, so these are the figures
// of a device in the middle of the supported ones (an A100, from its data sheet): they decide
// between kernels, not how long a run takes. Nothing here was measured by this project.
#pragma once

namespace ortc::cuda {

struct Device {
  int multiprocessors = 108;
  double multiplyAddsPerMicro = 64 * 1410; // of one multiprocessor: lanes times MHz
  double bytesPerMicro = 1555e3;           // of all, from memory
  double loadMicros =
      0.01; // a step of a loop that waits for what it has loaded, some loads under way
};

} // namespace ortc::cuda
