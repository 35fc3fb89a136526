// SPDX-License-Identifier: 0BSD
//
// Device memory and the shared memory of a block: ordinary memory with gaps between allocations,
// filled with NaN, with room beside it for what the checker remembers.
#ifndef CUEMU_MEMORY_H
#define CUEMU_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace cuemu {

/// What the checker remembers of a word, or of a byte where parts of the word are accessed: the
/// last write, and the two reads that a later write has to be ordered after.
struct Access {
  uint32_t block = 0; ///< number of the block of the last access; what is older counts as empty
  uint32_t writeClock = 0, readClock[2] = {0, 0};
  uint16_t writer = 0, reader[2] = {0, 0};
  uint8_t hasWrite : 1, hasRead0 : 1, hasRead1 : 1;
  uint8_t atomicWrite : 1;                   ///< the last write was an atomic
  uint8_t split : 1;                         ///< word only: the bytes have records of their own
  uint8_t earlierWrite : 1, earlierRead : 1; ///< blocks of the same launch that ran before
  uint8_t earlierOnlyAtomic : 1;             ///< all of those writes were atomics
};

/// Shadow of one stretch of memory. The tables are reserved, not committed: only what is touched
/// costs memory.
struct Shadow {
  uint8_t* written = nullptr; ///< one per byte: does it hold a value
  Access* words = nullptr;    ///< one per 4 bytes
  Access* bytes = nullptr;    ///< one per byte, used where word accesses are split

  bool reserve(size_t size);
};

/// Reserves address space without committing memory; null when even that is refused.
void* reserveAddresses(size_t bytes);

class DeviceMemory {
public:
  static DeviceMemory& get();

  /// Null when the device is full. Filled with NaN (0xff), aligned to 256 bytes as cudaMalloc does.
  void* allocate(size_t bytes);
  bool release(void* p);
  bool holds(const void* p) const {
    return static_cast<size_t>(static_cast<const char*>(p) - base) < size;
  }
  size_t offsetOf(const void* p) const {
    return static_cast<size_t>(static_cast<const char*>(p) - base);
  }

  struct Range {
    const char* begin = nullptr;
    const char* end = nullptr;
    bool holds(const char* p, size_t n) const { return p >= begin && p + n <= end; }
  };
  /// The live allocation, or the declared buffer of it, that holds all of [p, p+bytes); empty with
  /// a reason if none.
  Range find(const char* p, size_t bytes, std::string* why) const;
  /// Whether a live allocation holds it, whatever buffers are declared (they may be declared later
  /// in a stream).
  bool allocated(const void* p, size_t bytes) const;

  void beginBuffer(char* p, size_t bytes, const char* name);
  void markWritten(const void* p, size_t bytes);
  void copyWritten(const void* to, const void* from, size_t bytes);
  /// Offset of the first byte of the range without a value, or `bytes`.
  size_t firstUnwritten(const void* p, size_t bytes) const;

  /// Without instrumentation, writes past the end show in the gap behind an allocation. Reports
  /// them, mends the gap.
  void inspectGaps();

  Shadow shadow; // reserved at the first launch or copy that checks
  bool shadowReady();

private:
  DeviceMemory();
  struct Allocation {
    size_t bytes;
    bool freed;
  };
  struct Buffer {
    size_t bytes;
    std::string name;
  };
  char* base = nullptr;
  size_t size = 0, used = 0;
  std::map<const char*, Allocation> allocations;
  std::map<const char*, Buffer> buffers;
  mutable std::mutex mutex;
};

/// Shared memory of the block that a host thread runs.
class SharedMemory {
public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void beginBlock();
  /// Writes past an array show in the gap behind it.
  void inspectGaps();
  void* array(const void* key, size_t bytes, size_t align, const char* name);
  bool holds(const void* p) const {
    return static_cast<size_t>(static_cast<const char*>(p) - base) < Size;
  }
  size_t offsetOf(const void* p) const {
    return static_cast<size_t>(static_cast<const char*>(p) - base);
  }

  struct Array {
    const void* key;
    char* data;
    size_t bytes;
    const char* name;
  };
  /// The array that holds all of [p, p+bytes), or null with a description of the place.
  const Array* find(const char* p, size_t bytes, std::string* why) const;

  Shadow shadow;
  void* dynamic = nullptr;

private:
  static constexpr size_t Size = size_t(1) << 20; // gaps included
  char* base;
  size_t used = 0, staticBytes = 0;
  std::vector<Array> arrays;
};

} // namespace cuemu
#endif
