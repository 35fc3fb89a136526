// SPDX-License-Identifier: 0BSD
// Where the weights of a bundle are: linked in, or a file that is mapped. Nothing is read or copied
// at create: pages come in when a kernel first reads them, and contexts and processes share them.
//
// A weights file is the 64 bytes of weights_header, then the blob; offsets count from the blob's
// start, which keeps the alignment of 64.
#ifndef ORTC_RT_WEIGHTS_H
#define ORTC_RT_WEIGHTS_H

#include "ortc/ortc.h"

#include "config.h"
#include "text.h"

ORTC_RT_BEGIN

struct weights_header {
  char magic[8];            // "ortcwts1"
  uint64_t bytes;           // of the blob
  unsigned char digest[32]; // SHA-256 of the blob, as in the manifest
  unsigned char zero[16];
};
static_assert(sizeof(weights_header) == 64, "the blob starts at byte 64");

struct weights {
  const char* data = nullptr; // the blob
  uint64_t size = 0;
  void* mapping = nullptr; // NULL when linked in
  uint64_t mapped = 0;

  template <class T> const T* at(uint64_t offset) const {
    return reinterpret_cast<const T*>(data + offset);
  }
};

// Maps `path`, or, when it is NULL, the file `name` in the folder of the library or program that
// `anchor` (an address of the bundle's own code or data) was loaded from. Digest: 32 bytes that the
// header must have. On failure ORTC_IO, and why.
ortc_status weights_open(weights& w, const char* path, const char* name, const void* anchor,
                         uint64_t bytes, const unsigned char* digest, text& why);
void weights_close(weights& w);

ORTC_RT_END

// Puts a file into the program at file scope of a C++ source: ORTC_EMBED(net_weights,
// "weights/net.bin") defines net_weights and net_weights_end for ORTC_EMBED_DECLARE. 100 MB take
// half a second to build (1 M floats as literals take 3.5 s). The assembler looks for the path
// where -I says and in the working directory.
#if defined(__APPLE__)
#define ORTC_ASM_NAME(symbol) "_" #symbol
#define ORTC_ASM_BEGIN ".const_data\n"
#define ORTC_ASM_HIDDEN ".private_extern "
#define ORTC_ASM_END ".text\n"
#elif defined(_WIN32)
#define ORTC_ASM_NAME(symbol) #symbol
#define ORTC_ASM_BEGIN ".section .rdata,\"dr\"\n"
#define ORTC_ASM_HIDDEN "# "
#define ORTC_ASM_END ".text\n"
#else
#define ORTC_ASM_NAME(symbol) #symbol
#define ORTC_ASM_BEGIN ".pushsection .rodata.ortc_weights,\"a\",%progbits\n"
#define ORTC_ASM_HIDDEN ".hidden "
#define ORTC_ASM_END ".popsection\n"
#endif
#define ORTC_EMBED(symbol, path)                                                                   \
  __asm__(                                                                                         \
      ORTC_ASM_BEGIN                                                                               \
      ".balign 64\n"                                                                               \
      ".globl " ORTC_ASM_NAME(symbol) "\n" ORTC_ASM_HIDDEN ORTC_ASM_NAME(                          \
          symbol) "\n" ORTC_ASM_NAME(symbol) ":\n"                                                 \
                                             ".incbin \"" path "\"\n"                              \
                                             ".globl " ORTC_ASM_NAME(                              \
                                                 symbol##_end) "\n" ORTC_ASM_HIDDEN                \
                                                 ORTC_ASM_NAME(symbol##_end) "\n" ORTC_ASM_NAME(   \
                                                     symbol##_end) ":\n"                           \
                                                                   ".byte 0\n" ORTC_ASM_END);      \
  ORTC_EMBED_DECLARE(symbol)
#define ORTC_EMBED_DECLARE(symbol)                                                                 \
  extern "C" const char symbol[];                                                                  \
  extern "C" const char symbol##_end[];

#endif
