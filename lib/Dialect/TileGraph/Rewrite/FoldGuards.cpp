// Names of the guards of derived folds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FoldGuards.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace weft::tg {

static constexpr llvm::StringLiteral guardNames[] = {
#define WEFT_FOLD_GUARD(id, name) llvm::StringLiteral(name),
    WEFT_FOLD_GUARDS(WEFT_FOLD_GUARD)
#undef WEFT_FOLD_GUARD
};

std::optional<FoldGuards> FoldGuards::without(llvm::ArrayRef<std::string> names, std::string &error) {
  FoldGuards guards;
  for (const std::string &name : names) {
    const auto *found = llvm::find(guardNames, llvm::StringRef(name));
    if (found == std::end(guardNames)) {
      error = "expected a guard of " +
              llvm::join(llvm::make_range(std::begin(guardNames), std::end(guardNames)), ", ") + ", got '" + name + "'";
      return std::nullopt;
    }
    guards.disabled.set(found - std::begin(guardNames));
  }
  return guards;
}

} // namespace weft::tg
