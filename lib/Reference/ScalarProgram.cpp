// Compilation of scalar blocks: one register for each value, one instruction for each op, constants filled in once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScalarProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace weft::reference {

static bool isKnownType(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return type.isF64() || type.isF32() || (integer && integer.isSignless() && integer.getWidth() <= 64);
}

static unsigned integerWidth(Value value) {
  auto type = dyn_cast<IntegerType>(value.getType());
  return type ? type.getWidth() : 0;
}

static std::optional<Scalar> constantScalar(Attribute attr) {
  Scalar scalar;
  if (auto integer = dyn_cast<IntegerAttr>(attr)) {
    scalar.i = integer.getValue().getZExtValue();
    return scalar;
  }
  if (auto real = dyn_cast<FloatAttr>(attr); real && isKnownType(real.getType())) {
    scalar.f = real.getValueAsDouble();
    return scalar;
  }
  return std::nullopt;
}

std::optional<ScalarProgram>
ScalarProgram::compile(MLIRContext *context, ArrayRef<Type> argumentTypes,
                       llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> build) {
  Block block;
  Location loc = UnknownLoc::get(context);
  for (Type type : argumentTypes)
    block.addArgument(type, loc);
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&block); // The block is in no region that would give the context.
  Value value = build(builder, loc, block.getArguments());
  if (!value)
    return std::nullopt;

  ScalarProgram program;
  llvm::DenseMap<Value, unsigned> registerOf;
  for (Value argument : block.getArguments())
    registerOf.try_emplace(argument, registerOf.size());
  std::vector<std::pair<unsigned, Scalar>> constants;
  for (Operation &op : block) {
    if (op.getNumResults() != 1 || op.getNumOperands() > 3 || !isKnownType(op.getResult(0).getType()) ||
        !llvm::all_of(op.getOperandTypes(), isKnownType))
      return std::nullopt;
    unsigned dest = registerOf.size();
    registerOf.try_emplace(op.getResult(0), dest);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      std::optional<Scalar> scalar = constantScalar(constant.getValue());
      if (!scalar)
        return std::nullopt;
      constants.push_back({dest, *scalar});
      continue;
    }
    Instruction instruction;
    instruction.behaviour = selectBehaviour(&op);
    if (!instruction.behaviour.loop || op.getNumOperands() == 0)
      return std::nullopt;
    instruction.dest = dest;
    unsigned *places[] = {&instruction.a, &instruction.b, &instruction.c};
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      *places[i] = registerOf.lookup(operand);
    instruction.width = integerWidth(op.getOperand(0));
    instruction.resultWidth = integerWidth(op.getResult(0));
    instruction.isSingle = op.getOperand(0).getType().isF32();
    instruction.isResultSingle = op.getResult(0).getType().isF32();
    program.code.push_back(instruction);
  }
  program.registers.resize(registerOf.size() * lanes);
  for (auto [reg, scalar] : constants)
    std::fill_n(&program.registers[reg * lanes], lanes, scalar);
  program.result = registerOf.lookup(value);
  return program;
}

const Scalar *ScalarProgram::run(int64_t count) {
  for (const Instruction &instruction : code)
    instruction.behaviour.loop(instruction, registers.data(), count);
  return &registers[result * lanes];
}

} // namespace weft::reference
