// wmma.load, wmma.mma, wmma.store.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The older warp-wide matrix instructions on f16, bf16, tf32 and 8-bit integers. PTX leaves it open which lane holds
// what of a fragment, and a kernel must not depend on it. Here the 32-bit words of a matrix, with rows of A, columns of
// B and rows of C and D one after the other, are dealt to the lanes in turn: word i is register i / 32 of lane i % 32.
// Fragments with more registers than that hold the matrix several times, as f16 ones do on GPUs. The product is
// mma.sync's. Memory is accessed element by element, so that counters of sectors and bank conflicts are not those of a
// GPU.

#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Machine.h"
#include "Emulator/Exec/Warp.h"
#include "Emulator/Numerics/MatrixMultiply.h"
#include "Emulator/Ops/MatrixCommon.h"
#include "Emulator/Ops/MemoryQualifiers.h"

#include <cstring>

using namespace weft::emu;

namespace {

/// A, B or C/D of a shape and type.
struct Fragment {
  uint8_t lines = 0;        ///< Rows of A, C, D; columns of B.
  uint8_t length = 0;       ///< Elements of a line: K, or N of C and D.
  uint8_t elementBytes = 4; ///< In memory and in registers.
  uint8_t registers = 0;

  unsigned words() const { return unsigned(lines) * length * elementBytes / 4; }
  unsigned perWord() const { return 4u / elementBytes; }
};

struct TransferPayload {
  Fragment fragment;
  AddressRef address;
  MemorySpace space = MemorySpace::Generic;
  bool isStore = false;
  bool isAlongLines = true; ///< Elements of a line are neighbours in memory.
  uint8_t firstRegister = 0;
  int8_t stride = -1; ///< Index of the slot; -1: the matrix is dense.
};

struct ProductPayload {
  Fragment a, b, c, d;
  MatrixElement elementA = MatrixElement::F16, elementB = MatrixElement::F16;
  bool isHalfC = false, isHalfD = false, isSaturating = false;
  uint8_t depth = 16;
};

struct WmmaShape {
  std::string_view name;
  uint8_t m, n, k;
};
constexpr WmmaShape kShapes[] = {
    {"m16n16k16", 16, 16, 16}, {"m8n32k16", 8, 32, 16}, {"m32n8k16", 32, 8, 16}, {"m16n16k8", 16, 16, 8}};
constexpr unsigned kMaxWords = 256;

} // namespace

//===--------------------------------------------------------------------------------------------------------------===//
// Loads and stores
//===--------------------------------------------------------------------------------------------------------------===//

/// One access: element `part` of register `reg` (of the first copy) of every lane.
static bool transferElements(Warp &warp, const Step &step, const TransferPayload &payload, const uint64_t *base,
                             const uint32_t *strides, unsigned reg, unsigned part) {
  const Fragment &fragment = payload.fragment;
  Access access;
  access.kind = payload.isStore ? AccessKind::Store : AccessKind::Load;
  access.space = payload.space;
  access.bytes = fragment.elementBytes;
  access.mask = kAllLanes;
  access.warp = &warp;
  access.step = &step;
  unsigned dense = payload.isAlongLines ? fragment.length : fragment.lines;
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned element = (reg * 32 + lane) * fragment.perWord() + part;
    unsigned line = element / fragment.length, along = element % fragment.length;
    uint64_t stride = strides ? strides[lane] : dense;
    uint64_t index = payload.isAlongLines ? line * stride + along : along * stride + line;
    access.addresses[lane] = base[lane] + index * fragment.elementBytes;
  }
  if (payload.space == MemorySpace::Generic) {
    LaneMask members = 0;
    warp.machine->splitGeneric(access, access.mask, members);
    if (members != kAllLanes) {
      warp.machine->fault(warp, step, 32, "the matrix must lie in one state space");
      return false;
    }
  }
  if (!warp.machine->resolve(access))
    return false;
  std::byte *lanes = warp.lanes<std::byte>(step.slots[payload.firstRegister + reg]) + part * fragment.elementBytes;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (payload.isStore)
      std::memcpy(access.host[lane], lanes + lane * 4, fragment.elementBytes);
    else
      std::memcpy(lanes + lane * 4, access.host[lane], fragment.elementBytes);
  }
  return true;
}

