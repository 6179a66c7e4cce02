// Programs that end, that do not, and that leave others behind, from several threads at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Process.h"
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

using namespace weft;
using namespace std::chrono_literals;

static llvm::Expected<ProcessResult> shell(const std::string &text, std::chrono::milliseconds limit = 60s) {
  return runProcess({"/bin/sh", "-c", text}, limit);
}

TEST(Process, SaysHowItEndedAndWhatItWrote) {
  llvm::Expected<ProcessResult> result = shell("echo out; echo err >&2; exit 7");
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->exitCode, 7);
  EXPECT_EQ(result->output, "out\nerr\n");
}

TEST(Process, ReadsMoreThanAPipeHolds) {
  llvm::Expected<ProcessResult> result = shell("yes | head -c 3000000; cat");
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->output.size(), 3000000u);
}

TEST(Process, ErrorsOfStartAndSignal) {
  EXPECT_EQ(llvm::toString(runProcess({"/nowhere"}, 60s).takeError()), "cannot be started: No such file or directory");
  EXPECT_EQ(llvm::toString(shell("kill -9 $$").takeError()), "ended by the signal Killed");
}

// Each thread's child has its own limit, and the process its signals. By SIGALRM only one of them would have been
// ended.
TEST(Process, EndsEachChildThatHangs) {
  struct sigaction before, after;
  sigaction(SIGALRM, nullptr, &before);
  auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  std::vector<std::string> errors(4);
  for (std::string &error : errors)
    threads.emplace_back([&error] { error = llvm::toString(shell("exec sleep 50", 500ms).takeError()); });
  llvm::Expected<ProcessResult> quick = shell("sleep 0.2");
  EXPECT_TRUE(bool(quick)) << llvm::toString(quick.takeError());
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 40s);
  for (const std::string &error : errors)
    EXPECT_EQ(error, "takes too long");
  sigaction(SIGALRM, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(Process, DoesNotWaitForGrandchildren) {
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<ProcessResult> result = shell("echo first; sleep 50 & exit 0");
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->output, "first\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 40s);
}
