// Fences between proxies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fence.proxy.* and fence.mbarrier_init: memory here has one view, so they only are events for the sanitizer.
#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Machine.h"

using namespace weft;
using namespace weft::emu;

namespace {

struct ProxyPayload {
  FenceKind kind = FenceKind::ProxyAsync;
  Order order = Order::Weak;
  Scope scope = Scope::None;
};

Outcome runProxy(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ProxyPayload *>(step.payload);
  FenceEvent event = {&warp, &step, mask, payload.kind, payload.order, payload.scope};
  warp.machine->observe([&](Observer &observer) { observer.fenced(event); });
  return Outcome::Next;
}

Scope expectScope(Binder &b) {
  static const Scope scopes[] = {Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys};
  return scopes[b.expectOneOf({"cta", "cluster", "gpu", "sys"})];
}

void bindAlias(Binder &b) {
  b.payload<ProxyPayload>()->kind = FenceKind::ProxyAlias;
  b.operands(0);
  b.requireSm(70);
  b.run(runProxy);
}

void bindAsync(Binder &b) {
  ProxyPayload &payload = *b.payload<ProxyPayload>();
  switch (b.acceptOneOf({"global", "shared::cta", "shared::cluster"})) {
  case 0:
    payload.kind = FenceKind::ProxyAsyncGlobal;
    break;
  case 1:
  case 2:
    payload.kind = FenceKind::ProxyAsyncShared;
    break;
  default:
    break;
  }
  b.operands(0);
  b.requireSm(90);
  b.run(runProxy);
}

/// fence.proxy.tensormap::generic.{release.scope; acquire.scope [addr], 128}
void bindTensorMap(Binder &b) {
  ProxyPayload &payload = *b.payload<ProxyPayload>();
  payload.kind = FenceKind::ProxyTensorMap;
  bool isAcquire = b.expectOneOf({"release", "acquire"}) == 1;
  payload.order = isAcquire ? Order::Acquire : Order::Release;
  payload.scope = expectScope(b);
  b.requireSm(90);
  b.operands(isAcquire ? 2 : 0);
  if (isAcquire) {
    b.address(0);
    b.constant(1, 128, 128);
  }
  b.run(runProxy);
}

void bindMbarrierInit(Binder &b) {
  ProxyPayload &payload = *b.payload<ProxyPayload>();
  payload.kind = FenceKind::MbarrierInit;
  payload.order = Order::Release;
  payload.scope = Scope::Cluster;
  b.expect("release");
  b.expect("cluster");
  b.operands(0);
  b.requireSm(90);
  b.run(runProxy);
}

constexpr FamilyRow kRows[] = {
    {"fence.proxy.alias", {}, bindAlias},
    {"fence.proxy.async", {}, bindAsync},
    {"fence.proxy.tensormap::generic", {}, bindTensorMap},
    {"fence.mbarrier_init", {}, bindMbarrierInit},
};

} // namespace

namespace weft::emu {
extern const Family kProxyFamily;
const Family kProxyFamily = {"fence.proxy", kRows, sizeof(kRows) / sizeof(kRows[0])};
} // namespace weft::emu
