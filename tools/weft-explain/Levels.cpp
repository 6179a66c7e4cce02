// Where tensors are between the op that makes them and the op that reads them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace weft;
using namespace weft::explain;

/// Of a kernel's values the compiler says where they are, but for those that the planned kernel has no more.
static void placeInside(const Program &program, Edge &edge) {
  if (!edge.level.empty())
    return;
  bool isProduct = edge.consumerOp == "tg.contract" || edge.consumerOp == "tg.fold";
  edge.level = !program.device ? "cache" : isProduct ? "shared" : "register";
  edge.levelReason = !program.device ? "tiles of a nest of loops" : "by its reader: the kernel was rewritten";
}

/// Between kernels a tensor is in the L2 if all that is moved from its making to its use fits what the L2 keeps for all
/// SMs, else in memory.
static void placeBetween(const Program &program, const std::vector<double> &movedBefore, Edge &edge) {
  edge.level = "memory";
  if (!program.device) {
    edge.levelReason = "a buffer between kernels";
    return;
  }
  if (edge.producerDispatch < 0 || edge.consumerDispatch < edge.producerDispatch) {
    edge.levelReason = "its kernels became others";
    return;
  }
  double moved = movedBefore[edge.consumerDispatch + 1] - movedBefore[edge.producerDispatch];
  double kept = double(program.device->effectiveL2Bytes);
  if (moved <= kept)
    edge.level = "L2";
  edge.levelReason =
      llvm::formatv("{0} move from its making on, the L2 keeps {1}", formatBytes(moved), formatBytes(kept)).str();
}

void weft::explain::findLevels(Program &program) {
  std::vector<double> movedBefore{0};
  for (const Dispatch &dispatch : program.dispatches)
    movedBefore.push_back(movedBefore.back() + dispatch.readBytes + dispatch.writeBytes);
  for (Edge &edge : program.edges) {
    if (edge.bytes < 0)
      edge.level.clear();
    else if (edge.isFused)
      placeInside(program, edge);
    else
      placeBetween(program, movedBefore, edge);
  }
}

std::vector<LevelTotal> weft::explain::sumUpLevels(const Program &program) {
  std::vector<LevelTotal> totals;
  for (const char *level : {"register", "cache", "shared", "cluster", "L2", "memory"}) {
    LevelTotal total{level};
    for (const Edge &edge : program.edges)
      if (edge.level == level) {
        ++total.edges;
        total.bytes += edge.bytes;
      }
    if (total.edges > 0)
      totals.push_back(total);
  }
  return totals;
}
