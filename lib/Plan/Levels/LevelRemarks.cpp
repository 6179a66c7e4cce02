// Remarks of the levels of a kernel's values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/LevelRemarks.h"
#include "mlir/IR/Remarks.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/FoldEdges.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace weft::plan {

void emitLevelRemarks(StringRef name, const KernelLevels &levels) {
  for (const ValueLevel &each : levels.values) {
    Operation *maker = each.value.getDefiningOp();
    if (!each.isEdge || !maker)
      continue;
    llvm::SmallSetVector<StringRef, 4> readers;
    if (getFoldOf(maker)) {
      for (Operation *user : readersInFold(each.value))
        readers.insert(user->getName().getStringRef());
    } else {
      for (Operation *user : each.value.getUsers()) {
        auto fold = getFoldOf(user); // Seen from outside a fold is one op.
        readers.insert((fold ? fold.getOperation() : user)->getName().getStringRef());
      }
    }
    remark::analysis(maker->getLoc(), remark::RemarkOpts::name("value").category("levels").function(name))
        << remark::metric("op", maker->getName().getStringRef()) << remark::metric("readers", llvm::join(readers, ","))
        << remark::metric("level", getLevelName(each.level))
        << remark::metric("bytes", int64_t(std::min(each.bytes, 0x1p62)))
        << remark::metric("tensor-bytes", int64_t(std::min(estimateBytes(each.value), 0x1p61)))
        << remark::metric("reason", each.reason);
  }
}

} // namespace weft::plan
