// Queued copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations that cp.async, bulk and tensor copies and st.async queue. Shared addresses have the rank of the CTA in
// their high bits (Access.h), so that an operation can be performed when its issuer is long past it.
#ifndef WEFT_EMULATOR_ASYNC_COPYOPS_H
#define WEFT_EMULATOR_ASYNC_COPYOPS_H

#include "Emulator/Async/BoxWalk.h"
#include "Emulator/Async/MbarrierOps.h"
#include "Emulator/Async/Reduce.h"

namespace weft::emu {

/// cp.async: up to 16 bytes per lane from global to shared memory; what is beyond sourceBytes becomes zero.
class CopyAsyncOp : public AsyncOp {
public:
  CopyAsyncOp() : AsyncOp(AsyncKind::CopyAsync) {}
  bool perform(Machine &machine) override;

  uint32_t bytes = 16;
  CacheHints cache;
  uint32_t target[32];
  uint64_t source[32];
  uint8_t sourceBytes[32];

private:
  bool readSources(Machine &machine, uint8_t (*data)[16]);
};

/// cp.async.mbarrier.arrive: an arrival of each lane after the copies that it has issued before.
class CopyArriveOp : public AsyncOp {
public:
  CopyArriveOp() : AsyncOp(AsyncKind::CopyAsync) {}
  bool perform(Machine &machine) override;

  std::vector<std::shared_ptr<AsyncOp>> copies;
  uint32_t mbarrier[32];
};

/// How a copy that completes on an mbarrier ends: complete_tx on the mbarrier at the same offset in each CTA of the
/// mask.
struct MbarrierCompletion {
  bool isUsed = false;
  uint32_t address = 0;
};

/// What bulk and tensor copies have in common: one thread's operation between memories.
class BulkOp : public AsyncOp {
public:
  explicit BulkOp(AsyncKind kind) : AsyncOp(kind) {}
  MbarrierCompletion completion;
  bool isMulticast = false;
  uint16_t ctaMask = 0; ///< Ranks, if isMulticast.
  bool isReduction = false;
  ReduceOp reduceOp = ReduceOp::Add;
  ReduceType reduceType = ReduceType::U32;

protected:
  /// Calls `body(rank of the CTA << kSharedRankShift | offset)` for `address` in each target CTA. False: fault.
  template <typename Body> bool forTargets(uint32_t address, Body &&body);
  /// complete_tx of `bytes` in every target CTA.
  bool complete(Machine &machine, uint32_t bytes);
  AccessKind writeKind() const { return isReduction ? AccessKind::Atomic : AccessKind::AsyncWrite; }
  /// Copies or reduces.
  void put(uint8_t *target, const uint8_t *source, size_t bytes) const;
};

/// cp.async.bulk and cp.reduce.async.bulk.
class BulkCopyOp : public BulkOp {
public:
  BulkCopyOp() : BulkOp(AsyncKind::BulkCopy) {}
  bool perform(Machine &machine) override;

  bool readsShared = false, writesShared = false; ///< Otherwise global memory.
  uint64_t target = 0, source = 0;
  uint32_t bytes = 0; ///< A multiple of 16.
};

/// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor.
class TensorCopyOp : public BulkOp {
public:
  TensorCopyOp() : BulkOp(AsyncKind::TensorCopy) {}
  bool perform(Machine &machine) override;

  TensorMapSpec map;
  bool isLoad = true;
  uint32_t shared = 0; ///< Of the box, 128-byte aligned.
  int32_t coordinates[kMaxTensorMapRank] = {};
  uint16_t offsets[kMaxTensorMapRank - 2] = {};

private:
  bool load(Machine &machine, const std::vector<BoxRow> &rows);
  bool store(Machine &machine, const std::vector<BoxRow> &rows);
};

/// cp.async.bulk.prefetch and its tensor form: reads nothing that the program can see, but must be able to.
class PrefetchOp : public AsyncOp {
public:
  PrefetchOp() : AsyncOp(AsyncKind::Prefetch) {}
  bool perform(Machine &machine) override;

  bool isTensor = false;
  TensorMapSpec map;
  int32_t coordinates[kMaxTensorMapRank] = {};
  uint16_t offsets[kMaxTensorMapRank - 2] = {};
  uint64_t source = 0; ///< Bulk.
  uint32_t bytes = 0;
};

/// st.async and red.async: each lane's value into shared memory of the cluster, then complete_tx there.
class StoreAsyncOp : public AsyncOp {
public:
  StoreAsyncOp() : AsyncOp(AsyncKind::StoreAsync) {}
  bool perform(Machine &machine) override;

  uint32_t bytes = 4; ///< Per lane: 4, 8 or 16.
  bool isReduction = false;
  ReduceOp reduceOp = ReduceOp::Add;
  ReduceType reduceType = ReduceType::U32;
  uint32_t target[32];
  uint32_t mbarrier[32];
  uint8_t data[32][16];
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_COPYOPS_H
