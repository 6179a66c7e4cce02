// atom and red.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes of one instruction are performed one after another, lowest first. Rounding is to nearest even; atom.add.f32 on
// global memory flushes subnormals, as PTX defines (on shared memory it does not); halves never do (.noftz).
#include "Emulator/Async/Reduce.h"
#include "Emulator/Ops/MemoryAccess.h"
#include "Emulator/Ops/MemoryQualifiers.h"

#include <cmath>
#include <cstring>

using namespace weft;
using namespace weft::emu;

namespace weft::emu {
extern const Family kAtomicFamily;
}

namespace {
enum class AtomicOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor, Exch, Cas };

struct AtomicPayload {
  AddressRef address;
  MemorySpace space;
  Order order;
  Scope scope;
  CacheHints cache;
  AtomicOp op = AtomicOp::Add;
  ReduceType type = ReduceType::U32;
  uint8_t elements = 1;
  uint8_t elementBytes = 4;
  bool isRed = false;
  uint8_t firstResult = 0, firstOperand = 0; ///< Indices in Step::slots; cas: the new values follow the compared.
};
} // namespace

static float flush(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value; }

static void addFlushed(std::byte *target, const std::byte *operand, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    float a, b;
    std::memcpy(&a, target + 4 * i, 4);
    std::memcpy(&b, operand + 4 * i, 4);
    float sum = flush(flush(a) + flush(b));
    std::memcpy(target + 4 * i, &sum, 4);
  }
}

/// One lane: `operand` has the elements of b, then those of c.
static void perform(const AtomicPayload &payload, bool isGlobal, std::byte *target, const std::byte *operand,
                    unsigned bytes) {
  switch (payload.op) {
  case AtomicOp::Exch:
    std::memcpy(target, operand, bytes);
    return;
  case AtomicOp::Cas:
    if (std::memcmp(target, operand, bytes) == 0)
      std::memcpy(target, operand + bytes, bytes);
    return;
  case AtomicOp::Add:
    if (payload.type == ReduceType::F32 && isGlobal)
      return addFlushed(target, operand, payload.elements);
    break;
  default:
    break;
  }
  reduceElements(ReduceOp(payload.op), payload.type, reinterpret_cast<uint8_t *>(target),
                 reinterpret_cast<const uint8_t *>(operand), bytes);
}

static void performLane(Warp &warp, const Step &step, const AtomicPayload &payload, const Access &access,
                        unsigned lane) {
  alignas(16) std::byte operand[64], old[32];
  unsigned size = payload.elementBytes, bytes = access.bytes;
  unsigned operands = payload.op == AtomicOp::Cas ? 2u * payload.elements : payload.elements;
  for (unsigned i = 0; i < operands; ++i)
    std::memcpy(operand + size_t(i) * size,
                warp.lanes<std::byte>(step.slots[payload.firstOperand + i]) + size_t(lane) * size, size);
  std::byte *target = access.host[lane];
  std::memcpy(old, target, bytes);
  perform(payload, access.space == MemorySpace::Global, target, operand, bytes);
  if (std::memcmp(old, target, bytes) != 0)
    warp.machine->progress();
  for (unsigned i = 0; !payload.isRed && i < payload.elements; ++i)
    if (Slot slot = step.slots[payload.firstResult + i]; slot != kNoSlot)
      std::memcpy(warp.lanes<std::byte>(slot) + size_t(lane) * size, old + size_t(i) * size, size);
}

static Outcome runAtomic(Warp &warp, const Step &step, LaneMask mask) {
  const AtomicPayload &payload = *static_cast<const AtomicPayload *>(step.payload);
  return accessMemory(AccessKind::Atomic, warp, step, mask, payload, [&](const Access &access) {
    forLanes(access.mask, [&](unsigned lane) { performLane(warp, step, payload, access, lane); });
  });
}

//===--------------------------------------------------------------------------------------------------------------===//
// Binding
//===--------------------------------------------------------------------------------------------------------------===//

static TypeSet typesOf(AtomicOp op, bool isRed) {
  switch (op) {
  case AtomicOp::Add:
    return {Type::U32, Type::S32, Type::U64,  Type::S64,   Type::F32,
            Type::F64, Type::F16, Type::BF16, Type::F16x2, Type::BF16x2};
  case AtomicOp::Min:
  case AtomicOp::Max:
    return {Type::U32, Type::S32, Type::U64, Type::S64, Type::F16, Type::BF16, Type::F16x2, Type::BF16x2};
  case AtomicOp::Inc:
  case AtomicOp::Dec:
    return {Type::U32};
  case AtomicOp::And:
  case AtomicOp::Or:
  case AtomicOp::Xor:
    return {Type::B32, Type::B64};
  case AtomicOp::Exch:
    return {Type::B32, Type::B64, Type::B128};
  case AtomicOp::Cas:
    break;
  }
  return isRed ? TypeSet{} : TypeSet{Type::B16, Type::B32, Type::B64, Type::B128};
}

