// Evaluator of shape programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over the instructions; every operation that can leave int64 is checked.
#include "weft/Bundle/ShapeProgram.h"

#include <algorithm>
#include <cinttypes>
#include <limits>

using namespace weft::bundle;

/// floor(a / b) for b > 0.
static int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/// a - b * floor(a / b) for b > 0, without leaving int64.
static int64_t floorModulo(int64_t a, int64_t b) {
  int64_t remainder = a % b;
  return remainder < 0 ? remainder + b : remainder;
}

bool weft::bundle::evaluateArithmetic(Opcode opcode, int64_t a, int64_t b, int64_t &result) {
  switch (opcode) {
  case Opcode::Add:
    return !__builtin_add_overflow(a, b, &result);
  case Opcode::Sub:
    return !__builtin_sub_overflow(a, b, &result);
  case Opcode::Mul:
    return !__builtin_mul_overflow(a, b, &result);
  case Opcode::FloorDiv:
    result = b > 0 ? floorDivide(a, b) : 0;
    return b > 0;
  case Opcode::CeilDiv:
    result = b > 0 ? a / b + (a % b > 0) : 0;
    return b > 0;
  case Opcode::Mod:
    result = b > 0 ? floorModulo(a, b) : 0;
    return b > 0;
  case Opcode::Min:
    result = std::min(a, b);
    return true;
  case Opcode::Max:
    result = std::max(a, b);
    return true;
  default:
    return false;
  }
}

static const char *getSpelling(Opcode opcode) {
  switch (opcode) {
  case Opcode::Add:
    return "add";
  case Opcode::Sub:
    return "sub";
  case Opcode::Mul:
    return "mul";
  case Opcode::FloorDiv:
    return "floordiv";
  case Opcode::CeilDiv:
    return "ceildiv";
  case Opcode::Mod:
    return "mod";
  default:
    return "?";
  }
}

static Error arithmeticError(uint32_t index, Opcode opcode, int64_t a, int64_t b) {
  bool division = opcode == Opcode::FloorDiv || opcode == Opcode::CeilDiv || opcode == Opcode::Mod;
  return makeError(ErrorCode::Input, "shape program: %s in register %" PRIu32 ": %s(%" PRId64 ", %" PRId64 ")",
                   division ? "divisor is not positive" : "result leaves 64 bits", index, getSpelling(opcode), a, b);
}

Error weft::bundle::evaluateShapes(const InstructionRecord *instructions, uint32_t first, uint32_t count,
                                   const ShapeEnvironment &environment, int64_t *registers) {
  for (uint32_t i = first; i < first + count; ++i) {
    const InstructionRecord &instruction = instructions[i];
    auto text = [&] { return std::string(environment.message(uint32_t(instruction.imm))); };
    int64_t value = 0;
    switch (Opcode opcode = Opcode(instruction.opcode)) {
    case Opcode::Constant:
      value = instruction.imm;
      break;
    case Opcode::Symbol:
      value = environment.symbols[instruction.a];
      break;
    case Opcode::Load:
      if (!environment.load)
        return Error(ErrorCode::Usage, "shape program: this extent depends on the data of a tensor");
      if (Error error = environment.load(instruction.a, registers[instruction.b], value))
        return error;
      break;
    case Opcode::Turn:
      value = environment.turn;
      break;
    case Opcode::Rank:
      value = environment.rank;
      break;
    case Opcode::AssertEqual: {
      int64_t a = registers[instruction.a], b = registers[instruction.b];
      if (a != b)
        return makeError(ErrorCode::Input, "%s: %" PRId64 " is not %" PRId64, text().c_str(), a, b);
      break;
    }
    case Opcode::AssertRange: {
      int64_t a = registers[instruction.a], low = registers[instruction.b], high = registers[instruction.c];
      if (a > high && low == std::numeric_limits<int64_t>::min())
        return makeError(ErrorCode::Input, "%s: %" PRId64 " is more than %" PRId64, text().c_str(), a, high);
      if (a < low || a > high)
        return makeError(ErrorCode::Input, "%s: %" PRId64 " is not in [%" PRId64 ", %" PRId64 "]", text().c_str(), a,
                         low, high);
      break;
    }
    default: {
      int64_t a = registers[instruction.a], b = registers[instruction.b];
      if (!evaluateArithmetic(opcode, a, b, value))
        return arithmeticError(i, opcode, a, b);
      break;
    }
    }
    registers[i] = value;
  }
  return {};
}
