// Operands of instructions as slots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers, constants, special registers, symbols, vectors and addresses, with their checks.
#include "Emulator/Exec/Access.h"
#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/SpecialRegister.h"

#include <cmath>
#include <cstring>

using namespace weft;
using namespace weft::emu;
using ptx::Operand;
using ptx::OperandKind;
using ptx::SymbolKind;

static const Operand kMissing;

static unsigned bytesOf(Type type) { return type == Type::Pred ? 0 : (ptx::bitWidth(type) + 7) / 8; }

static const char *describe(const Operand &operand) {
  switch (operand.kind) {
  case OperandKind::Register:
    return "a register";
  case OperandKind::Pair:
    return "a pair a|b";
  case OperandKind::Integer:
    return "an integer constant";
  case OperandKind::Float32:
  case OperandKind::Float64:
    return "a floating-point constant";
  case OperandKind::Symbol:
    return "a symbol";
  case OperandKind::Special:
    return "a special register";
  case OperandKind::Address:
  case OperandKind::TensorAddress:
    return "an address";
  case OperandKind::Vector:
    return "a vector";
  case OperandKind::Sink:
    return "'_'";
  case OperandKind::Arguments:
    return "an argument list";
  }
  return "something else";
}

void Binder::operands(unsigned least, unsigned most) {
  unsigned count = operandCount();
  if (count >= least && count <= most)
    return;
  if (least == most)
    fail("expected %u operands, got %u", least, count);
  else
    fail("expected %u to %u operands, got %u", least, most, count);
}

const Operand &Binder::operand(unsigned i) const { return i < all.size() ? all[i] : kMissing; }

unsigned Binder::addSlot(uint32_t reg, Role role, unsigned bytes) {
  SlotRef ref;
  ref.reg = reg;
  ref.role = role;
  ref.width = uint8_t(bytes);
  slots.push_back(ref);
  return unsigned(slots.size() - 1);
}

