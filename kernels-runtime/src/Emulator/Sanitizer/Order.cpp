// Who knows what: the state behind happens-before.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that complete in order share an agent: to have waited for one is to have waited for those before it. Bulk
// copies complete in any order; 64 agents in turn keep the copies of different stages of a pipeline apart.

#include "Emulator/Sanitizer/Order.h"

using namespace weft::emu;

uint32_t Sites::of(const Step &step) {
  if (last == &step)
    return lastNumber;
  auto [known, isNew] = numbers.try_emplace(&step, uint32_t(steps.size()));
  if (isNew)
    steps.push_back(&step);
  last = &step;
  return lastNumber = known->second;
}

bool SplitHistory::wereTogether(uint32_t since, unsigned lane, unsigned other) const {
  if (count - since >= kKept)
    return true;
  uint32_t both = 1u << lane | 1u << other;
  for (uint32_t turn = since; turn != count + 1; ++turn)
    if ((masks[turn % kKept] & both) == both)
      return true;
  return false;
}

uint16_t ClusterOrder::addAgent(Warp *warp, bool isAsync) {
  agents.push_back({warp, isAsync});
  asyncClocks.resize(agents.size());
  return uint16_t(agents.size() - 1);
}

void ClusterOrder::place(AsyncOp &op, WarpOrder &issuer, OpOrder &order) {
  order.copyAgent = issuer.copyAgent;
  order.copyClock = asyncClocks.empty() ? 0 : asyncClocks[issuer.copyAgent];
  if (op.kind == AsyncKind::CopyAsync || op.kind == AsyncKind::Wgmma) {
    uint16_t &agent = op.kind == AsyncKind::Wgmma ? issuer.wgmmaAgent : issuer.copyAgent;
    if (agent == 0)
      agent = addAgent(issuer.warp, /*isAsync=*/true);
    order.agent = agent;
  } else {
    if (firstBulk == 0) {
      firstBulk = addAgent(issuer.warp, /*isAsync=*/true);
      for (uint16_t i = 1; i < kBulkAgents; ++i)
        addAgent(issuer.warp, /*isAsync=*/true);
    }
    order.agent = uint16_t(firstBulk + nextBulk++ % kBulkAgents);
    agents[order.agent].warp = issuer.warp;
  }
  order.clock = ++asyncClocks[order.agent];
}
