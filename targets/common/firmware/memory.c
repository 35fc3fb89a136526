/* SPDX-License-Identifier: 0BSD
 * The four functions that a compiler may call even where there is no library. A file of its own:
 * they belong to the bundle's share of flash, not to the test's. */
#include <stddef.h>

void* memcpy(void* restrict to, const void* restrict from, size_t bytes) {
  char* t = to;
  const char* f = from;
  while (bytes--)
    *t++ = *f++;
  return to;
}

void* memmove(void* to, const void* from, size_t bytes) {
  char* t = to;
  const char* f = from;
  if (t <= f) {
    while (bytes--)
      *t++ = *f++;
  } else {
    while (bytes--)
      t[bytes] = f[bytes];
  }
  return to;
}

void* memset(void* to, int value, size_t bytes) {
  char* t = to;
  while (bytes--)
    *t++ = (char)value;
  return to;
}

int memcmp(const void* a, const void* b, size_t bytes) {
  const unsigned char *p = a, *q = b;
  for (; bytes--; ++p, ++q)
    if (*p != *q) return *p - *q;
  return 0;
}
