// The types of PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every word that stands for a type in a PTX modifier or declaration: the fundamental types, and the packed and narrow
// types that only instructions name (f16x2, tf32, e4m3x2, ...).
#ifndef WEFT_EMULATOR_PTX_TYPE_H
#define WEFT_EMULATOR_PTX_TYPE_H

#include <cstdint>
#include <string_view>

namespace weft::emu::ptx {

/// X(enumerator, word, bits, class)
#define WEFT_PTX_TYPES(X)                                                                                              \
  X(Pred, "pred", 1, Predicate)                                                                                        \
  X(B1, "b1", 1, Bits)                                                                                                 \
  X(B4, "b4", 4, Bits)                                                                                                 \
  X(B8, "b8", 8, Bits)                                                                                                 \
  X(B16, "b16", 16, Bits)                                                                                              \
  X(B32, "b32", 32, Bits)                                                                                              \
  X(B64, "b64", 64, Bits)                                                                                              \
  X(B128, "b128", 128, Bits)                                                                                           \
  X(U4, "u4", 4, Unsigned)                                                                                             \
  X(U8, "u8", 8, Unsigned)                                                                                             \
  X(U16, "u16", 16, Unsigned)                                                                                          \
  X(U32, "u32", 32, Unsigned)                                                                                          \
  X(U64, "u64", 64, Unsigned)                                                                                          \
  X(S4, "s4", 4, Signed)                                                                                               \
  X(S8, "s8", 8, Signed)                                                                                               \
  X(S16, "s16", 16, Signed)                                                                                            \
  X(S32, "s32", 32, Signed)                                                                                            \
  X(S64, "s64", 64, Signed)                                                                                            \
  X(U16x2, "u16x2", 32, PackedInteger)                                                                                 \
  X(S16x2, "s16x2", 32, PackedInteger)                                                                                 \
  X(U8x4, "u8x4", 32, PackedInteger)                                                                                   \
  X(S8x4, "s8x4", 32, PackedInteger)                                                                                   \
  X(F16, "f16", 16, Float)                                                                                             \
  X(BF16, "bf16", 16, Float)                                                                                           \
  X(TF32, "tf32", 32, Float)                                                                                           \
  X(F32, "f32", 32, Float)                                                                                             \
  X(F64, "f64", 64, Float)                                                                                             \
  X(F16x2, "f16x2", 32, PackedFloat)                                                                                   \
  X(BF16x2, "bf16x2", 32, PackedFloat)                                                                                 \
  X(F32x2, "f32x2", 64, PackedFloat)                                                                                   \
  X(E4M3, "e4m3", 8, Float)                                                                                            \
  X(E5M2, "e5m2", 8, Float)                                                                                            \
  X(E3M2, "e3m2", 6, Float)                                                                                            \
  X(E2M3, "e2m3", 6, Float)                                                                                            \
  X(E2M1, "e2m1", 4, Float)                                                                                            \
  X(UE8M0, "ue8m0", 8, Float)                                                                                          \
  X(UE4M3, "ue4m3", 8, Float)                                                                                          \
  X(E4M3x2, "e4m3x2", 16, PackedFloat)                                                                                 \
  X(E5M2x2, "e5m2x2", 16, PackedFloat)                                                                                 \
  X(E3M2x2, "e3m2x2", 16, PackedFloat)                                                                                 \
  X(E2M3x2, "e2m3x2", 16, PackedFloat)                                                                                 \
  X(E2M1x2, "e2m1x2", 8, PackedFloat)                                                                                  \
  X(UE8M0x2, "ue8m0x2", 16, PackedFloat)                                                                               \
  X(E4M3x4, "e4m3x4", 32, PackedFloat)                                                                                 \
  X(E5M2x4, "e5m2x4", 32, PackedFloat)

enum class Type : uint8_t {
  None, ///< No type is written, or the word is not a type.
#define X(name, word, bits, kind) name,
  WEFT_PTX_TYPES(X)
#undef X
};

enum class TypeClass : uint8_t { None, Predicate, Bits, Unsigned, Signed, Float, PackedInteger, PackedFloat };

/// The type that `word` (without the dot) names; None when it names none.
Type parseType(std::string_view word);
/// The word without the dot; "" for None.
std::string_view name(Type type);
/// 1 for predicates, 0 for None.
unsigned bitWidth(Type type);
TypeClass typeClass(Type type);

inline bool isSigned(Type type) { return typeClass(type) == TypeClass::Signed; }
inline bool isFloat(Type type) {
  return typeClass(type) == TypeClass::Float || typeClass(type) == TypeClass::PackedFloat;
}
/// Signed, unsigned or untyped bits, not packed: what integer instructions compute on.
inline bool isInteger(Type type) {
  TypeClass kind = typeClass(type);
  return kind == TypeClass::Bits || kind == TypeClass::Unsigned || kind == TypeClass::Signed;
}

} // namespace weft::emu::ptx

#endif // WEFT_EMULATOR_PTX_TYPE_H
