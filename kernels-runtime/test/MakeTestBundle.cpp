//===- MakeTestBundle.cpp - Writes the example bundle -------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// weft-test-bundle PATH [gpu|chain]: the bundles that the tests of weft-run, weft-bench and the Python package run, so
// that they need no compiler: for the CPU, for a GPU, and for a GPU with 64 kernels in a row.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "TestBundles.h"

#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  const char *kind = argc == 3 ? argv[2] : "";
  bool isGpu = std::strcmp(kind, "gpu") == 0, isChain = std::strcmp(kind, "chain") == 0;
  if (argc != 2 && !isGpu && !isChain) {
    std::fputs("usage: weft-test-bundle PATH [gpu|chain]\n", stderr);
    return 2;
  }
  constexpr uint32_t length = 64;
  std::vector<uint8_t> bytes = isGpu     ? weft::test::buildGpuBundle({{"sm_80", weft::test::makeAddPtx("sm_80")}})
                               : isChain ? weft::test::buildChainBundle(length)
                                         : weft::test::buildExample();
  FILE *file = std::fopen(argv[1], "wb");
  bool ok = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  ok = file && std::fclose(file) == 0 && ok && !bytes.empty();
  if (!ok)
    std::perror(argv[1]);
  return ok ? 0 : 1;
}
