// The operator table: sorted, without overlaps, found by version.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Import/Onnx/Handler.h"
#include <gtest/gtest.h>
#include <tuple>

using namespace weft::onnx;

TEST(OpTable, IsSortedAndWithoutOverlaps) {
  llvm::ArrayRef<OpEntry> table = getOpTable();
  ASSERT_GT(table.size(), 100u);
  for (size_t i = 1; i < table.size(); ++i) {
    const OpEntry &a = table[i - 1], &b = table[i];
    EXPECT_LT(std::tie(a.domain, a.op, a.since), std::tie(b.domain, b.op, b.since)) << b.op.str();
    if (a.domain == b.domain && a.op == b.op)
      EXPECT_LT(a.until, b.since) << b.op.str();
  }
}

TEST(OpTable, RowsAreWellFormed) {
  for (const OpEntry &entry : getOpTable()) {
    EXPECT_LE(1, entry.since) << entry.op.str();
    EXPECT_LE(entry.since, entry.until) << entry.op.str();
    EXPECT_NE(entry.handler, nullptr) << entry.op.str();
    EXPECT_NE(entry.domain, "ai.onnx") << "the default domain is the empty one";
    if (entry.domain.empty())
      EXPECT_LE(entry.until, newestOpset) << entry.op.str() << ": semantics of unknown opsets are not guessed";
  }
}

TEST(OpTable, FindsByVersion) {
  EXPECT_EQ(findOp("", "Trilu", 13), nullptr);
  ASSERT_NE(findOp("", "Trilu", 14), nullptr);
  EXPECT_NE(findOp("", "Trilu", newestOpset), nullptr);
  EXPECT_EQ(findOp("", "Trilu", newestOpset + 1), nullptr);
  EXPECT_EQ(findOp("com.example", "Trilu", 14), nullptr);
  EXPECT_TRUE(findOpVersions("", "NoSuchOp").empty());
}
