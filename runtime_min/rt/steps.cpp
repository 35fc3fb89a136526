// SPDX-License-Identifier: 0BSD
#include "steps.h"

ORTC_RT_BEGIN

namespace {

ortc_tensor tensor_of(void* data, ortc_dtype dtype, int32_t rank, int64_t* dims, uint64_t bytes) {
  return {data, dims, bytes, rank, dtype, ORTC_HOST, 0};
}

// Keys are shared by all maps: they are part of the program.
ortc_status zip(context& c, const void* keys, ortc_dtype key_type, uint64_t key_bytes, int64_t n,
                const float* scores, int64_t rows, int64_t columns, ortc_tensor* maps) {
  if (columns != n)
    return c.why() << "a map has " << n << " keys, but there are " << columns << " scores",
           ORTC_RUN_ERROR;
  auto* list = c.results.alloc_array<ortc_tensor>(uint64_t(rows));
  auto* parts = c.results.alloc_array<ortc_tensor>(2 * uint64_t(rows));
  auto* dims = c.results.alloc_array<int64_t>(2);
  if (!list || !parts || !dims) return c.check_heap();
  dims[0] = n;
  dims[1] = rows;
  for (int64_t r = 0; r < rows; ++r) {
    parts[2 * r] = tensor_of(const_cast<void*>(keys), key_type, 1, dims, key_bytes * uint64_t(n));
    parts[2 * r + 1] = tensor_of(const_cast<float*>(scores + r * columns), ORTC_FLOAT, 1, dims,
                                 sizeof(float) * uint64_t(n));
    list[r] = tensor_of(parts + 2 * r, ORTC_MAP, 0, nullptr, 2 * sizeof(ortc_tensor));
  }
  *maps = tensor_of(list, ORTC_LIST, 1, dims + 1, sizeof(ortc_tensor) * uint64_t(rows));
  return ORTC_OK;
}

} // namespace

ortc_status zip_map(context& c, const int64_t* keys, int64_t n, const float* scores, int64_t rows,
                    int64_t columns, ortc_tensor* maps) {
  return zip(c, keys, ORTC_INT64, sizeof(int64_t), n, scores, rows, columns, maps);
}
ortc_status zip_map(context& c, const ortc_string* keys, int64_t n, const float* scores,
                    int64_t rows, int64_t columns, ortc_tensor* maps) {
  return zip(c, keys, ORTC_STRING, sizeof(ortc_string), n, scores, rows, columns, maps);
}

ortc_status list_of_words(context& c, const int64_t* dtypes, const int64_t* ranks, int64_t n,
                          const step_word* words) {
  auto* list = c.results.alloc_array<ortc_tensor>(uint64_t(n) + 1);
  auto* length = c.results.alloc_array<int64_t>(1);
  if (!list || !length) return c.check_heap();
  for (int64_t i = 0; i < n; ++i) {
    const void* data = words++->address;
    auto* dims = c.results.alloc_array<int64_t>(uint64_t(ranks[i]) + 1);
    if (!dims) return c.check_heap();
    for (int64_t d = 0; d < ranks[i]; ++d)
      dims[d] = words++->size;
    uint64_t bytes = 0;
    tensor_bytes(ortc_dtype(dtypes[i]), dims, int32_t(ranks[i]), &bytes);
    list[i] =
        tensor_of(const_cast<void*>(data), ortc_dtype(dtypes[i]), int32_t(ranks[i]), dims, bytes);
  }
  *length = n;
  *static_cast<ortc_tensor*>(const_cast<void*>(words->address)) =
      tensor_of(list, ORTC_LIST, 1, length, sizeof(ortc_tensor) * uint64_t(n));
  return ORTC_OK;
}

namespace {
// As memcmp, the shorter of two equal beginnings first.
int compare(const ortc_string& a, const ortc_string& b) {
  const uint64_t common = a.size < b.size ? a.size : b.size;
  const int r = common ? __builtin_memcmp(a.data, b.data, size_t(common)) : 0;
  return r ? r : a.size < b.size ? -1 : a.size > b.size;
}
} // namespace