uint32_t Binder::temporary(unsigned bytes) {
  context.bound->registerWidths.push_back(uint8_t(bytes));
  return uint32_t(context.bound->registerWidths.size() - 1);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Registers
//===--------------------------------------------------------------------------------------------------------------===//

unsigned Binder::def(const Operand &operand, Type type, Role role) {
  unsigned bytes = bytesOf(type);
  if (operand.kind != OperandKind::Register || operand.isNegated) {
    fail("expected a destination register of %u bits, got %s", ptx::bitWidth(type),
         operand.isNegated ? "a negated predicate" : describe(operand));
    return addSlot(ptx::kNone, role, bytes);
  }
  Type declared = function().registers[operand.index].type;
  if (bytesOf(declared) != bytes)
    fail("expected a destination register of %s, got one of type .%s",
         type == Type::Pred ? "type .pred" : (std::to_string(bytes * 8) + " bits").c_str(),
         std::string(ptx::name(declared)).c_str());
  return addSlot(operand.index, role, bytes);
}

unsigned Binder::defOrSink(const Operand &operand, Type type) {
  if (operand.kind != OperandKind::Sink)
    return def(operand, type);
  return addSlot(ptx::kNone, Role::Def, bytesOf(type));
}

unsigned Binder::defWide(const Operand &operand, Type type, unsigned &bytes) {
  bytes = bytesOf(type);
  if (operand.kind == OperandKind::Sink)
    return addSlot(ptx::kNone, Role::Def, bytes);
  if (operand.kind == OperandKind::Register && !operand.isNegated) {
    Type declared = function().registers[operand.index].type;
    if (declared != Type::Pred && bytesOf(declared) >= bytes) {
      bytes = bytesOf(declared);
      return addSlot(operand.index, Role::Def, bytes);
    }
  }
  fail("expected a destination register of at least %u bits, got %s", bytes * 8,
       operand.kind == OperandKind::Register ? "a narrower one or a predicate" : describe(operand));
  return addSlot(ptx::kNone, Role::Def, bytes);
}

unsigned Binder::useWide(const Operand &operand, Type type, unsigned &bytes) {
  bytes = bytesOf(type);
  if (operand.kind != OperandKind::Register)
    return use(operand, type);
  Type declared = function().registers[operand.index].type;
  if (declared == Type::Pred || bytesOf(declared) < bytes)
    fail("expected a register of at least %u bits, got one of type .%s", bytes * 8,
         std::string(ptx::name(declared)).c_str());
  else
    bytes = bytesOf(declared);
  return addSlot(operand.index, Role::Use, bytes);
}

unsigned Binder::use(const Operand &operand, Type type, Role role) {
  unsigned bytes = bytesOf(type);
  switch (operand.kind) {
  case OperandKind::Register: {
    Type declared = function().registers[operand.index].type;
    if (operand.isNegated)
      fail("expected a register, got a negated predicate");
    else if (bytesOf(declared) != bytes)
      fail("expected a register of %s, got one of type .%s",
           type == Type::Pred ? "type .pred" : (std::to_string(bytes * 8) + " bits").c_str(),
           std::string(ptx::name(declared)).c_str());
    return addSlot(operand.index, role, bytes);
  }
  case OperandKind::Integer:
  case OperandKind::Float32:
  case OperandKind::Float64:
    return addConstant(operand, type);
  case OperandKind::Special:
    if (type != Type::Pred)
      return addSpecial(operand, bytes);
    break;
  case OperandKind::Symbol:
    if (type != Type::Pred)
      return addSymbolAddress(operand, bytes);
    break;
  default:
    break;
  }
  fail("expected a register or constant of %u bits, got %s", ptx::bitWidth(type), describe(operand));
  return addSlot(ptx::kNone, role, bytes);
}

unsigned Binder::usePredicate(const Operand &operand, bool &isNegated) {
  isNegated = operand.kind == OperandKind::Register && operand.isNegated;
  Operand plain = operand;
  plain.isNegated = false;
  return use(plain, Type::Pred);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Constants
//===--------------------------------------------------------------------------------------------------------------===//

static double asDouble(const Operand &operand) {
  if (operand.kind == OperandKind::Float64) {
    double value;
    std::memcpy(&value, &operand.value, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, &operand.value, sizeof value);
  return value;
}

unsigned Binder::addConstant(const Operand &operand, Type type) {
  unsigned bytes = bytesOf(type);
  SlotRef ref;
  ref.width = uint8_t(bytes);
  ConstantPool &pool = context.code->constants;
  bool isReal = operand.kind != OperandKind::Integer;
  uint64_t value = uint64_t(operand.value);
  if (type == Type::Pred) {
    if (isReal || (value > 1 && value != ~uint64_t(0))) // LLVM writes -1 for true.
      fail("expected a predicate or one of the constants 0, 1 and -1");
    ref.constant = pool.addPredicate(value != 0);
  } else if (isReal && (type == Type::F32 || type == Type::TF32 || type == Type::B32)) {
    // A decimal constant is a double in PTX and is rounded to the type of the instruction.
    if (operand.kind == OperandKind::Float64) {
      float rounded = float(asDouble(operand));
      uint32_t bits;
      std::memcpy(&bits, &rounded, sizeof bits);
      value = bits;
    }
    ref.constant = pool.add(value, 4);
  } else if (isReal && (type == Type::F64 || type == Type::B64)) {
    double wide = asDouble(operand);
    std::memcpy(&value, &wide, sizeof value);
    ref.constant = pool.add(value, 8);
  } else if (isReal) {
    fail("expected a register or integer constant of type .%s, got a floating-point constant",
         std::string(ptx::name(type)).c_str());
  } else {
    // As ptxas does, an integer is cut to the width of the operand.
    ref.constant = pool.add(value, bytes);
    if (bytes == 16 && !operand.isUnsigned && operand.value < 0)
      fail("expected a constant that is not negative for 128 bits");
  }
  slots.push_back(ref);
  return unsigned(slots.size() - 1);
}

int64_t Binder::constant(const Operand &operand, int64_t low, int64_t high) {
  if (operand.kind == OperandKind::Integer && operand.value >= low && operand.value <= high)
    return operand.value;
  if (operand.kind == OperandKind::Integer)
    fail("expected a constant from %lld to %lld, got %lld", (long long)low, (long long)high, (long long)operand.value);
  else
    fail("expected an integer constant, got %s", describe(operand));
  return low;
}

int64_t Binder::constant(unsigned i, int64_t low, int64_t high) { return constant(operand(i), low, high); }

//===--------------------------------------------------------------------------------------------------------------===//
// Special registers and symbols: a step of their own puts them into a temporary
//===--------------------------------------------------------------------------------------------------------------===//

static void appendSynthetic(const BindContext &context, const ptx::Instruction &instruction, Step step, SlotRef slot) {
  BoundCode &bound = *context.bound;
  BoundStep made;
  made.step = step;
  made.step.line = instruction.location.line;
  made.step.column = instruction.location.column;
  made.step.slotCount = 1;
  made.step.flags = step_flag::Synthetic;
  made.firstSlot = uint32_t(bound.slots.size());
  made.slotCount = 1;
  bound.slots.push_back(slot);
  bound.steps.push_back(made);
}

unsigned Binder::addSpecial(const Operand &operand, unsigned bytes) {
  SlotRef slot;
  slot.role = Role::Def;
  slot.width = uint8_t(bytes);
  slot.reg = temporary(bytes);
  Step step;
  step.run = specialReader(operand, bytes, step.immediate);
  if (!step.run)
    fail("special register %s is not readable at %u bits", std::string(ptx::name(operand.special)).c_str(), bytes * 8);
  else
    appendSynthetic(context, instruction, step, slot);
  return addSlot(slot.reg, Role::Use, bytes);
}

static const std::vector<Placement> *placesOf(const BindContext &context, SymbolKind kind) {
  switch (kind) {
  case SymbolKind::Variable:
    return context.globals;
  case SymbolKind::Local:
    return context.locals;
  case SymbolKind::Parameter:
    return context.parameters;
  case SymbolKind::Return:
    return context.returns;
  default:
    return nullptr;
  }
}

const ptx::Variable *emu::variableOf(const BindContext &context, const Operand &operand) {
  const std::vector<ptx::Variable> *variables = nullptr;
  switch (operand.symbol) {
  case SymbolKind::Variable:
    variables = &context.module->variables;
    break;
  case SymbolKind::Local:
    variables = &context.function->variables;
    break;
  case SymbolKind::Parameter:
    variables = &context.function->parameters;
    break;
  case SymbolKind::Return:
    variables = &context.function->returns;
    break;
  default:
    return nullptr;
  }
  return operand.index < variables->size() ? &(*variables)[operand.index] : nullptr;
}

bool emu::resolveSymbol(const BindContext &context, const Operand &operand, SymbolAddress &address) {
  if (operand.symbol == SymbolKind::Function) {
    address.space = ptx::Space::Global;
    address.isGenericSpace = true;
    address.offset = addressOfFunction(context.module->resolve(operand.index));
    return true;
  }
  const ptx::Variable *variable = variableOf(context, operand);
  const std::vector<Placement> *places = placesOf(context, operand.symbol);
  if (!variable || !places || operand.index >= places->size())
    return false;
  address.space = variable->space;
  address.isFormal = operand.symbol == SymbolKind::Parameter || operand.symbol == SymbolKind::Return;
  address.isGenericSpace = variable->space == ptx::Space::Global || variable->space == ptx::Space::Const;
  address.offset = (*places)[operand.index].offset + uint64_t(operand.value);
  if (variable->space == ptx::Space::Param && !(address.isFormal && context.function->isEntry))
    address.offset |= kParamBlockBit;
  return variable->space != ptx::Space::Reg;
}

unsigned Binder::addSymbolAddress(const Operand &operand, unsigned bytes) {
  SymbolAddress address;
  if (!resolveSymbol(context, operand, address) || bytes < 4) {
    fail("expected a value, got a symbol without an address or too wide for the operand");
    return addSlot(ptx::kNone, Role::Use, bytes);
  }
  if (address.space != ptx::Space::Global && address.space != ptx::Space::Const &&
      (address.offset & ~uint64_t(kParamBlockBit)) >> (address.space == ptx::Space::Param ? kParamDepthShift : 31))
    fail("the variable is too far from the beginning of its space");
  bool isBlock = address.space == ptx::Space::Param && (address.offset & kParamBlockBit);
  if (address.space != ptx::Space::Shared && address.space != ptx::Space::Local && !isBlock) {
    SlotRef ref;
    ref.width = uint8_t(bytes);
    ref.constant = context.code->constants.add(address.offset, bytes);
    slots.push_back(ref);
    return unsigned(slots.size() - 1);
  }
  SlotRef slot;
  slot.role = Role::Def;
  slot.width = uint8_t(bytes);
  slot.reg = temporary(bytes);
  Step step;
  step.run = symbolReader(bytes);
  step.immediate = uint32_t(address.offset) | uint64_t(address.space) << 32;
  appendSynthetic(context, instruction, step, slot);
  return addSlot(slot.reg, Role::Use, bytes);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Vectors, pairs, addresses
//===--------------------------------------------------------------------------------------------------------------===//

ptx::Span<Operand> Binder::elements(unsigned i, unsigned count) {
  const Operand &whole = operand(i);
  ptx::Span<Operand> list = whole.kind == OperandKind::Vector ? children(whole) : ptx::Span<Operand>{&whole, 1};
  if (count && list.size() != count)
    fail("expected a vector of %u elements as operand %u, got %zu", count, i + 1, list.size());
  return count && list.size() != count ? ptx::Span<Operand>{} : list;
}

void Binder::pair(unsigned i, const Operand *&first, const Operand *&second) {
  const Operand &whole = operand(i);
  first = &whole;
  second = nullptr;
  if (whole.kind != OperandKind::Pair)
    return;
  first = &children(whole)[0];
  second = &children(whole)[1];
}

AddressRef Binder::address(const Operand &operand) {
  AddressRef ref;
  ref.space = ptx::Space::Reg;
  if ((operand.kind != OperandKind::Address && operand.kind != OperandKind::TensorAddress) ||
      children(operand).empty()) {
    fail("expected an address [...], got %s", describe(operand));
    return ref;
  }
  const Operand *base = &children(operand)[0];
  int64_t offset = operand.value;
  if (base->kind == OperandKind::Address && !children(*base).empty()) { // Of a tensor address.
    offset += base->value;
    base = &children(*base)[0];
  }
  ref.offset = offset;
  if (base->kind == OperandKind::Integer) {
    ref.offset += base->value;
  } else if (base->kind == OperandKind::Register) {
    unsigned bytes = bytesOf(function().registers[base->index].type);
    if (bytes != 4 && bytes != 8)
      fail("expected an address register of 32 or 64 bits");
    ref.hasRegister = true;
    ref.width = uint8_t(bytes);
    ref.slot = uint8_t(addSlot(base->index, Role::Use, bytes));
    if (ref.slot != slots.size() - 1)
      fail("an address after more than 255 registers");
  } else if (SymbolAddress symbol; base->kind == OperandKind::Symbol && resolveSymbol(context, *base, symbol)) {
    ref.space = symbol.space;
    ref.isSymbol = true;
    ref.isFormal = symbol.isFormal;
    ref.offset += int64_t(symbol.offset);
  } else {
    fail("expected a register, a variable or an integer in the brackets, got %s", describe(*base));
  }
  return ref;
}
