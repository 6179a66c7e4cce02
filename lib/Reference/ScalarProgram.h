// A block of scalar `arith` and `math` ops compiled to a straight line of instructions that run on many elements at a
// time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_REFERENCE_SCALARPROGRAM_H
#define WEFT_LIB_REFERENCE_SCALARPROGRAM_H

#include "mlir/IR/Builders.h"
#include "weft/Reference/Tensor.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace weft::reference {

/// Floats are f64, or f32 (held as f64, every result rounded), integers at most 64 bits wide (held zero-extended).
/// Defined for every input.
class ScalarProgram {
public:
  static constexpr int64_t lanes = 256;

  /// Builds a block with arguments of `argumentTypes` by calling `build`, which returns the result, and compiles it.
  /// None if `build` returns null or uses an op that is not known here.
  static std::optional<ScalarProgram>
  compile(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Type> argumentTypes,
          llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> build);

  /// Register (an array of `lanes` scalars) of argument `i`, to be filled before `run`. Runs do not change it.
  Scalar *argument(unsigned i) { return &registers[i * lanes]; }
  /// Runs the first `count` lanes and returns the result's register.
  const Scalar *run(int64_t count);
  /// Instructions per lane.
  int64_t cost() const { return code.size() + 1; }

  struct Instruction;
  /// What an op does: `loop` runs over the lanes, for most ops calling `function` (of the kind it expects) on each.
  struct Behaviour {
    void (*loop)(const Instruction &, Scalar *registers, int64_t count) = nullptr;
    union {
      double (*unary)(double) = nullptr;
      double (*binary)(double, double);
      bool (*compare)(double, double);
      uint64_t (*integer)(uint64_t x, uint64_t y, unsigned width);
    };
  };
  /// One instruction: register `dest` from registers `a`, `b` and `c`.
  struct Instruction {
    Behaviour behaviour;
    unsigned dest = 0, a = 0, b = 0, c = 0;
    unsigned width = 0;          ///< Of the first operand, if it is an integer.
    unsigned resultWidth = 0;    ///< Of the result, if it is an integer.
    bool isSingle = false;       ///< The first operand is f32.
    bool isResultSingle = false; ///< The result is f32.
  };

private:
  std::vector<Instruction> code;
  std::vector<Scalar> registers;
  unsigned result = 0;
};

/// What `op` does; without a loop if it is not known.
ScalarProgram::Behaviour selectBehaviour(mlir::Operation *op);

} // namespace weft::reference

#endif // WEFT_LIB_REFERENCE_SCALARPROGRAM_H