ortc_status string_index(context&, const ortc_string* keys, int64_t n, const int64_t* places,
                         int64_t, const ortc_string* texts, int64_t count, int64_t* out, int64_t) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (compare(keys[middle], texts[i]) < 0)
        low = middle + 1;
      else
        high = middle;
    }
    out[i] = low < n && compare(keys[low], texts[i]) == 0 ? places[low] : -1;
  }
  return ORTC_OK;
}

ortc_status string_equal(context&, const ortc_string* a, int64_t count, const ortc_string* b,
                         int64_t, bool* out, int64_t) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = compare(a[i], b[i]) == 0;
  return ORTC_OK;
}

ortc_status string_concat(context& c, const ortc_string* a, int64_t count, const ortc_string* b,
                          int64_t, ortc_string* out, int64_t) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t size = a[i].size + b[i].size;
    char* to = static_cast<char*>(c.results.alloc(size + 1, 1));
    if (!to) return c.check_heap();
    if (a[i].size) __builtin_memcpy(to, a[i].data, size_t(a[i].size));
    if (b[i].size) __builtin_memcpy(to + a[i].size, b[i].data, size_t(b[i].size));
    out[i] = {to, size};
  }
  return ORTC_OK;
}

namespace {

// One character with another case. Latin, Greek and Cyrillic letters that have both cases in two
// bytes; others stay what they are.
uint32_t with_case(uint32_t ch, bool upper) {
  struct range {
    uint32_t first, last, apart;
  };
  static const range uppers[] = {{'A', 'Z', 32},     {0xC0, 0xD6, 32},   {0xD8, 0xDE, 32},
                                 {0x391, 0x3A1, 32}, {0x3A3, 0x3A9, 32}, {0x400, 0x40F, 80},
                                 {0x410, 0x42F, 32}};
  for (const range& r : uppers) {
    if (!upper && ch >= r.first && ch <= r.last) return ch + r.apart;
    if (upper && ch >= r.first + r.apart && ch <= r.last + r.apart) return ch - r.apart;
  }
  return ch;
}

// Writes `s` with another case to `to`, which has room for as many bytes.
void change_case(const ortc_string& s, bool upper, char* to) {
  for (uint64_t i = 0; i < s.size; ++i) {
    const auto byte = static_cast<unsigned char>(s.data[i]);
    if (byte >= 0xC0 && byte < 0xE0 && i + 1 < s.size) {
      const auto next = static_cast<unsigned char>(s.data[i + 1]);
      const uint32_t ch = with_case((uint32_t(byte) & 31) << 6 | (next & 63), upper);
      to[i] = static_cast<char>(0xC0 | ch >> 6);
      to[++i] = static_cast<char>(0x80 | (ch & 63));
    } else {
      to[i] = static_cast<char>(byte < 0x80 ? with_case(byte, upper) : byte);
    }
  }
}

bool same_without_case(const ortc_string& a, const ortc_string& b, heap& memory) {
  if (a.size != b.size) return false;
  const uint64_t mark = memory.mark();
  char* room = static_cast<char*>(memory.alloc(2 * a.size + 1, 1));
  if (!room) return false;
  change_case(a, false, room);
  change_case(b, false, room + a.size);
  const bool same = __builtin_memcmp(room, room + a.size, size_t(a.size)) == 0;
  memory.release(mark);
  return same;
}

} // namespace

ortc_status string_normalize(context& c, int64_t action, bool sensitive,
                             const ortc_string* stopwords, int64_t n, const ortc_string* texts,
                             int64_t count, ortc_string* out, int64_t, int64_t* kept, int64_t) {
  int64_t used = 0;
  for (int64_t i = 0; i < count; ++i) {
    bool stop = false;
    for (int64_t k = 0; k < n && !stop; ++k)
      stop = sensitive ? compare(texts[i], stopwords[k]) == 0
                       : same_without_case(texts[i], stopwords[k], c.results);
    if (stop) continue;
    out[used] = texts[i];
    if (action) {
      char* to = static_cast<char*>(c.results.alloc(texts[i].size + 1, 1));
      if (!to) return c.check_heap();
      change_case(texts[i], action == 2, to);
      out[used] = {to, texts[i].size};
    }
    ++used;
  }
  for (int64_t i = used; i < (count ? count : 1); ++i)
    out[i] = {"", 0};
  *kept = used ? used : 1;
  return c.check_heap();
}

