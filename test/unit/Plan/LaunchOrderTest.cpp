// What the choice of an order costs, for kernels of every kind, and that it is the same each time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernels.h"
#include "weft/Plan/ChooseSchedule.h"
#include "weft/Plan/KernelLaunch.h"

using namespace weft;
using namespace weft::plan;

/// Lookups of the choice for the kernel's own schedule; twice the same.
static int64_t countWork(const std::string &text, const char *deviceName) {
  ParsedKernel parsed(text);
  KernelToSchedule kernel = parsed.get();
  const Device &device = *findDevice(deviceName);
  ScheduleChoice choice = chooseSchedule(kernel, device);
  choice.order = "row";
  ScheduleChoice again = choice;
  int64_t work = chooseOrderOfLaunch(kernel, device, choice);
  EXPECT_EQ(work, chooseOrderOfLaunch(kernel, device, again));
  EXPECT_EQ(choice.order, again.order);
  EXPECT_EQ(choice.reason, again.reason);
  return work;
}

TEST(LaunchOrder, SimulatesNoMoreThanTheTimeAllows) {
  for (const char *device : {"H100", "A100-40", "RTX3050"})
    for (const std::string &text :
         {makeProductText(1, 8192, 8192, 8192), makeProductText(48, 1024, 1024, 512), makeProductText(4096, 64, 64, 64),
          makeWindowText(254, 256, 256), makeWindowText(56, 512, 512), makeAttentionText(32, 4096, 128, true),
          makeAttentionText(16, 8192, 64, false), makeAttentionText(256, 512, 64, true)})
      EXPECT_LE(countWork(text, device), mostOrderLookups) << device << text.substr(0, 120);
}

TEST(LaunchOrder, SimulatesWhereThereIsAChoice) {
  EXPECT_GT(countWork(makeAttentionText(32, 4096, 128, true), "H100"), 0);
  EXPECT_GT(countWork(makeProductText(48, 1024, 1024, 512), "H100"), 0);
  EXPECT_EQ(countWork(makeAttentionText(1, 128, 64, true), "H100"), 0) << "one wave";
}
