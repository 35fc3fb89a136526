// SPDX-License-Identifier: 0BSD
//
// The checker of one access: is the address one that a kernel may touch, does it hold a value, is
// it ordered against the accesses of other threads. After FastTrack (Flanagan and Freund, PLDI
// 2009) in spirit: last write, two reads.
#include "checker.h"

#include <algorithm>
#include <cstring>
#include <link.h>

#include "engine.h"
#include "report.h"

namespace cuemu {

thread_local bool insideCore = false;

void HappensBefore::beginBlock(int numThreads) {
  clocks.assign(static_cast<size_t>(numThreads), 1);
  seen.assign(static_cast<size_t>(numThreads), nullptr);
}

void HappensBefore::meet(const std::vector<int>& threads) {
  auto joined = std::make_shared<std::vector<uint32_t>>(clocks.size(), 0u);
  std::vector<const void*> merged; // most threads share a vector: merge each once
  for (const int t : threads) {
    const auto& vector = seen[static_cast<size_t>(t)];
    if (vector && std::find(merged.begin(), merged.end(), vector.get()) == merged.end()) {
      merged.push_back(vector.get());
      for (size_t i = 0; i < clocks.size(); ++i)
        (*joined)[i] = std::max((*joined)[i], (*vector)[i]);
    }
  }
  for (const int t : threads)
    (*joined)[static_cast<size_t>(t)] =
        std::max((*joined)[static_cast<size_t>(t)], clocks[static_cast<size_t>(t)]);
  for (const int t : threads) {
    seen[static_cast<size_t>(t)] = joined;
    ++clocks[static_cast<size_t>(t)];
  }
}

namespace {

uint32_t nextBlockNumber = 1;
BlockNumbers numbers;

struct Place {
  bool shared;
  const void* pc;
};

std::string spaceOf(const Place& p) {
  return p.shared ? "shared memory at " : "global memory at ";
}

void reportRace(const Engine& e, const char* what, int other, const Place& place) {
  reportAt("RACE", what, place.pc, [&](const std::string& at) {
    return e.nameOf(e.current) + ": " + what + " on " + spaceOf(place) + at +
           ", no barrier since " + e.nameOf(other);
  });
}

void reportBlockRace(const Engine& e, const char* what, const Place& place) {
  reportAt("RACE(blocks)", what, place.pc, [&](const std::string& at) {
    return e.nameOf(e.current) + ": " + what + " on " + spaceOf(place) + at +
           ", against another block of the same launch";
  });
}

/// Makes the record one of the current block. In global memory it keeps what earlier blocks of the
/// launch did.
void refresh(Access& a, bool shared) {
  if (a.block == numbers.block) return;
  const bool sameLaunch = !shared && a.block >= numbers.launch && a.block != 0;
  Access fresh{};
  fresh.block = numbers.block;
  if (sameLaunch) {
    fresh.earlierOnlyAtomic =
        (!a.earlierWrite || a.earlierOnlyAtomic) && (!a.hasWrite || a.atomicWrite);
    fresh.earlierWrite = a.earlierWrite || a.hasWrite;
    fresh.earlierRead = a.earlierRead || a.hasRead0 || a.hasRead1;
    fresh.split = a.split; // the bytes may hold what earlier blocks did
  }
  a = fresh;
}

void checkConflicts(const Engine& e, const Access& a, AccessKind kind, const Place& place) {
  const bool atomic = kind == AccessKind::Atomic, write = kind != AccessKind::Read;
  if (a.earlierWrite && !(atomic && a.earlierOnlyAtomic))
    reportBlockRace(e, write ? "write after write" : "read after write", place);
  if (write && a.earlierRead) reportBlockRace(e, "write after read", place);
  if (a.hasWrite && !(atomic && a.atomicWrite) &&
      !e.order.ordered(e.current, a.writer, a.writeClock))
    reportRace(e, write ? "write after write" : "read after write", a.writer, place);
  if (!write) return;
  if (a.hasRead0 && !e.order.ordered(e.current, a.reader[0], a.readClock[0]))
    reportRace(e, "write after read", a.reader[0], place);
  else if (a.hasRead1 && !e.order.ordered(e.current, a.reader[1], a.readClock[1]))
    reportRace(e, "write after read", a.reader[1], place);
}

void remember(const Engine& e, Access& a, AccessKind kind) {
  const uint16_t self = static_cast<uint16_t>(e.current);
  const uint32_t clock = e.order.clock(e.current);
  if (kind != AccessKind::Read) {
    a.writer = self;
    a.writeClock = clock;
    a.hasWrite = 1;
    a.atomicWrite = kind == AccessKind::Atomic;
    a.hasRead0 = a.hasRead1 = 0;
    return;
  }
  // The first slot holds a read that is not ordered before this one, if there is any; so of many
  // readers, two that a writer could race with stay.
  const bool first =
      !a.hasRead0 || a.reader[0] == self || e.order.ordered(e.current, a.reader[0], a.readClock[0]);
  const int slot = first ? 0 : 1;
  a.reader[slot] = self;
  a.readClock[slot] = clock;
  if (first)
    a.hasRead0 = 1;
  else
    a.hasRead1 = 1;
}

void checkWord(const Engine& e, Access& word, Access* bytes, unsigned mask, AccessKind kind,
               const Place& place) {
  const bool shared = place.shared;
  refresh(word, shared);
  checkConflicts(e, word, kind, place);
  if (mask == 15) {
    if (word.split)
      for (int i = 0; i < 4; ++i) {
        refresh(bytes[i], shared);
        checkConflicts(e, bytes[i], kind, place);
      }
    if (kind != AccessKind::Read) word.split = 0;
    remember(e, word, kind);
    return;
  }
  if (!word.split) {
    word.split = 1;
    for (int i = 0; i < 4; ++i) {
      // Bytes keep what earlier blocks did to them; within this block the word's record is checked
      // instead.
      refresh(bytes[i], shared);
      bytes[i].hasWrite = bytes[i].hasRead0 = bytes[i].hasRead1 = 0;
    }
  }
  for (int i = 0; i < 4; ++i)
    if (mask >> i & 1) {
      refresh(bytes[i], shared);
      checkConflicts(e, bytes[i], kind, place);
      remember(e, bytes[i], kind);
    }
}

/// Whether each of the bytes holds a value; the table has a 1 for those that do.
bool allWritten(const uint8_t* table, size_t bytes) {
  if (bytes == 4) { // by far the most common
    uint32_t four;
    std::memcpy(&four, table, sizeof four);
    return four == 0x01010101;
  }
  return !std::memchr(table, 0, bytes);
}

void checkRange(Engine& e, const Shadow& shadow, size_t offset, size_t bytes, AccessKind kind,
                const Place& place) {
  if (kind != AccessKind::Write && !allWritten(shadow.written + offset, bytes)) {
    reportAt("UNINIT", "", place.pc, [&](const std::string& at) {
      return e.nameOf(e.current) + " reads what was never written, in " + spaceOf(place) + at;
    });
    std::memset(shadow.written + offset, 1, bytes);
  }
  if (kind != AccessKind::Read) std::memset(shadow.written + offset, 1, bytes);
  for (size_t i = 0; i < bytes;) {
    const size_t inWord = (offset + i) & 3, n = std::min(4 - inWord, bytes - i),
                 word = (offset + i) >> 2;
    checkWord(e, shadow.words[word], shadow.bytes + word * 4, ((1u << n) - 1) << inWord, kind,
              place);
    i += n;
  }
}

struct ImageQuery {
  uintptr_t address;
  bool found;
};
/// Constants and tables of the program itself: kernels may read them, as they read __constant__
/// memory.
bool inProgramImage(const char* p) {
  ImageQuery query{reinterpret_cast<uintptr_t>(p), false};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        ImageQuery& q = *static_cast<ImageQuery*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& s = info->dlpi_phdr[i];
          const uintptr_t begin = info->dlpi_addr + s.p_vaddr;
          if (s.p_type == PT_LOAD && q.address >= begin && q.address < begin + s.p_memsz)
            q.found = true;
        }
        return q.found ? 1 : 0;
      },
      &query);
  return query.found;
}