namespace {

bool is_space(char ch) {
  return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

// Gives the pieces of a text one by one.
struct cutter {
  const ortc_string& text;
  const ortc_string& delimiter;
  int64_t left; // splits that may still be made; negative: any number
  uint64_t at = 0;
  bool ended = false;

  bool next(ortc_string& piece) {
    if (ended) return false;
    if (!delimiter.size) {
      while (at < text.size && is_space(text.data[at]))
        ++at;
      if (at == text.size) return ended = true, false;
      uint64_t end = at;
      if (left == 0) { // the rest, without white space at its end
        end = text.size;
        while (end > at && is_space(text.data[end - 1]))
          --end;
        ended = true;
      } else {
        while (end < text.size && !is_space(text.data[end]))
          ++end;
      }
      piece = {text.data + at, end - at};
      at = end;
      if (left > 0) --left;
      return true;
    }
    uint64_t end = at;
    while (left != 0 && end + delimiter.size <= text.size &&
           __builtin_memcmp(text.data + end, delimiter.data, size_t(delimiter.size)) != 0)
      ++end;
    if (left == 0 || end + delimiter.size > text.size) {
      piece = {text.data + at, text.size - at};
      ended = true;
      return true;
    }
    piece = {text.data + at, end - at};
    at = end + delimiter.size;
    if (left > 0) --left;
    return true;
  }
};

} // namespace

ortc_status string_pieces(context&, const ortc_string& delimiter, int64_t maxsplit,
                          const ortc_string* texts, int64_t count, int64_t* out, int64_t) {
  ortc_string piece;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = 0;
    for (cutter p{texts[i], delimiter, maxsplit}; p.next(piece);)
      ++out[i];
  }
  return ORTC_OK;
}

ortc_status string_split(context&, const ortc_string& delimiter, int64_t maxsplit,
                         const ortc_string* texts, int64_t count, ortc_string* out, int64_t,
                         int64_t columns) {
  for (int64_t i = 0; i < count; ++i) {
    cutter p{texts[i], delimiter, maxsplit};
    for (int64_t k = 0; k < columns; ++k)
      if (ortc_string piece; p.next(piece))
        out[i * columns + k] = piece;
      else
        out[i * columns + k] = {"", 0};
  }
  return ORTC_OK;
}

namespace {

uint32_t rotated(uint32_t v, int by) {
  return v << by | v >> (32 - by);
}

uint32_t hash_of(const ortc_string& s, uint32_t seed) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(s.data);
  const uint32_t c1 = 0xcc9e2d51u, c2 = 0x1b873593u;
  uint32_t h = seed;
  const uint64_t blocks = s.size / 4;
  for (uint64_t i = 0; i < blocks; ++i) {
    const unsigned char* b = bytes + 4 * i;
    uint32_t k = uint32_t(b[0]) | uint32_t(b[1]) << 8 | uint32_t(b[2]) << 16 | uint32_t(b[3]) << 24;
    h ^= rotated(k * c1, 15) * c2;
    h = rotated(h, 13) * 5 + 0xe6546b64u;
  }
  uint32_t k = 0;
  for (uint64_t i = s.size % 4; i-- > 0;)
    k = k << 8 | bytes[4 * blocks + i];
  if (s.size % 4) h ^= rotated(k * c1, 15) * c2;
  h ^= uint32_t(s.size);
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

} // namespace

ortc_status murmur_hash3(context&, int64_t seed, const ortc_string* texts, int64_t count,
                         uint32_t* out, int64_t) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = hash_of(texts[i], uint32_t(seed));
  return ORTC_OK;
}
ortc_status murmur_hash3(context&, int64_t seed, const ortc_string* texts, int64_t count,
                         int32_t* out, int64_t) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = int32_t(hash_of(texts[i], uint32_t(seed)));
  return ORTC_OK;
}

ortc_status set_output(context& c, int64_t number, const ortc_tensor& value) {
  ortc_tensor& out = c.outputs[number];
  // The caller's room for sizes stays the caller's.
  if (out.dims && value.rank > 0 && out.rank >= value.rank)
    for (int32_t d = 0; d < value.rank; ++d)
      out.dims[d] = value.dims[d];
  else
    out.dims = value.dims;
  out.data = value.data;
  out.capacity = value.capacity;
  out.rank = value.rank;
  out.dtype = value.dtype;
  return ORTC_OK;
}

ORTC_RT_END
