// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace ortc::codegen {

std::string legalIdentifier(llvm::StringRef text) {
  constexpr size_t kLongest = 64; // models have names of thousands of characters
  std::string r;
  for (char c : text) {
    if (r.size() == kLongest) break;
    if (llvm::isAlnum(c))
      r += c;
    else if (!r.empty() && r.back() != '_')
      r += '_';
  }
  while (!r.empty() && r.back() == '_')
    r.pop_back();
  if (r.empty()) return "v";
  if (llvm::isDigit(r[0])) r = "v" + r;
  return r;
}

// One list for all languages, so that a kernel has the same names in each of them.
static const char* const kReserved[] = {
    // C++ and CUDA
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class",
    "compl", "const", "constexpr", "continue", "decltype", "default", "delete", "do", "double",
    "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr",
    "operator", "or", "private", "protected", "public", "register", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef",
    "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "concept", "requires", "co_await", "co_return", "co_yield", "char8_t",
    "char16_t", "char32_t", "bitand", "bitor", "and_eq", "or_eq", "xor_eq", "not_eq", "const_cast",
    "static_cast", "dynamic_cast", "reinterpret_cast", "thread_local", "static_assert", "threadIdx",
    "blockIdx", "blockDim", "gridDim", "warpSize", "main", "errno", "NULL", "INFINITY", "NAN",
    "unix", "linux", "near", "far", "huge", "stdin", "stdout", "stderr", "typeof", "signbit",
    // fixed-width types and the runtime's
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
    "size_t", "vec", "f16", "bf16", "f32", "f64", "i32", "u32", "half", "executor", "threads",
    "text", "heap", "load_as", "store_as", "to_f32", "to_f16", "to_bf16", "sigmoid", "range",
    "context", "ortc_rt", "ortc", "std", "native",
    // WGSL
    "alias", "array", "atomic", "bitcast", "const_assert", "continuing", "diagnostic", "discard",
    "enable", "fn", "let", "loop", "mat2x2", "override", "ptr", "sampler", "var", "vec2", "vec3",
    "vec4", "self", "super", "type", "uniform", "storage", "workgroup", "function", "match", "mod",
    "move", "mut", "pub", "ref", "smooth", "target", "texture", "trait", "unless", "use", "where",
    "with", "yield", "set", "get", "final", "package", "interface", "module", "params", "global_id",
    "local_id", "workgroup_id", "num_workgroups", "active", "common", "filter", "from", "handle",
    "resource", "shared", "snorm", "unorm", "precise", "premerge", "regardless", "lowp", "mediump",
    "highp", "layout", "attribute", "binding_array", "coherent", "compile", "demote", "fallthrough",
    "fixed", "nil", "null", "pixelfragment", "readonly", "writeonly", "nointerpolation",
    "noperspective", "partition", "pass", "patch", "restrict", "sizeof_", "snap", "subroutine",
    "unsafe", "unsized", "varying", "wgsl", "crate", "debugger", "finally", "import", "impl",
    // JavaScript
    "arguments", "async", "await", "eval", "in", "of", "instanceof", "extends", "undefined",
    "device", "console",
    // steps of the host
    "list_of", "murmur_hash3", "set_output", "string_concat", "string_equal", "string_index",
    "string_normalize", "string_pieces", "string_split", "token_count", "tokenize", "zip_map",
    "regex_full_match", "regex_row", "regex_begin", "regex_range", "regex_class", "regex_split",
    "regex_jump", "regex_check", "regex_match", "regex_text_begin", "regex_text_end",
    "regex_line_begin", "regex_line_end", "regex_word_edge", "regex_no_word_edge",
    // functions that kernels call
    "abs", "acos", "acosh", "add", "all", "any", "asin", "asinh", "atan", "atan2", "atanh",
    "bits_as", "cast", "cbrt", "ceil", "ceil_div", "clamp", "convert", "copysign", "cos", "cosh",
    "count_ones", "div", "dot", "erf", "erfc", "exp", "exp2", "expm1", "floor", "floor_div", "fma",
    "fmod", "gather", "iota", "is_inf", "is_nan", "lane", "lanes_of", "leading_zeros", "length",
    "load", "load_n", "load_strided", "log", "log10", "log1p", "log2", "lower", "max", "max_lanes",
    "max_number", "maximum", "min", "min_lanes", "min_number", "minimum", "mul", "neg", "negate",
    "normalize", "parallel_for", "parallel_ranges", "piece", "pieces", "pool", "pow", "prefetch",
    "product_lanes", "rem", "round", "round_away", "round_even", "rsqrt", "saturate", "select",
    "set_lane", "shl", "shr_arithmetic", "shr_logical", "sign", "sin", "sinh", "splat", "sqrt",
    "step", "store", "store_n", "store_strided", "sub", "sum_lanes", "tan", "tanh",
    "trailing_zeros", "transpose", "trunc", "upper", "memcpy", "memset", "memmove", "rint",
    "remainder", "gamma", "y0", "y1", "yn", "j0", "j1", "jn", "index", "time", "signal", "printf",
    "free", "malloc", "exit", "abort", "fract", "mix", "sum_of", "arrayLength", "workgroupBarrier",
    "storageBarrier", "atomicAdd", "atomicOr", "inputs", "outputs", "weights", "arena", "run"};

bool isReservedWord(llvm::StringRef name) {
  static const llvm::StringSet<> words = [] {
    llvm::StringSet<> s;
    for (const char* w : kReserved)
      s.insert(w);
    return s;
  }();
  // C and C++ keep names with two underscores; ours never have them, and prefix ortc_ belongs to
  // the runtime.
  return words.contains(name) || name.starts_with("ortc_") || name.starts_with("__");
}

std::string Names::fresh(llvm::StringRef wish) {
  std::string name = legalIdentifier(wish);
  // Macros, types and functions of ours: no number behind the name makes it another one.
  if (llvm::StringRef(name).starts_with_insensitive("ortc")) name = "v_" + name;
  // `x` taken: x1, x2, ...; a wish that ends in a digit or is a keyword gets an underscore: x1_1,
  // exp_1.
  std::string stem = llvm::isDigit(name.back()) || isReservedWord(name) ? name + "_" : name;
  for (unsigned n = 1; !isFree(name); ++n)
    name = stem + std::to_string(n);
  used.insert(name);
  given.push_back(name);
  return name;
}

} // namespace ortc::codegen
