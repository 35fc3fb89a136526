// SPDX-License-Identifier: 0BSD
#include "regex.h"

ORTC_RT_BEGIN

namespace {

struct span {
  uint64_t begin, end;
};

// One character from `at` on, and the place behind it; -1 and one byte where it is not UTF-8.
int32_t take_character(const ortc_string& text, uint64_t& at) {
  const auto byte = [&](uint64_t i) {
    return i < text.size ? static_cast<unsigned char>(text.data[i]) : 0u;
  };
  const uint32_t lead = byte(at);
  const uint64_t first = at++;
  if (lead < 0x80) return int32_t(lead);
  const uint32_t more = lead < 0xC2 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : lead < 0xF5 ? 3 : 0;
  if (!more) return -1;
  uint32_t ch = lead & (0x3Fu >> more);
  for (uint32_t i = 1; i <= more; ++i) {
    const uint32_t next = byte(first + i);
    if ((next & 0xC0) != 0x80) return -1;
    ch = ch << 6 | (next & 0x3F);
  }
  // Too long a form, half of a surrogate pair, beyond the last character.
  static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
  if (ch < smallest[more] || (ch >= 0xD800 && ch < 0xE000) || ch > 0x10FFFF) return -1;
  at = first + more + 1;
  return int32_t(ch);
}

// How many characters; -1 when the text is not UTF-8.
int64_t count_characters(const ortc_string& text) {
  int64_t n = 0;
  for (uint64_t at = 0; at < text.size; ++n)
    if (take_character(text, at) < 0) return -1;
  return n;
}

bool is_word(const ortc_string& text, uint64_t at) {
  if (at >= text.size) return false; // also at -1
  const char ch = text.data[at];
  return (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z') ||
         ch == '_';
}

bool is_place(int32_t place, const ortc_string& text, uint64_t at) {
  switch (place) {
  case regex_text_begin: return at == 0;
  case regex_text_end: return at == text.size;
  case regex_line_begin: return at == 0 || text.data[at - 1] == '\n';
  case regex_line_end: return at == text.size || text.data[at] == '\n';
  case regex_word_edge: return is_word(text, at - 1) != is_word(text, at);
  default: return is_word(text, at - 1) == is_word(text, at);
  }
}

// Follows the rows of one pattern.
struct matcher {
  // A path waits at a row for a character; it began at `begin`.
  struct path {
    uint64_t begin;
    int32_t row;
  };
  const regex_row* rows = nullptr;
  uint64_t* seen = nullptr; // in which step a row was reached last
  path *paths = nullptr, *moved = nullptr;
  int32_t* open = nullptr; // rows from which others are still to be reached
  uint64_t step = 0;
  int32_t num_paths = 0, num_moved = 0;

  // False: the heap is full.
  bool start(const regex_row* pattern, heap& memory) {
    rows = pattern;
    const auto n = uint64_t(pattern->b);
    seen = memory.alloc_array<uint64_t>(n);
    paths = memory.alloc_array<path>(n);
    moved = memory.alloc_array<path>(n);
    open = memory.alloc_array<int32_t>(n);
    if (!seen || !paths || !moved || !open) return false;
    for (uint64_t i = 0; i < n; ++i)
      seen[i] = 0;
    return true;
  }

  bool consumes(const regex_row& row, int32_t ch) const {
    if (row.op == regex_range) return row.a <= ch && ch <= row.b;
    if (row.op != regex_class) return false;
    int32_t low = row.a, high = row.a + row.b;
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (rows[middle].b < ch)
        low = middle + 1;
      else
        high = middle;
    }
    return low < row.a + row.b && rows[low].a <= ch && ch <= rows[low].b;
  }

  // A path at `row`, and at all that it reaches without a character. Each row is reached once in
  // a step, by the path that began first: `open` and the paths have room for all.
  void reach(int32_t row, uint64_t begin, path* list, int32_t& size, const ortc_string& text,
             uint64_t at) {
    int32_t depth = 0;
    const auto visit = [&](int32_t r) {
      if (seen[r] == step) return;
      seen[r] = step;
      open[depth++] = r;
    };
    visit(row);
    while (depth) {
      const int32_t r = open[--depth];
      switch (rows[r].op) {
      case regex_split:
        visit(rows[r].b);
        visit(rows[r].a);
        break;
      case regex_jump: visit(rows[r].a); break;
      case regex_check:
        if (is_place(rows[r].a, text, at)) visit(r + 1);
        break;
      default: list[size++] = {begin, r};
      }
    }
  }

  // The leftmost longest match from `from` on; or with `whole` whether all of the text is one.
  bool find(const ortc_string& text, uint64_t from, bool whole, span& found) {
    bool any = false;
    num_paths = 0;
    ++step;
    for (uint64_t at = from;;) {
      if (!any && (!whole || at == from)) reach(1, at, paths, num_paths, text, at);
      // Paths are in the order of where they began.
      for (int32_t i = 0; i < num_paths; ++i) {
        if (any && paths[i].begin > found.begin) {
          num_paths = i; // what began behind the match cannot matter any more
          break;
        }
        if (rows[paths[i].row].op == regex_match && (!whole || at == text.size))
          found = {paths[i].begin, at}, any = true;
      }
      if (at == text.size || (num_paths == 0 && (any || whole))) return any;
      const int32_t ch = take_character(text, at);
      ++step;
      num_moved = 0;
      for (int32_t i = 0; i < num_paths; ++i)
        if (consumes(rows[paths[i].row], ch))
          reach(paths[i].row + 1, paths[i].begin, moved, num_moved, text, at);
      path* const swap = paths;
      paths = moved;
      moved = swap;
      num_paths = num_moved;
    }
  }
};

// What a pattern leaves of a text, or finds in it.
struct stage {
  matcher m;
  ortc_string text = {nullptr, 0};
  uint64_t at = 0;
  bool ended = true;