static Outcome runTransfer(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if (!isWholeWarp(warp, step, mask, outcome))
    return outcome;
  const auto &payload = *static_cast<const TransferPayload *>(step.payload);
  uint64_t base[32];
  computeAddresses(warp, step, payload.address, kAllLanes, base);
  // Copies: a load may overwrite the registers that hold them.
  uint32_t strides[32];
  if (payload.stride >= 0)
    std::memcpy(strides, warp.lanes<uint32_t>(step.slots[payload.stride]), sizeof(strides));
  unsigned own = payload.fragment.words() / 32;
  for (unsigned reg = 0; reg < own; ++reg)
    for (unsigned part = 0; part < payload.fragment.perWord(); ++part)
      if (!transferElements(warp, step, payload, base, payload.stride >= 0 ? strides : nullptr, reg, part))
        return Outcome::Fault;
  if (payload.isStore)
    return Outcome::Next;
  for (unsigned reg = own; reg < payload.fragment.registers; ++reg)
    std::memcpy(warp.lanes<uint32_t>(step.slots[payload.firstRegister + reg]),
                warp.lanes<uint32_t>(step.slots[payload.firstRegister + reg % own]), 128);
  return Outcome::Next;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Products
//===--------------------------------------------------------------------------------------------------------------===//

static const Slot *gather(Warp &warp, const Slot *slots, const Fragment &fragment, uint32_t *words) {
  for (unsigned reg = 0; reg < fragment.words() / 32; ++reg)
    std::memcpy(words + reg * 32, warp.lanes<uint32_t>(slots[reg]), 128);
  return slots + fragment.registers;
}

/// Slots: D, A, B, C.
static Outcome runProduct(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if (!isWholeWarp(warp, step, mask, outcome))
    return outcome;
  const auto &payload = *static_cast<const ProductPayload *>(step.payload);
  uint32_t a[kMaxWords], b[kMaxWords], c[kMaxWords], d[kMaxWords];
  const Slot *slots = step.slots + payload.d.registers;
  slots = gather(warp, slots, payload.a, a);
  slots = gather(warp, slots, payload.b, b);
  gather(warp, slots, payload.c, c);
  unsigned count = unsigned(payload.d.lines) * payload.d.length;
  for (unsigned i = 0; i < count; ++i) {
    uint32_t word = payload.isHalfC ? c[i / 2] >> (i % 2 * 16) & 0xffff : c[i];
    if (payload.isHalfC && !payload.isHalfD)
      word = floatBitsFromHalf(uint16_t(word));
    if (!payload.isHalfC && payload.isHalfD)
      word = halfFromFloatBits(word);
    d[i] = word;
  }
  MatrixOptions options;
  options.isHalfAccumulator = payload.isHalfD;
  options.isSaturating = payload.isSaturating;
  MatrixModel model;
  if (isFloat(payload.elementA))
    model =
        matrixModel(warp.machine->card.smVersion, MatrixUnit::Mma, payload.elementA, payload.isHalfD, payload.depth);
  multiplyMatrices(model, {payload.elementA, payload.elementB, payload.d.lines, payload.d.length, payload.depth},
                   options, reinterpret_cast<const uint8_t *>(a), reinterpret_cast<const uint8_t *>(b), d);
  for (unsigned reg = 0; reg < payload.d.registers; ++reg) {
    uint32_t *lanes = warp.lanes<uint32_t>(step.slots[reg]);
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned i = reg * 32 + lane;
      lanes[lane] = payload.isHalfD ? d[2 * i] | d[2 * i + 1] << 16 : d[i];
    }
  }
  return Outcome::Next;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Binding
//===--------------------------------------------------------------------------------------------------------------===//

static const WmmaShape &bindShape(Binder &b) {
  return kShapes[b.expectOneOf({kShapes[0].name, kShapes[1].name, kShapes[2].name, kShapes[3].name})];
}

/// tf32 has the shape of its own, the others the first three.
static void checkShape(Binder &b, const WmmaShape &shape, Type type) {
  if ((type == Type::TF32) != (shape.k == 8))
    b.fail("the shape .%s does not go with .%s", std::string(shape.name).c_str(),
           std::string(weft::emu::ptx::name(type)).c_str());
}

enum class Operand : uint8_t { A, B, C };

static Fragment fragmentOf(const WmmaShape &shape, Operand operand, Type type) {
  Fragment fragment;
  fragment.lines = operand == Operand::B ? shape.n : shape.m;
  fragment.length = operand == Operand::C ? shape.n : shape.k;
  fragment.elementBytes = uint8_t(weft::emu::ptx::bitWidth(type) / 8);
  fragment.registers = uint8_t(fragment.words() / 32);
  if (type == Type::F16 && operand != Operand::C)
    fragment.registers = 8;
  return fragment;
}

static constexpr TypeSet kMultiplicands = {Type::F16, Type::BF16, Type::TF32, Type::S8, Type::U8};
static constexpr TypeSet kAccumulators = {Type::F16, Type::F32, Type::S32};

/// What follows wmma.load.x or wmma.store.d.
static void bindTransfer(Binder &b, Operand operand, bool isStore) {
  b.expect("sync");
  b.expect("aligned");
  auto *payload = b.payload<TransferPayload>();
  payload->isStore = isStore;
  bool isRow = b.expectOneOf({"row", "col"}) == 0;
  payload->isAlongLines = isRow != (operand == Operand::B);
  const WmmaShape &shape = bindShape(b);
  int space = b.acceptOneOf({"global", "shared", "shared::cta"});
  payload->space = space < 0 ? MemorySpace::Generic : space == 0 ? MemorySpace::Global : MemorySpace::Shared;
  Type type = b.type(operand == Operand::C ? kAccumulators : kMultiplicands);
  if (operand != Operand::C)
    checkShape(b, shape, type);
  payload->fragment = fragmentOf(shape, operand, type);
  b.operands(2, 3);
  unsigned fragment = isStore ? 1 : 0, address = isStore ? 0 : 1;
  if (!isStore)
    for (const auto &element : b.elements(fragment, payload->fragment.registers))
      b.def(element, Type::B32);
  payload->address = bindSpaceAddress(b, address, payload->space);
  if (isStore) {
    payload->firstRegister = payload->address.hasRegister ? 1 : 0;
    for (const auto &element : b.elements(fragment, payload->fragment.registers))
      b.use(element, Type::B32);
  }
  if (b.operandCount() == 3)
    payload->stride = int8_t(b.use(2, Type::U32));
  b.run(runTransfer);
}

static void bindLoadA(Binder &b) { bindTransfer(b, Operand::A, false); }
static void bindLoadB(Binder &b) { bindTransfer(b, Operand::B, false); }
static void bindLoadC(Binder &b) { bindTransfer(b, Operand::C, false); }
static void bindStoreD(Binder &b) { bindTransfer(b, Operand::C, true); }

static void bindProduct(Binder &b) {
  b.expect("sync");
  b.expect("aligned");
  b.expectOneOf({"row", "col"});
  b.expectOneOf({"row", "col"});
  const WmmaShape &shape = bindShape(b);
  auto *payload = b.payload<ProductPayload>();
  payload->isSaturating = b.accept("satfinite");
  Type d = b.type(kAccumulators);
  // On f16 the types of A and B are not written.
  Type typeA = b.acceptType({Type::BF16, Type::TF32, Type::S8, Type::U8}), typeB = Type::F16;
  if (typeA == Type::None)
    typeA = Type::F16;
  else
    typeB = b.type(typeA == Type::S8 || typeA == Type::U8 ? TypeSet{Type::S8, Type::U8} : TypeSet{typeA});
  bool isInteger = typeA == Type::S8 || typeA == Type::U8;
  Type c = b.type(isInteger            ? TypeSet{Type::S32}
                  : typeA == Type::F16 ? TypeSet{Type::F16, Type::F32}
                                       : TypeSet{Type::F32});
  if (isInteger != (d == Type::S32) || (typeA != Type::F16 && d == Type::F16))
    b.fail("the type of D does not go with those of A and B");
  if (payload->isSaturating && !isInteger)
    b.fail("the emulator does not have .satfinite on f16");
  checkShape(b, shape, typeA);
  payload->elementA = matrixElementOf(typeA);
  payload->elementB = matrixElementOf(typeB);
  payload->isHalfC = c == Type::F16;
  payload->isHalfD = d == Type::F16;
  payload->depth = shape.k;
  payload->a = fragmentOf(shape, Operand::A, typeA);
  payload->b = fragmentOf(shape, Operand::B, typeB);
  payload->c = fragmentOf(shape, Operand::C, c);
  payload->d = fragmentOf(shape, Operand::C, d);
  b.operands(4);
  for (const auto &element : b.elements(0, payload->d.registers))
    b.def(element, Type::B32);
  const Fragment *sources[] = {&payload->a, &payload->b, &payload->c};
  for (unsigned i = 0; i < 3; ++i)
    for (const auto &element : b.elements(i + 1, sources[i]->registers))
      b.use(element, Type::B32);
  b.run(runProduct);
}

static const FamilyRow kRows[] = {{"wmma.load.a", {}, bindLoadA},
                                  {"wmma.load.b", {}, bindLoadB},
                                  {"wmma.load.c", {}, bindLoadC},
                                  {"wmma.mma", {}, bindProduct},
                                  {"wmma.store.d", {}, bindStoreD}};

namespace weft::emu {
extern const Family kWmmaFamily;
const Family kWmmaFamily = {"wmma", kRows, sizeof kRows / sizeof *kRows};
} // namespace weft::emu
