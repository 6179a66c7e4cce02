// Findings as text and as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Sanitizer/FindingReport.h"

#include <gtest/gtest.h>

using namespace weft::emu;

namespace {

TEST(FindingReport, TextAndJson) {
  Finding finding;
  finding.kind = "shared-race";
  finding.kernel = "k\"";
  finding.line = 12;
  finding.thread = {3, 0, 0};
  finding.address = 0x40;
  finding.message = "two\nlines";
  finding.count = 5;
  EXPECT_EQ(formatFindings({finding}), "shared-race: two\nlines (5 times)\n");
  std::string json = formatFindingsJson({finding});
  EXPECT_NE(json.find("\"kernel\": \"k\\\"\", \"line\": 12"), std::string::npos) << json;
  EXPECT_NE(json.find("\"thread\": [3, 0, 0], \"address\": \"0x40\", \"count\": 5"), std::string::npos) << json;
  EXPECT_NE(json.find("two\\u000alines"), std::string::npos) << json;
  EXPECT_EQ(formatFindingsJson({}), "[\n]\n");
}

} // namespace
