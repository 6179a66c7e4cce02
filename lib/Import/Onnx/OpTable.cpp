// The one table of operators: the slices of all categories, sorted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Import/Onnx/Handler.h"
#include <algorithm>
#include <tuple>
#include <vector>

namespace weft::onnx {

#define WEFT_OP_CATEGORY(NAME) llvm::ArrayRef<OpEntry> get##NAME##Ops();
#include "weft/Import/Onnx/OpCategories.def"
#undef WEFT_OP_CATEGORY

static bool isBefore(const OpEntry &a, const OpEntry &b) {
  return std::tie(a.domain, a.op, a.since) < std::tie(b.domain, b.op, b.since);
}

static std::vector<OpEntry> buildTable() {
  std::vector<OpEntry> table;
#define WEFT_OP_CATEGORY(NAME)                                                                                         \
  for (const OpEntry &entry : get##NAME##Ops())                                                                        \
    table.push_back(entry);
#include "weft/Import/Onnx/OpCategories.def"
#undef WEFT_OP_CATEGORY
  std::sort(table.begin(), table.end(), isBefore);
  return table;
}

llvm::ArrayRef<OpEntry> getOpTable() {
  static const std::vector<OpEntry> table = buildTable();
  return table;
}

llvm::ArrayRef<OpEntry> findOpVersions(llvm::StringRef domain, llvm::StringRef op) {
  llvm::ArrayRef<OpEntry> table = getOpTable();
  const OpEntry *first =
      std::lower_bound(table.begin(), table.end(), std::tie(domain, op),
                       [](const OpEntry &entry, const auto &key) { return std::tie(entry.domain, entry.op) < key; });
  const OpEntry *last = first;
  while (last != table.end() && last->domain == domain && last->op == op)
    ++last;
  return {first, last};
}

const OpEntry *findOp(llvm::StringRef domain, llvm::StringRef op, int64_t opset) {
  for (const OpEntry &entry : findOpVersions(domain, op))
    if (entry.since <= opset && opset <= entry.until)
      return &entry;
  return nullptr;
}

} // namespace weft::onnx
