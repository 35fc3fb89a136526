// SPDX-License-Identifier: 0BSD
//
// Faults, each told once per place.
#ifndef CUEMU_REPORT_H
#define CUEMU_REPORT_H

#include <string>

#include "core.h"

namespace cuemu {

/// `key` makes a fault unique within its kind: usually a place in the program. Check before composing a text, since a
/// fault in a loop is met many times.
bool alreadyReported(const char* kind, const std::string& key);
void report(const char* kind, const std::string& key, const std::string& text);

bool anyReports();
/// First report, for cudaGetErrorString; stays valid until clearReports().
const char* firstReport();

std::string placeOf(const Site& site);
/// "file.cu:12" of a return address in kernel text, past the wrappers of ortc_cuda.cuh; needs addr2line for the line.
std::string placeOf(const void* returnAddress);
std::string keyOf(const void* p);

} // namespace cuemu
#endif
