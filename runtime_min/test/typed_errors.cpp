// SPDX-License-Identifier: 0BSD
// Compiled once for each macro: only ORTC_TEST_right may succeed.
#include "ortc/typed.hpp"

using namespace ortc_rt;

ortc_status run(tensor_view<const float, any, 3, 224, 224> x, tensor_view<float, any, 1000> y);

ortc_status use(float* x, int32_t* integers, float* y) {
  const tensor_view<float, 2, 1000> out(y);
#if defined(ORTC_TEST_right)
  (void)integers;
  return run(tensor_view<float, 2, 3, 224, 224>(x), out);
#elif defined(ORTC_TEST_wrong_shape)
  return run(tensor_view<float, 2, 3, 224, 225>(x), out);
#elif defined(ORTC_TEST_wrong_type)
  return run(tensor_view<int32_t, 2, 3, 224, 224>(integers), out);
#elif defined(ORTC_TEST_wrong_rank)
  return run(tensor_view<float, 3, 224, 224>(x), out);
#endif
}
