// Index arithmetic as a list of integer operations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Building with folding, evaluation over ranges of indices (an instruction at a time over a short block of indices, so
// that the compiler can vectorise the inner loops), and printing.
#include "weft/Traversal/IndexProgram.h"

#include <algorithm>

using namespace weft::plan;
using Value = IndexProgram::Value;

/// Two's complement, without undefined overflow.
static int64_t apply(IndexOp op, int64_t a, int64_t b) {
  switch (op) {
  case IndexOp::Add:
    return int64_t(uint64_t(a) + uint64_t(b));
  case IndexOp::Sub:
    return int64_t(uint64_t(a) - uint64_t(b));
  case IndexOp::Mul:
    return int64_t(uint64_t(a) * uint64_t(b));
  case IndexOp::Div:
    return b == 0 ? 0 : b == -1 ? int64_t(-uint64_t(a)) : a / b;
  case IndexOp::Rem:
    return b == 0 || b == -1 ? 0 : a % b;
  case IndexOp::Min:
    return std::min(a, b);
  case IndexOp::Less:
    return a < b;
  case IndexOp::Equal:
    return a == b;
  default:
    return 0;
  }
}

Value IndexProgram::emit(IndexInstruction instruction) {
  auto key = std::make_tuple(instruction.op, instruction.a, instruction.b, instruction.c, instruction.immediate);
  auto [found, isNew] = known.try_emplace(key, Value(instructions.size()));
  if (isNew)
    instructions.push_back(instruction);
  return found->second;
}

bool IndexProgram::isConstant(Value value, int64_t &constant) const {
  constant = instructions[value].immediate;
  return instructions[value].op == IndexOp::Constant;
}

Value IndexProgram::binary(IndexOp op, Value a, Value b) {
  int64_t left, right;
  bool isLeft = isConstant(a, left), isRight = isConstant(b, right);
  if (isLeft && isRight)
    return constant(apply(op, left, right));
  if (isRight && right == 0 && (op == IndexOp::Add || op == IndexOp::Sub))
    return a;
  if (isLeft && left == 0 && op == IndexOp::Add)
    return b;
  if (isRight && right == 1 && (op == IndexOp::Mul || op == IndexOp::Div))
    return a;
  if (isLeft && left == 1 && op == IndexOp::Mul)
    return b;
  if ((isRight && right == 0 && op == IndexOp::Mul) || (isLeft && left == 0 && op == IndexOp::Mul) ||
      (isRight && right == 1 && op == IndexOp::Rem))
    return constant(0);
  return emit({op, a, b});
}

Value IndexProgram::select(Value condition, Value ifTrue, Value ifFalse) {
  int64_t value;
  if (ifTrue == ifFalse)
    return ifTrue;
  if (isConstant(condition, value))
    return value ? ifTrue : ifFalse;
  return emit({IndexOp::Select, condition, ifTrue, ifFalse});
}

Value IndexProgram::lookup(std::vector<int64_t> values, Value at) {
  tables.push_back(std::move(values));
  return emit({IndexOp::Lookup, at, 0, 0, int64_t(tables.size()) - 1});
}

static int countOperands(IndexOp op) {
  switch (op) {
  case IndexOp::Index:
  case IndexOp::Constant:
  case IndexOp::Parameter:
    return 0;
  case IndexOp::Lookup:
    return 1;
  case IndexOp::Select:
    return 3;
  default:
    return 2;
  }
}

std::vector<bool> IndexProgram::findNeeded() const {
  std::vector<bool> needed(instructions.size());
  for (Value result : results)
    needed[result] = true;
  for (size_t i = instructions.size(); i-- > 0;) {
    if (!needed[i])
      continue;
    const int32_t operands[] = {instructions[i].a, instructions[i].b, instructions[i].c};
    for (int k = 0; k < countOperands(instructions[i].op); ++k)
      needed[operands[k]] = true;
  }
  return needed;
}

int64_t IndexProgram::countOperations() const {
  std::vector<bool> needed = findNeeded();
  int64_t count = 0;
  for (size_t i = 0; i < instructions.size(); ++i)
    count += needed[i] && countOperands(instructions[i].op) > 0;
  return count;
}

//===--- Evaluation ---===//

