//===- Families.cpp - Every instruction family --------------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// The list that the binder searches. A family defines its Family in namespace weft::emu in its own file.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Emulator/Exec/Binder.h"

namespace weft::emu {

extern const Family kCompareFamily;
extern const Family kControlFamily;
extern const Family kConvertFamily;
extern const Family kFloatFamily;
extern const Family kFloatSelectFamily;
extern const Family kHalfFamily;
extern const Family kIntegerArithmeticFamily;
extern const Family kIntegerBitsFamily;
extern const Family kLogicFamily;
extern const Family kMatrixMoveFamily;
extern const Family kMmaFamily;

static const Family *const kFamilies[] = {
    &kCompareFamily,
    &kControlFamily,
    &kConvertFamily,
    &kFloatFamily,
    &kFloatSelectFamily,
    &kHalfFamily,
    &kIntegerArithmeticFamily,
    &kIntegerBitsFamily,
    &kLogicFamily,
    &kMatrixMoveFamily,
    &kMmaFamily,
};

ptx::Span<const Family *> families() {
  return {const_cast<const Family **>(kFamilies), sizeof kFamilies / sizeof *kFamilies};
}

} // namespace weft::emu
