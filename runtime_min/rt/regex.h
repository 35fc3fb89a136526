// SPDX-License-Identifier: 0BSD
// Regular expressions that were compiled with the model: a table of rows for each, followed on all
// of its paths at once, so that a match takes rows times characters at most, whatever the pattern
// [Thompson 1968]. Scratch memory is on the context's heap for the time of the step.
#ifndef ORTC_RT_REGEX_H
#define ORTC_RT_REGEX_H

#include "context.h"

ORTC_RT_BEGIN

enum regex_op : int32_t {
  regex_begin, // a: rows of this pattern, b: rows that are states; the others are ranges of classes
  regex_range, // a character in [a, b], then the next row
  regex_class, // a character in one of the b ranges from row a on, then the next row
  regex_split, // row a or row b
  regex_jump,  // row a
  regex_check, // the next row if the place is one (a: of regex_place)
  regex_match
};
enum regex_place : int32_t {
  regex_text_begin,
  regex_text_end,
  regex_line_begin,
  regex_line_end,
  regex_word_edge,
  regex_no_word_edge
};

// Rows that are named by others are counted from regex_begin. The ranges of a class are sorted.
struct regex_row {
  regex_op op;
  int32_t a, b;
};

// Whether each text matches as a whole. What is not UTF-8 in it matches nothing.
ortc_status regex_full_match(context& c, const regex_row* pattern, int64_t rows,
                             const ortc_string* texts, int64_t count, bool* out, int64_t);

// Tokens of texts: what `pattern` finds, or with `separators` what is left between their matches,
// one separator after another. A match is the leftmost and of those the longest. Tokens of less
// than `least` characters are left out.
ortc_status token_count(context& c, int64_t least, const regex_row* pattern, int64_t rows,
                        bool separators, const ortc_string* texts, int64_t count, int64_t* out,
                        int64_t);
// The same tokens in rows of `columns`, between 0x02 and 0x03 if `mark`, filled up with `pad`.
ortc_status tokenize(context& c, int64_t least, bool mark, const ortc_string& pad,
                     const regex_row* pattern, int64_t rows, bool separators,
                     const ortc_string* texts, int64_t count, ortc_string* out, int64_t,
                     int64_t columns);

ORTC_RT_END
#endif
