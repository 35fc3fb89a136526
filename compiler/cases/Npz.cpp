// SPDX-License-Identifier: Apache-2.0
// The container is walked here, by its central directory as the format's specification
// (APPNOTE.TXT) asks; packing is zlib's. 64-bit sizes are read and, where needed, written.
#include "compiler/cases/Npz.h"

#include <cstring>
#include <limits>

#include <zlib.h>

#include "compiler/cases/Npy.h"
#include "compiler/import/FileSet.h"
#include "compiler/support/NumberFormats.h"
#include "compiler/support/WriteFile.h"

namespace ortc {
namespace {

constexpr uint32_t kLocalMark = 0x04034b50, kCentralMark = 0x02014b50, kEndMark = 0x06054b50,
                   kEnd64Mark = 0x06064b50, kLocator64Mark = 0x07064b50;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56,
                 kLocatorSize = 20;
constexpr uint32_t kSee64 = 0xFFFFFFFF; // the real figure is in the 64-bit field
constexpr uint16_t kExtra64 = 1;

struct Member {
  std::string name;
  unsigned method = 0; // 0 stored, 8 deflated
  uint32_t crc = 0;
  uint64_t packedSize = 0, size = 0, localOffset = 0;
};

uint32_t updateCrc(std::span<const uint8_t> bytes) {
  uLong crc = crc32(0, nullptr, 0);
  while (!bytes.empty()) { // zlib counts in 32 bits
    const size_t n = std::min<size_t>(bytes.size(), 1u << 30);
    crc = crc32(crc, bytes.data(), static_cast<uInt>(n));
    bytes = bytes.subspan(n);
  }
  return static_cast<uint32_t>(crc);
}

class ZipReader {
public:
  ZipReader(std::span<const uint8_t> bytes, Diagnostics& diagnostics)
      : bytes(bytes), diagnostics(diagnostics) {}
  bool readDirectory(std::vector<Member>& members);
  std::optional<std::vector<uint8_t>> extract(const Member& member);

private:
  bool fail(std::string_view why) {
    diagnostics.error({}, "not a usable .npz archive: {}", why);
    return false;
  }
  bool fits(uint64_t offset, uint64_t size) const {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  }
  uint64_t u16(uint64_t at) const { return loadBits(bytes.data() + at, DType::U16, 0); }
  uint64_t u32(uint64_t at) const { return loadBits(bytes.data() + at, DType::U32, 0); }
  uint64_t u64(uint64_t at) const { return loadBits(bytes.data() + at, DType::U64, 0); }
  bool findDirectory(uint64_t& offset, uint64_t& count);
  void readExtra64(uint64_t at, uint64_t end, Member& member);

