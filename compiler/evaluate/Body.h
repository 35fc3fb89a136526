// SPDX-License-Identifier: Apache-2.0
// A region of scalar code (the body of a linalg op) as a short program over registers of
// `laneCount` lanes, so that the cost of interpreting an operation is shared by about a thousand
// elements. Control flow inside a body works on masks: both branches of an if run for the lanes
// that take them; a loop turns while any lane still does.
#pragma once
#include "compiler/evaluate/HostValue.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include <atomic>
#include <mutex>

namespace ortc {

constexpr int64_t laneCount = 1024;
using Register = uint32_t;
constexpr Register noRegister = ~0u;

/// What goes wrong while lanes run, from any thread; the first message stays.
struct BodyErrors {
  std::atomic<bool> failed = false;
  std::atomic<uint64_t> steps = 0; ///< turns of loops inside bodies, times lanes
  uint64_t maxSteps = UINT64_MAX;
  bool limit = false;
  std::string message;
  std::mutex mutex;
  void fail(std::string text, bool isLimit = false);
};

struct Instruction {
  enum Kind : uint8_t { scalar, extract, load, store, ifElse, forLoop, whileLoop } kind;
  ScalarOp op{};
  Register out = noRegister;
  std::array<Register, 3> in{noRegister, noRegister, noRegister};
  unsigned tensor = 0; ///< extract: number in Body::tensors; load and store: of the memref argument
  llvm::SmallVector<Register, 4> indices{}; ///< extract, load, store
  // Regions: results, initial values (loops: carried values, or operands of the condition) and
  // code.
  llvm::SmallVector<Register, 4> results{}, inits{}, carried{};
  llvm::SmallVector<Register, 4> yields{}, otherYields{}; ///< of the first and of the second region
  llvm::SmallVector<Register, 4> otherArguments{};        ///< while: arguments of the second region
  Register condition = noRegister;                        ///< while
  std::vector<Instruction> code{}, otherCode{};
};

/// Compiled once per op, shared by threads.
struct Body {
  std::vector<Instruction> code;
  llvm::SmallVector<Register> arguments; ///< one per block argument, noRegister when it has no use
  llvm::SmallVector<Register> yields;
  llvm::SmallVector<CellType> yieldTypes;
  llvm::SmallVector<std::pair<int64_t, Register>> indexRegisters; ///< linalg.index dim, register
  llvm::SmallVector<std::pair<mlir::Value, Register>> captured;   ///< scalars from outside
  llvm::SmallVector<std::pair<HostScalar, Register>> constants;
  llvm::SmallVector<mlir::Value> tensors; ///< that tensor.extract reads
  unsigned registers = 0;
  unsigned operations = 0; ///< number of scalar operations, for step budgets

  /// Fails with a diagnostic at the op that has no meaning here. `skip` are ops that are left out
  /// (the combining ops of a reduction, which the driver does itself); their operands are kept
  /// until the end.
  static mlir::FailureOr<Body> compile(mlir::Block& block,
                                       llvm::ArrayRef<mlir::Operation*> skip = {});
  /// The register of a value that a skipped op uses.
  llvm::DenseMap<mlir::Value, Register> kept;
};

/// Registers of one thread.
class BodyRun {
public:
  /// `tensors` are those of Body::tensors, `captured` the values of Body::captured, in order.
  /// Runs have at most `width` lanes. `memory`: what the memref arguments stand for, in order.
  BodyRun(const Body& body, int64_t width, llvm::ArrayRef<HostTensor> tensors,
          llvm::ArrayRef<HostScalar> captured, BodyErrors& errors,
          llvm::MutableArrayRef<HostTensor> memory = {});
  Lane* lanes(Register r) { return storage.data() + static_cast<int64_t>(r) * width; }
  void run(int64_t n) { runCode(body.code, n, nullptr); }

private:
  using Mask = std::vector<int64_t>;
  void runCode(const std::vector<Instruction>& code, int64_t n, const int64_t* mask);
  void extract(const Instruction& i, int64_t n, const int64_t* mask);
  void access(const Instruction& i, int64_t n, const int64_t* mask);
  /// Where lane `l` reads or writes, or -1 after an error.
  int64_t offsetOf(const HostTensor& t, llvm::ArrayRef<const Lane*> at, int64_t l);
  void ifElse(const Instruction& i, int64_t n, const int64_t* mask);
  void forLoop(const Instruction& i, int64_t n, const int64_t* mask);
  void whileLoop(const Instruction& i, int64_t n, const int64_t* mask);
  void copy(Register to, Register from, int64_t n, const int64_t* mask);
  void copyAll(llvm::ArrayRef<Register> to, llvm::ArrayRef<Register> from, int64_t n,
               const int64_t* mask);
  bool countSteps(uint64_t n);

  const Body& body;
  int64_t width;
  llvm::ArrayRef<HostTensor> tensors;
  llvm::MutableArrayRef<HostTensor> memory;
  llvm::SmallVector<CellType> tensorCells;
  BodyErrors& errors;
  std::vector<Lane> storage;
};

} // namespace ortc
