// cvt and cvt.pack.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions of single numbers, of pairs into packed types and of packed fp8. The forms of sm_100 and above (fp6, fp4,
// ue8m0, .rs) are refused by name.

#include "Emulator/Numerics/Convert.h"

#include "Emulator/Ops/FloatCommon.h"

using namespace weft::emu;

namespace {

struct ConvertPayload {
  Conversion conversion;
  ConvertLanes lanes = nullptr; ///< When registers are as wide as the types and there is a loop.
  uint8_t sourceBytes = 4;      ///< Of the registers.
  uint8_t targetBytes = 4;
  uint8_t sourceBits = 32; ///< Of an element.
  uint8_t targetBits = 32;
};

/// Modifiers between the mnemonic and the types.
struct ConvertModifiers {
  int rounding = -1; ///< Index into kRoundings.
  bool isRelu = false, satFinite = false, flushes = false, saturates = false;
  bool isIntegral() const { return rounding >= 5; }
};

constexpr Rounding kRoundings[] = {Rounding::NearestEven, Rounding::Zero,        Rounding::Down,
                                   Rounding::Up,          Rounding::NearestAway, Rounding::NearestEven,
                                   Rounding::Zero,        Rounding::Down,        Rounding::Up};

constexpr TypeSet kSm100Types = {Type::E2M1x2, Type::E2M3x2, Type::E3M2x2, Type::UE8M0x2, Type::E4M3x4, Type::E5M2x4};
constexpr TypeSet kFp8x2 = {Type::E4M3x2, Type::E5M2x2};

} // namespace

static std::string word(Type type) { return std::string(weft::emu::ptx::name(type)); }

static NumberKind kindOf(Type type) {
  switch (type) {
  case Type::U8:
    return NumberKind::U8;
  case Type::U16:
    return NumberKind::U16;
  case Type::U32:
    return NumberKind::U32;
  case Type::U64:
    return NumberKind::U64;
  case Type::S8:
    return NumberKind::S8;
  case Type::S16:
    return NumberKind::S16;
  case Type::S32:
    return NumberKind::S32;
  case Type::S64:
    return NumberKind::S64;
  case Type::F16:
  case Type::F16x2:
    return NumberKind::F16;
  case Type::BF16:
  case Type::BF16x2:
    return NumberKind::BF16;
  case Type::TF32:
    return NumberKind::TF32;
  case Type::F64:
    return NumberKind::F64;
  case Type::E4M3x2:
    return NumberKind::E4M3;
  case Type::E5M2x2:
    return NumberKind::E5M2;
  default:
    return NumberKind::F32;
  }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Execution
//===--------------------------------------------------------------------------------------------------------------===//

static uint64_t loadLane(const std::byte *lanes, unsigned lane, unsigned bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, lanes + lane * bytes, bytes);
  return bits;
}

static Outcome runLanes(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ConvertPayload *>(step.payload);
  writeLanes(warp, step.slots[0], mask, payload.targetBytes,
             [&](void *result) { payload.lanes(result, operandLanes(warp, step, 1)); });
  return Outcome::Next;
}

static Outcome runSingle(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ConvertPayload *>(step.payload);
  const std::byte *source = warp.lanes<std::byte>(step.slots[1]);
  alignas(8) std::byte buffer[kWarpLanes * 8]; // registers of different widths may overlap
  forLanes(mask, [&](unsigned lane) {
    uint64_t bits = convert(payload.conversion, loadLane(source, lane, payload.sourceBytes));
    std::memcpy(buffer + lane * payload.targetBytes, &bits, payload.targetBytes);
  });
  copyLanes(warp.lanes<std::byte>(step.slots[0]), buffer, mask, payload.targetBytes);
  return Outcome::Next;
}

/// d = {a, b}: the first source goes to the upper half.
static Outcome runPair(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ConvertPayload *>(step.payload);
  const std::byte *upper = warp.lanes<std::byte>(step.slots[1]), *lower = warp.lanes<std::byte>(step.slots[2]);
  alignas(8) std::byte buffer[kWarpLanes * 8];
  forLanes(mask, [&](unsigned lane) {
    uint64_t bits = convert(payload.conversion, loadLane(upper, lane, 4)) << payload.targetBits |
                    convert(payload.conversion, loadLane(lower, lane, 4));
    std::memcpy(buffer + lane * payload.targetBytes, &bits, payload.targetBytes);
  });
  copyLanes(warp.lanes<std::byte>(step.slots[0]), buffer, mask, payload.targetBytes);
  return Outcome::Next;
}

