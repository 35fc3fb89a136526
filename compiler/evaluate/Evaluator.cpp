// SPDX-License-Identifier: Apache-2.0
#include "compiler/evaluate/Evaluator.h"
#include "compiler/evaluate/Interpreter.h"

using namespace mlir;

namespace ortc {

struct Evaluator::State {
  EvaluateOptions options;
  bool exceeded = false;
  uint64_t steps = 0;
};

Evaluator::Evaluator(EvaluateOptions options) : state(std::make_unique<State>()) {
  state->options = std::move(options);
}
Evaluator::~Evaluator() = default;

bool Evaluator::exceededLimit() const {
  return state->exceeded;
}
uint64_t Evaluator::steps() const {
  return state->steps;
}

FailureOr<SmallVector<HostValue>> Evaluator::run(func::FuncOp function,
                                                 ArrayRef<HostValue> arguments) {
  Interpreter interpreter(state->options);
  FailureOr<SmallVector<HostValue>> results = failure();
  if (succeeded(interpreter.bindDims(function, arguments)))
    results = interpreter.call(function, arguments);
  state->exceeded = interpreter.limitExceeded;
  state->steps = interpreter.steps();
  return results;
}

FailureOr<SmallVector<HostValue>>
Evaluator::evaluate(Operation* op, ArrayRef<HostValue> operands,
                    ArrayRef<std::pair<Value, HostValue>> captured) {
  Interpreter interpreter(state->options);
  for (auto [v, h] : captured)
    interpreter.set(v, h);
  for (auto [v, h] : llvm::zip(op->getOperands(), operands))
    interpreter.set(v, h);
  LogicalResult done = interpreter.execute(op);
  state->exceeded = interpreter.limitExceeded;
  state->steps = interpreter.steps();
  if (failed(done)) return failure();
  SmallVector<HostValue> results;
  for (Value v : op->getResults())
    results.push_back(interpreter.get(v));
  return results;
}

} // namespace ortc
