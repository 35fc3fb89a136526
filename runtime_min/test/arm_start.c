/* SPDX-License-Identifier: 0BSD
 * Start-up of digest.cpp on an emulated Cortex-M: stack pointer, reset vector, FPU on; the C
 * library does the rest and prints through semihosting. */
extern unsigned char stack_top[];
void _start(void);

static void reset(void) {
#if defined(__ARM_FP)
  *(volatile unsigned*)0xE000ED88 |= 0xFu << 20; /* CPACR: full access to CP10 and CP11 */
  __asm volatile("dsb\n isb");
#endif
  _start();
}

__attribute__((section(".vectors"), used)) static const struct {
  unsigned char* stack;
  void (*reset)(void);
} vectors = {stack_top, reset};
