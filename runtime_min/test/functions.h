// SPDX-License-Identifier: 0BSD
// The elementary functions with their references and the error each may have, for the test and for
// the exhaustive check. Only built for tests.
#ifndef ORTC_RT_TEST_FUNCTIONS_H
#define ORTC_RT_TEST_FUNCTIONS_H

#include "rt/elementary.h"

#include <cmath>
#include <limits>

namespace functions {

namespace rt = ortc_rt;

struct function {
  const char* name;
  void (*vector)(const float* x, float* y); // rt::lanes_of<f32v> numbers
  float (*scalar)(float x);
  double (*reference)(double x);
  double ulp; // greatest error allowed, over all 2^32 arguments
};

inline double sigmoid_reference(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
inline double rsqrt_reference(double x) {
  return 1 / std::sqrt(x);
}

#define ORTC_FUNCTION(name, reference, ulp)                                                        \
  {#name, [](const float* x, float* y) { rt::store(y, rt::name(rt::load<rt::f32v>(x))); },         \
   [](float x) { return rt::name(x); }, [](double x) -> double { return reference(x); }, ulp}
inline const function all[] = {
    ORTC_FUNCTION(exp, std::exp, 1.1),          ORTC_FUNCTION(exp2, std::exp2, 1.1),
    ORTC_FUNCTION(expm1, std::expm1, 1.7),      ORTC_FUNCTION(sigmoid, sigmoid_reference, 2.4),
    ORTC_FUNCTION(log, std::log, 1.0),          ORTC_FUNCTION(log2, std::log2, 2.2),
    ORTC_FUNCTION(log10, std::log10, 2.0),      ORTC_FUNCTION(log1p, std::log1p, 1.7),
    ORTC_FUNCTION(sin, std::sin, 1.8),          ORTC_FUNCTION(cos, std::cos, 1.8),
    ORTC_FUNCTION(tan, std::tan, 2.4),          ORTC_FUNCTION(asin, std::asin, 2.5),
    ORTC_FUNCTION(acos, std::acos, 1.3),        ORTC_FUNCTION(atan, std::atan, 1.8),
    ORTC_FUNCTION(sinh, std::sinh, 1.7),        ORTC_FUNCTION(cosh, std::cosh, 1.5),
    ORTC_FUNCTION(tanh, std::tanh, 1.5),        ORTC_FUNCTION(asinh, std::asinh, 1.9),
    ORTC_FUNCTION(acosh, std::acosh, 2.5),      ORTC_FUNCTION(atanh, std::atanh, 1.3),
    ORTC_FUNCTION(erf, std::erf, 1.3),          ORTC_FUNCTION(sqrt, std::sqrt, 0.5001),
    ORTC_FUNCTION(rsqrt, rsqrt_reference, 1.5),
};
#undef ORTC_FUNCTION

// Distance in units of the last place that a float of the reference's size has.
inline double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  const float nearest = float(want);
  if (std::isnan(got)) return std::numeric_limits<double>::infinity();
  if (nearest == got)
    return got == 0 && want == 0 && std::signbit(got) != std::signbit(want)
               ? std::numeric_limits<double>::infinity()
           : std::isinf(got)
               ? 0
               : std::fabs(got - want) /
                     std::ldexp(1.0, std::fmax(std::ilogb(want == 0 ? 1 : want), -126) - 23);
  if (std::isinf(got) !=
      std::isinf(nearest)) { // one step beyond the greatest float counts as that step
    const double limit = std::ldexp(1.0, 128);
    const double g = std::isinf(got) ? std::copysign(limit, double(got)) : double(got);
    return std::fabs(g - want) / std::ldexp(1.0, 104);
  }
  return std::fabs(got - want) /
         std::ldexp(1.0, std::fmax(std::ilogb(want == 0 ? 1e-300 : want), -126) - 23);
}

struct result {
  double worst = 0;
  float at = 0;
  uint64_t different = 0; // arguments for which scalar and vector do not have the same bits
  float different_at = 0;
  uint64_t digest =
      1469598103934665603u; // of all results: equal for all compilers and vector widths
};

// Every stride-th of the 2^32 bit patterns.
inline result sweep(const function& f, uint64_t stride, uint64_t first = 0,
                    uint64_t end = uint64_t(1) << 32) {
  constexpr int n = rt::lanes_of<rt::f32v>;
  result r;
  float x[n], y[n];
  for (uint64_t bits = first; bits < end; bits += stride * n) {
    for (int i = 0; i < n; ++i)
      x[i] = rt::bits_as<float>(uint32_t(bits + stride * i));
    f.vector(x, y);
    for (int i = 0; i < n && bits + stride * i < end; ++i) {
      const float s = f.scalar(x[i]);
      if (rt::bits_as<uint32_t>(s) != rt::bits_as<uint32_t>(y[i]) &&
          !(std::isnan(s) && std::isnan(y[i]))) {
        if (r.different++ == 0) r.different_at = x[i];
      }
      r.digest = (r.digest ^ (s != s ? 0x7fc00000u : rt::bits_as<uint32_t>(s))) * 1099511628211u;
      const double e = ulps(y[i], f.reference(x[i]));
      if (!(e <= r.worst)) r.worst = e, r.at = x[i];
    }
  }
  return r;
}

} // namespace functions
#endif