  std::span<const uint8_t> bytes;
  Diagnostics& diagnostics;
};

bool ZipReader::findDirectory(uint64_t& offset, uint64_t& count) {
  // The end record is last, behind at most 64 KiB of comment.
  if (bytes.size() < kEndSize) return fail("it is too short");
  uint64_t end = bytes.size() - kEndSize;
  const uint64_t lowest = end > 0xFFFF ? end - 0xFFFF : 0;
  while (u32(end) != kEndMark) {
    if (end == lowest) return fail("it is no zip file, or truncated");
    --end;
  }
  count = u16(end + 10);
  offset = u32(end + 16);
  if (end >= kLocatorSize && u32(end - kLocatorSize) == kLocator64Mark) {
    const uint64_t end64 = u64(end - kLocatorSize + 8);
    if (!fits(end64, kEnd64Size) || u32(end64) != kEnd64Mark)
      return fail("its directory is damaged");
    count = u64(end64 + 32);
    offset = u64(end64 + 48);
  }
  return true;
}

void ZipReader::readExtra64(uint64_t at, uint64_t end, Member& member) {
  while (at + 4 <= end) {
    const uint64_t id = u16(at), size = u16(at + 2);
    at += 4;
    if (size > end - at) return;
    if (id == kExtra64) {
      // Only those that did not fit are here, in this order.
      uint64_t field = at;
      for (uint64_t* value : {&member.size, &member.packedSize, &member.localOffset})
        if (*value == kSee64 && field + 8 <= at + size) {
          *value = u64(field);
          field += 8;
        }
      return;
    }
    at += size;
  }
}

bool ZipReader::readDirectory(std::vector<Member>& members) {
  uint64_t at, count;
  if (!findDirectory(at, count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    if (!fits(at, kCentralSize) || u32(at) != kCentralMark) return fail("its directory is damaged");
    Member member;
    if (u16(at + 8) & 1) return fail("it is encrypted");
    member.method = static_cast<unsigned>(u16(at + 10));
    member.crc = static_cast<uint32_t>(u32(at + 16));
    member.packedSize = u32(at + 20);
    member.size = u32(at + 24);
    const uint64_t nameSize = u16(at + 28), extraSize = u16(at + 30), commentSize = u16(at + 32);
    member.localOffset = u32(at + 42);
    if (!fits(at + kCentralSize, nameSize + extraSize + commentSize))
      return fail("its directory is damaged");
    member.name.assign(reinterpret_cast<const char*>(bytes.data()) + at + kCentralSize, nameSize);
    readExtra64(at + kCentralSize + nameSize, at + kCentralSize + nameSize + extraSize, member);
    at += kCentralSize + nameSize + extraSize + commentSize;
    members.push_back(std::move(member));
  }
  return true;
}

std::optional<std::vector<uint8_t>> ZipReader::extract(const Member& member) {
  const auto bad = [&](std::string_view why) {
    fail(fmt::format("member {} {}", quoteName(member.name), why));
    return std::nullopt;
  };
  if (!fits(member.localOffset, kLocalSize) || u32(member.localOffset) != kLocalMark)
    return bad("is not where the directory says");
  // The local header may have another extra field than the directory.
  const uint64_t begin =
      member.localOffset + kLocalSize + u16(member.localOffset + 26) + u16(member.localOffset + 28);
  if (!fits(begin, member.packedSize)) return bad("is truncated");
  const std::span<const uint8_t> packed = bytes.subspan(begin, member.packedSize);
  std::vector<uint8_t> data;
  if (member.method == 0) {
    if (member.size != member.packedSize) return bad("has two sizes");
    data.assign(packed.begin(), packed.end());
  } else if (member.method == 8) {
    // Deflate cannot do better than about 1032 to 1: a larger claim is a lie, found before anything
    // is allocated.
    if (member.size / 1040 > member.packedSize) return bad("claims an impossible size");
    data.resize(member.size);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return bad("cannot be unpacked");
    uint64_t consumed = 0, produced = 0;
    int status = Z_OK;
    uint8_t nothing = 0; // zlib wants a pointer even for an empty member
    while (status == Z_OK) {
      constexpr uint64_t kStep = 1u << 30;
      stream.next_in = const_cast<uint8_t*>(packed.data() + consumed);
      stream.avail_in = static_cast<uInt>(std::min(kStep, packed.size() - consumed));
      stream.next_out = data.empty() ? &nothing : data.data() + produced;
      stream.avail_out = static_cast<uInt>(std::min(kStep, data.size() - produced));
      const uInt in = stream.avail_in, out = stream.avail_out;
      status = inflate(&stream, Z_NO_FLUSH);
      consumed += in - stream.avail_in;
      produced += out - stream.avail_out;
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END || produced != data.size()) return bad("is damaged");
  } else {
    return bad(fmt::format("is packed by method {}, which is not supported", member.method));
  }
  if (updateCrc(data) != member.crc) return bad("is damaged: its check sum is wrong");
  return data;
}

void put(std::vector<uint8_t>& out, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

std::vector<uint8_t> deflated(const std::vector<uint8_t>& data) {
  z_stream stream{};
  std::vector<uint8_t> out;
  if (data.size() > std::numeric_limits<uInt>::max() / 2 ||
      deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return out;
  out.resize(deflateBound(&stream, data.size()));
  stream.next_in = const_cast<uint8_t*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

/// The part that a local header and a directory entry share, from the version on.
void putMember(std::vector<uint8_t>& out, const Member& member, size_t extraSize) {
  const bool wide = member.size >= kSee64;
  put(out, wide ? 45 : 20, 2);
  put(out, 0x800, 2); // names are UTF-8
  put(out, member.method, 2);
  put(out, 0, 2);      // midnight,
  put(out, 0x0021, 2); // the 1st of January 1980
  put(out, member.crc, 4);
  put(out, wide ? kSee64 : member.packedSize, 4);
  put(out, wide ? kSee64 : member.size, 4);
  put(out, member.name.size(), 2);
  put(out, extraSize, 2);
}

} // namespace

std::optional<NamedTensors> parseNpz(std::span<const uint8_t> bytes,
                                     const std::function<DType(const std::string&)>& wanted,
                                     Diagnostics& diagnostics) {
  ZipReader zip(bytes, diagnostics);
  std::vector<Member> members;
  if (!zip.readDirectory(members)) return std::nullopt;
  NamedTensors tensors;
  for (const Member& member : members) {
    std::string name = member.name;
    if (!name.ends_with(".npy")) continue;
    name.resize(name.size() - 4);
    std::optional<std::vector<uint8_t>> data = zip.extract(member);
    if (!data) return std::nullopt;
    std::optional<CaseTensor> tensor = parseNpy(*data, wanted ? wanted(name) : DType::Undefined,
                                                "member " + quoteName(member.name), diagnostics);
    if (!tensor) return std::nullopt;
    tensors.emplace_back(std::move(name), std::move(*tensor));
  }
  return tensors;
}

std::vector<uint8_t> formatNpz(const NamedTensors& tensors, bool compress) {
  std::vector<uint8_t> out, directory;
  for (const auto& [name, tensor] : tensors) {
    std::vector<uint8_t> data = formatNpy(tensor);
    Member member{name + ".npy", 0, updateCrc(data), data.size(), data.size(), out.size()};
    if (compress)
      if (std::vector<uint8_t> packed = deflated(data);
          !packed.empty() && packed.size() < data.size()) {
        member.method = 8;
        member.packedSize = packed.size();
        data = std::move(packed);
      }
    const bool wide = member.size >= kSee64, far = member.localOffset >= kSee64;
    put(out, kLocalMark, 4);
    putMember(out, member, wide ? 20 : 0);
    out.insert(out.end(), member.name.begin(), member.name.end());
    if (wide) {
      put(out, kExtra64, 2);
      put(out, 16, 2);
      put(out, member.size, 8);
      put(out, member.packedSize, 8);
    }
    out.insert(out.end(), data.begin(), data.end());

    const size_t extra = (wide ? 16 : 0) + (far ? 8 : 0);
    put(directory, kCentralMark, 4);
    put(directory, 45, 2);
    putMember(directory, member, extra ? extra + 4 : 0);
    put(directory, 0, 2 + 2 + 2); // comment, disk, attributes
    put(directory, 0, 4);
    put(directory, far ? kSee64 : member.localOffset, 4);
    directory.insert(directory.end(), member.name.begin(), member.name.end());
    if (extra) {
      put(directory, kExtra64, 2);
      put(directory, extra, 2);
      if (wide) {
        put(directory, member.size, 8);
        put(directory, member.packedSize, 8);
      }
      if (far) put(directory, member.localOffset, 8);
    }
  }
  const uint64_t offset = out.size(), size = directory.size(), count = tensors.size();
  out.insert(out.end(), directory.begin(), directory.end());
  const bool wide = offset >= kSee64 || count >= 0xFFFF;
  if (wide) {
    const uint64_t end64 = out.size();
    put(out, kEnd64Mark, 4);
    put(out, kEnd64Size - 12, 8);
    put(out, 45, 2);
    put(out, 45, 2);
    put(out, 0, 8); // disks
    put(out, count, 8);
    put(out, count, 8);
    put(out, size, 8);
    put(out, offset, 8);
    put(out, kLocator64Mark, 4);
    put(out, 0, 4);
    put(out, end64, 8);
    put(out, 1, 4);
  }
  put(out, kEndMark, 4);
  put(out, 0, 4); // disks
  put(out, wide ? 0xFFFF : count, 2);
  put(out, wide ? 0xFFFF : count, 2);
  put(out, std::min<uint64_t>(size, kSee64), 4);
  put(out, wide ? kSee64 : offset, 4);
  put(out, 0, 2);
  return out;
}

std::optional<NamedTensors> readNpzFile(const std::string& path,
                                        const std::function<DType(const std::string&)>& wanted,
                                        Diagnostics& diagnostics) {
  Diagnostics::FileScope scope(diagnostics, path);
  std::shared_ptr<llvm::MemoryBuffer> buffer = onnx::mapFile(path, {}, diagnostics);
  return buffer ? parseNpz(onnx::bytesOf(*buffer), wanted, diagnostics) : std::nullopt;
}

bool writeNpzFile(const std::string& path, const NamedTensors& tensors, Diagnostics& diagnostics,
                  bool compress) {
  std::string why;
  if (writeWholeFile(path, formatNpz(tensors, compress), why)) return true;
  Diagnostics::FileScope scope(diagnostics, path);
  diagnostics.error({}, "cannot be written: {}", why);
  return false;
}

} // namespace ortc
