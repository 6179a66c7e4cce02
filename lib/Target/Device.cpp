// The table of GPUs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources. Residency limits and shared memory: CUDA C++ programming guide, "Compute capabilities", technical
// specifications per compute capability. SM counts, clocks, L2, bandwidths and peak rates: NVIDIA's A100, GA102, Ada
// and H100 architecture white papers and the data sheets of A100, A40, L40S, H100 and H200 (SXM forms). Matrix rates
// are the quoted dense peaks divided by SMs and boost clock; GeForce GPUs run f16 products with f32 sums at half the
// rate of their professional siblings. H100 and H200 quote peaks at 1830 MHz although they may clock higher without
// load. mma.sync reaches 62 % of wgmma's rate there (Luo et al., "Benchmarking and Dissecting the NVIDIA Hopper GPU
// Architecture via Microbenchmarking", 2024). L2 bytes per clock: white paper for A100 (5120); the others are rounded
// from published micro-benchmarks and only rank plans. L1: the same specifications as shared memory.
//
// RTX 5090: NVIDIA's RTX Blackwell architecture white paper (170 SMs, 2407 MHz, 96 MB of L2, 1792 GB/s; f16 products
// with f32 sums 209.5 TFLOP/s dense, f8 419, i8 838 TOP/s, f32 104.8). It has clusters, which nothing is known of here:
// none are planned for it. No such GPU was at hand: what is not quoted is taken to be Ada's.
//
// Effective L2: 47.5 of an H100's 52.4 MB are read at L2's rate by all SMs (bench/results/h100-calibration,
// "own"), nine tenths, which GA102 and Ada with their one partition are taken to have too. An A100's two partitions
// each cache what their own SMs read (white paper), so that what all SMs read is there twice: half.
//
// Special functions: 16 results a clock and SM of every architecture here (CUDA Programming Guide, throughput of
// arithmetic instructions); ex2 takes that on an H100.
//
// Launches: of an H100. One fewer kernel in a graph saves 2.8 to 4.9 us (bench/gpu.py, 2026-11-21,
// "kernels that start together"), an empty kernel after another takes 3.1 to 4.9 us in a stream (`weft calibrate`);
// FlashDecoding's second kernel costs 3 us in the decode cases. Of these 3 us a kernel's fill and drain is about 1 us:
// a first load of 900 clocks and a last store. Other GPUs are taken to be the same.
//
// Cluster barriers: of an H100, 0.052 us with 2 CTAs and 0.056 with 8 (2026-11-22; `weft calibrate` measures it, and
// all that follows here). Parts of results: 64 KiB take 5,900 clocks, of which a merge's own share is not known well:
// with 300 to 1,000 clocks the model's tiles of eight products of 16 to 197 rows are within 3.3 % of the best of 650
// that were timed, without them within 5.3 %. Through the L2 a fence, an atomic, polls of a counter and a copy are a
// trip each: code for sm_80 takes 0.4 to 1.0 us more than clusters do on an H100 (3,000 clocks). Of 132 SMs, clusters
// of four find 124 (512 x 1024 x 8192 by 32 clusters of 4: 58.6 us; 64 of 2: 27.3).
//
// Tiled products: of an H100, fitted to 1,290 timed schedules of 240 products and convolutions and to the kernels of 61
// random products, epilogues, convolutions and chains (2026-11-22). An SM gets the lines of panels at 49 bytes a clock
// and at 77 where all tiles start together, of an L2 that gives 23 to each where all read their own: requests of
// neighbours for the same lines are one. Steps by pairs of CTAs: 226 timings of 16 products (2026-11-23), 128 x 128 and
// 64 x 256 12 and 25 % longer than without this. Other GPUs are taken to be the same by the clock, with the L2's own
// rate; TMA they do not have.
//
// Steps of folds: 299 clocks by wgmma, 133 by mma.sync on an H100 (2026-11-22, `weft calibrate`); Ampere and Ada are
// taken to have the latter.
//
// Links: a direction of NVLink as NVIDIA's data sheets quote it (half of 600 and 900 GB/s; of an A40's bridge, half of
// 112.5), else of PCIe with 16 lanes (8 of an RTX 3050's), 4.0 or 5.0. Seconds of a collective beside its bytes were
// not measured yet: they are taken to be two launches by NVLink, and twice that through the host. `weft calibrate
// --rank` measures both.
#include "weft/Target/DeviceTable.h"
#include <vector>

