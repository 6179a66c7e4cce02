// What GemmLaunch.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/GemmLaunch.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using llvm::ArrayRef, llvm::SmallVector;

namespace weft::plan {

bool canStartTogether(ArrayRef<GemmChoice> choices, const Device &device) {
  CtaRoom room;
  for (const GemmChoice &each : choices) {
    if (each.tile.split > 1 || each.tile.multicast > 1) // Clusters are of one kernel.
      return false;
    room.registers = std::max(room.registers, each.cost.room.registers);
    room.shared = std::max(room.shared, each.cost.room.shared);
    room.threads = std::max(room.threads, each.cost.room.threads);
  }
  int64_t together = room.countCtas(device);
  return llvm::all_of(choices, [&](const GemmChoice &each) {
    return together >= std::min<int64_t>(each.cost.ctasPerSm, llvm::divideCeil(each.cost.tiles, int64_t(device.sms)));
  });
}

/// Whether it has, beside its columns, what the first one has.
static bool isAlike(const GemmProblem &first, const GemmProblem &other) {
  auto key = [](const GemmProblem &p) {
    return std::tie(p.batch, p.m, p.k, p.taps, p.type, p.lhsBytes, p.rhsBytes, p.mExtents, p.contiguousAlongK);
  };
  return key(first) == key(other);
}

/// A product that can be a part of a larger one: a tensor on the left, one on the right for each accumulator.
static bool isPlain(const GemmProblem &p) {
  return p.batch == 1 && p.lhsTensors == 1 && p.rhsTensors == p.products && !p.wholeM && !p.onlyM && !p.onlyN &&
         p.lhsWork == 0 && p.rhsWork == 0 && llvm::isPowerOf2_64(uint64_t(p.products));
}

/// Of all columns. An accumulator's element has the registers of the products' mean.
static GemmProblem joinProblems(ArrayRef<GemmProblem> problems) {
  GemmProblem all = problems.front();
  all.n = 0;
  all.products = all.rhsTensors = 1;
  all.nExtents.clear();
  all.leastInnerN = 1;
  all.allowSplit = all.allowRowShares = all.allowMulticast = false;
  all.epilogueRegisters = all.heldRegisters = 0;
  for (const GemmProblem &each : problems) {
    all.n += each.n * each.products;
    all.resultBytes = std::max(all.resultBytes, each.resultBytes);
    all.allowWgmma &= each.allowWgmma;
    all.epilogueRegisters = std::max(all.epilogueRegisters, each.epilogueRegisters / double(each.products));
    all.heldRegisters = std::max(all.heldRegisters, each.heldRegisters / double(each.products));
  }
  return all;
}

GemmLaunch chooseGemmLaunch(ArrayRef<GemmProblem> problems, const Device &device) {
  GemmLaunch best;
  if (problems.empty() || !llvm::all_of(problems, [&](const GemmProblem &each) {
        return isPlain(each) && isAlike(problems.front(), each);
      }))
    return best;
  SmallVector<SmallVector<GemmChoice>> fitting(problems.size()); // Of each product.
  for (auto [problem, known] : llvm::zip_equal(problems, fitting))
    forEachTile(problem, device, [&, &problem = problem, &known = known](const GemmTile &tile) {
      if (GemmCost cost = estimateGemm(problem, tile, device); cost.fits && tile.split == 1 && tile.multicast == 1)
        known.push_back({tile, cost});
    });
  GemmProblem all = joinProblems(problems);
  forEachTile(all, device, [&](const GemmTile &tile) {
    GemmCost cost = estimateGemm(all, tile, device);
    if (!cost.fits || (best.cost.fits && cost.seconds >= best.cost.seconds * 0.999))
      return;
    SmallVector<GemmChoice> parts;
    for (auto [problem, known] : llvm::zip_equal(problems, fitting)) {
      GemmTile wanted = tile;
      wanted.n /= problem.products;
      const GemmChoice *found = llvm::find_if(known, [&](const GemmChoice &each) { return each.tile == wanted; });
      if (found == known.end())
        return;
      parts.push_back(*found);
    }
    if (!canStartTogether(parts, device))
      return;
    best = {llvm::map_to_vector(parts, [](const GemmChoice &part) { return part.tile; }), cost};
  });
  return best;
}

} // namespace weft::plan
