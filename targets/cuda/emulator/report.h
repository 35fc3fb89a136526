// SPDX-License-Identifier: 0BSD
//
// Faults, each told once per place.
#ifndef CUEMU_REPORT_H
#define CUEMU_REPORT_H

#include <string>

#include "core.h"

namespace cuemu {

std::string placeOf(const Site& site);
/// "file.cu:12" of a return address in kernel text, past the wrappers of ortc_cuda.cuh; needs
/// addr2line for the line.
std::string placeOf(const void* returnAddress);
std::string keyOf(const void* p);

/// Whether a fault of this kind has not been told yet for `key`, usually a place in the program. A
/// fault in a loop is met many times, so this is asked before a text is composed.
bool firstTime(const char* kind, const std::string& key);
void report(const char* kind, const std::string& text);

/// A fault at an address in kernel text, told once per line: an unrolled loop has many addresses.
/// `text` gets the place.
template <class Text>
void reportAt(const char* kind, const std::string& what, const void* pc, Text text) {
  if (!firstTime(kind, what + keyOf(pc))) return;
  const std::string place = placeOf(pc);
  if (firstTime(kind, what + place)) report(kind, text(place));
}

bool anyReports();
/// First report, for cudaGetErrorString; stays valid until clearReports().
const char* firstReport();

} // namespace cuemu
#endif
