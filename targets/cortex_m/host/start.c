/* SPDX-License-Identifier: 0BSD
 *
 * Start-up of a test program on any Cortex-M: vector table, FPU and MVE on, paint on the stack,
 * .data and .bss, then main. A fault prints where it happened and ends with code 99. Names of
 * memory come from firmware.ld.in. */
#include "../../common/firmware/firmware.h"

extern uint32_t fw_stack_bottom[], fw_stack_top[];
extern uint32_t fw_data_begin[], fw_data_end[], fw_bss_begin[], fw_bss_end[], fw_test_bss_begin[],
    fw_test_bss_end[];
extern const uint32_t fw_data_image[];
extern void (*const fw_init_begin[])(void);
extern void (*const fw_init_end[])(void);
int main(void);

#define CPACR (*(volatile uint32_t*)0xE000ED88)
#define CFSR (*(volatile uint32_t*)0xE000ED28) /* why it faulted; reads as zero on a Cortex-M0 */

__attribute__((used)) static void start_c(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  CPACR |= 0xfu << 20;
  __asm__ volatile("dsb\nisb");
#endif
  const uint32_t* from = fw_data_image;
  for (uint32_t* p = fw_data_begin; p < fw_data_end; ++p)
    *p = *from++;
  for (uint32_t* p = fw_bss_begin; p < fw_bss_end; ++p)
    *p = 0;
  for (uint32_t* p = fw_test_bss_begin; p < fw_test_bss_end; ++p)
    *p = 0;
  for (void (*const* f)(void) = fw_init_begin; f < fw_init_end; ++f)
    (*f)();
  fw_exit(main());
}

/* Paints all of the stack before anything uses it, so this part has no frame. */
__attribute__((naked, noreturn)) void fw_start(void) {
  __asm__ volatile(".syntax unified\n"
                   "ldr r0, =fw_stack_bottom\n"
                   "ldr r1, =fw_stack_top\n"
                   "mov sp, r1\n"
                   "ldr r2, =0xa5c3a5c3\n"
                   "1: str r2, [r0]\n"
                   "adds r0, #4\n"
                   "cmp r0, r1\n"
                   "bne 1b\n"
                   "bl start_c\n"
                   ".ltorg\n");
}

/* The stack may be what failed: the report gets a fresh one. */
static uint32_t fault_stack[128];
__attribute__((used)) static void report(const uint32_t* frame) {
  fw_print("fault");
  if (frame >= fw_stack_bottom && frame + 8 <= fw_stack_top) {
    fw_print(" at 0x");
    fw_print_hex(frame[6]);
  } else {
    fw_print(": the stack overflowed");
  }
  fw_print(", cfsr 0x");
  fw_print_hex(CFSR);
  fw_print("\n");
  fw_exit(99);
}
__attribute__((naked)) static void fault(void) {
  __asm__ volatile("mov r0, sp\n"
                   "mov r1, %0\n"
                   "mov sp, r1\n"
                   "bl report\n" ::"r"(fault_stack + 128));
}

/* Stack, reset, then exceptions 2 to 15; 7 to 10 and 13 do not exist everywhere. */
static const struct {
  uint32_t* stack;
  void (*handlers[15])(void);
} vectors __attribute__((section(".vectors"), used)) = {
    fw_stack_top,
    {fw_start, fault, fault, fault, fault, fault, fault, 0, 0, 0, fault, fault, 0, fault, fault}};
