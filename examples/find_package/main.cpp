// SPDX-License-Identifier: 0BSD
// Runs a compiled model through its typed header: with another shape or type this does not compile.
#include <cstdio>
#include <vector>

#include "orientation/orientation.hpp"

int main() {
  std::vector<float> image(3 * 48 * 192, 0.5f), scores(2);
  orientation::model model;
  ortc_rt::tensor_view<const float, 1, 3, 48, 192> x(image.data());
  ortc_rt::tensor_view<float, 1, 2> y(scores.data());
  if (model.run(x, y) != ORTC_OK) {
    std::fprintf(stderr, "%s\n", model.error());
    return 1;
  }
  std::printf("upright %.4f, upside down %.4f\n", scores[0], scores[1]);
  return 0;
}
