// SPDX-License-Identifier: Apache-2.0
// Each way in which a model can be wrong in itself, and the text that says so.
#include <catch2/catch.hpp>

#include "compiler/import/TestModels.h"

using namespace ortc;
using namespace ortc::test;

namespace {

/// A function `name` of domain "my" whose body is one node.
pb::FunctionProto* addFunction(pb::ModelProto& model, const std::string& name,
                               const std::string& callee, int calls = 1) {
  auto* function = model.add_functions();
  function->set_name(name);
  function->set_domain("my");
  function->add_input("a");
  function->add_output("b");
  *function->add_opset_import() = model.opset_import(0);
  auto* my = function->add_opset_import();
  my->set_domain("my");
  my->set_version(1);
  for (int i = 0; i < calls; ++i) {
    auto* node = addNode(function->add_node(), callee, {"a"}, {i ? "b" + std::to_string(i) : "b"});
    if (callee != "Relu") node->set_domain("my");
  }
  return function;
}

pb::ModelProto callingModel(const std::string& callee) {
  pb::ModelProto model = smallModel();
  model.mutable_graph()->mutable_node(1)->set_op_type(callee);
  model.mutable_graph()->mutable_node(1)->set_domain("my");
  auto* my = model.add_opset_import();
  my->set_domain("my");
  my->set_version(1);
  return model;
}

/// smallModel with an If whose branch holds `body`'s nodes.
pb::GraphProto* addBranch(pb::ModelProto& model) {
  auto* body = addIf(model.mutable_graph(), "x", "z", "if");
  body->set_name("then");
  return body;
}

} // namespace

TEST_CASE("versions") {
  pb::ModelProto model = smallModel();
  SECTION("newest of all") {
    model.set_ir_version(14);
    model.mutable_opset_import(0)->set_version(28);
    CHECK(Loaded(model).ok());
  }
  SECTION("IR version newer than known") {
    model.set_ir_version(15);
    CHECK(Loaded(model).says(
        "m.onnx: error: IR version 15 is not known; the newest one known is 14\n"));
  }
  SECTION("opset newer than known") {
    model.mutable_opset_import(0)->set_version(29);
    CHECK(Loaded(model).says("error: opset 29 of 'ai.onnx' is newer than the newest one known, 28\n"
                             "  help: export the model with opset 28 or older\n"));
  }
  SECTION("other domains have versions of their own") {
    auto* other = model.add_opset_import();
    other->set_domain("com.microsoft");
    other->set_version(1000);
    CHECK(Loaded(model).ok());
    other->set_domain("ai.onnx.ml");
    CHECK(Loaded(model).says("opset 1000 of 'ai.onnx.ml' is newer"));
    other->set_version(0);
    CHECK(Loaded(model).says("opset 0 of 'ai.onnx.ml' is not valid"));
    other->set_domain("");
    other->set_version(16);
    CHECK(Loaded(model).says("'ai.onnx' is imported with opset 17 and with opset 16"));
  }
  SECTION("no import") {
    model.clear_opset_import();
    CHECK(Loaded(model).says("the model imports no operator set"));
    model.set_ir_version(2); // then there were none
    CHECK(Loaded(model).ok());
  }
  SECTION("a domain that is not imported") {
    model.mutable_graph()->mutable_node(1)->set_domain("com.microsoft");
    CHECK(Loaded(model).says(
        "m.onnx: node 'relu' (com.microsoft.Relu): error: domain 'com.microsoft' is not imported\n"
        "  note: imported: 'ai.onnx', opset 17\n"));
  }
  SECTION("no IR version, no graph") {
    model.clear_ir_version();
    CHECK(Loaded(model).says("not an ONNX model: it has no IR version"));
    model.set_ir_version(8);
    model.clear_graph();
    CHECK(Loaded(model).says("not an ONNX model: it has no graph"));
  }
}

