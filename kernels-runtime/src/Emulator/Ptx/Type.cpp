// The types of PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table behind Type.h.
#include "Emulator/Ptx/Type.h"

#include <cstddef>

namespace weft::emu::ptx {

namespace {

struct TypeInfo {
  std::string_view word;
  uint8_t bits;
  TypeClass kind;
};

constexpr TypeInfo kTypes[] = {{"", 0, TypeClass::None},
#define X(name, word, bits, kind) {word, bits, TypeClass::kind},
                               WEFT_PTX_TYPES(X)
#undef X
};

} // namespace

Type parseType(std::string_view word) {
  for (size_t i = 1; i < sizeof(kTypes) / sizeof(kTypes[0]); ++i)
    if (kTypes[i].word == word)
      return Type(i);
  return Type::None;
}

std::string_view name(Type type) { return kTypes[size_t(type)].word; }
unsigned bitWidth(Type type) { return kTypes[size_t(type)].bits; }
TypeClass typeClass(Type type) { return kTypes[size_t(type)].kind; }

} // namespace weft::emu::ptx