bool mayTouch(const Engine& e, const char* p, size_t bytes, bool write) {
  if (e.fibers.holds(p)) return true; // local memory
  const char* ids = reinterpret_cast<const char*>(&builtIns);
  if (p >= ids && p + bytes <= ids + sizeof builtIns) return !write;
  const char* args = static_cast<const char*>(e.call.args.get());
  if (p >= args && p + bytes <= args + e.call.argBytes) return !write;
  return !write && inProgramImage(p);
}

const char* verb(AccessKind kind) {
  return kind == AccessKind::Read    ? " reads "
         : kind == AccessKind::Write ? " writes "
                                     : " atomically updates ";
}

void reportOutOfBounds(const Engine& e, size_t bytes, AccessKind kind, const std::string& why,
                       const void* pc) {
  reportAt("OOB", "", pc, [&](const std::string& at) {
    return e.nameOf(e.current) + verb(kind) + std::to_string(bytes) + " bytes, " + why + ", at " +
           at;
  });
}

void tellMisaligned(const void* p, size_t bytes, const void* pc) {
  reportAt("MISALIGNED", "", pc, [&](const std::string& at) {
    return "an access of " + std::to_string(bytes) + " bytes at an address that is " +
           std::to_string(reinterpret_cast<uintptr_t>(p) & (bytes - 1)) + " past a multiple of " +
           std::to_string(bytes) + ", at " + at;
  });
}

