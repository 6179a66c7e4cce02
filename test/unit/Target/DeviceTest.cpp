// The table of GPUs: lookup, and its rates against the peaks that the data sheets quote.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Device.h"
#include <gtest/gtest.h>
#include <set>

using namespace weft;

TEST(Device, FoundByNameAndArchitecture) {
  ASSERT_NE(findDevice("h100"), nullptr);
  EXPECT_STREQ(findDevice("h100")->architecture, "sm_90a");
  EXPECT_STREQ(findDevice("sm_80")->name, "A100-80");
  EXPECT_STREQ(findDevice("sm_86")->name, "A40");
  EXPECT_STREQ(findDevice("sm_89")->name, "RTX4090");
  EXPECT_STREQ(findDevice("sm_90a")->name, "H100");
  EXPECT_STREQ(findDevice("sm_120")->name, "RTX5090");
  EXPECT_EQ(findDevice("sm_90"), nullptr);
  EXPECT_EQ(findDevice(""), nullptr);
}

TEST(Device, NamesAreUniqueAndLimitsConsistent) {
  std::set<std::string> names;
  for (const Device &device : getDevices()) {
    EXPECT_TRUE(names.insert(device.name).second) << device.name;
    EXPECT_LE(device.sharedPerCta + device.sharedReservedPerCta, device.sharedPerSm) << device.name;
    EXPECT_EQ(device.hasWgmma(), device.maxCluster > 1) << device.name;
    EXPECT_EQ(device.maxCluster > 1, device.clusterClocks > 0) << device.name;
    EXPECT_EQ(device.can.computeVersion, device.computeVersion) << device.name;
    EXPECT_GE(device.can.firstPtx, 70u) << device.name;
    EXPECT_LE(device.mmaSync.f16, device.matrix.f16) << device.name;
    EXPECT_TRUE(getArchitectureList().contains(device.architecture)) << device.name;
  }
}

TEST(Device, LinksAreSlowerThanMemory) {
  for (const Device &device : getDevices()) {
    EXPECT_GT(device.links.bytes, 1e9) << device.name;
    EXPECT_LT(device.links.bytes, device.memoryBandwidth) << device.name;
    EXPECT_GT(device.links.seconds, device.kernelSeconds()) << device.name;
  }
}

TEST(Device, RatesGiveTheQuotedPeaks) {
  struct Peak {
    const char *name;
    double f16, f32; // TFLOP/s
  };
  for (Peak peak : {Peak{"A100-80", 312, 19.5}, Peak{"A40", 149.7, 37.4}, Peak{"RTX4090", 165.2, 82.6},
                    Peak{"L40S", 362, 91.6}, Peak{"H100", 989.4, 66.9}, Peak{"RTX5090", 209.5, 104.8}}) {
    const Device *device = findDevice(peak.name);
    ASSERT_NE(device, nullptr);
    EXPECT_NEAR(device->perSecond(device->matrix.f16) * 1e-12 / peak.f16, 1, 0.02) << peak.name;
    double f32 = device->perSecond(device->f32PerClock) * 1e-12;
    // H100's vector peak is quoted at its higher clock.
    EXPECT_NEAR(f32 / peak.f32, 1, 0.08) << peak.name;
  }
}

TEST(Device, MemoryLevelsAndLaunchesAreConsistent) {
  for (const Device &device : getDevices()) {
    EXPECT_LT(device.sharedPerSm, device.l1PerSm) << device.name;
    EXPECT_LT(device.effectiveL2Bytes, device.l2Bytes) << device.name;
    EXPECT_LE(device.l2Bytes, 2 * device.effectiveL2Bytes + 200) << device.name;
    EXPECT_GT(device.l2BytesPerSecond(), device.memoryBandwidth) << device.name;
    // Measured on an H100: 2.8 to 4.9 us for one fewer kernel in a graph.
    EXPECT_NEAR(device.kernelSeconds(), 3e-6, 0.5e-6) << device.name;
    EXPECT_LT(device.tailSeconds, device.launchSeconds) << device.name;
  }
  EXPECT_NEAR(double(findDevice("H100")->effectiveL2Bytes), 47452160, 0.01 * 47452160) << "as calibrated";
}
