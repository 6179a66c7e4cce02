// From an instruction of the tree to a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modifiers, errors, the choice of the family; operands are in BinderOperands.cpp.
#include "Emulator/Exec/Binder.h"

#include <cstdarg>
#include <cstdio>

using namespace weft;
using namespace weft::emu;
using bundle::ErrorCode;

Binder::Binder(const BindContext &context, const ptx::Instruction &instruction, unsigned consumedModifiers)
    : context(context), instruction(instruction), modifiers(context.function->modifiersOf(instruction)),
      all(context.function->operandsOf(instruction)), nextModifier(consumedModifiers) {
  step.line = instruction.location.line;
  step.column = instruction.location.column;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Modifiers
//===--------------------------------------------------------------------------------------------------------------===//

std::string_view Binder::modifierAt(unsigned i) const { return module().names[modifiers[i].name]; }

std::string_view Binder::peek() const { return atEnd() ? std::string_view() : modifierAt(nextModifier); }

bool Binder::accept(std::string_view word) {
  if (atEnd() || peek() != word)
    return false;
  ++nextModifier;
  return true;
}

int Binder::acceptOneOf(std::initializer_list<std::string_view> words) {
  int index = 0;
  for (std::string_view word : words) {
    if (accept(word))
      return index;
    ++index;
  }
  return -1;
}

static std::string listOf(std::initializer_list<std::string_view> words) {
  std::string list;
  for (std::string_view word : words)
    list.append(list.empty() ? "." : ", .").append(word);
  return list;
}

unsigned Binder::expectOneOf(std::initializer_list<std::string_view> words) {
  int index = acceptOneOf(words);
  if (index >= 0)
    return unsigned(index);
  std::string list = listOf(words);
  if (atEnd())
    fail("expected %s%s after the last modifier", words.size() > 1 ? "one of " : "", list.c_str());
  else
    fail("expected %s%s, got .%s", words.size() > 1 ? "one of " : "", list.c_str(), std::string(peek()).c_str());
  return 0;
}

Type Binder::acceptType(TypeSet allowed) {
  Type type = atEnd() ? Type::None : ptx::parseType(peek());
  if (type == Type::None || !allowed.has(type))
    return Type::None;
  ++nextModifier;
  return type;
}

Type Binder::type(TypeSet allowed) {
  Type found = acceptType(allowed);
  if (found != Type::None)
    return found;
  std::string list;
  Type first = Type::None;
  for (unsigned i = 1; i <= unsigned(Type::E5M2x4); ++i) {
    if (!allowed.has(Type(i)))
      continue;
    if (first == Type::None)
      first = Type(i);
    list.append(list.empty() ? "." : ", .").append(ptx::name(Type(i)));
  }
  if (atEnd())
    fail("expected a type (%s) after the last modifier", list.c_str());
  else
    fail("expected a type (%s), got .%s", list.c_str(), std::string(peek()).c_str());
  return first;
}

std::string Binder::fullName() const {
  std::string name(module().names[instruction.mnemonic]);
  for (const ptx::Modifier &modifier : modifiers)
    name.append(".").append(module().names[modifier.name]);
  return name;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Errors
//===--------------------------------------------------------------------------------------------------------------===//

void Binder::fail(const char *format, ...) {
  if (error)
    return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  error = bundle::makeError(ErrorCode::Unsupported, "%u:%u: %s: %s", instruction.location.line,
                            instruction.location.column, fullName().c_str(), text);
}

void Binder::requireSm(unsigned smVersion, bool isArchSpecific) {
  const ptx::Module &m = module();
  if (m.smVersion >= smVersion && !(isArchSpecific && (m.smVersion != smVersion || m.targetSuffix == 0)))
    return;
  fail("requires .target sm_%u%s%s, the module has .target %s", smVersion, isArchSpecific ? "a" : "",
       isArchSpecific ? "" : " or higher", m.target.c_str());
}

void Binder::requireVersion(unsigned major, unsigned minor) {
  const ptx::Module &m = module();
  if (m.versionMajor > major || (m.versionMajor == major && m.versionMinor >= minor))
    return;
  fail("requires .version %u.%u or higher, the module has .version %u.%u", major, minor, m.versionMajor,
       m.versionMinor);
}

//===--------------------------------------------------------------------------------------------------------------===//
// The step
//===--------------------------------------------------------------------------------------------------------------===//

static uint16_t opcodeIndex(ModuleCode &code, std::string name) {
  for (size_t i = 0; i < code.opcodes.size(); ++i)
    if (code.opcodes[i] == name)
      return uint16_t(i);
  code.opcodes.push_back(std::move(name));
  return uint16_t(code.opcodes.size() - 1);
}

Error Binder::finish() {
  if (!atEnd())
    fail("modifier .%s is not known here", std::string(peek()).c_str());
  if (!error && !step.run)
    fail("no implementation for these modifiers");
  if (!error && context.moduleCode->opcodes.size() >= 65535)
    fail("more than 65535 different instructions");
  if (error)
    return std::move(error);
  BoundCode &bound = *context.bound;
  BoundStep made;
  made.step = step;
  made.step.opcode = opcodeIndex(*context.moduleCode, fullName());
  made.step.slotCount = uint8_t(slots.size() < 255 ? slots.size() : 255);
  made.firstSlot = uint32_t(bound.slots.size());
  made.slotCount = uint32_t(slots.size());
  if (instruction.guard != ptx::kNone) {
    made.guard.reg = instruction.guard;
    if (instruction.isGuardNegated)
      made.step.flags |= step_flag::NegatedGuard;
  }
  bound.slots.insert(bound.slots.end(), slots.begin(), slots.end());
  bound.steps.push_back(made);
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// The family
//===--------------------------------------------------------------------------------------------------------------===//

/// How many modifiers `mnemonic` covers beyond the instruction's own; -1 when it is no prefix.
static int coveredModifiers(const BindContext &context, const ptx::Instruction &instruction,
                            std::string_view mnemonic) {
  const ptx::NameTable &names = context.module->names;
  ptx::Span<ptx::Modifier> modifiers = context.function->modifiersOf(instruction);
  std::string_view word = names[instruction.mnemonic];
  for (int covered = 0;; ++covered) {
    if (mnemonic.substr(0, word.size()) != word)
      return -1;
    mnemonic.remove_prefix(word.size());
    if (mnemonic.empty())
      return covered;
    if (mnemonic[0] != '.' || size_t(covered) == modifiers.size())
      return -1;
    mnemonic.remove_prefix(1);
    word = names[modifiers[size_t(covered)].name];
  }
}

static Type lastType(const BindContext &context, const ptx::Instruction &instruction) {
  ptx::Span<ptx::Modifier> modifiers = context.function->modifiersOf(instruction);
  for (size_t i = modifiers.size(); i-- > 0;)
    if (Type type = ptx::parseType(context.module->names[modifiers[i].name]); type != Type::None)
      return type;
  return Type::None;
}

Error emu::bind(const BindContext &context, const ptx::Instruction &instruction) {
  const FamilyRow *best = nullptr;
  int bestCovered = -1;
  bool isKnown = false;
  Type type = lastType(context, instruction);
  for (const Family *family : families()) {
    for (size_t i = 0; i < family->rowCount; ++i) {
      const FamilyRow &row = family->rows[i];
      int covered = coveredModifiers(context, instruction, row.mnemonic);
      isKnown |= covered >= 0;
      if (covered > bestCovered && (row.types.isEmpty() || row.types.has(type))) {
        best = &row;
        bestCovered = covered;
      }
    }
  }
  Binder binder(context, instruction, best ? unsigned(bestCovered) : 0);
  if (best)
    best->bind(binder);
  else if (isKnown && type != Type::None)
    binder.fail("this instruction has no type .%s", std::string(ptx::name(type)).c_str());
  else if (isKnown)
    binder.fail("the type is missing");
  else
    binder.fail("the emulator does not know this instruction");
  return binder.finish();
}