static ReduceType reduceTypeOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return ReduceType::F16;
  case Type::BF16:
  case Type::BF16x2:
    return ReduceType::BF16;
  case Type::F32:
    return ReduceType::F32;
  case Type::F64:
    return ReduceType::F64;
  case Type::S32:
    return ReduceType::S32;
  case Type::S64:
    return ReduceType::S64;
  case Type::U64:
  case Type::B64:
    return ReduceType::U64;
  default:
    return ReduceType::U32;
  }
}

static bool isHalf(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F16x2 || type == Type::BF16x2;
}

/// What depends on the type: .noftz, vectors, architectures.
static void checkForm(Binder &b, const AtomicPayload &payload, Type type, bool hasNoftz) {
  bool half = isHalf(type), isVector = payload.elements > 1;
  if (half != hasNoftz)
    return b.fail(half ? "expected .noftz after the operation for type .%s" : ".noftz is not for type .%s",
                  std::string(ptx::name(type)).c_str());
  if (half && payload.op != AtomicOp::Add && !isVector)
    return b.fail("min and max of halves exist for vectors only");
  if (isVector) {
    b.requireSm(90);
    b.requireVersion(8, 1);
    if (payload.space != MemorySpace::Global && payload.space != MemorySpace::Generic)
      return b.fail("vectors are for .global");
    if (!half && !(type == Type::F32 && payload.op == AtomicOp::Add && payload.elements <= 4))
      return b.fail("expected a vector of f32 (add, .v2 or .v4) or of halves");
    if (unsigned(payload.elements) * payload.elementBytes > 16)
      return b.fail("a vector of %u bytes is too wide", unsigned(payload.elements) * payload.elementBytes);
  }
  if (type == Type::BF16 || type == Type::BF16x2)
    b.requireSm(90);
  if (type == Type::B128)
    b.requireSm(90), b.requireVersion(8, 3);
}

static void bindAtomicOf(Binder &b, bool isRed) {
  MemoryQualifiers q;
  acceptQualifiers(b, q);
  auto *payload = b.payload<AtomicPayload>();
  static const AtomicOp ops[] = {AtomicOp::Add, AtomicOp::Min, AtomicOp::Max, AtomicOp::Inc,  AtomicOp::Dec,
                                 AtomicOp::And, AtomicOp::Or,  AtomicOp::Xor, AtomicOp::Exch, AtomicOp::Cas};
  unsigned op = isRed ? b.expectOneOf({"add", "min", "max", "inc", "dec", "and", "or", "xor"})
                      : b.expectOneOf({"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  payload->op = ops[op];
  acceptQualifiers(b, q); // libcu++ writes atom.add.acq_rel.gpu.s32
  bool hasNoftz = b.accept("noftz");
  bool hasPolicy = b.accept("L2::cache_hint") || q.cache.hasPolicy;
  int vector = b.acceptOneOf({"v2", "v4", "v8"});
  Type type = b.type(typesOf(payload->op, isRed));
  if (b.failed())
    return;
  payload->space = q.space;
  payload->order = q.order == Order::Weak ? Order::Relaxed : q.order;
  payload->scope = q.scope == Scope::None ? Scope::Gpu : q.scope;
  payload->cache = q.cache;
  payload->cache.hasPolicy = hasPolicy;
  payload->isRed = isRed;
  payload->type = reduceTypeOf(type);
  payload->elements = uint8_t(vector < 0 ? 1 : 2u << vector);
  payload->elementBytes = uint8_t(ptx::bitWidth(type) / 8);
  checkForm(b, *payload, type, hasNoftz);
  if (q.space == MemorySpace::Const || q.space == MemorySpace::Local || q.space == MemorySpace::Param)
    return b.fail("expected .global, .shared or generic addressing");
  unsigned first = isRed ? 0 : 1, count = first + (payload->op == AtomicOp::Cas ? 3 : 2) + unsigned(hasPolicy);
  b.operands(count);
  if (b.failed())
    return;
  if (!isRed) {
    ptx::Span<ptx::Operand> results =
        b.elements(0, b.operand(0).kind == ptx::OperandKind::Sink ? 1 : payload->elements);
    for (unsigned i = 0; i < payload->elements && !results.empty(); ++i) {
      unsigned index = b.defOrSink(results[results.size() == 1 ? 0 : i], type);
      if (i == 0)
        payload->firstResult = uint8_t(index);
    }
  }
  payload->address = bindSpaceAddress(b, first, q.space);
  for (unsigned operand = first + 1; operand < count - unsigned(hasPolicy); ++operand) {
    ptx::Span<ptx::Operand> elements = b.elements(operand, payload->elements);
    for (unsigned i = 0; i < elements.size(); ++i) {
      unsigned index = b.use(elements[i], type);
      if (i == 0 && operand == first + 1)
        payload->firstOperand = uint8_t(index);
    }
  }
  if (hasPolicy)
    b.use(count - 1, Type::B64);
  b.run(runAtomic);
}

static void bindAtom(Binder &b) { bindAtomicOf(b, false); }
static void bindRed(Binder &b) { bindAtomicOf(b, true); }

static const FamilyRow kRows[] = {{"atom", {}, bindAtom}, {"red", {}, bindRed}};
const Family emu::kAtomicFamily = {"atomic", kRows, sizeof kRows / sizeof *kRows};
