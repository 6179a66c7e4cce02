// Calibrations as device tables: what they replace, whose they are, what is refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/MLIRContext.h"
#include "weft/Target/ContextDevices.h"
#include <gtest/gtest.h>

using namespace weft;

static std::string makeCalibration(const std::string &card, const std::string &rest) {
  return R"({"schema": "weft.calibration/1", )" + card + R"(, "dramReadBytesPerSecond": 3.0e12,
    "l2ReadBytesPerSecond": 7.32e12, "effectiveL2Bytes": {"own": 4000000}, "launchSeconds": 4e-06,
    "mmaSyncF16Flops": 5.0e14)" +
         rest + "}";
}

static const char *h100 = R"("device": "NVIDIA H100 80GB HBM3", "architecture": "sm_90a", "sms": 132)";
static const char *wgmma = R"(, "wgmmaF16Flops": 9.0e14)";

TEST(DeviceTable, ReplacesWhatWasMeasured) {
  Device device;
  std::string error;
  ASSERT_TRUE(readDeviceTable(makeCalibration(h100, wgmma), device, error)) << error;
  const Device &known = *findDevice("H100");
  EXPECT_STREQ(device.name, "H100");
  EXPECT_DOUBLE_EQ(device.memoryBandwidth, 3.0e12);
  EXPECT_EQ(device.l2BytesPerClock, 4000u);
  EXPECT_EQ(device.effectiveL2Bytes, 4000000u);
  EXPECT_NEAR(device.perSecond(device.matrix.f16), 9.0e14, 1e12);
  EXPECT_NEAR(device.perSecond(device.mmaSync.f16), 5.0e14, 1e12);
  // What was not measured goes with f16; the rest is the table's.
  EXPECT_NEAR(double(device.matrix.i8) / device.matrix.f16, double(known.matrix.i8) / known.matrix.f16, 1e-3);
  EXPECT_NEAR(device.kernelSeconds(), 4e-6, 1e-12);
  EXPECT_EQ(device.sms, known.sms);
  EXPECT_EQ(device.clock, known.clock);
}

TEST(DeviceTable, ReplacesWhatClustersTake) {
  Device device;
  std::string error, old = makeCalibration(h100, wgmma);
  ASSERT_TRUE(readDeviceTable(old, device, error)) << error;
  const Device &known = *findDevice("H100"); // Calibrations before these were measured leave the table's.
  EXPECT_EQ(device.mergeBytesPerClock, known.mergeBytesPerClock);
  EXPECT_EQ(device.mergeClocks, known.mergeClocks);
  EXPECT_EQ(device.clusteredSms, known.clusteredSms);
  EXPECT_EQ(device.sharedBytesPerClock, known.sharedBytesPerClock);
  std::string measured = std::string(wgmma) + R"(, "sharedReadBytesPerClock": 127.6, "clusterBarrierClocks": 110.5,
    "clusterBytesPerClock": 20.2, "clusterMergeClocks": 333, "clusteredSms": 120)";
  ASSERT_TRUE(readDeviceTable(makeCalibration(h100, measured), device, error)) << error;
  EXPECT_EQ(device.sharedBytesPerClock, 128u);
  EXPECT_EQ(device.clusterClocks, 110u);
  EXPECT_EQ(device.mergeBytesPerClock, 20u);
  EXPECT_EQ(device.mergeClocks, 333u);
  EXPECT_EQ(device.clusteredSms, 120u);
  for (const char *wrong : {R"(, "clusterBytesPerClock": 20, "clusterMergeClocks": 333)",
                            R"(, "clusterBytesPerClock": 20, "clusterMergeClocks": 333, "clusteredSms": 133)",
                            R"(, "clusterBytesPerClock": 0, "clusterMergeClocks": 333, "clusteredSms": 120)"})
    EXPECT_FALSE(readDeviceTable(makeCalibration(h100, wgmma + std::string(wrong)), device, error)) << wrong;
}

TEST(DeviceTable, ReplacesWhatStepsOfFoldsTake) {
  Device device;
  std::string error;
  ASSERT_TRUE(readDeviceTable(makeCalibration(h100, std::string(wgmma)), device, error)) << error;
  EXPECT_EQ(device.foldClocks, findDevice("H100")->foldClocks) << "not measured";
  std::string measured = std::string(wgmma) + R"(, "mmaFoldClocks": 140.4, "foldClocks": 310)";
  ASSERT_TRUE(readDeviceTable(makeCalibration(h100, measured), device, error)) << error;
  EXPECT_EQ(device.mmaFoldClocks, 140u);
  EXPECT_EQ(device.foldClocks, 310u);
  EXPECT_FALSE(readDeviceTable(makeCalibration(h100, std::string(wgmma) + R"(, "mmaFoldClocks": 0)"), device, error));
  EXPECT_NE(error.find("mmaFoldClocks"), std::string::npos) << error;
}

