//===- MakeTestBundle.cpp - Writes the example bundle -------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// weft-test-bundle PATH [gpu]: the bundle that the tests of weft-run and of the Python package run, so that they need
// no compiler.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "TestBundles.h"

#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  bool isGpu = argc == 3 && std::strcmp(argv[2], "gpu") == 0;
  if (argc != 2 && !isGpu) {
    std::fputs("usage: weft-test-bundle PATH [gpu]\n", stderr);
    return 2;
  }
  std::vector<uint8_t> bytes =
      isGpu ? weft::test::buildGpuBundle({{"sm_80", weft::test::makeAddPtx("sm_80")}}) : weft::test::buildExample();
  FILE *file = std::fopen(argv[1], "wb");
  bool ok = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  ok = file && std::fclose(file) == 0 && ok && !bytes.empty();
  if (!ok)
    std::perror(argv[1]);
  return ok ? 0 : 1;
}
