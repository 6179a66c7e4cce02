// Every form that binds has been executed by a test.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After all tests of the binary (not of a selection): each row of each family's table, with each of its types, must be
// the one that bound an instruction of a kernel that ran without an error.
#include "KernelHarness.h"

#include "Emulator/Exec/Binder.h"

#include <gtest/gtest.h>

#include <map>

namespace weft::emu::test {

/// Rows whose bind functions only say why the instruction is refused, or whose instruction ends the launch.
static bool isRefusal(const FamilyRow &row) {
  if (row.types.has(ptx::Type::F32x2)) // sm_100.
    return true;
  for (std::string_view refused :
       {"alloca", "stacksave", "stackrestore", "brkpt", "mma.sp", "mma.sp::ordered_metadata"})
    if (row.mnemonic == refused)
      return true;
  return false;
}

static ptx::Type lastType(std::string_view form) {
  for (size_t dot = form.rfind('.'); dot != std::string_view::npos && dot > 0; dot = form.rfind('.', dot - 1)) {
    std::string_view word = form.substr(dot + 1);
    if (ptx::Type type = ptx::parseType(word.substr(0, word.find('.'))); type != ptx::Type::None)
      return type;
  }
  return ptx::Type::None;
}

static const FamilyRow *rowOf(std::string_view form, ptx::Type type) {
  const FamilyRow *best = nullptr;
  for (const Family *family : families()) {
    for (size_t i = 0; i < family->rowCount; ++i) {
      const FamilyRow &row = family->rows[i];
      size_t length = row.mnemonic.size();
      bool isPrefix = form.substr(0, length) == row.mnemonic && (form.size() == length || form[length] == '.');
      if (isPrefix && (row.types.isEmpty() || row.types.has(type)) && (!best || length > best->mnemonic.size()))
        best = &row;
    }
  }
  return best;
}

namespace {
class Coverage : public testing::Environment {
public:
  void TearDown() override;
};
} // namespace

void Coverage::TearDown() {
  const testing::UnitTest &all = *testing::UnitTest::GetInstance();
  if (all.test_to_run_count() != all.total_test_count() || getenv("GTEST_TOTAL_SHARDS"))
    return;
  std::map<const FamilyRow *, std::set<ptx::Type>> executed;
  for (const std::string &form : executedForms()) {
    ptx::Type type = lastType(form);
    if (const FamilyRow *row = rowOf(form, type))
      executed[row].insert(type);
  }
  for (const Family *family : families()) {
    for (size_t i = 0; i < family->rowCount; ++i) {
      const FamilyRow &row = family->rows[i];
      if (isRefusal(row))
        continue;
      EXPECT_TRUE(executed.count(&row)) << "no test executes " << row.mnemonic << " of family " << family->name;
      for (unsigned t = 1; executed.count(&row) && !row.types.isEmpty() && t <= unsigned(ptx::Type::E5M2x4); ++t)
        if (row.types.has(ptx::Type(t)))
          EXPECT_TRUE(executed[&row].count(ptx::Type(t)))
              << "no test executes " << row.mnemonic << " with type ." << ptx::name(ptx::Type(t));
    }
  }
}

static testing::Environment *const kCoverage = testing::AddGlobalTestEnvironment(new Coverage);

} // namespace weft::emu::test
