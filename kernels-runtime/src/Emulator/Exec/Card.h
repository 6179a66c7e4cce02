// The GPUs: data, no logic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launch depends on of a GPU. Residency limits: CUDA C++ programming guide, "Compute capabilities", tables of
// technical specifications per compute capability. SM counts, L2 and memory sizes: NVIDIA's A100, Ada, GA10x and H100
// architecture white papers and data sheets (A40: GA102 with 84 SMs; RTX 3050: GA106 with 20 SMs),
// RTX Blackwell (RTX 5090: GB202 with 170 SMs; its clusters are not emulated).
#ifndef WEFT_EMULATOR_EXEC_CARD_H
#define WEFT_EMULATOR_EXEC_CARD_H

#include <cstdint>
#include <string_view>

namespace weft::emu {

struct Card {
  std::string_view name;         ///< "H100"
  std::string_view architecture; ///< "sm_90a": PTX targets it accepts are of smVersion or lower, or exactly this.
  uint32_t smVersion;            ///< 90
  bool hasArchFeatures;          ///< sm_90a
  uint32_t sms;
  uint32_t threadsPerSm;
  uint32_t warpsPerSm;
  uint32_t ctasPerSm;
  uint32_t registersPerSm;       ///< 32-bit.
  uint32_t registerUnit;         ///< Registers are allotted to a warp in multiples of this.
  uint32_t sharedPerSm;          ///< Bytes that CTAs can have.
  uint32_t sharedPerCta;         ///< Bytes that one CTA can have (opt-in maximum).
  uint32_t sharedReservedPerCta; ///< Bytes that the system takes of the SM for each CTA.
  uint32_t sharedUnit;           ///< Allotted in multiples of this.
  uint32_t barriersPerSm;
  uint32_t smsPerGpc;  ///< Clusters do not span GPCs; 0: no clusters.
  uint32_t maxCluster; ///< CTAs in a portable cluster; 1: no clusters.
  uint32_t maxClusterNonPortable;
  uint32_t l2Bytes;
  uint32_t l1Bytes; ///< Unified L1 and shared memory of an SM.
  uint64_t memoryBytes;
  uint32_t clockMhz; ///< Boost clock: %globaltimer per step.
};

// clang-format off
inline constexpr Card kCards[] = {
  // name         architecture sm a     SMs  threads warps CTAs registers unit shared/SM shared/CTA reserved unit bars  GPC cl ncl L2               L1          memory     MHz
  {"A100",        "sm_80",  80, false, 108, 2048, 64, 32, 65536, 256, 164 << 10, 163 << 10, 1024, 128, 512,  0,  1,  1, 40u << 20, 192 << 10, 40ull << 30, 1410},
  {"A40",         "sm_86",  86, false,  84, 1536, 48, 16, 65536, 256, 100 << 10,  99 << 10, 1024, 128, 256,  0,  1,  1,  6u << 20, 128 << 10, 48ull << 30, 1740},
  {"RTX3050",     "sm_86",  86, false,  20, 1536, 48, 16, 65536, 256, 100 << 10,  99 << 10, 1024, 128, 256,  0,  1,  1,  2u << 20, 128 << 10,  8ull << 30, 1777},
  {"RTX4090",     "sm_89",  89, false, 128, 1536, 48, 24, 65536, 256, 100 << 10,  99 << 10, 1024, 128, 384,  0,  1,  1, 72u << 20, 128 << 10, 24ull << 30, 2520},
  {"L40S",        "sm_89",  89, false, 142, 1536, 48, 24, 65536, 256, 100 << 10,  99 << 10, 1024, 128, 384,  0,  1,  1, 96u << 20, 128 << 10, 48ull << 30, 2520},
  {"H100",        "sm_90a", 90, true,  132, 2048, 64, 32, 65536, 256, 228 << 10, 227 << 10, 1024, 128, 512, 18,  8, 16, 50u << 20, 256 << 10, 80ull << 30, 1980},
  {"H200",        "sm_90a", 90, true,  132, 2048, 64, 32, 65536, 256, 228 << 10, 227 << 10, 1024, 128, 512, 18,  8, 16, 50u << 20, 256 << 10, 141ull << 30, 1980},
  {"RTX5090",     "sm_120",120, false, 170, 1536, 48, 24, 65536, 256, 100 << 10,  99 << 10, 1024, 128, 384,  0,  1,  1, 96u << 20, 128 << 10, 32ull << 30, 2407},
};
// clang-format on

/// The GPU of that name, or the first one of that architecture; null when there is none.
inline const Card *findCard(std::string_view word) {
  for (const Card &card : kCards)
    if (card.name == word || card.architecture == word)
      return &card;
  return nullptr;
}

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_CARD_H
