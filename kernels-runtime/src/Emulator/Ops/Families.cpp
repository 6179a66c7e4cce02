// Every instruction family.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list that the binder searches. A family defines its Family in namespace weft::emu in its own file.
#include "Emulator/Exec/Binder.h"

namespace weft::emu {

extern const Family kAtomicFamily;
extern const Family kBarrierFamily;
extern const Family kBulkFamily;
extern const Family kCompareFamily;
extern const Family kControlFamily;
extern const Family kConvertFamily;
extern const Family kCopyAsyncFamily;
extern const Family kFloatFamily;
extern const Family kFloatSelectFamily;
extern const Family kHalfFamily;
extern const Family kIntegerArithmeticFamily;
extern const Family kIntegerBitsFamily;
extern const Family kLoadStoreFamily;
extern const Family kLogicFamily;
extern const Family kMatrixMoveFamily;
extern const Family kMbarrierFamily;
extern const Family kMmaFamily;
extern const Family kMoveFamily;
extern const Family kProxyFamily;
extern const Family kStoreAsyncFamily;
extern const Family kTensorFamily;
extern const Family kTensorMapEditFamily;
extern const Family kWarpSyncFamily;
extern const Family kWgmmaFamily;
extern const Family kWmmaFamily;

static const Family *const kFamilies[] = {
    &kAtomicFamily,
    &kBarrierFamily,
    &kBulkFamily,
    &kCompareFamily,
    &kControlFamily,
    &kConvertFamily,
    &kCopyAsyncFamily,
    &kFloatFamily,
    &kFloatSelectFamily,
    &kHalfFamily,
    &kIntegerArithmeticFamily,
    &kIntegerBitsFamily,
    &kLoadStoreFamily,
    &kLogicFamily,
    &kMatrixMoveFamily,
    &kMbarrierFamily,
    &kMmaFamily,
    &kMoveFamily,
    &kProxyFamily,
    &kStoreAsyncFamily,
    &kTensorFamily,
    &kTensorMapEditFamily,
    &kWarpSyncFamily,
    &kWgmmaFamily,
    &kWmmaFamily,
};

ptx::Span<const Family *> families() {
  return {const_cast<const Family **>(kFamilies), sizeof kFamilies / sizeof *kFamilies};
}

} // namespace weft::emu
