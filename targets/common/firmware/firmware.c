/* SPDX-License-Identifier: 0BSD
 * Semihosting calls and the reading of the stack's paint; see firmware.h. */
#include "firmware.h"

enum {
  SYS_OPEN = 0x01,
  SYS_CLOSE = 0x02,
  SYS_WRITE0 = 0x04,
  SYS_WRITE = 0x05,
  SYS_READ = 0x06,
  SYS_FLEN = 0x0c,
  SYS_EXIT_EXTENDED = 0x20
};
enum { ADP_Stopped_ApplicationExit = 0x20026 };

static intptr_t semihost(intptr_t operation, const void* argument) {
#if defined(__arm__)
  register intptr_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
#elif defined(__riscv)
  /* The three instructions must be uncompressed and must not cross a page. */
  register intptr_t a0 __asm__("a0") = operation;
  register const void* a1 __asm__("a1") = argument;
  __asm__ volatile(".option push\n.option norvc\n.balign 16\n"
                   "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
                   : "+r"(a0)
                   : "r"(a1)
                   : "memory");
  return a0;
#else
#error "no semihosting for this processor"
#endif
}

static size_t length(const char* text) {
  size_t n = 0;
  while (text[n])
    ++n;
  return n;
}

void fw_print(const char* text) {
  semihost(SYS_WRITE0, text);
}

void fw_print_number(int64_t value) {
  char digits[24];
  int at = sizeof digits - 1;
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  digits[at] = 0;
  do {
    digits[--at] = (char)('0' + left % 10);
    left /= 10;
  } while (left);
  if (value < 0) digits[--at] = '-';
  fw_print(digits + at);
}

void fw_print_hex(uint32_t value) {
  char digits[9];
  for (int i = 0; i < 8; ++i)
    digits[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
  digits[8] = 0;
  fw_print(digits);
}

void fw_exit(int code) {
  const intptr_t block[2] = {ADP_Stopped_ApplicationExit, code};
  for (;;)
    semihost(SYS_EXIT_EXTENDED, block);
}

intptr_t fw_open(const char* path, int write) {
  const intptr_t block[3] = {(intptr_t)path, write ? 5 /* "wb" */ : 1 /* "rb" */,
                             (intptr_t)length(path)};
  return semihost(SYS_OPEN, block);
}

intptr_t fw_size(intptr_t file) {
  return semihost(SYS_FLEN, &file);
}

/* Both calls answer with the bytes that are left over. */
size_t fw_read(intptr_t file, void* to, size_t bytes) {
  const intptr_t block[3] = {file, (intptr_t)to, (intptr_t)bytes};
  return bytes - (size_t)semihost(SYS_READ, block);
}

size_t fw_write(intptr_t file, const void* from, size_t bytes) {
  const intptr_t block[3] = {file, (intptr_t)from, (intptr_t)bytes};
  return bytes - (size_t)semihost(SYS_WRITE, block);
}

void fw_close(intptr_t file) {
  semihost(SYS_CLOSE, &file);
}

/* Names of the linker script. */
extern uint32_t fw_stack_bottom[], fw_stack_top[];

size_t fw_stack_size(void) {
  return (size_t)((char*)fw_stack_top - (char*)fw_stack_bottom);
}

size_t fw_stack_used(void) {
  const volatile uint32_t* p = fw_stack_bottom;
  while (p < fw_stack_top && *p == FW_STACK_PAINT)
    ++p;
  return (size_t)((const char*)fw_stack_top - (const char*)p);
}
