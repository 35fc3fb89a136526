// SPDX-License-Identifier: 0BSD
// Steps of host programs on values that are no dense tensors: lists and maps. Each takes the
// context, its settings in the order of their names, its arguments (a tensor is a pointer and its
// sizes), then its results. What they make lives on the context's heap until the next run.
#ifndef ORTC_RT_STEPS_H
#define ORTC_RT_STEPS_H

#include "context.h"

ORTC_RT_BEGIN

// One map per row, from keys[i] to scores[row * columns + i]; n is the number of keys, which is
// that of columns.
ortc_status zip_map(context& c, const int64_t* keys, int64_t n, const float* scores, int64_t rows,
                    int64_t columns, ortc_tensor* maps);
ortc_status zip_map(context& c, const ortc_string* keys, int64_t n, const float* scores,
                    int64_t rows, int64_t columns, ortc_tensor* maps);

// What a step of tensors of any rank is given: addresses and sizes.
struct step_word {
  const void* address;
  int64_t size;
  step_word(const void* p) : address(p), size(0) {}
  step_word(int64_t n) : address(nullptr), size(n) {}
};

// words: for each of n tensors its address and sizes, then where the list goes.
ortc_status list_of_words(context& c, const int64_t* dtypes, const int64_t* ranks, int64_t n,
                          const step_word* words);
template <class... A>
ortc_status list_of(context& c, const int64_t* dtypes, int64_t n, const int64_t* ranks, int64_t,
                    A... arguments) {
  const step_word words[] = {step_word(arguments)...};
  return list_of_words(c, dtypes, ranks, n, words);
}

// Steps on flat tensors of strings: each is its address and size.

// Where each string stands: `keys` are sorted by their bytes, and places[i] is that of keys[i]; -1
// where there is none.
ortc_status string_index(context& c, const ortc_string* keys, int64_t n, const int64_t* places,
                         int64_t, const ortc_string* texts, int64_t count, int64_t* out, int64_t);
ortc_status string_equal(context& c, const ortc_string* a, int64_t count, const ortc_string* b,
                         int64_t, bool* out, int64_t);
ortc_status string_concat(context& c, const ortc_string* a, int64_t count, const ortc_string* b,
                          int64_t, ortc_string* out, int64_t);
// Drops stop words (compared without case unless `sensitive`), then changes case: action 1 lower,
// 2 upper. `kept` is how many are left; if none is, one empty string.
ortc_status string_normalize(context& c, int64_t action, bool sensitive,
                             const ortc_string* stopwords, int64_t n, const ortc_string* texts,
                             int64_t count, ortc_string* out, int64_t, int64_t* kept, int64_t);
// How many pieces each text has between delimiters (none: between white space), with at most
// `maxsplit` splits where that is not negative; and the pieces, each row filled up with empty ones.
ortc_status string_pieces(context& c, const ortc_string& delimiter, int64_t maxsplit,
                          const ortc_string* texts, int64_t count, int64_t* out, int64_t);
ortc_status string_split(context& c, const ortc_string& delimiter, int64_t maxsplit,
                         const ortc_string* texts, int64_t count, ortc_string* out, int64_t,
                         int64_t columns);
// MurmurHash3, 32 bits [Appleby].
ortc_status murmur_hash3(context& c, int64_t seed, const ortc_string* texts, int64_t count,
                         uint32_t* out, int64_t);
ortc_status murmur_hash3(context& c, int64_t seed, const ortc_string* texts, int64_t count,
                         int32_t* out, int64_t);

// Hands a list or a map to the caller as output `number`.
ortc_status set_output(context& c, int64_t number, const ortc_tensor& value);

ORTC_RT_END
#endif
