// Executable form of PTX functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function is an array of steps in priority order: blocks lie in a weak topological order of the control flow graph
// (reverse post-order in which every loop is contiguous), so of two splits of a warp in one activation the one with the
// lower step index has to run first. Slots say where in the register file of the warp, or in the function's constant
// pool, the 32 lanes of an operand are.
#ifndef WEFT_EMULATOR_EXEC_PROGRAM_H
#define WEFT_EMULATOR_EXEC_PROGRAM_H

#include "Emulator/Ptx/Ast.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::emu {

class Warp;
struct Step;
struct FunctionCode;

/// Bit i: lane i of a warp.
using LaneMask = uint32_t;
constexpr LaneMask kAllLanes = 0xffffffffu;

/// Byte offset of 32 consecutive lanes (of a predicate: of one LaneMask) in the register file of the activation, or,
/// with kConstantSlot, in the constant pool of the function. Lanes of 8, 16, 32, 64 or 128 bits are as wide as the
/// register is declared.
using Slot = uint32_t;
constexpr Slot kConstantSlot = 0x80000000u;
constexpr Slot kNoSlot = 0xffffffffu; ///< A sink `_`, or no guard.

/// What becomes of the split that executed a step.
enum class Outcome : uint8_t {
  Next,  ///< Goes on with the next step.
  Jump,  ///< The step has set Warp's program counter or splits itself.
  Wait,  ///< Nothing happened; the step is repeated at a later turn. Warp::waitFor said what for.
  Yield, ///< Done, goes on with the next step, but lets other warps run first (polling, nanosleep).
  Exit,  ///< The lanes have ended.
  Fault, ///< The launch ends: Machine::fault has been called.
};

/// Executes for the lanes of `mask` (never empty, guard already applied) of the warp's current split.
using RunFunction = Outcome (*)(Warp &warp, const Step &step, LaneMask mask);

namespace step_flag {
enum : uint8_t {
  Branch = 1,    ///< Ends its block; `target` and, if guarded or indexed, the next step follow.
  End = 2,       ///< ret, exit, trap: nothing follows for the lanes that execute it.
  Synthetic = 4, ///< Not in the text (moves of special registers, jumps between blocks): not counted.
  NegatedGuard = 8,
  Unguarded = 16, ///< The function handles its guard itself: it gets the mask of the whole split.
  Indexed = 32,   ///< Branch whose targets are FunctionCode::targets[target .. target + immediate).
  WaitsLate = 64, ///< Registers in use by asynchronous operations may be free after it (wgmma waits).
  Parts = 128,    ///< Slot 0 is a word of two or four parts, which the other slots are.
};
} // namespace step_flag

struct Step {
  RunFunction run = nullptr;
  const Slot *slots = nullptr;   ///< In the order in which the family asked the binder for them.
  const void *payload = nullptr; ///< The family's own, in FunctionCode's arena.
  uint64_t immediate = 0;
  Slot guard = kNoSlot;  ///< Slot of a predicate mask.
  uint32_t target = 0;   ///< Step index of a branch (index into FunctionCode::targets if Indexed).
  uint16_t opcode = 0;   ///< Index into ModuleCode::opcodes: the full name with modifiers.
  uint8_t slotCount = 0; ///< 255 for 255 and more.
  uint8_t flags = 0;
  uint32_t line = 0;
  uint32_t column = 0;
};

/// How an instruction uses a slot.
enum class Role : uint8_t {
  Use,
  Def,     ///< Lanes outside of the executing mask keep their value.
  DefUse,  ///< Read and written.
  LateUse, ///< May be read until a step with WaitsLate that follows.
  LateDef, ///< Read at issue or later, and written until a step with WaitsLate that follows (wgmma's accumulators).
};

/// Memory of a function's payloads. Never runs destructors.
class Arena {
public:
  template <typename T> T *make(size_t count = 1) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    T *first = static_cast<T *>(allocate(sizeof(T) * (count ? count : 1), alignof(T)));
    for (size_t i = 0; i < count; ++i)
      new (first + i) T();
    return first;
  }

