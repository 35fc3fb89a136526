// SPDX-License-Identifier: Apache-2.0
// Runs the program of a body over lanes. A mask (null: all) tells which lanes count; the others
// compute garbage, which nothing can observe because scalar operations never trap and reads are
// skipped.
#include "compiler/evaluate/Body.h"
#include <fmt/format.h>

namespace ortc {

void BodyErrors::fail(std::string text, bool isLimit) {
  std::lock_guard lock(mutex);
  if (failed) return;
  message = std::move(text);
  limit = isLimit;
  failed = true;
}

BodyRun::BodyRun(const Body& body, int64_t width, llvm::ArrayRef<HostTensor> tensors,
                 llvm::ArrayRef<HostScalar> captured, BodyErrors& errors,
                 llvm::MutableArrayRef<HostTensor> memory)
    : body(body), width(width), tensors(tensors), memory(memory), errors(errors),
      storage(static_cast<size_t>(body.registers) * width) {
  for (const HostTensor& t : tensors)
    tensorCells.push_back(cellType(t.elementType));
  for (auto& [scalar, r] : body.constants)
    std::fill_n(lanes(r), width, scalar.cell);
  for (auto [scalar, at] : llvm::zip(captured, body.captured))
    std::fill_n(lanes(at.second), width, scalar.cell);
}

bool BodyRun::countSteps(uint64_t n) {
  if (errors.steps.fetch_add(n, std::memory_order_relaxed) + n > errors.maxSteps)
    errors.fail(fmt::format("takes more than {} steps", errors.maxSteps), /*isLimit=*/true);
  return !errors.failed;
}

void BodyRun::runCode(const std::vector<Instruction>& code, int64_t n, const int64_t* mask) {
  for (const Instruction& i : code) {
    switch (i.kind) {
    case Instruction::scalar: {
      auto at = [&](int k) { return i.in[k] == noRegister ? nullptr : lanes(i.in[k]); };
      applyScalar(i.op, lanes(i.out), at(0), at(1), at(2), n);
      break;
    }
    case Instruction::extract: extract(i, n, mask); break;
    case Instruction::load:
    case Instruction::store: access(i, n, mask); break;
    case Instruction::ifElse: ifElse(i, n, mask); break;
    case Instruction::forLoop: forLoop(i, n, mask); break;
    case Instruction::whileLoop: whileLoop(i, n, mask); break;
    }
    if (errors.failed) return;
  }
}

int64_t BodyRun::offsetOf(const HostTensor& t, llvm::ArrayRef<const Lane*> at, int64_t l) {
  int64_t offset = 0;
  for (size_t d = 0; d < at.size(); ++d) {
    int64_t index = at[d][l].i;
    if (index < 0 || index >= t.dims[d]) {
      errors.fail(
          fmt::format("goes to element {} of dim {}, which has size {}", index, d, t.dims[d]));
      return -1;
    }
    offset = offset * t.dims[d] + index;
  }
  return offset;
}

void BodyRun::access(const Instruction& i, int64_t n, const int64_t* mask) {
  HostTensor& t = memory[i.tensor];
  CellType cell = cellType(t.elementType);
  void* data = t.strings ? static_cast<void*>(t.strings->data()) : t.data.get();
  llvm::SmallVector<const Lane*, 6> at;
  for (Register r : i.indices)
    at.push_back(lanes(r));
  bool store = i.kind == Instruction::store;
  Lane* value = lanes(store ? i.in[0] : i.out);
  for (int64_t l = 0; l < n; ++l) {
    if (mask && !mask[l]) continue;
    int64_t offset = offsetOf(t, at, l);
    if (offset < 0) return;
    if (store)
      cell.isFloat() ? storeDoubles(cell, data, offset, 1, 1, &value[l].f)
                     : storeIntegers(cell, data, offset, 1, 1, &value[l].i);
    else
      cell.isFloat() ? loadDoubles(cell, data, offset, 0, 1, &value[l].f)
                     : loadIntegers(cell, data, offset, 0, 1, &value[l].i);
  }
}

void BodyRun::extract(const Instruction& i, int64_t n, const int64_t* mask) {
  const HostTensor& t = tensors[i.tensor];
  CellType cell = tensorCells[i.tensor];
  const void* data = t.strings ? static_cast<const void*>(t.strings->data()) : t.data.get();
  Lane* out = lanes(i.out);
  llvm::SmallVector<const Lane*, 6> at;
  for (Register r : i.indices)
    at.push_back(lanes(r));
  for (int64_t l = 0; l < n; ++l) {
    out[l].i = 0;
    if (mask && !mask[l]) continue;
    int64_t offset = offsetOf(t, at, l);
    if (offset < 0) return;
    if (cell.isFloat())
      loadDoubles(cell, data, offset, 0, 1, &out[l].f);
    else
      loadIntegers(cell, data, offset, 0, 1, &out[l].i);
  }
}

void BodyRun::copy(Register to, Register from, int64_t n, const int64_t* mask) {
  Lane *t = lanes(to), *f = lanes(from);
  if (!mask)
    std::copy_n(f, n, t);
  else
    for (int64_t l = 0; l < n; ++l)
      if (mask[l]) t[l] = f[l];
}

// All at once: what is yielded may be another carried value.
void BodyRun::copyAll(llvm::ArrayRef<Register> to, llvm::ArrayRef<Register> from, int64_t n,
                      const int64_t* mask) {
  bool overlap = false;
  for (Register f : from)
    overlap |= llvm::is_contained(to, f);
  if (!overlap || to.size() == 1) {
    for (auto [t, f] : llvm::zip(to, from))
      copy(t, f, n, mask);
    return;
  }
  std::vector<Lane> saved(from.size() * n);
  for (size_t k = 0; k < from.size(); ++k)
    std::copy_n(lanes(from[k]), n, saved.data() + k * n);
  for (size_t k = 0; k < to.size(); ++k)
    for (int64_t l = 0; l < n; ++l)
      if (!mask || mask[l]) lanes(to[k])[l] = saved[k * n + l];
}

void BodyRun::ifElse(const Instruction& i, int64_t n, const int64_t* mask) {
  const Lane* condition = lanes(i.in[0]);
  Mask yes(n), no(n);
  int64_t countYes = 0, countNo = 0;
  for (int64_t l = 0; l < n; ++l) {
    bool active = !mask || mask[l];
    yes[l] = active && condition[l].i;
    no[l] = active && !condition[l].i;
    countYes += yes[l], countNo += no[l];
  }
  if (countYes) {
    runCode(i.code, n, countYes == n ? nullptr : yes.data());
    if (errors.failed) return;
    for (auto [r, y] : llvm::zip(i.results, i.yields))
      copy(r, y, n, countYes == n ? nullptr : yes.data());
  }
  if (countNo) {
    runCode(i.otherCode, n, countNo == n ? nullptr : no.data());
    if (errors.failed) return;
    for (auto [r, y] : llvm::zip(i.results, i.otherYields))
      copy(r, y, n, countNo == n ? nullptr : no.data());
  }
}

void BodyRun::forLoop(const Instruction& i, int64_t n, const int64_t* mask) {
  const Lane *upper = lanes(i.in[1]), *step = lanes(i.in[2]);
  Lane* induction = lanes(i.out);
  copy(i.out, i.in[0], n, nullptr);
  copyAll(i.carried, i.inits, n, nullptr);
  Mask active(n);
  for (;;) {
    int64_t count = 0;
    for (int64_t l = 0; l < n; ++l) {
      active[l] = (!mask || mask[l]) && induction[l].i < upper[l].i;
      count += active[l];
      if (active[l] && step[l].i <= 0) return errors.fail("a loop has a step that is not positive");
    }
    if (!count || !countSteps(count * std::max<size_t>(i.code.size(), 1))) break;
    const int64_t* now = count == n ? nullptr : active.data();
    runCode(i.code, n, now);
    if (errors.failed) return;
    copyAll(i.carried, i.yields, n, now);
    for (int64_t l = 0; l < n; ++l)
      if (active[l] && __builtin_add_overflow(induction[l].i, step[l].i, &induction[l].i))
        induction[l].i = INT64_MAX;
  }
  copyAll(i.results, i.carried, n, nullptr);
}

void BodyRun::whileLoop(const Instruction& i, int64_t n, const int64_t* mask) {
  copyAll(i.carried, i.inits, n, nullptr);
  Mask active(n, 1), done(n);
  if (mask) active.assign(mask, mask + n);
  for (;;) {
    runCode(i.code, n, active.data());
    if (errors.failed) return;
    const Lane* condition = lanes(i.condition);
    int64_t count = 0;
    for (int64_t l = 0; l < n; ++l) {
      done[l] = active[l] && !condition[l].i;
      active[l] = active[l] && condition[l].i;
      count += active[l];
    }
    copyAll(i.results, i.yields, n, done.data());
    if (!count || !countSteps(count * std::max<size_t>(i.code.size() + i.otherCode.size(), 1)))
      return;
    copyAll(i.otherArguments, i.yields, n, active.data());
    runCode(i.otherCode, n, active.data());
    if (errors.failed) return;
    copyAll(i.carried, i.otherYields, n, active.data());
  }
}

} // namespace ortc
