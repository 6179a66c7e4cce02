// mma.sync.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers the fragments of a warp into matrices, multiplies them (Numerics/MatrixMultiply.h) and hands the result back.
// One table has the shapes. Sparse forms and those of sm_100 and above are refused by name.

#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Machine.h"
#include "Emulator/Exec/Warp.h"
#include "Emulator/Numerics/MatrixMultiply.h"
#include "Emulator/Ops/MatrixCommon.h"
#include "Emulator/Ops/MatrixFragment.h"

using namespace weft::emu;

namespace {

enum class MmaClass : uint8_t { F16, BF16, TF32, F64, Int8, Int4, Bit, Fp8 };

/// One shape of one class of elements; N is 8.
struct MmaShape {
  std::string_view name;
  MmaClass kind;
  uint8_t rows;
  uint16_t depth;
  uint8_t smVersion;
  uint8_t major, minor; ///< .version
};

constexpr MmaShape kShapes[] = {
    {"m16n8k8", MmaClass::F16, 16, 8, 75, 6, 5},     {"m16n8k16", MmaClass::F16, 16, 16, 80, 7, 0},
    {"m16n8k8", MmaClass::BF16, 16, 8, 80, 7, 0},    {"m16n8k16", MmaClass::BF16, 16, 16, 80, 7, 0},
    {"m16n8k4", MmaClass::TF32, 16, 4, 80, 7, 0},    {"m16n8k8", MmaClass::TF32, 16, 8, 80, 7, 0},
    {"m8n8k4", MmaClass::F64, 8, 4, 80, 7, 0},       {"m16n8k4", MmaClass::F64, 16, 4, 90, 7, 8},
    {"m16n8k8", MmaClass::F64, 16, 8, 90, 7, 8},     {"m16n8k16", MmaClass::F64, 16, 16, 90, 7, 8},
    {"m8n8k16", MmaClass::Int8, 8, 16, 75, 6, 5},    {"m16n8k16", MmaClass::Int8, 16, 16, 80, 7, 0},
    {"m16n8k32", MmaClass::Int8, 16, 32, 80, 7, 0},  {"m8n8k32", MmaClass::Int4, 8, 32, 75, 6, 5},
    {"m16n8k32", MmaClass::Int4, 16, 32, 80, 7, 0},  {"m16n8k64", MmaClass::Int4, 16, 64, 80, 7, 0},
    {"m8n8k128", MmaClass::Bit, 8, 128, 75, 7, 0},   {"m16n8k128", MmaClass::Bit, 16, 128, 80, 7, 0},
    {"m16n8k256", MmaClass::Bit, 16, 256, 80, 7, 0}, {"m16n8k16", MmaClass::Fp8, 16, 16, 89, 8, 7},
    {"m16n8k32", MmaClass::Fp8, 16, 32, 89, 8, 4},
};

struct MmaPayload {
  const MmaShape *shape = nullptr;
  MatrixElement a = MatrixElement::F16, b = MatrixElement::F16; ///< Int4: S8 and U8.
  bool isHalf = false;                                          ///< The accumulator.
  bool isSaturating = false;
  bool isXor = false; ///< Bit: xor, or and.
  uint8_t countA = 0, countB = 0, countD = 0;
};

constexpr unsigned kColumns = 8;
constexpr unsigned kMaxRows = 16;
constexpr unsigned kMaxWords = 16; ///< Of a row of A.

unsigned bitsOf(MmaClass kind) {
  static const uint8_t bits[] = {16, 16, 32, 64, 8, 4, 1, 8};
  return bits[unsigned(kind)];
}

} // namespace

//===--------------------------------------------------------------------------------------------------------------===//
// Execution
//===--------------------------------------------------------------------------------------------------------------===//