/// One instruction over `count` indices, operands and result as rows of numbers.
static void evaluateRow(const IndexInstruction &instruction, const std::vector<std::vector<int64_t>> &tables,
                        const std::vector<int64_t> &parameters, const int64_t *a, const int64_t *b, const int64_t *c,
                        int64_t first, int64_t count, int64_t *out) {
  auto forAll = [&](auto function) {
    for (int64_t i = 0; i < count; ++i)
      out[i] = function(i);
  };
  switch (instruction.op) {
  case IndexOp::Index:
    return forAll([&](int64_t i) { return first + i; });
  case IndexOp::Constant:
    return forAll([&](int64_t) { return instruction.immediate; });
  case IndexOp::Parameter:
    return forAll([&](int64_t) { return parameters[instruction.immediate]; });
  case IndexOp::Add:
    return forAll([&](int64_t i) { return apply(IndexOp::Add, a[i], b[i]); });
  case IndexOp::Sub:
    return forAll([&](int64_t i) { return apply(IndexOp::Sub, a[i], b[i]); });
  case IndexOp::Mul:
    return forAll([&](int64_t i) { return apply(IndexOp::Mul, a[i], b[i]); });
  case IndexOp::Div: // Halving is frequent; every row of a constant is equal.
    if (b[0] == 2 && b[count - 1] == 2)
      return forAll([&](int64_t i) { return b[i] == 2 ? a[i] / 2 : apply(IndexOp::Div, a[i], b[i]); });
    return forAll([&](int64_t i) { return apply(IndexOp::Div, a[i], b[i]); });
  case IndexOp::Rem:
    if (b[0] == 2 && b[count - 1] == 2)
      return forAll([&](int64_t i) { return b[i] == 2 ? a[i] % 2 : apply(IndexOp::Rem, a[i], b[i]); });
    return forAll([&](int64_t i) { return apply(IndexOp::Rem, a[i], b[i]); });
  case IndexOp::Min:
    return forAll([&](int64_t i) { return std::min(a[i], b[i]); });
  case IndexOp::Less:
    return forAll([&](int64_t i) { return int64_t(a[i] < b[i]); });
  case IndexOp::Equal:
    return forAll([&](int64_t i) { return int64_t(a[i] == b[i]); });
  case IndexOp::Select:
    return forAll([&](int64_t i) { return a[i] ? b[i] : c[i]; });
  case IndexOp::Lookup: {
    const std::vector<int64_t> &table = tables[instruction.immediate];
    return forAll([&](int64_t i) { return table[std::clamp<int64_t>(a[i], 0, int64_t(table.size()) - 1)]; });
  }
  }
}

void IndexProgram::evaluate(int64_t first, int64_t count, std::vector<std::vector<int64_t>> &out,
                            const std::vector<int64_t> &parameters) const {
  constexpr int64_t width = 64; // 700 instructions x 64 numbers stay in a second-level cache.
  std::vector<bool> needed = findNeeded();
  std::vector<int64_t> rows(instructions.size() * width);
  out.assign(results.size(), {});
  for (std::vector<int64_t> &row : out)
    row.reserve(count);
  for (int64_t done = 0; done < count; done += width) {
    int64_t now = std::min(width, count - done);
    for (size_t i = 0; i < instructions.size(); ++i) {
      const IndexInstruction &instruction = instructions[i];
      if (needed[i])
        evaluateRow(instruction, tables, parameters, &rows[instruction.a * width], &rows[instruction.b * width],
                    &rows[instruction.c * width], first + done, now, &rows[i * width]);
    }
    for (size_t r = 0; r < results.size(); ++r)
      out[r].insert(out[r].end(), &rows[results[r] * width], &rows[results[r] * width] + now);
  }
}

//===--- Text ---===//

static const char *nameOf(IndexOp op) {
  static const char *const names[] = {"index", "constant", "parameter", "add",   "sub",    "mul",   "div",
                                      "rem",   "min",      "less",      "equal", "select", "lookup"};
  return names[int(op)];
}

std::string IndexProgram::print() const {
  std::vector<bool> needed = findNeeded();
  std::vector<std::string> names(instructions.size());
  std::string text;
  int64_t next = 0;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const IndexInstruction &instruction = instructions[i];
    if (!needed[i])
      continue;
    if (instruction.op == IndexOp::Constant || instruction.op == IndexOp::Index) {
      names[i] = instruction.op == IndexOp::Index ? "%block" : std::to_string(instruction.immediate);
      continue;
    }
    if (instruction.op == IndexOp::Parameter) {
      names[i] = "%count" + std::to_string(instruction.immediate);
      continue;
    }
    names[i] = "%" + std::to_string(next++);
    text += names[i] + " = " + nameOf(instruction.op);
    const int32_t operands[] = {instruction.a, instruction.b, instruction.c};
    for (int k = 0; k < countOperands(instruction.op); ++k)
      text += (k ? ", " : " ") + names[operands[k]];
    if (instruction.op == IndexOp::Lookup) {
      text += " in [";
      for (size_t k = 0; k < tables[instruction.immediate].size(); ++k)
        text += (k ? ", " : "") + std::to_string(tables[instruction.immediate][k]);
      text += "]";
    }
    text += "\n";
  }
  text += "return";
  for (size_t r = 0; r < results.size(); ++r)
    text += (r ? ", " : " ") + names[results[r]];
  return text + "\n";
}
