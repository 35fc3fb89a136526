// SPDX-License-Identifier: Apache-2.0
// Where what was built is kept: ORTC_CACHE_DIR, else XDG_CACHE_HOME/ortc, else ~/.cache/ortc, else
// a temporary folder.
#pragma once
#include "llvm/Support/SHA256.h"
#include <string>

namespace ortc::driver {

class BuildCache {
public:
  /// `enabled` false: what was built is kept in `workFolder` only, for as long as that is there.
  BuildCache(bool enabled, const std::string& workFolder);

  /// Path of the entry when it is there; empty otherwise.
  std::string find(const std::string& key) const;
  /// Moves a finished file in, and gives its path there; its own path when that fails.
  std::string put(const std::string& key, const std::string& file) const;
  /// Removes entries that were not used for longest until the rest takes less than `bytes`.
  void trim(uint64_t bytes) const;

private:
  std::string folder; // empty: none
};

/// Hashes what a build depends on; the order counts.
class BuildKey {
public:
  BuildKey& add(const std::string& text);
  BuildKey& addFile(const std::string& path);
  std::string hex();

private:
  llvm::SHA256 hash;
};

/// A folder that goes away with the object, unless it was named by the user.
class WorkFolder {
public:
  explicit WorkFolder(const std::string& kept = {});
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  const std::string path() const { return folder; }

private:
  std::string folder;
  bool temporary;
};

} // namespace ortc::driver