TEST_CASE("names and values") {
  pb::ModelProto model = smallModel();
  auto* graph = model.mutable_graph();
  SECTION("a missing value, of a node without a name") {
    graph->mutable_node(0)->clear_name();
    graph->mutable_node(0)->set_input(1, "ww");
    CHECK(Loaded(model).says(
        "m.onnx: node #0 producing 'sum' (Add, opset 17): error: input 'ww' is produced by no "
        "node, input or initializer\n  help: did you mean 'w'?\n"));
  }
  SECTION("a missing output") {
    graph->mutable_output(0)->set_name("yy");
    CHECK(Loaded(model).says(
        "output 'yy': error: no node, input or initializer of the graph produces it"));
  }
  SECTION("an absent optional input is not missing") {
    graph->mutable_node(0)->add_input("");
    CHECK(Loaded(model).ok());
  }
  SECTION("equal names of nodes are fine") {
    graph->mutable_node(0)->set_name("relu");
    CHECK(Loaded(model).ok());
  }
  SECTION("two producers") {
    addNode(graph->add_node(), "Neg", {"x"}, {"sum"}, "neg");
    CHECK(Loaded(model).says(
        "node 'neg' (Neg, opset 17): error: output 'sum' is defined more than once in one graph"));
  }
  SECTION("a node that overwrites an input or an initializer") {
    addNode(graph->add_node(), "Neg", {"x"}, {"w"}, "neg");
    CHECK(Loaded(model).says("output 'w' is defined more than once"));
  }
  SECTION("an input and an initializer twice") {
    addValue(graph->add_input(), "x");
    CHECK(Loaded(model).says("input 'x' is defined more than once"));
    graph->mutable_input()->RemoveLast();
    *graph->add_initializer() = graph->initializer(0);
    CHECK(Loaded(model).says("initializer 'w' is defined more than once"));
  }
  SECTION("an initializer may be the default of an input") {
    addValue(graph->add_input(), "w");
    Loaded loaded(model);
    REQUIRE(loaded.ok());
    CHECK(loaded.model().graph.inputs.size() == 2);
    CHECK(loaded.model().graph.dataInputs().size() == 1);
    addValue(graph->mutable_input(1), "w", 7, {});
    CHECK(Loaded(model).says(
        "input 'w': error: the input is declared as i64[2] but its initializer is f32[2]"));
  }
  SECTION("an input without type") {
    graph->mutable_input(0)->clear_type();
    CHECK(Loaded(model).says("input 'x': error: the input has no type"));
  }
  SECTION("a node without operator") {
    graph->mutable_node(0)->clear_op_type();
    CHECK(Loaded(model).says("the node has no operator"));
  }
  SECTION("hostile names are printed harmlessly") {
    graph->mutable_node(0)->set_name("a\n\x1b[31m\u202e*/");
    graph->mutable_node(0)->set_input(0, "none");
    CHECK(Loaded(model).says("node 'a\\n\\x1b[31m\\u{202e}*/' (Add, opset 17): error:"));
  }
  SECTION("many errors are not all printed") {
    for (int i = 0; i < 1000; ++i)
      addNode(graph->add_node(), "Neg", {"none"}, {"n" + std::to_string(i)});
    CHECK(Loaded(model).diagnostics.errorCount() <= 21);
  }
}

