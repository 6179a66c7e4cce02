// Steps that read special registers and symbols.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per width class: the register is Step::immediate (Special, component in bits 8 and up).
#include "Emulator/Exec/SpecialRegister.h"
#include "Emulator/Exec/Machine.h"

using namespace weft;
using namespace weft::emu;
using ptx::Special;

static uint32_t componentOf(const Dim3 &dim, unsigned component) {
  return component == 0 ? dim.x : component == 1 ? dim.y : component == 2 ? dim.z : 0;
}

/// Rank and position of a CTA in its cluster.
static Dim3 clusterCtaId(const Cta &cta, const Dim3 &shape) {
  return {cta.id.x % shape.x, cta.id.y % shape.y, cta.id.z % shape.z};
}

static uint64_t allottedShared(const Machine &machine) {
  uint64_t unit = machine.card.sharedUnit;
  uint64_t bytes = uint64_t(machine.entry.dynamicSharedOffset) + machine.spec.dynamicSharedBytes;
  return (bytes + unit - 1) / unit * unit;
}

/// Registers that are the same for every lane of a warp.
static uint64_t uniformValue(const Warp &warp, Special special, unsigned component) {
  const Cta &cta = *warp.cta;
  const Machine &machine = *warp.machine;
  const LaunchSpec &spec = machine.spec;
  Dim3 shape = spec.cluster;
  switch (special) {
  case Special::Ntid:
    return componentOf(spec.block, component);
  case Special::Ctaid:
    return componentOf(cta.id, component);
  case Special::Nctaid:
    return componentOf(spec.grid, component);
  case Special::Clusterid:
    return componentOf(cta.cluster->id, component);
  case Special::Nclusterid:
    return componentOf({spec.grid.x / shape.x, spec.grid.y / shape.y, spec.grid.z / shape.z}, component);
  case Special::ClusterCtaid:
    return componentOf(clusterCtaId(cta, shape), component);
  case Special::ClusterNctaid:
    return componentOf(shape, component);
  case Special::ClusterCtarank:
    return cta.rank;
  case Special::ClusterNctarank:
    return shape.count();
  case Special::IsExplicitCluster:
    return machine.entry.directives.clusterSize[0] != 0 || shape.count() > 1;
  case Special::Warpid:
    return warp.index;
  case Special::Nwarpid:
    return machine.card.warpsPerSm;
  case Special::Smid:
    return cta.sm;
  case Special::Nsmid:
    return machine.card.sms;
  case Special::Gridid:
    return 1;
  case Special::Clock:
  case Special::Clock64:
    return machine.now();
  case Special::ClockHi:
    return machine.now() >> 32;
  // A step is taken as a cycle of the GPU's clock.
  case Special::Globaltimer:
  case Special::GlobaltimerLo:
    return machine.now() * 1000 / machine.card.clockMhz;
  case Special::GlobaltimerHi:
    return (machine.now() * 1000 / machine.card.clockMhz) >> 32;
  case Special::TotalSmemSize:
  case Special::AggrSmemSize:
    return allottedShared(machine);
  case Special::DynamicSmemSize:
    return spec.dynamicSharedBytes;
  default:
    return 0;
  }
}

static uint64_t laneValue(const Warp &warp, Special special, unsigned component, unsigned lane) {
  switch (special) {
  case Special::Tid:
    return componentOf(warp.threadId(lane), component);
  case Special::Laneid:
    return lane;
  case Special::LanemaskEq:
    return 1u << lane;
  case Special::LanemaskLe:
    return (2u << lane) - 1;
  case Special::LanemaskLt:
    return (1u << lane) - 1;
  case Special::LanemaskGe:
    return ~((1u << lane) - 1);
  case Special::LanemaskGt:
    return ~((2u << lane) - 1);
  default:
    return 0;
  }
}

static bool isPerLane(Special special) {
  return special == Special::Tid || special == Special::Laneid ||
         (special >= Special::LanemaskEq && special <= Special::LanemaskGt);
}

template <typename T> static Outcome readSpecial(Warp &warp, const Step &step, LaneMask mask) {
  auto special = Special(step.immediate & 0xff);
  unsigned component = unsigned(step.immediate >> 8);
  T *target = warp.lanes<T>(step.slots[0]);
  if (isPerLane(special)) {
    forLanes(mask, [&](unsigned lane) { target[lane] = T(laneValue(warp, special, component, lane)); });
    return Outcome::Next;
  }
  T value = T(uniformValue(warp, special, component));
  forLanes(mask, [&](unsigned lane) { target[lane] = value; });
  return Outcome::Next;
}

RunFunction emu::specialReader(const ptx::Operand &operand, unsigned bytes, uint64_t &immediate) {
  switch (operand.special) {
  case Special::ReservedSmemOffset:
  case Special::CurrentGraphExec:
  case Special::Envreg:
  case Special::Pm:
    return nullptr;
  default:
    break;
  }
  immediate = uint64_t(operand.special) | uint64_t(operand.component) << 8;
  return bytes == 2   ? readSpecial<uint16_t>
         : bytes == 4 ? readSpecial<uint32_t>
         : bytes == 8 ? readSpecial<uint64_t>
                      : nullptr;
}

/// Step::immediate is the offset; its upper half the space.
template <typename T> static Outcome readSymbol(Warp &warp, const Step &step, LaneMask mask) {
  uint64_t address = uint32_t(step.immediate);
  auto space = ptx::Space(step.immediate >> 32);
  if (space == ptx::Space::Shared)
    address += uint64_t(warp.cta->rank) << kSharedRankShift;
  else if (space == ptx::Space::Local)
    address += warp.activation().localBase;
  else
    address |= (uint64_t(warp.activation().depth) + 1) << kParamDepthShift;
  T *target = warp.lanes<T>(step.slots[0]);
  forLanes(mask, [&](unsigned lane) { target[lane] = T(address); });
  return Outcome::Next;
}

RunFunction emu::symbolReader(unsigned bytes) { return bytes == 4 ? readSymbol<uint32_t> : readSymbol<uint64_t>; }
