// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>
#include <random>

#include "compiler/support/Names.h"

using namespace ortc;

TEST_CASE("identifiers resemble the name") {
  CHECK(legaliseIdentifier("/fc1/Gemm") == "fc1_Gemm");
  CHECK(legaliseIdentifier("conv2d_3.weight") == "conv2d_3_weight");
  CHECK(legaliseIdentifier("a__b") == "a_b"); // two underscores are reserved
  CHECK(legaliseIdentifier("_Private") == "Private");
  CHECK(legaliseIdentifier("x_") == "x");
  CHECK(legaliseIdentifier("3x") == "v3x");
  CHECK(legaliseIdentifier("3x", "t") == "t3x");
  CHECK(legaliseIdentifier("") == "v");
  CHECK(legaliseIdentifier("***", "node") == "node");
  CHECK(legaliseIdentifier("caf\u00e9") == "cafue9");
  CHECK(legaliseIdentifier("\u4e2d\u6587") == "u4e2du6587");
  CHECK(legaliseIdentifier("a\xff\xfe"
                           "b") == "a_b");
  CHECK(legaliseIdentifier("a\nb */ \"c\" \\") == "a_b_c");
  CHECK(legaliseIdentifier("int") == "int_");
  CHECK(legaliseIdentifier("while") == "while_");
  CHECK(legaliseIdentifier("fn") == "fn_");             // WGSL
  CHECK(legaliseIdentifier("function") == "function_"); // JavaScript
  CHECK(legaliseIdentifier("max") == "max_");           // called by emitted code
  CHECK(legaliseIdentifier(std::string(1000, 'a')).size() <= 72);
}

TEST_CASE("any bytes give a legal identifier") {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string name;
    for (size_t n = random() % 12; name.size() < n;)
      name += static_cast<char>(random());
    const std::string id = legaliseIdentifier(name);
    REQUIRE(!id.empty());
    REQUIRE((std::isalpha(static_cast<unsigned char>(id[0])) != 0));
    REQUIRE(std::all_of(id.begin(), id.end(),
                        [](unsigned char c) { return c < 128 && (std::isalnum(c) || c == '_'); }));
    REQUIRE(id.find("__") == std::string::npos);
    REQUIRE(!isReservedIdentifier(id));
  }
}

TEST_CASE("a table keeps names apart, and is stable") {
  NameTable table;
  table.reserve("ctx");
  CHECK(table.identifier("a/b") == "a_b");
  CHECK(table.identifier("a.b") == "a_b_2");
  CHECK(table.identifier("a_b_2") == "a_b_2_2");
  CHECK(table.identifier("a/b") == "a_b");
  CHECK(table.identifier("ctx") == "ctx_2");
  CHECK(table.fresh("a.b") == "a_b_3");
  CHECK(table.fresh("int") == "int_");
  CHECK(table.fresh("int") == "int_2");
  CHECK(table.identifier("") == "v");
  CHECK(table.identifier("?") == "v_2");
}

TEST_CASE("long names that differ at the end stay apart") {
  NameTable table;
  std::string longName(500, 'n');
  CHECK(table.identifier(longName + "1") != table.identifier(longName + "2"));
}

TEST_CASE("comments cannot be left") {
  CHECK(escapeForComment("plain /layer/Conv") == "plain /layer/Conv");
  CHECK(escapeForComment("a*/b") == "a* /b");
  CHECK(escapeForComment("a/*b") == "a/ *b");
  CHECK(escapeForComment("*/*/") == "* / * /");
  CHECK(escapeForComment("a\nb\r") == "a\\nb\\r");
  CHECK(escapeForComment("path\\") == "path\\x5c");
  CHECK(escapeForComment("path\\ ") == "path\\x5c ");
  CHECK(escapeForComment("what?\?/") == "what? ?/");
  CHECK(escapeForComment("\u202e\u2028") == "\\u{202e}\\u{2028}");
  CHECK(escapeForComment("\u4e2d") == "\u4e2d");
}

TEST_CASE("string literals hold any bytes") {
  CHECK(escapeForString("a\"b\\c") == "a\\\"b\\\\c");
  CHECK(escapeForString("a\n\t1") ==
        "a\\n\\0111"); // octal has at most three digits: the 1 stays a character
  CHECK(escapeForString(std::string("\0"
                                    "9",
                                    2)) == "\\0009");
  CHECK(escapeForString("?\?/") == "?\\?/");
  CHECK(escapeForString("\xff") == "\\377");
  CHECK(escapeForString("\u202e") == "\\342\\200\\256");
  CHECK(escapeForString("\u00e9") == "\u00e9");
}

TEST_CASE("escaping twice changes nothing") {
  for (const char* text : {"a\nb", "\\n", "\xff\xfe", "\u202e", "\u00e9", "\xc3"})
    CHECK(escapeControls(escapeControls(text)) == escapeControls(text));
}

TEST_CASE("UTF-8 is taken apart and put together") {
  for (uint32_t c : {0x41u, 0xE9u, 0x7FFu, 0x800u, 0x4E2Du, 0xFFFDu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    appendUtf8(text, c);
    std::string_view view = text;
    CHECK(takeCodePoint(view) == static_cast<int32_t>(c));
    CHECK(view.empty());
  }
  // Overlong, surrogate, beyond the last, cut off, lone continuation.
  for (std::string_view bad :
       {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe4\xb8", "\x80"}) {
    std::string_view view = bad;
    CHECK(takeCodePoint(view) == -1);
    CHECK(view.size() == bad.size() - 1);
  }
}
