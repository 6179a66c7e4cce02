// Writes the example bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// weft-test-bundle PATH [gpu|chain|early-chain|few-weights|weights]: the bundles that the tests of weft-run, weft-bench
// and the Python package run, so that they need no compiler: for the CPU; for a GPU; for a GPU with 64 kernels in a row
// (which may start early), or 4 KB or 1 GB of weights.
#include "TestBundles.h"

#include <cstdio>
#include <string_view>

int main(int argc, char **argv) {
  std::string_view kind = argc == 3 ? argv[2] : "";
  constexpr uint32_t length = 64;
  constexpr int64_t fewWeights = 1'000, weights = 250'000'000;
  std::vector<uint8_t> bytes;
  if (argc == 2)
    bytes = weft::test::buildExample();
  else if (kind == "gpu")
    bytes = weft::test::buildGpuBundle({{"sm_80", weft::test::makeAddPtx("sm_80")}});
  else if (kind == "chain" || kind == "early-chain")
    bytes = weft::test::buildChainBundle(length, kind == "early-chain");
  else if (kind == "few-weights")
    bytes = weft::test::buildWeightBundle(fewWeights);
  else if (kind == "weights")
    bytes = weft::test::buildWeightBundle(weights);
  else {
    std::fputs("usage: weft-test-bundle PATH [gpu|chain|early-chain|few-weights|weights]\n", stderr);
    return 2;
  }
  FILE *file = std::fopen(argv[1], "wb");
  bool ok = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  ok = file && std::fclose(file) == 0 && ok && !bytes.empty();
  if (!ok)
    std::perror(argv[1]);
  return ok ? 0 : 1;
}
