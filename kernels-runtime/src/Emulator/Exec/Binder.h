// From an instruction of the tree to a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A family binds an instruction by consuming its modifiers in order and by asking for its operands; both check, and the
// first thing that is wrong is kept as the located error of the instruction, after which every call answers something
// harmless. So a bind function reads like the syntax line of the manual and needs no checks of its own:
//
//   void bindShl(Binder &b) {                       // shl.type d, a, b;
//     Type type = b.type({Type::B16, Type::B32, Type::B64});
//     b.operands(3);
//     b.def(0, type), b.use(1, type), b.use(2, Type::B32);
//     b.run(type == Type::B16 ? shl<uint16_t> : ...);
//   }
//
// Slots are in Step::slots in the order in which they were asked for. The binder works on virtual registers: Program/
// colours them afterwards and rewrites the slots, so no slot may be kept elsewhere (payloads hold indices into
// Step::slots).
#ifndef WEFT_EMULATOR_EXEC_BINDER_H
#define WEFT_EMULATOR_EXEC_BINDER_H

#include "Emulator/Exec/Program.h"
#include "weft/Bundle/Error.h"

#include <initializer_list>
#include <string_view>

namespace weft::emu {

using bundle::Error;
using ptx::Type;

/// A set of types.
class TypeSet {
public:
  constexpr TypeSet() = default;
  constexpr TypeSet(std::initializer_list<Type> types) {
    for (Type type : types)
      bits |= uint64_t(1) << unsigned(type);
  }
  constexpr bool has(Type type) const { return bits >> unsigned(type) & 1; }
  constexpr bool isEmpty() const { return bits == 0; }
  constexpr TypeSet operator|(TypeSet other) const {
    TypeSet both;
    both.bits = bits | other.bits;
    return both;
  }

private:
  uint64_t bits = 0;
  static_assert(unsigned(Type::E5M2x4) < 64, "types fit in a mask");
};

/// A register or constant that an instruction names, before registers have slots.
struct SlotRef {
  uint32_t reg = ptx::kNone; ///< Virtual register; ptx::kNone when `constant` is the slot.
  Slot constant = kNoSlot;   ///< Of the constant pool, or kNoSlot for a sink.
  Role role = Role::Use;
  uint8_t width = 0; ///< Bytes of a lane as the register is declared; 0: predicate.
};

/// A step whose slots are virtual.
struct BoundStep {
  Step step;              ///< guard, slots: not set yet. target: a label index (Function::labels) if a Branch.
  SlotRef guard;          ///< reg is ptx::kNone without a guard.
  uint32_t firstSlot = 0; ///< In BoundCode::slots.
  uint32_t slotCount = 0;
};

/// What binding a function yields, in the order of its text; Program/ makes FunctionCode of it.
struct BoundCode {
  std::vector<BoundStep> steps;
  std::vector<SlotRef> slots;
  std::vector<uint32_t> targets;       ///< Label indices of Indexed branches.
  std::vector<uint8_t> registerWidths; ///< By virtual register: those of Function::registers, then temporaries.
  uint32_t barriersUsed = 0;
};

/// What the binder has to know of the addresses of things; made by Program/.
struct BindContext {
  const ptx::Module *module = nullptr;
  const ptx::Function *function = nullptr;
  uint32_t functionIndex = 0; ///< In ptx::Module::functions.
  ModuleCode *moduleCode = nullptr;
  FunctionCode *code = nullptr; ///< Arena and constants are filled while binding.
  BoundCode *bound = nullptr;
  /// Addresses, parallel to Module::variables, Function::variables, Function::parameters, Function::returns.
  const std::vector<Placement> *globals = nullptr;
  const std::vector<Placement> *locals = nullptr;
  const std::vector<Placement> *parameters = nullptr;
  const std::vector<Placement> *returns = nullptr;
  /// Functions that the instruction may call: Program/ binds them too (index in ptx::Module::functions).
  std::vector<uint32_t> *called = nullptr;
};

/// An address operand, resolved: lanes hold slot value (or nothing) + offset in `space`'s own addressing.
struct AddressRef {
  ptx::Space space = ptx::Space::Global; ///< Of the symbol; Reg when the base is a register or an integer.
  bool hasRegister = false;              ///< Then the next of Step::slots is the base, `width` bytes wide (4 or 8).
  uint8_t width = 8;
  bool isFormal = false; ///< Symbol: a parameter or return of the function itself (entry: in the launch's buffer).
  bool isSymbol = false;
  uint8_t slot = 0;   ///< Index in Step::slots of the base register.
  int64_t offset = 0; ///< Placement plus the constant: for .shared and .local still relative to CTA and activation.
};

/// The addresses of the lanes in the space of the instruction, where `ref` is the payload's copy. A symbol in .shared
/// gets the CTA's rank, one in .local the base of the activation.
void computeAddresses(Warp &warp, const Step &step, const AddressRef &ref, LaneMask mask, uint64_t (&addresses)[32]);

class Binder {
public:
  Binder(const BindContext &context, const ptx::Instruction &instruction, unsigned consumedModifiers);

  // ---- Modifiers, in order.
  /// The next modifier without its dot; "" at the end.
  std::string_view peek() const;
  /// Consumes the next modifier if it is `word`.
  bool accept(std::string_view word);
  /// Consumes the next modifier if it is one of `words` and returns its index, else -1.
  int acceptOneOf(std::initializer_list<std::string_view> words);
  /// The same; an error when it is none of them (then 0).
  unsigned expectOneOf(std::initializer_list<std::string_view> words);
  void expect(std::string_view word) { expectOneOf({word}); }
  /// Consumes a type of `allowed`; else an error and the first of the set.
  Type type(TypeSet allowed);
  /// Consumes a type of `allowed` if the next modifier is one; else Type::None.
  Type acceptType(TypeSet allowed);
  bool atEnd() const { return nextModifier == modifiers.size(); }
  /// Index of the next modifier, to go back to (some modifiers stand in either order).
  unsigned position() const { return nextModifier; }
  void setPosition(unsigned position) { nextModifier = position; }