TEST_CASE("order") {
  pb::ModelProto model = smallModel();
  auto* graph = model.mutable_graph();
  SECTION("unsorted nodes are sorted, with a remark") {
    graph->mutable_node()->SwapElements(0, 1);
    Loaded loaded(model);
    REQUIRE(loaded.ok());
    CHECK(loaded.says(
        "m.onnx: node 'relu' (Relu, opset 17): remark: the node reads what later nodes produce"));
    CHECK(loaded.model().graph.nodes[0].name == "add");
    CHECK(loaded.model().graph.nodes[0].index == 1);
  }
  SECTION("a value read only inside a subgraph counts") {
    auto* body = addBranch(model);
    addNode(body->add_node(), "Neg", {"late"}, {"n"});
    addValue(body->add_output(), "n");
    addNode(graph->add_node(), "Abs", {"x"}, {"late"}, "abs");
    Loaded loaded(model);
    INFO(loaded.messages());
    REQUIRE(loaded.ok());
    CHECK(loaded.model().graph.nodes[2].name == "abs");
    CHECK(loaded.model().graph.nodes[3].name == "if");
  }
  SECTION("a cycle is told with its nodes") {
    graph->mutable_node(0)->set_input(0, "y");
    Loaded loaded(model);
    CHECK(!loaded.ok());
    CHECK(loaded.messages() ==
          "m.onnx: node 'add' (Add, opset 17): error: the graph has a cycle: the node needs its "
          "own output\n"
          "  note: node 'add' (Add, opset 17) is read by node 'relu' (Relu, opset 17)\n"
          "  note: node 'relu' (Relu, opset 17) is read by node 'add' (Add, opset 17)\n");
  }
  SECTION("a node that reads itself, through its own subgraph") {
    auto* body = addBranch(model);
    addNode(body->add_node(), "Neg", {"z"}, {"n"});
    CHECK(Loaded(model).says("node 'if' (If, opset 17): error: the graph has a cycle"));
  }
  SECTION("a long unsorted chain keeps what order it can") {
    for (int i = 999; i >= 0; --i)
      addNode(graph->add_node(), "Neg", {i ? "c" + std::to_string(i - 1) : "x"},
              {"c" + std::to_string(i)});
    Loaded loaded(model);
    REQUIRE(loaded.ok());
    for (int i = 0; i < 1000; ++i)
      CHECK(loaded.model().graph.nodes[2 + i].outputs[0] == "c" + std::to_string(i));
  }
}

TEST_CASE("subgraphs") {
  pb::ModelProto model = smallModel();
  auto* body = addBranch(model);
  SECTION("outer values are visible, and may be returned as they are") {
    addNode(body->add_node(), "Neg", {"sum"}, {"n"});
    addValue(body->add_output(), "n");
    addValue(body->add_output(), "w");
    CHECK(Loaded(model).ok());
  }
  SECTION("shadowing") {
    addNode(body->add_node(), "Neg", {"x"}, {"sum"}, "neg");
    CHECK(Loaded(model).says("node 'neg' (Neg, opset 17): error: output 'sum' has the name of a "
                             "value of an enclosing graph"));
  }
  SECTION("the name of the enclosing node's own output, or of a later one, is no shadowing") {
    addNode(body->add_node(), "Neg", {"x"}, {"z"});
    addNode(body->add_node(), "Neg", {"z"}, {"after"});
    addNode(model.mutable_graph()->add_node(), "Abs", {"x"}, {"after"});
    Loaded loaded(model);
    INFO(loaded.messages());
    CHECK(loaded.ok());
  }
  SECTION("inner values are not visible outside") {
    addNode(body->add_node(), "Neg", {"x"}, {"n"});
    addNode(model.mutable_graph()->add_node(), "Abs", {"n"}, {"o"}, "abs");
    CHECK(
        Loaded(model).says("node 'abs' (Abs, opset 17): error: input 'n' is produced by no node"));
  }
  SECTION("64 deep is fine, 65 is not") {
    for (int depth : {64, 65}) {
      pb::ModelProto deep = smallModel();
      pb::GraphProto* graph = deep.mutable_graph();
      for (int i = 1; i < depth; ++i)
        graph = addIf(graph, "x", "d" + std::to_string(i));
      Loaded loaded(deep);
      INFO(loaded.messages());
      CHECK(loaded.ok() == (depth == 64));
      CHECK(loaded.says("nested more than 64 deep") == (depth == 65));
    }
  }
}