private:
  void *allocate(size_t bytes, size_t alignment);
  std::vector<std::unique_ptr<std::byte[]>> chunks;
  std::byte *next = nullptr;
  size_t left = 0;
};

/// Constants of a function, each spread over 32 lanes of its width, so that an immediate is read as a register is.
class ConstantPool {
public:
  ConstantPool();
  /// The slot (with kConstantSlot) of `value`'s low `bytes` (1, 2, 4, 8 or 16, zero extended above 8).
  Slot add(uint64_t value, unsigned bytes);
  /// The slot of a predicate constant.
  Slot addPredicate(bool value);
  /// 64-byte aligned, stable once nothing is added any more.
  std::byte *data() { return lanes; }
  size_t size() const { return used; }

private:
  Slot place(uint64_t value, unsigned bytes, unsigned lanesCount);
  std::vector<std::byte> storage;
  std::byte *lanes = nullptr;
  size_t used = 0;
  std::map<std::pair<uint64_t, unsigned>, Slot> known;
};

/// Where a variable that a body or module declares is, relative to its window.
struct Placement {
  uint64_t offset = 0; ///< Global and const: the generic address. Shared: offset in the CTA. Local: in the activation's
                       ///< part of the thread's local memory. Param: in the activation's parameter block (per thread),
                       ///< or for an entry's own parameters in the launch's parameter buffer.
  uint64_t size = 0;
};

struct FunctionCode {
  std::string name;
  bool isEntry = false;
  bool waitsForGrids = false; ///< It holds a griddepcontrol.wait.
  std::vector<Step> steps;
  std::vector<Slot> slots;     ///< What Step::slots point into.
  std::vector<Role> roles;     ///< Parallel to `slots`.
  std::vector<uint8_t> widths; ///< Parallel to `slots`: bytes of a lane; 0 for a predicate mask.
  std::vector<uint32_t> targets;
  ConstantPool constants;
  Arena arena;
  uint32_t frameBytes = 0;           ///< Of an activation's register file.
  uint32_t registersPerThread = 0;   ///< 32-bit registers live at once, or what directives say.
  uint32_t parameterBlockBytes = 0;  ///< Per thread: formal parameters, returns, and .param variables of calls.
  std::vector<Placement> parameters; ///< Formal parameters: in the block (entries: in the launch's buffer).
  std::vector<Placement> returns;
  /// Device functions whose parameters are registers (.reg in place of .param): the slots; parallel to `parameters`.
  std::vector<Slot> parameterSlots, returnSlots;
  uint32_t localBytes = 0;          ///< Per thread and activation, a multiple of 16.
  uint32_t parameterBytes = 0;      ///< Entries: size of the launch's parameter buffer.
  uint32_t staticSharedBytes = 0;   ///< Of every .shared variable that the entry reaches (entries only).
  uint32_t dynamicSharedOffset = 0; ///< Where `extern .shared` begins: staticSharedBytes aligned as they demand.
  uint32_t barriersUsed = 0; ///< Highest barrier number named by a constant, plus one; 16 when a register names one.
  ptx::Directives directives;

  Role roleOf(const Step &step, unsigned index) const { return roles[size_t(step.slots - slots.data()) + index]; }
  unsigned widthOf(const Step &step, unsigned index) const { return widths[size_t(step.slots - slots.data()) + index]; }
};

struct ModuleCode {
  std::string name;
  uint32_t smVersion = 0;
  char targetSuffix = 0;
  uint32_t versionMajor = 0, versionMinor = 0;
  std::deque<FunctionCode> functions; ///< Every function reachable from an entry; addresses are stable.
  std::vector<std::string> opcodes;   ///< "add.f32": names of Step::opcode.
  std::vector<uint32_t> functionIds;  ///< By index in ptx::Module::functions: index in `functions`, or ptx::kNone.
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_PROGRAM_H