template <typename Word> static void gatherA(Warp &warp, const Slot *slots, const MmaPayload &payload, Word *matrix) {
  unsigned words = unsigned(payload.countA) * 32 / payload.shape->rows;
  for (unsigned reg = 0; reg < payload.countA; ++reg) {
    const Word *lanes = warp.lanes<Word>(slots[reg]);
    for (unsigned lane = 0; lane < 32; ++lane) {
      FragmentPlace place = placeOfA(lane, reg, payload.shape->rows);
      matrix[place.row * words + place.word] = lanes[lane];
    }
  }
}

template <typename Word> static void gatherB(Warp &warp, const Slot *slots, const MmaPayload &payload, Word *matrix) {
  unsigned words = unsigned(payload.countB) * 32 / kColumns;
  for (unsigned reg = 0; reg < payload.countB; ++reg) {
    const Word *lanes = warp.lanes<Word>(slots[reg]);
    for (unsigned lane = 0; lane < 32; ++lane) {
      FragmentPlace place = placeOfB(lane, reg);
      matrix[place.row * words + place.word] = lanes[lane];
    }
  }
}

template <typename Word> static void gatherC(Warp &warp, const Slot *slots, const MmaPayload &payload, Word *matrix) {
  for (unsigned reg = 0; reg < payload.countD; ++reg) {
    const Word *lanes = warp.lanes<Word>(slots[reg]);
    for (unsigned lane = 0; lane < 32; ++lane) {
      FragmentPlace place = placeOfD(lane, reg, payload.isHalf);
      Word *target = matrix + place.row * kColumns + place.word;
      target[0] = lanes[lane];
      if constexpr (sizeof(Word) == 4)
        if (payload.isHalf) {
          target[0] &= 0xffff;
          target[1] = lanes[lane] >> 16;
        }
    }
  }
}

template <typename Word>
static void scatterD(Warp &warp, const Slot *slots, const MmaPayload &payload, const Word *matrix) {
  for (unsigned reg = 0; reg < payload.countD; ++reg) {
    Word *lanes = warp.lanes<Word>(slots[reg]);
    for (unsigned lane = 0; lane < 32; ++lane) {
      FragmentPlace place = placeOfD(lane, reg, payload.isHalf);
      const Word *source = matrix + place.row * kColumns + place.word;
      lanes[lane] = source[0];
      if constexpr (sizeof(Word) == 4)
        if (payload.isHalf)
          lanes[lane] |= source[1] << 16;
    }
  }
}

/// Nibbles to bytes, the lowest first; signed ones extended.
static void unpackNibbles(const uint32_t *words, unsigned count, bool isSigned, uint8_t *bytes) {
  for (unsigned i = 0; i < count * 8; ++i) {
    uint8_t nibble = words[i / 8] >> (4 * (i % 8)) & 15;
    bytes[i] = isSigned && nibble & 8 ? nibble | 0xf0 : nibble;
  }
}

static void multiplyInt4(const MmaPayload &payload, const uint32_t *a, const uint32_t *b, uint32_t *d) {
  const MmaShape &shape = *payload.shape;
  uint8_t left[kMaxRows * kMaxMatrixDepth], right[kColumns * kMaxMatrixDepth];
  unpackNibbles(a, shape.rows * shape.depth / 8u, payload.a == MatrixElement::S8, left);
  unpackNibbles(b, kColumns * shape.depth / 8u, payload.b == MatrixElement::S8, right);
  MatrixOptions options;
  options.isSaturating = payload.isSaturating;
  multiplyMatrices({}, {payload.a, payload.b, shape.rows, kColumns, shape.depth}, options, left, right, d);
}

