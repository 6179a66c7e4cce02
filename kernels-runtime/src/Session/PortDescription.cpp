// Inputs and outputs in words.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the expression behind an extent register.
#include "PortDescription.h"

#include "weft/Bundle/DType.h"

using namespace weft;
using namespace weft::bundle;

namespace {
/// Writes the expression of a register, giving up when it grows beyond what a message can carry: shared subexpressions
/// make the text exponential in the size of the program.
class ExpressionPrinter {
public:
  ExpressionPrinter(const Tables &tables, const EntryView &entry) : tables(tables), entry(entry) {}

  std::string print(uint32_t reg) {
    visit(reg, 0);
    return text.size() > maxLength ? "?" : text;
  }

private:
  static constexpr size_t maxLength = 80;
  static constexpr unsigned maxDepth = 32;
  static constexpr int sum = 1, product = 2; ///< Binding strengths of + - and * / %.

  void visit(uint32_t reg, int strength) {
    if (text.size() > maxLength)
      return;
    if (++depth > maxDepth)
      text.append(maxLength + 1, '?');
    else
      visitInstruction(entry.instructions[reg], strength);
    --depth;
  }

  void visitInstruction(const InstructionRecord &instruction, int strength) {
    switch (Opcode(instruction.opcode)) {
    case Opcode::Constant:
      text += std::to_string(instruction.imm);
      return;
    case Opcode::Symbol:
      text += tables.getString(entry.symbols[instruction.a].name);
      return;
    case Opcode::Add:
      return infix(instruction, " + ", sum, strength);
    case Opcode::Sub:
      return infix(instruction, " - ", sum, strength);
    case Opcode::Mul:
      return infix(instruction, "*", product, strength);
    case Opcode::FloorDiv:
      return infix(instruction, " floordiv ", product, strength);
    case Opcode::CeilDiv:
      return infix(instruction, " ceildiv ", product, strength);
    case Opcode::Mod:
      return infix(instruction, " mod ", product, strength);
    case Opcode::Min:
      return call(instruction, "min(");
    case Opcode::Max:
      return call(instruction, "max(");
    default:
      text += "?"; // known only from data
      return;
    }
  }

  void infix(const InstructionRecord &instruction, const char *op, int mine, int outer) {
    bool parentheses = mine <= outer;
    text += parentheses ? "(" : "";
    visit(instruction.a, mine - 1);
    text += op;
    visit(instruction.b, mine);
    text += parentheses ? ")" : "";
  }

  void call(const InstructionRecord &instruction, const char *function) {
    text += function;
    visit(instruction.a, 0);
    text += ", ";
    visit(instruction.b, 0);
    text += ")";
  }

  const Tables &tables;
  const EntryView &entry;
  std::string text;
  unsigned depth = 0;
};
} // namespace

PortDescription weft::describePort(const Tables &tables, const EntryView &entry, const PortRecord &port) {
  const BufferRecord &buffer = entry.buffers[port.buffer];
  PortDescription result{std::string(tables.getString(port.name)), DType(buffer.dtype), {}, {}, {}};
  for (uint32_t extent : tables.extents.slice(buffer.firstExtent, buffer.rank)) {
    const InstructionRecord &instruction = entry.instructions[extent];
    bool isStatic = Opcode(instruction.opcode) == Opcode::Constant;
    result.dims.push_back(isStatic ? instruction.imm : -1);
    result.texts.push_back(isStatic ? "" : ExpressionPrinter(tables, entry).print(extent));
  }
  for (const std::string &text : result.texts)
    result.textViews.push_back(text.empty() ? nullptr : text.c_str());
  return result;
}

std::string weft::describeShape(const int64_t *dims, size_t rank, DType dtype) {
  std::string text;
  for (size_t i = 0; i < rank; ++i)
    text += std::to_string(dims[i]) + "x";
  return text + getName(dtype);
}