TEST_CASE("attributes") {
  pb::ModelProto model = smallModel();
  auto* node = model.mutable_graph()->mutable_node(0);
  // An operator whose attributes nobody knows.
  node->set_domain("other");
  auto* opset = model.add_opset_import();
  opset->set_domain("other");
  opset->set_version(1);
  auto* attribute = addAttribute(node, "alpha", 1);
  SECTION("declared and filled differently") {
    attribute->set_i(3);
    CHECK(Loaded(model).says(
        "node 'add' (other.Add, opset 1): error: attribute 'alpha' is declared as float but holds "
        "int"));
  }
  SECTION("a zero that its writer left out") {
    Loaded loaded(model);
    REQUIRE(loaded.ok());
    CHECK(loaded.model().graph.nodes[0].attribute("alpha")->f() == 0);
  }
  SECTION("several fields filled: the declared one counts") {
    attribute->set_f(2);
    attribute->set_i(3);
    Loaded loaded(model);
    REQUIRE(loaded.ok());
    CHECK(loaded.model().graph.nodes[0].attribute("alpha")->f() == 2);
  }
  SECTION("old files have no type") {
    attribute->clear_type();
    attribute->add_ints(3);
    Loaded loaded(model);
    REQUIRE(loaded.ok());
    CHECK(loaded.model().graph.nodes[0].attribute("alpha")->type == onnx::AttributeType::Ints);
    attribute->clear_ints();
    CHECK(Loaded(model).says("attribute 'alpha' has neither type nor value"));
  }
  SECTION("a graph or tensor that is not there") {
    attribute->set_type(4);
    CHECK(Loaded(model).says("attribute 'alpha' is declared as tensor but holds nothing"));
  }
  SECTION("unknown type, twice, without name, a reference outside of functions") {
    attribute->set_type(77);
    CHECK(Loaded(model).says("attribute 'alpha' has the unknown type 77"));
    attribute->set_type(1);
    addAttribute(node, "alpha", 1);
    CHECK(Loaded(model).says("attribute 'alpha' is given twice"));
    node->mutable_attribute(1)->set_name("");
    CHECK(Loaded(model).says("an attribute has no name"));
    node->mutable_attribute(1)->set_name("beta");
    node->mutable_attribute(1)->set_ref_attr_name("r");
    CHECK(Loaded(model).says(
        "attribute 'beta' refers to 'r', which only the body of a function may do"));
  }
}

TEST_CASE("functions") {
  SECTION("a call is resolved") {
    pb::ModelProto model = callingModel("F");
    addFunction(model, "F", "Relu");
    Loaded loaded(model);
    INFO(loaded.messages());
    REQUIRE(loaded.ok());
    CHECK(loaded.model().graph.nodes[1].function == 0);
    CHECK(!loaded.model().graph.nodes[0].function);
    model.mutable_graph()->mutable_node(1)->add_input("x");
    CHECK(Loaded(model).says("error: the call has 2 inputs but function 'F' has 1"));
  }
  SECTION("overloads are different functions") {
    pb::ModelProto model = callingModel("F");
    addFunction(model, "F", "Relu");
    addFunction(model, "F", "Relu")->set_overload("second");
    model.mutable_graph()->mutable_node(1)->set_overload("second");
    Loaded loaded(model);
    REQUIRE(loaded.ok());
    CHECK(loaded.model().graph.nodes[1].function == 1);
    model.mutable_functions(1)->clear_overload();
    CHECK(Loaded(model).says("function 'F': error: the function is defined more than once"));
  }
  SECTION("recursion, direct and indirect, also where nothing calls it") {
    pb::ModelProto model = callingModel("F");
    addFunction(model, "F", "F");
    CHECK(Loaded(model).says("error: function 'F' calls itself, directly or through others"));
    model = smallModel();
    addFunction(model, "F", "G");
    addFunction(model, "G", "F");
    CHECK(Loaded(model).says("calls itself, directly or through others"));
  }
  SECTION("calls 500 deep are refused, 64 are not; in either order of definition") {
    for (bool reversed : {false, true})
      for (int depth : {64, 65, 500}) {
        pb::ModelProto model = callingModel("F0");
        for (int i = 0; i < depth; ++i)
          addFunction(model, "F" + std::to_string(i),
                      i + 1 < depth ? "F" + std::to_string(i + 1) : "Relu");
        if (reversed)
          std::reverse(model.mutable_functions()->begin(), model.mutable_functions()->end());
        Loaded loaded(model);
        INFO(loaded.messages());
        CHECK(loaded.ok() == (depth == 64));
        CHECK(loaded.says("functions call each other more than 64 deep") == (depth > 64));
      }
  }
  SECTION("an explosion of calls is found without exploding") {
    pb::ModelProto model = callingModel("F0");
    for (int i = 0; i < 60; ++i)
      addFunction(model, "F" + std::to_string(i), i < 59 ? "F" + std::to_string(i + 1) : "Relu", 2);
    CHECK(Loaded(model).says("the calls of functions expand to more than 10000000 nodes"));
  }
  SECTION("bodies see their own inputs only") {
    pb::ModelProto model = callingModel("F");
    auto* function = addFunction(model, "F", "Relu");
    function->mutable_node(0)->set_input(0, "x");
    CHECK(Loaded(model).says("input 'x' is produced by no node, input or initializer"));
    function->mutable_node(0)->set_input(0, "a");
    function->set_output(0, "c");
    CHECK(
        Loaded(model).says("function 'F': error: nothing in the function produces its output 'c'"));
  }
  SECTION("references to attributes") {
    pb::ModelProto model = callingModel("F");
    auto* function = addFunction(model, "F", "Elu");
    function->mutable_node(0)->clear_domain();
    addAttribute(function->mutable_node(0), "alpha", 1)->set_ref_attr_name("a");
    CHECK(Loaded(model).says("attribute 'alpha' refers to 'a', which function 'F' does not have"));
    function->add_attribute("a");
    Loaded loaded(model);
    REQUIRE(loaded.ok());
    CHECK(loaded.model().functions[0].nodes[0].attribute("alpha")->refName == "a");
  }
}