namespace weft {

using llvm::StringRef;

namespace {

constexpr uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
constexpr unsigned kKiB = 1 << 10;

/// What all devices of one compute capability have in common.
struct Family {
  const char *architecture;
  unsigned computeVersion, threadsPerSm, ctasPerSm, sharedPerSm, sharedPerCta, maxCluster, f32PerClock, l1PerSm;
  unsigned clusterClocks, mergeBytesPerClock, mergeClocks, foldClocks;
  unsigned clusteredPermille; ///< Of the SMs.
  unsigned effectiveL2Percent;
  unsigned panelPercent; ///< Of the L2's rate.
};

constexpr Family kSm80 = {"sm_80",    80, 2048, 32,   164 * kKiB, 163 * kKiB, 1,  128,
                          192 * kKiB, 0,  12,   3000, 133,        0,          50, 100};
constexpr Family kSm86 = {"sm_86",    86, 1536, 16,   100 * kKiB, 99 * kKiB, 1,  256,
                          128 * kKiB, 0,  12,   3000, 133,        0,         90, 100};
constexpr Family kSm89 = {"sm_89",    89, 1536, 24,   100 * kKiB, 99 * kKiB, 1,  256,
                          128 * kKiB, 0,  12,   3000, 133,        0,         90, 100};
constexpr Family kSm90 = {"sm_90a",   90,  2048, 32,  228 * kKiB, 227 * kKiB, 8,  256,
                          256 * kKiB, 100, 13,   275, 300,        940,        90, 212};

constexpr Family kSm120 = {"sm_120",   120, 1536, 24,   100 * kKiB, 99 * kKiB, 1,  256,
                           128 * kKiB, 0,   12,   3000, 133,        0,         90, 100};

// Tall tiles: 256 x 128 beside 128 x 256 in several rounds, 0.99 to 1.06 for seven products, with multicasts 1.0 to
// 1.13; in one wave 42 of 256 rows beside 11 of 128, 1.04 times as much more than they should. Narrow ones: of what
// bytes and operations say ten products with rows of whole sectors gain 0.92 times, seven others 0.84
// (docs/notes/narrow-tiles.md). Steps that unpack: six products of 4 bits (2026-11-23).
constexpr TileClocks kTiles = {/*start=*/2850,
                               /*turn=*/0,
                               /*copy=*/750,
                               /*box=*/780,
                               /*heldSlots=*/0.8,
                               /*step=*/15,
                               /*copyStep=*/52,
                               /*boxStep=*/127,
                               /*pairedStep=*/40,
                               /*copyIssue=*/21,
                               /*narrowCopy=*/7,
                               /*narrowestCopy=*/10.5,
                               /*slidingCopy=*/30,
                               /*store=*/21,
                               /*boxStore=*/3.6,
                               /*instruction=*/3.9,
                               /*besideBytesPerClock=*/34,
                               /*unpackedStep=*/330,
                               /*tall=*/1.03,
                               /*narrow=*/1.05,
                               /*straddling=*/1.1};

// Pieces of odd rows and pairs: docs/notes/window-pairs.md. Straddling: 488 channels take 1.8 times as long as 512.
constexpr WindowClocks kWindows = {/*step=*/190,
                                   /*turn=*/700,
                                   /*beside=*/0.1,
                                   /*straddling=*/1.4,
                                   /*paired=*/1.05,
                                   /*oddStores=*/2,
                                   /*narrowOddStores=*/3.75,
                                   /*heldParts=*/2,
                                   /*evictedParts=*/5};
constexpr FoldClocks kFolds = {/*operands=*/570, /*ends=*/3700, /*mmaEnds=*/1000, /*vectorStep=*/100};
constexpr AloneTimes kAlone = {/*points=*/45e9,
                               /*narrowPoints=*/30e9,
                               /*bytes=*/160e9,
                               /*rowBytes=*/80e9,
                               /*windowTerm=*/18e-12,
                               /*vector=*/0.2e-6,
                               /*sum=*/0.5e-6,
                               /*productSum=*/9e-6,
                               /*step=*/0.9e-6,
                               /*rowStepBytes=*/32768,
                               /*rowStep=*/1.2e-6,
                               /*rowWait=*/1.3e-6,
                               /*rowWarp=*/0.027,
                               /*rowIssued=*/0.6,
                               /*rowUnhidden=*/0.5};
constexpr GroupRates kGroups = {/*launch=*/0, /*bytes=*/2e12, /*operations=*/20e12, /*products=*/300e12};

// First PTX ISAs: PTX ISA, "Release notes". f64: CUDA C++ programming guide, throughput of arithmetic instructions.
// A100, H100 and H200 have an L2 of two halves (NVIDIA's white papers). Ports and drift: fitted to 57 kernels on an
// H100 (bench/results/h100-l2-orders.md), not measured on others.
constexpr Capabilities kCapabilities[] = {
    {.computeVersion = 80, .firstPtx = 70, .f64Shares = 2, .l2Partitions = 2},
    {.computeVersion = 86, .firstPtx = 71},
    {.computeVersion = 89, .firstPtx = 78},
    {.computeVersion = 90,
     .firstPtx = 80,
     .wgmma = true,
     .tma = true,
     .earlyStarts = true,
     .matrixStores = true,
     .bf16Atomics = true,
     .f64Shares = 2,
     .l2Partitions = 2,
     .smsPerPort = 2,
     .drift = 8},
    {.computeVersion = 120,
     .firstPtx = 87,
     .tma = true,
     .earlyStarts = true,
     .matrixStores = true,
     .bf16Atomics = true},
};

constexpr const Capabilities &capabilitiesOf(const Family &family) {
  const Capabilities *row = kCapabilities;
  while (row->computeVersion != family.computeVersion)
    ++row;
  return *row;
}

constexpr Device device(const char *name, const Family &family, unsigned sms, uint64_t l2, uint64_t memory,
                        double bandwidth, unsigned l2PerClock, double clock, MatrixRates matrix, MatrixRates mmaSync,
                        LinkRates links) {
  return {
      name, family.architecture, family.computeVersion, capabilitiesOf(family), sms, family.threadsPerSm,
      family.ctasPerSm,
      /*registersPerSm=*/65536,
      /*registersPerThread=*/255, family.sharedPerSm, family.sharedPerCta,
      /*sharedReservedPerCta=*/1 * kKiB, family.maxCluster, family.clusterClocks, family.mergeBytesPerClock,
      family.mergeClocks, sms * family.clusteredPermille / 1000, family.l1PerSm,
      /*sharedBytesPerClock=*/128, l2, l2 / 100 * family.effectiveL2Percent, memory, bandwidth, l2PerClock, clock,
      family.f32PerClock,
      /*specialPerClock=*/16, matrix, mmaSync, family.foldClocks,
      /*mmaFoldClocks=*/133,
      /*launchSeconds=*/2e-6,
      /*tailSeconds=*/1e-6, l2PerClock * family.panelPercent / 100,
      /*partialSectorsPerClock=*/37 * sms / 132,
      /*waveMerge=*/family.maxCluster > 1 ? 1.56 : 1, kTiles, kWindows, kFolds, kAlone,
      /*coldClocks=*/1500,
      /*loadClocks=*/900,
      /*l1BytesPerClock=*/64,
      // 1.4 us more than a launch where 640 CTAs of a map wait for 640, 2.0 in MobileNetV2 (36 waits), 0.8 in a BERT
      // layer, of an H100 in graphs (docs/notes/unet-kernels.md); kernels before had 0.2 to 1.1 (docs/notes/chains.md).
      /*waitSeconds=*/3.4e-6,
      /*mergeSeconds=*/1e-6,
      /*memorySeconds=*/600e-9, kGroups, links};
}

//                             f16   tf32  f8    i8
constexpr MatrixRates kAmpere = {2048, 1024, 0, 4096};
constexpr MatrixRates kGa102 = {1024, 512, 0, 2048};
constexpr MatrixRates kGa102GeForce = {512, 256, 0, 2048};
constexpr MatrixRates kAda = {1024, 512, 2048, 2048};
constexpr MatrixRates kAdaGeForce = {512, 256, 1024, 2048};
constexpr MatrixRates kBlackwellGeForce = {512, 256, 1024, 2048};
constexpr MatrixRates kHopper = {4096, 2048, 8192, 8192};
constexpr MatrixRates kHopperMmaSync = {2540, 1270, 5080, 5080};

constexpr LinkRates kNvLink3 = {300e9, 6e-6}, kNvLink4 = {450e9, 6e-6}, kBridge = {56e9, 6e-6};
constexpr LinkRates kPcie4x8 = {16e9, 12e-6}, kPcie4 = {32e9, 12e-6}, kPcie5 = {64e9, 12e-6};

// clang-format off
constexpr Device kDevices[] = {
  //     name        family SMs  L2        memory      bytes/s  L2/clk clock    matrix         mma.sync        links
  device("A100-80",  kSm80, 108, 40 * kMiB, 80 * kGiB, 2039e9, 5120, 1410e6, kAmpere,       kAmpere, kNvLink3),
  device("A100-40",  kSm80, 108, 40 * kMiB, 40 * kGiB, 1555e9, 5120, 1410e6, kAmpere,       kAmpere, kNvLink3),
  device("A40",      kSm86,  84,  6 * kMiB, 48 * kGiB,  696e9, 1536, 1740e6, kGa102,        kGa102, kBridge),
  device("RTX3050",  kSm86,  20,  2 * kMiB,  8 * kGiB,  224e9,  512, 1777e6, kGa102GeForce, kGa102GeForce, kPcie4x8),
  device("RTX4090",  kSm89, 128, 72 * kMiB, 24 * kGiB, 1008e9, 2048, 2520e6, kAdaGeForce,   kAdaGeForce, kPcie4),
  device("L40S",     kSm89, 142, 96 * kMiB, 48 * kGiB,  864e9, 2048, 2520e6, kAda,          kAda, kPcie4),
  device("H100",     kSm90, 132, 50 * kMiB, 80 * kGiB, 3352e9, 3072, 1830e6, kHopper,       kHopperMmaSync, kNvLink4),
  device("H200",     kSm90, 132, 50 * kMiB, 141 * kGiB, 4800e9, 3072, 1830e6, kHopper,      kHopperMmaSync, kNvLink4),
  device("RTX5090",  kSm120, 170, 96 * kMiB, 32 * kGiB, 1792e9, 2560, 2407e6, kBlackwellGeForce, kBlackwellGeForce, kPcie5),
};
// clang-format on

} // namespace

llvm::ArrayRef<Device> getDevices() { return kDevices; }

template <typename Range> static const Device *findIn(const Range &devices, StringRef nameOrArchitecture) {
  for (const Device &candidate : devices)
    if (nameOrArchitecture.equals_insensitive(candidate.name) || nameOrArchitecture == candidate.architecture)
      return &candidate;
  return nullptr;
}

void DeviceTable::set(const Device &device) {
  for (Device &known : measured)
    if (known.name == StringRef(device.name))
      return void(known = device);
  measured.push_back(device);
}

const Device *DeviceTable::find(StringRef nameOrArchitecture) const {
  const Device *device = findIn(measured, nameOrArchitecture);
  return device ? device : findDevice(nameOrArchitecture);
}

const Device *findDevice(StringRef nameOrArchitecture) { return findIn(getDevices(), nameOrArchitecture); }

llvm::StringRef getArchitectureList() { return "sm_80, sm_86, sm_89, sm_90a, sm_120"; }

} // namespace weft
