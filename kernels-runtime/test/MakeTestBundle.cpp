//===- MakeTestBundle.cpp - Writes the example bundle -------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// weft-test-bundle PATH: the bundle that the tests of weft-run and of the Python package run, so that they need no
// compiler.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "TestBundles.h"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fputs("usage: weft-test-bundle PATH\n", stderr);
    return 2;
  }
  std::vector<uint8_t> bytes = weft::test::buildExample();
  FILE *file = std::fopen(argv[1], "wb");
  bool ok = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  ok = file && std::fclose(file) == 0 && ok && !bytes.empty();
  if (!ok)
    std::perror(argv[1]);
  return ok ? 0 : 1;
}
