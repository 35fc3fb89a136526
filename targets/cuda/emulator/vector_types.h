// SPDX-License-Identifier: 0BSD
//
// CUDA's short vectors and dim3, with CUDA's alignment, since kernel text relies on both.
#ifndef CUEMU_VECTOR_TYPES_H
#define CUEMU_VECTOR_TYPES_H

#define CUEMU_VECTOR(T, NAME, ALIGN2, ALIGN4)                                                      \
  struct NAME##1 {                                                                                 \
    T x;                                                                                           \
  };                                                                                               \
  struct alignas(ALIGN2) NAME##2 {                                                                 \
    T x, y;                                                                                        \
  };                                                                                               \
  struct NAME##3 {                                                                                 \
    T x, y, z;                                                                                     \
  };                                                                                               \
  struct alignas(ALIGN4) NAME##4 {                                                                 \
    T x, y, z, w;                                                                                  \
  };                                                                                               \
  inline NAME##2 make_##NAME##2(T x, T y) {                                                        \
    return NAME##2 {x, y};                                                                         \
  }                                                                                                \
  inline NAME##3 make_##NAME##3(T x, T y, T z) {                                                   \
    return NAME##3 {x, y, z};                                                                      \
  }                                                                                                \
  inline NAME##4 make_##NAME##4(T x, T y, T z, T w) {                                              \
    return NAME##4 {x, y, z, w};                                                                   \
  }
CUEMU_VECTOR(signed char, char, 2, 4)
CUEMU_VECTOR(unsigned char, uchar, 2, 4)
CUEMU_VECTOR(short, short, 4, 8)
CUEMU_VECTOR(unsigned short, ushort, 4, 8)
CUEMU_VECTOR(int, int, 8, 16)
CUEMU_VECTOR(unsigned, uint, 8, 16)
CUEMU_VECTOR(float, float, 8, 16)
CUEMU_VECTOR(long long, longlong, 16, 16)
CUEMU_VECTOR(unsigned long long, ulonglong, 16, 16)
CUEMU_VECTOR(double, double, 16, 16)
#undef CUEMU_VECTOR

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#endif