  // ---- Operands. `i` counts Instruction::operands.
  unsigned operandCount() const { return unsigned(all.size()); }
  /// Checks the number of operands.
  void operands(unsigned count) { operands(count, count); }
  void operands(unsigned least, unsigned most);
  const ptx::Operand &operand(unsigned i) const;
  ptx::Span<ptx::Operand> children(const ptx::Operand &operand) const { return function().childrenOf(operand); }
  bool isRegister(unsigned i) const { return operand(i).kind == ptx::OperandKind::Register; }
  bool isVector(unsigned i) const { return operand(i).kind == ptx::OperandKind::Vector; }

  /// A destination register of exactly the width of `type` (Pred: a predicate). Returns its index in Step::slots.
  unsigned def(unsigned i, Type type, Role role = Role::Def) { return def(operand(i), type, role); }
  unsigned def(const ptx::Operand &operand, Type type, Role role = Role::Def);
  /// A source: register of exactly that width, constant that fits, or a special register. Floats in a constant are
  /// converted to `type`; predicates may be negated (`isNegated` below) or the constants 0 and 1.
  unsigned use(unsigned i, Type type, Role role = Role::Use) { return use(operand(i), type, role); }
  unsigned use(const ptx::Operand &operand, Type type, Role role = Role::Use);
  /// A register (or `use` a constant) at least as wide as `type`, as ld, st and cvt allow; `bytes` receives its width.
  unsigned defWide(const ptx::Operand &operand, Type type, unsigned &bytes);
  unsigned useWide(const ptx::Operand &operand, Type type, unsigned &bytes);
  /// A destination that may be `_`: slot kNoSlot then.
  unsigned defOrSink(const ptx::Operand &operand, Type type);
  /// A predicate source; `isNegated` receives whether it is written !p.
  unsigned usePredicate(const ptx::Operand &operand, bool &isNegated);
  /// The children of a vector operand of `count` (0: any) elements; a scalar is a vector of one.
  ptx::Span<ptx::Operand> elements(unsigned i, unsigned count);
  /// The two halves of `a|b`; a plain operand is (a, null).
  void pair(unsigned i, const ptx::Operand *&first, const ptx::Operand *&second);
  /// An integer constant within [low, high].
  int64_t constant(unsigned i, int64_t low, int64_t high);
  int64_t constant(const ptx::Operand &operand, int64_t low, int64_t high);
  bool isConstant(const ptx::Operand &operand) const { return operand.kind == ptx::OperandKind::Integer; }
  /// An address operand [..]; its base register, if any, becomes the next slot.
  AddressRef address(unsigned i) { return address(operand(i)); }
  AddressRef address(const ptx::Operand &operand);
  /// A temporary virtual register of `bytes` per lane.
  uint32_t temporary(unsigned bytes);
  /// Adds a slot for a virtual register.
  unsigned addSlot(uint32_t reg, Role role, unsigned bytes);

  // ---- The step.
  void run(RunFunction function) { step.run = function; }
  void immediate(uint64_t value) { step.immediate = value; }
  void flag(uint8_t flags) { step.flags |= flags; }
  void branchTo(uint32_t label) { step.target = label; }
  template <typename T> T *payload() {
    T *made = context.code->arena.template make<T>();
    step.payload = made;
    return made;
  }
  template <typename T> T *array(size_t count) { return context.code->arena.template make<T>(count); }

  // ---- Errors: the first one stays. `expected` style, without position and instruction, which are put before it.
  void fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
  bool failed() const { return bool(error); }
  /// Demands a target and a version: "requires sm_90a", ".version 8.0".
  void requireSm(unsigned smVersion, bool isArchSpecific = false);
  void requireVersion(unsigned major, unsigned minor);

  const ptx::Module &module() const { return *context.module; }
  const ptx::Function &function() const { return *context.function; }
  const BindContext &getContext() const { return context; }
  /// Mnemonic with all modifiers, as written.
  std::string fullName() const;
  std::string_view modifierAt(unsigned i) const;

private:
  friend Error bind(const BindContext &context, const ptx::Instruction &instruction);
  Error finish();
  unsigned addConstant(const ptx::Operand &operand, Type type);
  unsigned addSpecial(const ptx::Operand &operand, unsigned bytes);
  unsigned addSymbolAddress(const ptx::Operand &operand, unsigned bytes);

  BindContext context;
  const ptx::Instruction &instruction;
  ptx::Span<ptx::Modifier> modifiers;
  ptx::Span<ptx::Operand> all;
  unsigned nextModifier = 0;
  std::vector<SlotRef> slots;
  Step step;
  Error error;
};

using BindFunction = void (*)(Binder &);

/// One row of a family's table. Of the rows whose mnemonic is a prefix (in whole words) of the instruction's name, and
/// whose types contain its last type modifier (an empty set: whatever it is), the one with the longest mnemonic binds.
struct FamilyRow {
  std::string_view mnemonic; ///< "add", "cp.async.bulk": the words in it are consumed before the bind function runs.
  TypeSet types;
  BindFunction bind = nullptr;
};

struct Family {
  std::string_view name;
  const FamilyRow *rows = nullptr;
  size_t rowCount = 0;
};

/// Every family (Ops/Families.cpp).
ptx::Span<const Family *> families();

/// Binds one instruction: appends its steps to `context.bound`. The error begins with "line:column: ".
Error bind(const BindContext &context, const ptx::Instruction &instruction);

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_BINDER_H
