// SPDX-License-Identifier: 0BSD
// Error texts in a buffer of fixed size, without printf, so that firmware can say what is wrong
// too. What does not fit is cut off.
#ifndef ORTC_RT_TEXT_H
#define ORTC_RT_TEXT_H

#include "config.h"

ORTC_RT_BEGIN

// Refers to a buffer that is always terminated. `t << "dim " << 3 << " is odd"`
class text {
public:
  text(char* buffer, size_t capacity) : begin_(buffer), end_(buffer), last_(buffer + capacity - 1) {
    *end_ = 0;
  }

  text& put(char c) {
    if (end_ < last_) *end_++ = c, *end_ = 0;
    return *this;
  }
  text& put(const char* s, size_t n) {
    for (size_t i = 0; i < n; ++i)
      put(s[i]);
    return *this;
  }
  text& operator<<(const char* s) {
    while (s && *s)
      put(*s++);
    return *this;
  }
  // One for each of C++'s types: int32_t is int here and long there.
  text& operator<<(int n) { return integer(n); }
  text& operator<<(unsigned n) { return natural(n); }
  text& operator<<(long n) { return integer(n); }
  text& operator<<(unsigned long n) { return natural(n); }
  text& operator<<(long long n) { return integer(n); }
  text& operator<<(unsigned long long n) { return natural(n); }

  const char* c_str() const { return begin_; }

private:
  text& natural(uint64_t n) {
    char digits[20];
    int k = 0;
    do {
      digits[k++] = char('0' + n % 10);
      n /= 10;
    } while (n);
    while (k)
      put(digits[--k]);
    return *this;
  }
  text& integer(int64_t n) {
    return n < 0 ? put('-').natural(uint64_t(0) - uint64_t(n)) : natural(uint64_t(n));
  }

  char* begin_;
  char* end_;
  char* last_;
};

ORTC_RT_END
#endif