void noteHostAccess(const void* p, const void* pc) {
  if (DeviceMemory::get().holds(p))
    reportAt("HOSTACCESS", "", pc,
             [](const std::string& at) { return "host code touches device memory at " + at; });
}

} // namespace

void checkerBeginLaunch() {
  numbers.launch = nextBlockNumber;
}

void checkerBeginBlock(Engine& engine) {
  numbers.block = nextBlockNumber++;
  engine.order.beginBlock(engine.numThreads);
}

void noteAccess(const void* address, size_t bytes, AccessKind kind, const void* pc) {
  if (insideCore) return;
  CoreScope scope;
  Engine* engine = activeEngine;
  if (!engine) {
    if (options().check) noteHostAccess(address, pc);
    return;
  }
  if (!engine->check) return;
  Engine& e = *engine;
  const char* p = static_cast<const char*>(address);
  std::string why;
  if (e.shared.holds(p)) {
    if (!e.shared.find(p, bytes, nullptr)) {
      e.shared.find(p, bytes, &why);
      reportOutOfBounds(e, bytes, kind, why, pc);
      return;
    }
    checkRange(e, e.shared.shadow, e.shared.offsetOf(p), bytes, kind, {true, pc});
  } else if (DeviceMemory& memory = DeviceMemory::get(); memory.holds(p)) {
    static thread_local DeviceMemory::Range recent; // most accesses of a stretch hit one allocation
    static thread_local uint32_t recentLaunch = 0;
    if (recentLaunch != numbers.launch || !recent.holds(p, bytes)) {
      recent = memory.find(p, bytes, &why);
      recentLaunch = numbers.launch;
      if (!recent.begin) {
        reportOutOfBounds(e, bytes, kind, "global memory " + why, pc);
        return;
      }
    }
    checkRange(e, memory.shadow, memory.offsetOf(p), bytes, kind, {false, pc});
  } else if (!mayTouch(e, p, bytes, kind != AccessKind::Read)) {
    reportAt("WILD", "", pc, [&](const std::string& at) {
      return e.nameOf(e.current) + verb(kind) +
             "an address that is not device memory (a host pointer?), at " + at;
    });
    return;
  } else {
    return;
  }
  const bool powerOfTwo = (bytes & (bytes - 1)) == 0;
  if (powerOfTwo && reinterpret_cast<uintptr_t>(p) & (bytes - 1)) tellMisaligned(p, bytes, pc);
}

void reportMisaligned(const void* p, size_t bytes) {
  CoreScope scope;
  tellMisaligned(p, bytes, __builtin_return_address(0));
}

} // namespace cuemu