TEST_CASE("nodes against the schemas of ONNX") {
  pb::ModelProto model = smallModel();
  auto* node = model.mutable_graph()->mutable_node(1);
  SECTION("the opset in force decides") {
    node->set_op_type("Squeeze");
    addAttribute(node, "axes", 7)->add_ints(0);
    CHECK(
        Loaded(model).says("relu' (Squeeze, opset 17): error: attribute 'axes' is not one of "
                           "Squeeze (opset 17)\n  note: the attribute exists in opset 1 to 12\n"));
    model.mutable_opset_import(0)->set_version(12);
    CHECK(Loaded(model).ok());
  }
  SECTION("opsets that know what others do not") {
    node->set_op_type("LRN");
    addAttribute(node, "size", 2)->set_i(1);
    CHECK(Loaded(model).ok());
    node->set_op_type("BatchNormalization");
    CHECK(Loaded(model).says("'size' is not one of BatchNormalization"));
    node->clear_attribute();
    CHECK(
        Loaded(model).says("error: required input 1 ('scale') is missing\n  note: "
                           "BatchNormalization (opset 17) has X, scale, B, input_mean, input_var"));
  }
  SECTION("absent ones at the end do not count") {
    node->add_input("");
    node->add_output("");
    CHECK(Loaded(model).ok());
    node->add_input("x");
    CHECK(Loaded(model).says("input 2 ('x') is one too many: Relu (opset 17) has 1"));
  }
  SECTION("any number of inputs, but for none") {
    node->set_op_type("Max");
    for (int i = 0; i < 100; ++i)
      node->add_input(i % 2 ? "x" : "");
    CHECK(Loaded(model).ok());
    node->clear_input();
    CHECK(Loaded(model).says("required input 0 ('data_0') is missing"));
  }
  SECTION("an output that nobody wants may have no name") {
    addNode(model.mutable_graph()->add_node(), "TopK", {"x", "x"}, {"", "i"});
    CHECK(Loaded(model).ok());
    addNode(model.mutable_graph()->add_node(), "TopK", {"x", "x"}, {"v"}, "t");
    CHECK(Loaded(model).says("'t' (TopK, opset 17): error: required output 1 ('Indices')"));
  }
  SECTION("what tools note down") {
    addAttribute(node, "__note", 2);
    CHECK(Loaded(model).ok());
  }
  SECTION("an operator that is too new, and one that nobody knows, are for the importer") {
    node->set_op_type("HardSwish");
    addAttribute(node, "alpha", 1);
    model.mutable_opset_import(0)->set_version(13);
    CHECK(Loaded(model).ok());
    node->set_op_type("Frobnicate");
    CHECK(Loaded(model).ok());
  }
}