/// Where GPUs were calibrated together.
TEST(DeviceTable, ReplacesLinks) {
  Device device;
  std::string error;
  ASSERT_TRUE(readDeviceTable(makeCalibration(h100, std::string(wgmma)), device, error)) << error;
  EXPECT_EQ(device.links.bytes, findDevice("H100")->links.bytes) << "not measured";
  std::string linked = std::string(wgmma) + R"(, "linkRanks": 2, "linkBytesPerSecond": 3.5e11, "linkSeconds": 7e-6)";
  ASSERT_TRUE(readDeviceTable(makeCalibration(h100, linked), device, error)) << error;
  EXPECT_EQ(device.links.bytes, 3.5e11);
  EXPECT_EQ(device.links.seconds, 7e-6);
  EXPECT_FALSE(
      readDeviceTable(makeCalibration(h100, std::string(wgmma) + R"(, "linkBytesPerSecond": 1e9)"), device, error));
  EXPECT_NE(error.find("linkSeconds"), std::string::npos) << error;
}

TEST(DeviceTable, OfTheCardThatItWasTakenOn) {
  for (auto [driver, card, name] :
       {std::tuple("NVIDIA H200", R"("architecture": "sm_90a", "sms": 132)", "H200"),
        std::tuple("NVIDIA A100-SXM4-40GB", R"("architecture": "sm_80", "sms": 108)", "A100-40"),
        std::tuple("NVIDIA A100-SXM4-80GB", R"("architecture": "sm_80", "sms": 108)", "A100-80"),
        std::tuple("NVIDIA A40", R"("architecture": "sm_86", "sms": 84)", "A40"),
        std::tuple("NVIDIA GeForce RTX 3050", R"("architecture": "sm_86", "sms": 20)", "RTX3050"),
        std::tuple("NVIDIA GeForce RTX 4090", R"("architecture": "sm_89", "sms": 128)", "RTX4090"),
        std::tuple("NVIDIA L40S", R"("architecture": "sm_89", "sms": 142)", "L40S")}) {
    Device device;
    std::string error, text = std::string(R"("device": ")") + driver + "\", " + card;
    ASSERT_TRUE(readDeviceTable(makeCalibration(text, wgmma), device, error)) << driver << ": " << error;
    EXPECT_STREQ(device.name, name);
  }
}

TEST(DeviceTable, Refused) {
  Device device;
  for (auto [text, reason] :
       {std::pair(std::string("{"), "expected JSON: "),
        {"[]", "expected schema weft.calibration/1"},
        {std::string(100000, '['), "expected JSON that nests at most 64 deep"},
        {std::string(2 << 20, ' '), "expected JSON: "},
        {R"({"schema": "weft.calibration/2"})", "got 'weft.calibration/2'"},
        {makeCalibration(h100, R"(, "emulated": true)"), "got one of an emulated GPU"},
        {makeCalibration(h100, R"(, "error": "tileClocks: box: fault")"), "ended early: tileClocks: box: fault"},
        {makeCalibration(R"("device": "NVIDIA H100", "architecture": "sm_90a", "sms": 114)", wgmma),
         "expected a GPU of the device table, got 'NVIDIA H100' (sm_90a, 114 SMs)"},
        {makeCalibration(R"("device": 7, "architecture": [], "sms": "many")", wgmma),
         "expected a GPU of the device table"},
        {makeCalibration(h100, ""), "wgmmaF16Flops: expected a number from 1000000000 to"},
        {makeCalibration(h100, R"(, "wgmmaF16Flops": -1)"), "wgmmaF16Flops: expected"},
        {makeCalibration(h100, R"(, "wgmmaF16Flops": 1e300)"), "wgmmaF16Flops: expected"},
        {R"({"schema": "weft.calibration/1", "device": "H100", "architecture": "sm_90a", "sms": 132,
             "dramReadBytesPerSecond": "fast"})",
         "dramReadBytesPerSecond: expected"}}) {
    std::string error;
    EXPECT_FALSE(readDeviceTable(text, device, error));
    EXPECT_NE(error.find(reason), std::string::npos) << error;
  }
}

TEST(DeviceTable, StandsBeforeTheTable) {
  Device device = *findDevice("A40");
  device.memoryBandwidth = 1e9;
  DeviceTable devices;
  devices.set(device);
  EXPECT_DOUBLE_EQ(devices.find("A40")->memoryBandwidth, 1e9);
  EXPECT_DOUBLE_EQ(devices.find("sm_86")->memoryBandwidth, 1e9);
  EXPECT_EQ(devices.find("H100"), findDevice("H100"));
  const Device *kept = devices.find("A40");
  device.memoryBandwidth = 2e9;
  devices.set(device);
  EXPECT_EQ(devices.find("A40"), kept);
  EXPECT_DOUBLE_EQ(kept->memoryBandwidth, 2e9);
  EXPECT_DOUBLE_EQ(findDevice("A40")->memoryBandwidth, 696e9) << "the table stays";
}

TEST(DeviceTable, BelongsToOneContext) {
  Device device = *findDevice("A40");
  device.memoryBandwidth = 1e9;
  DeviceTable devices;
  devices.set(device);
  mlir::MLIRContext measured(mlir::MLIRContext::Threading::DISABLED), plain(mlir::MLIRContext::Threading::DISABLED);
  setDevices(measured, std::move(devices));
  EXPECT_DOUBLE_EQ(findDevice(&measured, "sm_86")->memoryBandwidth, 1e9);
  EXPECT_EQ(findDevice(&plain, "sm_86"), findDevice("A40"));
}
