// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "compiler/support/Diagnostics.h"

using namespace ortc;

TEST_CASE("a diagnostic prints where, what, notes and help") {
  Diagnostics diagnostics("resnet50.onnx");
  diagnostics
      .error("node '/layer1/Conv_3' (Conv, opset 11)", "'group' is {} but input {} has {} channels",
             3, quoteName("x"), 64)
      .note("'x' is {}", "f32[1,64,56,56]")
      .help("group must divide the channels");
  diagnostics.warning({}, "something");
  CHECK(diagnostics.str() == "resnet50.onnx: node '/layer1/Conv_3' (Conv, opset 11): error: "
                             "'group' is 3 but input 'x' has 64 channels\n"
                             "  note: 'x' is f32[1,64,56,56]\n"
                             "  help: group must divide the channels\n"
                             "resnet50.onnx: warning: something\n");
  CHECK(diagnostics.hasErrors());
  CHECK(diagnostics.errorCount() == 1);
  CHECK(diagnostics.all().size() == 2);
  diagnostics.clear();
  CHECK(!diagnostics.hasErrors());
  CHECK(diagnostics.str().empty());
}

TEST_CASE("references to diagnostics stay valid while others are reported") {
  Diagnostics diagnostics;
  Diagnostic& first = diagnostics.error({}, "first");
  for (int i = 0; i < 1000; ++i)
    diagnostics.warning({}, "{}", i);
  first.note("later");
  CHECK(diagnostics.all().front().lines.size() == 1);
}

TEST_CASE("nothing that a name holds reaches the terminal as it is") {
  Diagnostics diagnostics("a\nb.onnx");
  diagnostics
      .error("node '\x1b]0;t\x07'", "name {} and {}", quoteName("\u202eevil"), quoteName("bad\xff"))
      .note("raw\rnote");
  CHECK(diagnostics.str() ==
        "a\\nb.onnx: node '\\x1b]0;t\\x07': error: name '\\u{202e}evil' and 'bad\\xff'\n"
        "  note: raw\\rnote\n");
}

TEST_CASE("very long names are cut, between characters") {
  std::string name(199, 'x');
  name += "\u00e9\u00e9\u00e9";
  const std::string text = quoteName(name);
  CHECK(text == "'" + std::string(199, 'x') + "...'");
}

TEST_CASE("a file scope names another file for a while") {
  Diagnostics diagnostics("a");
  {
    Diagnostics::FileScope scope(diagnostics, "b");
    diagnostics.error({}, "in b");
  }
  diagnostics.error({}, "in a");
  CHECK(diagnostics.str() == "b: error: in b\na: error: in a\n");
}