static void multiply(unsigned smVersion, const MmaPayload &payload, const uint32_t *a, const uint32_t *b, uint32_t *d) {
  const MmaShape &shape = *payload.shape;
  if (shape.kind == MmaClass::Bit)
    return multiplyMatricesB1(shape.rows, kColumns, shape.depth, payload.isXor, a, b, d);
  if (shape.kind == MmaClass::Int4)
    return multiplyInt4(payload, a, b, d);
  MatrixOptions options;
  options.isHalfAccumulator = payload.isHalf;
  options.isSaturating = payload.isSaturating;
  MatrixModel model;
  if (isFloat(payload.a))
    model = matrixModel(smVersion, MatrixUnit::Mma, payload.a, payload.isHalf, shape.depth);
  multiplyMatrices(model, {payload.a, payload.b, shape.rows, kColumns, shape.depth}, options,
                   reinterpret_cast<const uint8_t *>(a), reinterpret_cast<const uint8_t *>(b), d);
}

/// Slots: D, A, B, C.
template <typename Word> static void runFragments(Warp &warp, const Step &step, const MmaPayload &payload) {
  const Slot *slotsA = step.slots + payload.countD, *slotsB = slotsA + payload.countA,
             *slotsC = slotsB + payload.countB;
  Word a[kMaxRows * kMaxWords], b[kColumns * kMaxWords], d[kMaxRows * kColumns];
  gatherA(warp, slotsA, payload, a);
  gatherB(warp, slotsB, payload, b);
  gatherC(warp, slotsC, payload, d);
  if constexpr (sizeof(Word) == 4)
    multiply(warp.machine->card.smVersion, payload, a, b, d);
  else
    multiplyMatricesF64(payload.shape->rows, kColumns, payload.shape->depth, a, b, d);
  scatterD(warp, step.slots, payload, d);
}

