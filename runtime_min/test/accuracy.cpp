// SPDX-License-Identifier: 0BSD
// Prints the worst error of each elementary function, in units of the last place:
//   accuracy [STRIDE] [NAME...]     every STRIDE-th f32 (1: all of them, a minute or so a function)
// Exit status 1 when one is above what it may be, or when scalar and vector differ.
#include "functions.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  const uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 997;
  bool good = true;
  for (const functions::function& f : functions::all) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; ++i)
      wanted = wanted || !std::strcmp(argv[i], f.name);
    if (!wanted) continue;
    const functions::result r = functions::sweep(f, stride ? stride : 1);
    const bool ok = r.worst <= f.ulp && r.different == 0;
    good = good && ok;
    std::printf("%-8s %.3f ulp at %.9g (at most %.2f), digest %016llx%s", f.name, r.worst,
                double(r.at), f.ulp, (unsigned long long)r.digest, ok ? "" : "  TOO MUCH");
    if (r.different)
      std::printf("; scalar and vector differ for %llu arguments, first %.9g",
                  (unsigned long long)r.different, double(r.different_at));
    std::printf("\n");
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}
