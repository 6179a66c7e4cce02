// Index arithmetic as a list of integer operations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A traversal is described once, as straight-line integer arithmetic on the linear block index. The simulator evaluates
// this list and a code generator prints the same list, so what is simulated is what runs. Plain C++17.
#ifndef WEFT_TRAVERSAL_INDEXPROGRAM_H
#define WEFT_TRAVERSAL_INDEXPROGRAM_H

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace weft::plan {

enum class IndexOp : uint8_t {
  Index,     ///< The linear block index.
  Constant,  ///< `immediate`.
  Parameter, ///< Number `immediate` of what only the launch knows.
  Add,
  Sub,
  Mul,
  Div,    ///< Truncates; by zero it is zero (only on a path whose value a Select drops).
  Rem,    ///< Sign of the dividend; by zero it is zero.
  Min,    //
  Less,   ///< 1 if a < b, else 0.
  Equal,  ///< 1 if a == b, else 0.
  Select, ///< a != 0 ? b : c.
  Lookup, ///< Element `a` of table number `immediate`; `a` is clamped into the table.
};

/// Operands are numbers of earlier instructions.
struct IndexInstruction {
  IndexOp op;
  int32_t a = 0, b = 0, c = 0;
  int64_t immediate = 0;
};

/// A function from one block index, and parameters that all blocks of a launch have in common, to a few integers, in
/// 64-bit two's complement. The building functions fold constants and share equal instructions.
class IndexProgram {
public:
  using Value = int32_t;

  Value index() { return emit({IndexOp::Index}); }
  Value constant(int64_t value) { return emit({IndexOp::Constant, 0, 0, 0, value}); }
  Value parameter(int64_t number) { return emit({IndexOp::Parameter, 0, 0, 0, number}); }
  Value add(Value a, Value b) { return binary(IndexOp::Add, a, b); }
  Value sub(Value a, Value b) { return binary(IndexOp::Sub, a, b); }
  Value mul(Value a, Value b) { return binary(IndexOp::Mul, a, b); }
  Value div(Value a, Value b) { return binary(IndexOp::Div, a, b); }
  Value rem(Value a, Value b) { return binary(IndexOp::Rem, a, b); }
  Value min(Value a, Value b) { return binary(IndexOp::Min, a, b); }
  Value less(Value a, Value b) { return binary(IndexOp::Less, a, b); }
  Value equal(Value a, Value b) { return binary(IndexOp::Equal, a, b); }
  Value select(Value condition, Value ifTrue, Value ifFalse);
  /// `values` must not be empty.
  Value lookup(std::vector<int64_t> values, Value at);

  void setResults(std::vector<Value> values) { results = std::move(values); }

  const std::vector<IndexInstruction> &getInstructions() const { return instructions; }
  const std::vector<Value> &getResults() const { return results; }
  const std::vector<std::vector<int64_t>> &getTables() const { return tables; }

  /// Evaluates at first, first+1, ..., first+count-1; `out` gets one vector of `count` numbers for each result.
  /// `parameters` has a value for every parameter of the program.
  void evaluate(int64_t first, int64_t count, std::vector<std::vector<int64_t>> &out,
                const std::vector<int64_t> &parameters = {}) const;

  /// One line for each instruction that a result needs, `%3 = mul %1, 8`, and a line `return %5, %7`.
  std::string print() const;

  /// How many instructions the results need, constants, parameters and the index not counted.
  int64_t countOperations() const;

private:
  Value emit(IndexInstruction instruction);
  Value binary(IndexOp op, Value a, Value b);
  bool isConstant(Value value, int64_t &constant) const;
  std::vector<bool> findNeeded() const;

  std::vector<IndexInstruction> instructions;
  std::vector<Value> results;
  std::vector<std::vector<int64_t>> tables;
  std::map<std::tuple<IndexOp, int32_t, int32_t, int32_t, int64_t>, Value> known;
};

} // namespace weft::plan

#endif // WEFT_TRAVERSAL_INDEXPROGRAM_H