static Outcome runMma(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if (!isWholeWarp(warp, step, mask, outcome))
    return outcome;
  const auto &payload = *static_cast<const MmaPayload *>(step.payload);
  if (payload.shape->kind == MmaClass::F64)
    runFragments<double>(warp, step, payload);
  else
    runFragments<uint32_t>(warp, step, payload);
  return Outcome::Next;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Binding
//===--------------------------------------------------------------------------------------------------------------===//

static bool classOf(Type type, MmaClass &kind, MatrixElement &element) {
  switch (type) {
  case Type::F16:
    kind = MmaClass::F16, element = MatrixElement::F16;
    return true;
  case Type::BF16:
    kind = MmaClass::BF16, element = MatrixElement::BF16;
    return true;
  case Type::TF32:
    kind = MmaClass::TF32, element = MatrixElement::TF32;
    return true;
  case Type::F64:
    kind = MmaClass::F64;
    return true;
  case Type::S8:
  case Type::U8:
    kind = MmaClass::Int8, element = type == Type::S8 ? MatrixElement::S8 : MatrixElement::U8;
    return true;
  case Type::S4:
  case Type::U4:
    kind = MmaClass::Int4, element = type == Type::S4 ? MatrixElement::S8 : MatrixElement::U8;
    return true;
  case Type::B1:
    kind = MmaClass::Bit;
    return true;
  case Type::E4M3:
  case Type::E5M2:
    kind = MmaClass::Fp8, element = type == Type::E4M3 ? MatrixElement::E4M3 : MatrixElement::E5M2;
    return true;
  default:
    return false;
  }
}

/// The accumulator's type for a class of elements; f16 where it may be.
static bool acceptsAccumulator(MmaClass kind, Type type) {
  switch (kind) {
  case MmaClass::F16:
  case MmaClass::Fp8:
    return type == Type::F32 || type == Type::F16;
  case MmaClass::BF16:
  case MmaClass::TF32:
    return type == Type::F32;
  case MmaClass::F64:
    return type == Type::F64;
  case MmaClass::Int8:
  case MmaClass::Int4:
  case MmaClass::Bit:
    break;
  }
  return type == Type::S32;
}

static const MmaShape *findShape(Binder &b, std::string_view name, MmaClass kind) {
  std::string known;
  for (const MmaShape &shape : kShapes) {
    if (shape.kind != kind)
      continue;
    if (shape.name == name)
      return &shape;
    known.append(known.empty() ? "." : ", .").append(shape.name);
  }
  b.fail("expected one of the shapes %s for these types, got .%s", known.c_str(), std::string(name).c_str());
  return nullptr;
}

static void bindFragments(Binder &b, MmaPayload *payload) {
  const MmaShape &shape = *payload->shape;
  bool isDouble = shape.kind == MmaClass::F64;
  unsigned wordBits = isDouble ? 64 : 32, bits = bitsOf(shape.kind);
  payload->countA = uint8_t(shape.rows * shape.depth * bits / wordBits / 32);
  payload->countB = uint8_t(kColumns * shape.depth * bits / wordBits / 32);
  payload->countD = uint8_t(shape.rows * kColumns / 32 / (payload->isHalf ? 2 : 1));
  Type word = isDouble ? Type::F64 : Type::B32;
  b.operands(4);
  for (const auto &element : b.elements(0, payload->countD))
    b.def(element, word);
  for (const auto &element : b.elements(1, payload->countA))
    b.use(element, word);
  for (const auto &element : b.elements(2, payload->countB))
    b.use(element, word);
  for (const auto &element : b.elements(3, payload->countD))
    b.use(element, word);
}

static void bindMma(Binder &b) {
  b.expect("sync");
  b.expect("aligned");
  std::string_view shapeName = b.peek();
  b.setPosition(b.position() + (b.atEnd() ? 0 : 1));
  b.expect("row");
  b.expect("col");
  auto *payload = b.payload<MmaPayload>();
  payload->isSaturating = b.accept("satfinite");
  if (b.peek().substr(0, 6) == "kind::")
    return b.requireSm(120, true);
  constexpr TypeSet accumulators = {Type::F16, Type::F32, Type::F64, Type::S32};
  constexpr TypeSet elements = {Type::F16, Type::BF16, Type::TF32, Type::F64,  Type::S8,  Type::U8,
                                Type::S4,  Type::U4,   Type::B1,   Type::E4M3, Type::E5M2};
  Type d = b.type(accumulators), typeA = b.type(elements), typeB = b.type(elements), c = b.type(accumulators);
  if (b.failed())
    return;
  MmaClass kindA = MmaClass::F16, kindB = MmaClass::F16;
  classOf(typeA, kindA, payload->a);
  classOf(typeB, kindB, payload->b);
  bool canMix = kindA == MmaClass::Fp8 || kindA == MmaClass::Int8 || kindA == MmaClass::Int4;
  if (kindA != kindB || (typeA != typeB && !canMix))
    return b.fail("the types of A and B do not go together");
  if (d != c || !acceptsAccumulator(kindA, d))
    return b.fail("the types of C and D do not go with those of A and B");
  bool isInteger = kindA == MmaClass::Int8 || kindA == MmaClass::Int4;
  if (payload->isSaturating && !isInteger)
    return b.fail("there is no .satfinite on these types");
  payload->isHalf = d == Type::F16;
  if (kindA == MmaClass::Bit) {
    payload->isXor = b.expectOneOf({"and", "xor"}) == 1;
    b.expect("popc");
  }
  payload->shape = findShape(b, shapeName, kindA);
  if (!payload->shape)
    return;
  b.requireSm(payload->shape->smVersion);
  b.requireVersion(payload->shape->major, payload->shape->minor);
  if (kindA == MmaClass::Fp8 && payload->isHalf)
    b.requireVersion(8, 7);
  bindFragments(b, payload);
  b.run(runMma);
}

static void bindSparse(Binder &b) { b.fail("the emulator does not have sparse matrices"); }

//===--------------------------------------------------------------------------------------------------------------===//
// Table
//===--------------------------------------------------------------------------------------------------------------===//

static const FamilyRow kRows[] = {
    {"mma", {}, bindMma}, {"mma.sp", {}, bindSparse}, {"mma.sp::ordered_metadata", {}, bindSparse}};

namespace weft::emu {
extern const Family kMmaFamily;
const Family kMmaFamily = {"mma", kRows, sizeof kRows / sizeof *kRows};
} // namespace weft::emu
