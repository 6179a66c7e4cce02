// CPU targets: x86-64 levels and the features that each requires of a machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/NativeCode.h"
#include "llvm/TargetParser/Host.h"

namespace weft::emit {

namespace {

struct Level {
  llvm::StringLiteral name;
  llvm::StringLiteral cpu; ///< LLVM's name.
  unsigned vectorBits;
  std::vector<std::string> features; ///< Beyond the level below, in LLVM's names.
};

/// The levels of the x86-64 psABI, lowest first, and the highest one with dot products of bytes.
const std::vector<Level> &levels() {
  static const std::vector<Level> table = {
      {"x86-64-v2", "x86-64-v2", 128, {"cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}},
      {"x86-64-v3", "x86-64-v3", 256, {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}},
      {"x86-64-v4", "x86-64-v4", 512, {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}},
      {"x86-64-v4-vnni", "x86-64-v4", 512, {"avx512vnni"}},
  };
  return table;
}

/// The highest level this machine has.
llvm::StringRef hostLevel() {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  llvm::StringRef best;
  for (const Level &level : levels()) {
    for (const std::string &feature : level.features)
      if (!host.lookup(feature))
        return best;
    best = level.name;
  }
  return best;
}

} // namespace

llvm::Expected<Target> resolveTarget(llvm::StringRef cpu) {
  llvm::StringRef wanted = cpu == "native" ? hostLevel() : cpu;
  if (wanted.empty())
    return llvm::createStringError(
        "this machine is below x86-64-v2; name a target with --cpu=x86-64-v2, -v3, -v4 or -v4-vnni");
  Target target;
  target.triple = "x86_64-unknown-linux-gnu";
  for (const Level &level : levels()) {
    target.features.insert(target.features.end(), level.features.begin(), level.features.end());
    if (level.name != wanted)
      continue;
    target.cpu = level.cpu.str();
    target.vectorBits = level.vectorBits;
    llvm::sort(target.features);
    return target;
  }
  return llvm::createStringError("unknown cpu '%s': expected native, x86-64-v2, x86-64-v3, x86-64-v4 or x86-64-v4-vnni",
                                 cpu.str().c_str());
}

} // namespace weft::emit
