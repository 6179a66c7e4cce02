// Syntax tree of a PTX module.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parser makes of PTX text: names are resolved, block scopes are gone, constants are folded, debug directives
// are dropped; which instructions exist and what their operands must be is not known here. Nothing points into the
// text: names are indices into Module::names, and every list is a range of a vector of its module or function, so that
// a Module can be moved, and costs memory in proportion to its text.
#ifndef WEFT_EMULATOR_PTX_AST_H
#define WEFT_EMULATOR_PTX_AST_H

#include "Emulator/Ptx/Type.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::emu::ptx {

/// An index that refers to nothing.
constexpr uint32_t kNone = ~uint32_t(0);

/// A position in the text; both count from 1, columns in bytes. Line 0 is no position.
struct Location {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// A view of consecutive elements.
template <typename T> struct Span {
  const T *first = nullptr;
  size_t count = 0;
  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const T &operator[](size_t i) const { return first[i]; }
};

/// A range of indices into a vector of the function or module.
struct Range {
  uint32_t first = 0;
  uint32_t count = 0;
  template <typename T> Span<T> of(const std::vector<T> &all) const { return {all.data() + first, count}; }
};

/// Index of a distinct word of the text in Module::names: equal ids are equal words.
using NameId = uint32_t;

/// Distinct words, in the order of their first appearance.
class NameTable {
public:
  std::string_view operator[](NameId id) const {
    size_t begin = id == 0 ? 0 : ends[id - 1];
    return std::string_view(text).substr(begin, ends[id] - begin);
  }
  size_t size() const { return ends.size(); }
  /// Appends a word that the caller knows to be new.
  NameId add(std::string_view word) {
    text += word;
    ends.push_back(uint32_t(text.size()));
    return NameId(ends.size() - 1);
  }

private:
  std::string text;
  std::vector<uint32_t> ends;
};

enum class Space : uint8_t { Reg, Param, Local, Shared, Global, Const };
/// ".reg" is "reg", and so on.
std::string_view name(Space space);

enum class Linkage : uint8_t { Internal, Visible, Weak, Common, Extern };

/// Predefined registers that are read only. Those of three components have them in Operand::component.
enum class Special : uint8_t {
  Tid,
  Ntid,
  Ctaid,
  Nctaid,
  Clusterid,
  Nclusterid,
  ClusterCtaid,
  ClusterNctaid,
  ClusterCtarank,
  ClusterNctarank,
  IsExplicitCluster,
  Laneid,
  Warpid,
  Nwarpid,
  Smid,
  Nsmid,
  Gridid,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  Clock,
  ClockHi,
  Clock64,
  Globaltimer,
  GlobaltimerLo,
  GlobaltimerHi,
  TotalSmemSize,
  AggrSmemSize,
  DynamicSmemSize,
  ReservedSmemOffset, ///< %reserved_smem_offset_begin, _end, _cap and _<n>: all of them; Operand::value says which
                      ///< apart.
  CurrentGraphExec,
  Envreg, ///< Operand::value is its number.
  Pm,     ///< Operand::value is its number; 64-bit ones have 64 added.
};
/// The word as in PTX, with '%'; without the number of Envreg, Pm and ReservedSmemOffset.
std::string_view name(Special special);
/// The width in bits at which the register is declared.
unsigned bitWidth(Special special);
/// True for the registers of type .v4 of which .x, .y and .z are read (%tid, %ctaid, ...).
bool isVector(Special special);

/// What a symbol operand names.
enum class SymbolKind : uint8_t {
  Variable,      ///< Module::variables
  Local,         ///< Function::variables: anything declared inside a body (.shared, .local, .param for calls, ...)
  Parameter,     ///< Function::parameters
  Return,        ///< Function::returns
  Function,      ///< Module::functions
  Label,         ///< Function::labels
  BranchTargets, ///< Function::branchTargets
  CallTargets,   ///< Function::callTargets
  CallPrototype, ///< Function::prototypes
};

enum class OperandKind : uint8_t {
  Register,      ///< `index` in Function::registers; `isNegated` for !p
  Pair,          ///< a|b: two children, each Register, or Sink
  Integer,       ///< `value`: two's complement; an unsigned constant above 2^63 has the same bits and `isUnsigned`
  Float32,       ///< `value`: the bits of 0f..., zero extended
  Float64,       ///< `value`: the bits of 0d... or of a decimal constant
  Symbol,        ///< `symbol` says what `index` counts; plus `value` bytes
  Special,       ///< `special`, `component`, `value`
  Address,       ///< [base + value]: one child: Register, Symbol (whose own value is 0) or Integer (then `value` is 0)
  TensorAddress, ///< [base, {a, b, ...}]: children: an Address as above, then what else stands in the brackets
  Vector,        ///< {a, b, ...}: children of any kind but Vector
  Sink,          ///< _
  Arguments,     ///< (a, b, ...) of a call
};

struct Operand {
  OperandKind kind = OperandKind::Sink;
  bool isNegated = false;
  bool isUnsigned = false;
  SymbolKind symbol = SymbolKind::Variable;
  Special special = Special::Tid;
  uint8_t component = 0; ///< 0 to 3 for .x .y .z .w
  uint32_t index = 0;    ///< Register and Symbol
  Range children;        ///< in Function::operands: Pair, Address, TensorAddress, Vector, Arguments
  int64_t value = 0;
  Location location;
};

/// One word after the mnemonic, without its dot: "sync", "shared::cta", "L2::128B", "f32".
struct Modifier {
  NameId name = 0;
  uint32_t column = 0; ///< On the line of the instruction.
};

struct Instruction {
  Location location;      ///< Of the mnemonic.
  NameId mnemonic = 0;    ///< "add", "cp", "mbarrier": up to the first dot.
  uint32_t guard = kNone; ///< A predicate of Function::registers.
  bool isGuardNegated = false;
  Range modifiers; ///< Function::modifiers, in order
  Range operands;  ///< Function::operands, in order
};

/// A register that the body names at least once (declared ranges cost nothing).
struct Register {
  NameId name = 0;
  Type type = Type::None; ///< A fundamental type, or one of f16x2, bf16x2 (as old PTX declares).
};

/// The address of a symbol in the bytes of an initialised variable.
struct Relocation {
  uint64_t offset = 0;      ///< Of the first byte that it sets.
  uint8_t size = 8;         ///< Bytes: the element size of the variable.
  bool isGeneric = false;   ///< generic(symbol): the generic address in place of the one in its space.
  uint8_t byte = kAllBytes; ///< mask(symbol): only this byte of the address, for elements of one byte.
  SymbolKind symbol = SymbolKind::Variable;
  uint32_t index = 0;
  int64_t addend = 0;
  static constexpr uint8_t kAllBytes = 0xff;
};

struct Variable {
  NameId name = 0;
  Location location;
  Space space = Space::Global;
  Linkage linkage = Linkage::Internal;
  Type type = Type::None;  ///< Of an element.
  uint8_t vectorWidth = 1; ///< 1, 2 or 4 elements of `type` make an element of an array.
  bool isArray = false;
  bool isDynamic = false; ///< `extern x[]`: the size is not here; for .shared it is given at launch.
  bool isManaged = false; ///< .attribute(.managed)
  uint64_t alignment = 1; ///< Bytes, a power of two.
  uint64_t size = 0;      ///< Bytes of the whole; 0 if dynamic.
  uint64_t offset = 0;    ///< Parameters of an entry: in its parameter buffer.
  Range scope;            ///< Declared in a body: instructions from here to the end of the block that knows the name.
  uint32_t depth = 0;     ///< Of that block: 1 is the body, more are blocks in it.
  uint32_t reg = kNone;   ///< Parameters of a device function in space Reg: Function::registers.
  // Parameters with .ptr only: the space that the pointer promises to point into.
  bool isPointer = false;
  bool isPointerGeneric = true;
  Space pointerSpace = Space::Global;
  uint64_t pointerAlignment = 1;
  std::vector<uint8_t> bytes; ///< Initial value; shorter than `size` when the rest is zero.
  std::vector<Relocation> relocations;
};

/// `name:` stands before instruction `instruction` (which is instructions.size() at the end of the body).
struct Label {
  NameId name = 0;
  Location location;
  uint32_t instruction = 0;
};

/// `name: .branchtargets a, b, ...;`: labels, in `all[targets]` of Function::targetPool.
/// `name: .calltargets f, g, ...;`: functions, likewise.
struct TargetList {
  NameId name = 0;
  Location location;
  Range targets;
};

/// `name: .callprototype (...) _ (...);`
struct Prototype {
  NameId name = 0;
  Location location;
  std::vector<Variable> parameters;
  std::vector<Variable> returns;
  bool isNoreturn = false;
};

/// Performance and launch directives; 0 is "not given" (dimensions that are left out are 1).
struct Directives {
  uint32_t maxThreads[3] = {0, 0, 0};      ///< .maxntid
  uint32_t requiredThreads[3] = {0, 0, 0}; ///< .reqntid
  uint32_t minCtasPerSm = 0;               ///< .minnctapersm
  uint32_t maxCtasPerSm = 0;               ///< .maxnctapersm
  uint32_t maxRegisters = 0;               ///< .maxnreg
  uint32_t clusterSize[3] = {0, 0, 0};     ///< .reqnctapercluster
  uint32_t maxClusterRank = 0;             ///< .maxclusterrank
  bool isExplicitCluster = false;          ///< .explicitcluster
  bool blocksAreClusters = false;          ///< .blocksareclusters
  bool isNoreturn = false;                 ///< .noreturn
};

struct Function {
  NameId name = 0;
  Location location;
  Linkage linkage = Linkage::Internal;
  bool isEntry = false;
  bool isDefined = false;   ///< False for declarations: `.extern .func`, and forward ones never followed by a body.
  uint32_t aliasOf = kNone; ///< .alias: the function that is meant.
  Directives directives;
  std::vector<Variable> parameters;
  std::vector<Variable> returns;
  uint64_t parameterBytes = 0; ///< Entries: size of the parameter buffer.

