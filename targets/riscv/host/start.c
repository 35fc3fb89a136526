/* SPDX-License-Identifier: 0BSD
 *
 * Start-up of a test program on a bare RISC-V hart in machine mode: stack with paint, trap handler,
 * FPU when compiled for one, .data and .bss, then main. A trap prints where it happened and ends
 * with code 99. */
#include "../../common/firmware/firmware.h"

extern uint32_t fw_stack_bottom[], fw_stack_top[];
extern uint32_t fw_data_begin[], fw_data_end[], fw_bss_begin[], fw_bss_end[], fw_test_bss_begin[],
    fw_test_bss_end[];
extern const uint32_t fw_data_image[];
extern void (*const fw_init_begin[])(void);
extern void (*const fw_init_end[])(void);
int main(void);

/* Machine registers are an extension by name, though every machine has them. */
#define CSR ".option push\n.option arch, +zicsr\n"
#define END "\n.option pop\n"

static uint32_t trap_stack[128] __attribute__((aligned(16)));
__attribute__((used)) static void report(uint32_t pc, uint32_t cause) {
  fw_print("fault at 0x");
  fw_print_hex(pc);
  fw_print(", mcause 0x");
  fw_print_hex(cause);
  fw_print("\n");
  fw_exit(99);
}
__attribute__((naked, aligned(64))) static void trap(void) {
  __asm__ volatile(CSR "csrr a0, mepc\ncsrr a1, mcause" END
                       "mv sp, %0\nj report" ::"r"(trap_stack + 128));
}

__attribute__((used)) static void start_c(void) {
  __asm__ volatile(CSR "csrw mtvec, %0" END ::"r"(trap));
#if defined(__riscv_flen)
  __asm__ volatile(CSR "csrs mstatus, %0" END ::"r"(0x6000));
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
__attribute__((naked, noreturn, used, section(".vectors"))) void fw_start(void) {
  __asm__ volatile("la t0, fw_stack_bottom\n"
                   "la sp, fw_stack_top\n"
                   "li t1, 0xa5c3a5c3\n"
                   "1: sw t1, 0(t0)\n"
                   "addi t0, t0, 4\n"
                   "bne t0, sp, 1b\n"
                   "j start_c\n");
}
