/* SPDX-License-Identifier: 0BSD
 *
 * What a bare program under a debugger or an emulator can ask of its host: text, files, an exit
 * code (semihosting; one instruction on Arm, three on RISC-V). And the measuring of the stack:
 * start-up paints it, here one looks how much of the paint is gone. For tests of bundles; a product
 * has its own start-up and needs none of this.
 */
#ifndef ORTC_FIRMWARE_H
#define ORTC_FIRMWARE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void fw_print(const char* text); /* to the emulator's stderr */
void fw_print_number(int64_t value);
void fw_print_hex(uint32_t value);
__attribute__((noreturn)) void fw_exit(int code); /* becomes the emulator's exit code */

/* Files of the host, relative to the emulator's working directory. */
intptr_t fw_open(const char* path, int write); /* -1: cannot */
intptr_t fw_size(intptr_t file);
size_t fw_read(intptr_t file, void* to, size_t bytes); /* bytes read */
size_t fw_write(intptr_t file, const void* from, size_t bytes);
void fw_close(intptr_t file);

/* Bytes of stack in use at most since start-up, and what there is. They are equal when it
 * overflowed. */
size_t fw_stack_used(void);
size_t fw_stack_size(void);

#define FW_STACK_PAINT 0xa5c3a5c3u

#ifdef __cplusplus
}
#endif
#endif
