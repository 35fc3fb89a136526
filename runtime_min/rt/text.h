// SPDX-License-Identifier: 0BSD
// Error texts in a buffer of fixed size, without printf, so that firmware can say what is wrong too. What does not fit
// is cut off.
#ifndef ORTC_RT_TEXT_H
#define ORTC_RT_TEXT_H

#include "config.h"

ORTC_RT_BEGIN

// Refers to a buffer that is always terminated. `t << "dim " << 3 << " is odd"`
class text {
public:
  text(char* buffer, size_t capacity) : begin_(buffer), end_(buffer), last_(buffer + capacity - 1) { *end_ = 0; }

  text& put(char c) {
    if (end_ < last_)
      *end_++ = c, *end_ = 0;
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
  text& operator<<(uint64_t n) {
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
  text& operator<<(int64_t n) { return n < 0 ? put('-') << (uint64_t(0) - uint64_t(n)) : *this << uint64_t(n); }
  text& operator<<(int n) { return *this << int64_t(n); }

  const char* c_str() const { return begin_; }

private:
  char* begin_;
  char* end_;
  char* last_;
};

ORTC_RT_END
#endif