  std::vector<Register> registers;
  std::vector<Variable> variables; ///< Declared inside the body, whatever the block.
  std::vector<Label> labels;
  std::vector<TargetList> branchTargets;
  std::vector<TargetList> callTargets;
  std::vector<Prototype> prototypes;
  std::vector<uint32_t> targetPool;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<Modifier> modifiers;

  Span<Operand> operandsOf(const Instruction &instruction) const { return instruction.operands.of(operands); }
  Span<Modifier> modifiersOf(const Instruction &instruction) const { return instruction.modifiers.of(modifiers); }
  Span<Operand> childrenOf(const Operand &operand) const { return operand.children.of(operands); }
};

struct Module {
  uint32_t versionMajor = 0;
  uint32_t versionMinor = 0;
  std::string target;                     ///< "sm_90a"
  std::vector<std::string> targetOptions; ///< What follows it: "debug", "texmode_independent", ...
  uint32_t smVersion = 0;                 ///< 90 for sm_90 and sm_90a
  char targetSuffix = 0;                  ///< 'a' or 'f', or 0
  uint32_t addressSize = 32;              ///< Bits: 32 or 64.
  NameTable names;
  std::vector<Variable> variables;
  std::vector<Function> functions;

  /// The index of the function of that name; kNone when there is none.
  uint32_t findFunction(std::string_view name) const;
  uint32_t findVariable(std::string_view name) const;
  /// The function that a call of `function` reaches: itself, or what it is an alias of.
  uint32_t resolve(uint32_t function) const {
    return functions[function].aliasOf == kNone ? function : functions[function].aliasOf;
  }
};

} // namespace weft::emu::ptx

#endif // WEFT_EMULATOR_PTX_AST_H