  void begin(const ortc_string& t) { text = t, at = 0, ended = false; }

  bool long_enough(uint64_t first, uint64_t last, int64_t least, ortc_string& piece) const {
    piece = {text.data + first, last - first};
    return count_characters(piece) >= least;
  }

  // The next match of at least `least` characters; behind a shorter one the search goes on with the
  // next character.
  bool next_match(int64_t least, ortc_string& piece) {
    span found;
    while (!ended && m.find(text, at, false, found)) {
      at = found.end;
      if (long_enough(found.begin, found.end, least, piece)) return true;
      at = found.begin;
      if (at == text.size) break;
      take_character(text, at);
    }
    ended = true;
    return false;
  }

  // The next piece between matches. An empty match takes the character behind it along.
  bool next_rest(int64_t least, ortc_string& piece) {
    while (!ended) {
      const uint64_t first = at;
      span found;
      uint64_t last = text.size;
      if (m.find(text, at, false, found)) {
        last = at = found.begin;
        if (found.end > found.begin)
          at = found.end;
        else if (at == text.size)
          ended = true;
        else
          take_character(text, at);
      } else {
        ended = true;
      }
      if (long_enough(first, last, least, piece)) return true;
    }
    return false;
  }
};

// Gives the tokens of texts one by one. Each separator cuts the pieces that the one before left.
struct tokenizer {
  stage* stages = nullptr;
  int64_t num_stages = 0;
  int64_t least = 1;
  bool separators = false;

  // False: the heap is full.
  bool start(const regex_row* pattern, int64_t rows, heap& memory) {
    for (int64_t i = 0; i < rows; i += pattern[i].a)
      ++num_stages;
    stages = memory.alloc_array<stage>(uint64_t(num_stages));
    if (!stages) return false;
    for (int64_t i = 0; i < num_stages; ++i) {
      stages[i] = stage();
      if (!stages[i].m.start(pattern, memory)) return false;
      pattern += pattern->a;
    }
    return true;
  }

  void begin(const ortc_string& text) { stages[0].begin(text); }

  bool next(ortc_string& token) {
    if (!separators) return stages[0].next_match(least, token);
    for (int64_t i = num_stages - 1; i >= 0;) {
      if (!stages[i].next_rest(least, token))
        --i;
      else if (i + 1 == num_stages)
        return true;
      else
        stages[++i].begin(token);
    }
    return false;
  }
};

ortc_status start(context& c, tokenizer& t, const regex_row* pattern, int64_t rows,
                  const ortc_string* texts, int64_t count) {
  if (!t.start(pattern, rows, c.results)) return c.check_heap();
  for (int64_t i = 0; i < count; ++i)
    if (count_characters(texts[i]) < 0)
      return c.why() << "text " << i << " is not valid UTF-8, and cannot be cut into tokens",
             ORTC_RUN_ERROR;
  return ORTC_OK;
}

} // namespace

ortc_status regex_full_match(context& c, const regex_row* pattern, int64_t,
                             const ortc_string* texts, int64_t count, bool* out, int64_t) {
  const uint64_t mark = c.results.mark();
  matcher m;
  if (!m.start(pattern, c.results)) return c.check_heap();
  span found;
  for (int64_t i = 0; i < count; ++i)
    out[i] = m.find(texts[i], 0, true, found);
  c.results.release(mark);
  return ORTC_OK;
}

ortc_status token_count(context& c, int64_t least, const regex_row* pattern, int64_t rows,
                        bool separators, const ortc_string* texts, int64_t count, int64_t* out,
                        int64_t) {
  const uint64_t mark = c.results.mark();
  tokenizer t;
  t.least = least;
  t.separators = separators;
  if (const ortc_status s = start(c, t, pattern, rows, texts, count)) return s;
  ortc_string token;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = 0;
    for (t.begin(texts[i]); t.next(token);)
      ++out[i];
  }
  c.results.release(mark);
  return ORTC_OK;
}

ortc_status tokenize(context& c, int64_t least, bool mark_ends, const ortc_string& pad,
                     const regex_row* pattern, int64_t rows, bool separators,
                     const ortc_string* texts, int64_t count, ortc_string* out, int64_t,
                     int64_t columns) {
  const uint64_t mark = c.results.mark();
  tokenizer t;
  t.least = least;
  t.separators = separators;
  if (const ortc_status s = start(c, t, pattern, rows, texts, count)) return s;
  for (int64_t i = 0; i < count; ++i) {
    ortc_string* row = out + i * columns;
    int64_t used = 0;
    const auto put = [&](const ortc_string& s) {
      if (used < columns) row[used++] = s;
    };
    if (mark_ends) put({"\x02", 1});
    ortc_string token;
    for (t.begin(texts[i]); t.next(token);)
      put(token);
    if (mark_ends) put({"\x03", 1});
    while (used < columns)
      put(pad);
  }
  c.results.release(mark);
  return ORTC_OK;
}

ORTC_RT_END