/// Both elements of a packed source.
static Outcome runPacked(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ConvertPayload *>(step.payload);
  const std::byte *source = warp.lanes<std::byte>(step.slots[1]);
  alignas(8) std::byte buffer[kWarpLanes * 8];
  forLanes(mask, [&](unsigned lane) {
    uint64_t bits = loadLane(source, lane, payload.sourceBytes);
    bits = convert(payload.conversion, bits >> payload.sourceBits) << payload.targetBits |
           convert(payload.conversion, bits & ((1u << payload.sourceBits) - 1));
    std::memcpy(buffer + lane * payload.targetBytes, &bits, payload.targetBytes);
  });
  copyLanes(warp.lanes<std::byte>(step.slots[0]), buffer, mask, payload.targetBytes);
  return Outcome::Next;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Binding
//===--------------------------------------------------------------------------------------------------------------===//

static ConvertModifiers bindModifiers(Binder &b) {
  ConvertModifiers modifiers;
  if (b.accept("rs"))
    b.requireSm(100);
  modifiers.rounding = b.acceptOneOf({"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"});
  for (bool isMore = true; isMore;) {
    isMore = false;
    for (auto [name, flag] : {std::pair("relu", &modifiers.isRelu), std::pair("satfinite", &modifiers.satFinite),
                              std::pair("ftz", &modifiers.flushes), std::pair("sat", &modifiers.saturates)})
      if (!*flag && b.accept(name))
        *flag = isMore = true;
  }
  return modifiers;
}

static ConvertPayload *makePayload(Binder &b, const ConvertModifiers &modifiers, Type target, Type source) {
  auto *payload = b.payload<ConvertPayload>();
  Conversion &conversion = payload->conversion;
  conversion.target = kindOf(target);
  conversion.source = kindOf(source);
  if (modifiers.rounding >= 0)
    conversion.rounding = kRoundings[modifiers.rounding];
  conversion.toIntegral = modifiers.isIntegral();
  conversion.flushes = modifiers.flushes;
  conversion.saturates = modifiers.saturates;
  conversion.satFinite = modifiers.satFinite;
  conversion.isRelu = modifiers.isRelu;
  payload->targetBits = uint8_t(bitWidth(conversion.target));
  payload->sourceBits = uint8_t(bitWidth(conversion.source));
  payload->sourceBytes = uint8_t(weft::emu::ptx::bitWidth(source) / 8);
  payload->targetBytes = uint8_t(weft::emu::ptx::bitWidth(target) / 8);
  return payload;
}

/// Rounding of the narrow formats: .rn or .rz, and for tf32 .rna.
static void checkNarrow(Binder &b, const ConvertModifiers &modifiers, bool isTf32) {
  bool isNearestOrZero = modifiers.rounding == 0 || modifiers.rounding == 1;
  if (!isNearestOrZero && !(isTf32 && modifiers.rounding == 4))
    b.fail("expected %s after cvt", isTf32 ? ".rna, .rn or .rz" : ".rn or .rz");
  if (modifiers.flushes || modifiers.saturates)
    b.fail("there is no .ftz or .sat in this form");
}

/// d = {a, b} from two f32.
static void bindPair(Binder &b, const ConvertModifiers &modifiers, Type target) {
  b.type({Type::F32});
  checkNarrow(b, modifiers, false);
  if (kFp8x2.has(target)) {
    b.requireSm(89);
    b.requireVersion(7, 8);
    if (modifiers.rounding != 0 || !modifiers.satFinite)
      b.fail("expected .rn.satfinite for .%s", word(target).c_str());
  }
  makePayload(b, modifiers, target, Type::F32);
  b.operands(3);
  b.def(0, target);
  b.use(1, Type::F32);
  b.use(2, Type::F32);
  b.run(runPair);
}

static void bindPacked(Binder &b, const ConvertModifiers &modifiers, Type target, Type source) {
  b.requireSm(89);
  b.requireVersion(7, 8);
  bool toFp8 = kFp8x2.has(target);
  if (modifiers.rounding != 0 || modifiers.satFinite != toFp8 || modifiers.flushes || modifiers.saturates)
    b.fail("expected .rn%s and optionally .relu", toFp8 ? ".satfinite" : "");
  makePayload(b, modifiers, target, source);
  b.operands(2);
  b.def(0, target);
  b.use(1, source);
  b.run(runPacked);
}

/// Which kind of rounding a conversion of single numbers takes.
static void checkRounding(Binder &b, const ConvertModifiers &modifiers, Type target, Type source) {
  bool fromFloat = weft::emu::ptx::isFloat(source), toFloat = weft::emu::ptx::isFloat(target);
  bool isPrecise = modifiers.rounding >= 0 && modifiers.rounding < 4;
  if (modifiers.rounding == 4)
    b.fail("there is no .rna to .%s", word(target).c_str());
  if (fromFloat && !toFloat && !modifiers.isIntegral())
    b.fail("expected .rni, .rzi, .rmi or .rpi for a conversion to an integer");
  if (!fromFloat && toFloat && !isPrecise)
    b.fail("expected .rn, .rz, .rm or .rp for a conversion from an integer");
  if (!fromFloat && !toFloat && modifiers.rounding >= 0)
    b.fail("there is no rounding between integers");
  if (!fromFloat || !toFloat)
    return;
  unsigned from = weft::emu::ptx::bitWidth(source), to = weft::emu::ptx::bitWidth(target);
  // f16 and bf16 hold numbers that the other has not.
  bool isNarrowing = to < from || (to == from && target != source);
  if (isNarrowing && !isPrecise)
    b.fail("expected .rn, .rz, .rm or .rp for a conversion to a narrower type");
  if (!isNarrowing && isPrecise)
    b.fail("there is no .rn, .rz, .rm or .rp for a conversion that is exact");
  if (modifiers.isIntegral() && target != source)
    b.fail("there is no rounding to integers between different types");
}

/// True for integers where the target has every number of the source.
static bool holdsAll(Type target, Type source) {
  if (weft::emu::ptx::isFloat(target) || weft::emu::ptx::isFloat(source))
    return false;
  unsigned to = weft::emu::ptx::bitWidth(target), from = weft::emu::ptx::bitWidth(source);
  if (weft::emu::ptx::isSigned(target) == weft::emu::ptx::isSigned(source))
    return to >= from;
  return weft::emu::ptx::isSigned(target) && to > from;
}

static void checkSingle(Binder &b, const ConvertModifiers &modifiers, Type target, Type source) {
  checkRounding(b, modifiers, target, source);
  bool hasF32 = target == Type::F32 || source == Type::F32;
  if (modifiers.flushes && !hasF32)
    b.fail("there is no .ftz without .f32");
  bool isHalfOfF32 = (target == Type::F16 || target == Type::BF16) && source == Type::F32;
  if ((modifiers.isRelu || modifiers.satFinite) && !isHalfOfF32)
    b.fail("there is no .relu or .satfinite from .%s to .%s", word(source).c_str(), word(target).c_str());
  if (modifiers.isRelu || modifiers.satFinite)
    checkNarrow(b, modifiers, false);
  bool hasByte = weft::emu::ptx::bitWidth(target) == 8 || weft::emu::ptx::bitWidth(source) == 8;
  if ((target == Type::BF16 || source == Type::BF16) && hasByte)
    b.fail("there is no conversion between .bf16 and 8-bit integers");
  if ((target == Type::BF16 || source == Type::BF16) && !hasF32) {
    b.requireSm(90);
    b.requireVersion(7, 8);
  }
  if (modifiers.saturates && holdsAll(target, source))
    b.fail("there is no .sat to a type that holds every number of .%s", word(source).c_str());
}

static void bindSingle(Binder &b, const ConvertModifiers &modifiers, Type target, Type source) {
  checkSingle(b, modifiers, target, source);
  ConvertPayload *payload = makePayload(b, modifiers, target, source);
  b.operands(2);
  unsigned targetBytes, sourceBytes;
  b.defWide(b.operand(0), target, targetBytes);
  b.useWide(b.operand(1), source, sourceBytes);
  bool isExact = targetBytes == payload->targetBytes && sourceBytes == payload->sourceBytes;
  payload->targetBytes = uint8_t(targetBytes);
  payload->sourceBytes = uint8_t(sourceBytes);
  payload->lanes = isExact ? convertLanes(payload->conversion) : nullptr;
  b.run(payload->lanes ? runLanes : runSingle);
}

static void bindTf32(Binder &b, const ConvertModifiers &modifiers) {
  b.type({Type::F32});
  checkNarrow(b, modifiers, true);
  if (modifiers.rounding != 4) {
    b.requireSm(90);
    b.requireVersion(7, 8);
  }
  makePayload(b, modifiers, Type::TF32, Type::F32);
  b.operands(2);
  b.def(0, Type::B32);
  b.use(1, Type::F32);
  b.run(runSingle);
}

static void bindCvt(Binder &b) {
  constexpr TypeSet single = {Type::U8,  Type::U16, Type::U32, Type::U64,  Type::S8,  Type::S16,
                              Type::S32, Type::S64, Type::F16, Type::BF16, Type::F32, Type::F64};
  ConvertModifiers modifiers = bindModifiers(b);
  if (b.failed())
    return;
  if (b.acceptType(kSm100Types) != Type::None)
    return b.requireSm(100);
  Type target = b.type(single | kFp8x2 | TypeSet{Type::TF32, Type::F16x2, Type::BF16x2});
  if (b.acceptType(kSm100Types) != Type::None)
    return b.requireSm(100);
  if (target == Type::TF32)
    return bindTf32(b, modifiers);
  if (single.has(target))
    return bindSingle(b, modifiers, target, b.type(single));
  TypeSet packed = target == Type::F16x2 ? kFp8x2 : kFp8x2.has(target) ? TypeSet{Type::F16x2} : TypeSet{};
  if (Type source = b.acceptType(packed); source != Type::None)
    return bindPacked(b, modifiers, target, source);
  bindPair(b, modifiers, target);
}

//===--------------------------------------------------------------------------------------------------------------===//
// cvt.pack
//===--------------------------------------------------------------------------------------------------------------===//

static int64_t clampTo(Type type, int32_t value) {
  unsigned bits = weft::emu::ptx::bitWidth(type);
  bool isSigned = weft::emu::ptx::isSigned(type);
  int64_t most = (int64_t(1) << (isSigned ? bits - 1 : bits)) - 1, least = isSigned ? -most - 1 : 0;
  return value < least ? least : value > most ? most : value;
}

static Outcome runPack(Warp &warp, const Step &step, LaneMask mask) {
  Type type = Type(step.immediate);
  unsigned bits = weft::emu::ptx::bitWidth(type);
  using Lane = uint32_t __attribute__((may_alias));
  const Lane *a = warp.lanes<Lane>(step.slots[1]), *b = warp.lanes<Lane>(step.slots[2]);
  const Lane *c = step.slotCount > 3 ? warp.lanes<Lane>(step.slots[3]) : nullptr;
  Lane *target = warp.lanes<Lane>(step.slots[0]);
  uint32_t low = (1u << bits) - 1;
  forLanes(mask, [&](unsigned lane) {
    uint32_t packed =
        (uint32_t(clampTo(type, int32_t(a[lane]))) & low) << bits | (uint32_t(clampTo(type, int32_t(b[lane]))) & low);
    target[lane] = c ? c[lane] << (2 * bits) | packed : packed;
  });
  return Outcome::Next;
}

static void bindCvtPack(Binder &b) {
  b.expect("sat");
  Type type = b.type({Type::U16, Type::S16, Type::U8, Type::S8, Type::U4, Type::S4});
  b.type({Type::S32});
  bool hasThird = weft::emu::ptx::bitWidth(type) < 16;
  if (hasThird)
    b.type({Type::B32});
  b.operands(hasThird ? 4 : 3);
  b.def(0, Type::B32);
  for (unsigned i = 1; i < (hasThird ? 4 : 3); ++i)
    b.use(i, Type::B32);
  b.immediate(uint64_t(type));
  b.run(runPack);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Table
//===--------------------------------------------------------------------------------------------------------------===//

static const FamilyRow kRows[] = {{"cvt", {}, bindCvt}, {"cvt.pack", {}, bindCvtPack}};

namespace weft::emu {
extern const Family kConvertFamily;
const Family kConvertFamily = {"conversion", kRows, sizeof kRows / sizeof *kRows};
} // namespace weft::emu
