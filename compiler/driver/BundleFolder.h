// SPDX-License-Identifier: Apache-2.0
// Where a bundle goes on disk: written beside its destination, then swapped in whole, so that
// nobody ever sees half of one, and nothing that is not ours is lost.
#pragma once
#include "compiler/support/Diagnostics.h"
#include <functional>
#include <string>
#include <vector>

namespace ortc::driver {

/// Calls `write` with an empty folder beside `destination`. When that succeeds the folder takes the
/// destination's place: an old bundle there is replaced, files with equal content keep their time
/// stamps, anything else there is an error before `write` is called. When it fails the destination
/// is as it was. Gives the bundle's files, sorted.
bool writeBundleFolder(const std::string& destination,
                       const std::function<bool(const std::string& folder)>& write,
                       std::vector<std::string>& files, Diagnostics& diagnostics);

} // namespace ortc::driver
