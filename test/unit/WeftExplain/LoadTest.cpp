// Explanations that no compiler of ours wrote: each is refused with a message, or read as far as it goes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explain.h"
#include "weft/Bundle/Builder.h"
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::explain;

/// What loading a bundle with this explanation says; empty if it is read.
static std::string load(const std::string &explanation, Model &model) {
  std::string path = testing::TempDir() + "weft-explain-test.weft";
  bundle::Builder builder("weft test");
  builder.setExplain(explanation);
  uint64_t bytes = 0;
  if (bundle::Error error = builder.writeFile(path, &bytes))
    return "not written: " + error.getMessage();
  bundle::Error error = loadBundle(path, {}, {}, model);
  std::string message = error.getMessage();
  return message.substr(message.find(".weft\": ") == message.npos ? 0 : message.find(".weft\": ") + 8);
}

static std::string loadProgram(const std::string &members, Model &model) {
  return load(R"({"schema": "weft.explain/3", "programs": [{"target": "cpu")" + members + "}]}", model);
}

TEST(Load, RefusesWhatIsNoExplanation) {
  Model model;
  EXPECT_EQ(load("", model), "the bundle has no explanation: it was compiled with --explain=off");
  EXPECT_EQ(load(std::string(1000000, '['), model), "its explanation: expected JSON that nests at most 64 deep");
  EXPECT_EQ(load("{", model).substr(0, 17), "its explanation: ");
  EXPECT_EQ(load("[]", model), "expected an explanation of schema weft.explain/3, got ''; compile the model again");
  EXPECT_EQ(load(R"({"schema": "weft.explain/3", "programs": [7]})", model),
            "its explanation has a program that is no object");
}

TEST(Load, RefusesEdgesThatReferToNothing) {
  const char *const bad = "the explanation has an edge that fits neither names nor dispatches";
  Model model;
  for (const char *row :
       {"[0, 1, 0, 0, 0, 0, -1, 1, 1]", "[0, 0, 0, 0, 0, 1, -1, 1, 1]", "[0, 0, 0, -1, 0, 0, -1, 1, 1]",
        "[0, 0, 0, 0, 0, 0, 1, 1, 1]", "[0, 0, 0, 0, 0, 0, -1, 1]", "[0, 0, 0, 0, 0, 0, -1, 1, \"x\"]"})
    EXPECT_EQ(loadProgram(R"(, "dispatches": [{"kernel": "k"}], "plan": {"names": ["a"], "edges": [)" +
                              std::string(row) + "]}",
                          model),
              bad)
        << row;
}

TEST(Load, ReadsWhatIsThere) {
  Model model;
  EXPECT_EQ(loadProgram(R"(, "dispatches": [{"kernel": "k", "nodes": ["a"]}],
      "kernels": [{"id": 0, "name": "k"}], "plan": {"names": ["a", "why"], "edges": [[0, 0, 0, 0, -9, 0, 1, 5, 5]],
      "kernel_facts": [{"launch": {"problem": {"kind": "gemm", "m": -1}}}]})",
                        model),
            "");
  predict(model); // A launch that the models refuse is none.
  ASSERT_EQ(model.programs.size(), 1u);
  const Program &program = model.programs[0];
  ASSERT_EQ(program.edges.size(), 1u);
  EXPECT_EQ(program.edges[0].reason, "why");
  EXPECT_EQ(program.edges[0].level, "memory");
  EXPECT_EQ(program.edges[0].levelReason, "a buffer between kernels");
  EXPECT_TRUE(program.dispatches[0].launches.empty());
  ASSERT_EQ(program.remarks.size(), 1u);
  EXPECT_EQ(program.remarks[0].name, "no-model");
  std::string text;
  llvm::raw_string_ostream os(text);
  printTable(model, os);
  EXPECT_FALSE(printReason(model, "a,a", os));
  EXPECT_NE(writeJson(model).find("\"reason\""), std::string::npos);
}
