// Collectives of host memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each pair of ranks exchanges what the one has and the other needs. Sums are made in the order of the ranks, in f32
// for f16, bf16 and f32, so that every rank gets the same bits in every run. What runs beside kernels runs on a thread,
// which touches host memory only: devices are the business of the thread that runs the program.
#include "../Device.h"
#include "../Memory/AlignedMemory.h"
#include "Communicator.h"
#include "SideThread.h"
#include "weft/Bundle/DType.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <deque>

using namespace weft;
using namespace weft::bundle;

namespace {

/// Elements as they are computed with.
template <class T> struct Plain {
  using Value = T;
  static Value load(const uint8_t *from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  static void store(uint8_t *to, Value value) { std::memcpy(to, &value, sizeof value); }
  static constexpr size_t size = sizeof(T);
};

struct Half {
  using Value = float;
  static Value load(const uint8_t *from) { return float(Plain<_Float16>::load(from)); }
  static void store(uint8_t *to, Value value) { Plain<_Float16>::store(to, _Float16(value)); }
  static constexpr size_t size = 2;
};

struct BrainHalf {
  using Value = float;
  static Value load(const uint8_t *from) {
    uint32_t bits = uint32_t(Plain<uint16_t>::load(from)) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static void store(uint8_t *to, Value value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    // To nearest, ties to even; a NaN stays one.
    uint16_t rounded =
        std::isnan(value) ? uint16_t(bits >> 16 | 0x40) : uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    Plain<uint16_t>::store(to, rounded);
  }
  static constexpr size_t size = 2;
};

template <class V> V combine(Reduction reduction, V a, V b) {
  if constexpr (std::is_floating_point_v<V>) {
    bool isExtreme = reduction == Reduction::Max || reduction == Reduction::Min;
    if (isExtreme && (std::isnan(a) || std::isnan(b))) // NaN propagates, as in tg.reduce.
      return a + b;
  }
  switch (reduction) {
  case Reduction::Mul:
    return V(a * b);
  case Reduction::Max:
    return std::max(a, b);
  case Reduction::Min:
    return std::min(a, b);
  default:
    return V(a + b);
  }
}

/// `result[i]`: what the `ranks` rows of `count` elements at `rows` combine to.
template <class Element>
void combineRows(Reduction reduction, const std::vector<const uint8_t *> &rows, uint64_t count, uint8_t *result) {
  for (uint64_t i = 0; i < count; ++i) {
    typename Element::Value value = Element::load(rows[0] + i * Element::size);
    for (size_t r = 1; r < rows.size(); ++r)
      value = combine(reduction, value, Element::load(rows[r] + i * Element::size));
    Element::store(result + i * Element::size, value);
  }
}

void combineRows(DType type, Reduction reduction, const std::vector<const uint8_t *> &rows, uint64_t count,
                 uint8_t *result) {
  switch (type) {
  case DType::F64:
    return combineRows<Plain<double>>(reduction, rows, count, result);
  case DType::F32:
    return combineRows<Plain<float>>(reduction, rows, count, result);
  case DType::F16:
    return combineRows<Half>(reduction, rows, count, result);
  case DType::BF16:
    return combineRows<BrainHalf>(reduction, rows, count, result);
  case DType::I64: // Sums and products are the same bits; what is larger is not.
    return reduction == Reduction::Add || reduction == Reduction::Mul
               ? combineRows<Plain<uint64_t>>(reduction, rows, count, result)
               : combineRows<Plain<int64_t>>(reduction, rows, count, result);
  case DType::I32:
    return reduction == Reduction::Add || reduction == Reduction::Mul
               ? combineRows<Plain<uint32_t>>(reduction, rows, count, result)
               : combineRows<Plain<int32_t>>(reduction, rows, count, result);
  case DType::I8:
    return combineRows<Plain<int8_t>>(reduction, rows, count, result);
  case DType::UI64:
    return combineRows<Plain<uint64_t>>(reduction, rows, count, result);
  case DType::UI32:
    return combineRows<Plain<uint32_t>>(reduction, rows, count, result);
  default:
    return combineRows<Plain<uint8_t>>(reduction, rows, count, result);
  }
}

class HostTransport : public Transport {
public:
  HostTransport(const CommunicatorOptions &options, Links &links)
      : rank(options.rank), ranks(options.ranks), links(links) {}
  Error run(const Collective &collective, Device &device) override;
  Error runBeside(const Collective &collective, Device &device) override;
  Error await(size_t left, Device &device) override;
  bool canRecord() const override { return false; }
  Error begin(const std::vector<Collective> *) override;
  Error wait(Device &device) override { return device.synchronise(); }
  void abort() override;

private:
  /// A collective of a device whose memory the host does not see, by copies.
  struct Staged {
    AlignedMemory source, destination;
    void *target = nullptr; ///< Of the device; null: nothing is staged.
    uint64_t bytes = 0;     ///< There.
  };

  Error stage(Collective &collective, Device &device, Staged &staged) const;
  Error runOnHost(const Collective &collective);
  Error exchange(const Collective &collective, const std::vector<Links::Transfer> &transfers);
  Error reduceParts(const Collective &collective, const std::vector<uint64_t> &bounds, uint8_t *result);
  Error allReduce(const Collective &collective);

  uint32_t rank, ranks;
  Links &links;
  uint64_t steps = 1u << 20;   ///< Beyond those of sessions.
  std::deque<Staged> underWay; ///< Of what `side` has not been awaited for.
  SideThread side;             ///< Last: it ends first.
};

} // namespace

static uint64_t getResultBytes(const Collective &collective, uint32_t ranks) {
  switch (collective.kind) {
  case CollectiveKind::AllGather:
    return collective.bytes * ranks;
  case CollectiveKind::ReduceScatter:
    return collective.bytes / ranks;
  default:
    return collective.bytes;
  }
}

/// Memory of the device goes through the host's: `collective` is on the latter afterwards.
Error HostTransport::stage(Collective &collective, Device &device, Staged &staged) const {
  if (device.getCapabilities().hostMemory)
    return {};
  staged.target = collective.destination;
  staged.bytes = getResultBytes(collective, ranks);
  if (!staged.source.allocate(collective.bytes) || !staged.destination.allocate(staged.bytes))
    return makeError(ErrorCode::Resource, "no memory of the host for %" PRIu64 " bytes of a collective",
                     collective.bytes + staged.bytes);
  if (Error error = device.download(staged.source.get(), collective.source, collective.bytes))
    return error;
  collective.source = staged.source.get();
  collective.destination = staged.destination.get();
  return device.synchronise();
}

Error HostTransport::run(const Collective &collective, Device &device) {
  Staged staged;
  Collective onHost = collective;
  if (Error error = stage(onHost, device, staged))
    return error;
  if (Error error = runOnHost(onHost))
    return error;
  if (!staged.target)
    return {};
  if (Error error = device.upload(staged.target, staged.destination.get(), staged.bytes))
    return error;
  return device.synchronise();
}

Error HostTransport::runBeside(const Collective &collective, Device &device) {
  Staged staged;
  Collective onHost = collective;
  if (Error error = stage(onHost, device, staged))
    return error;
  underWay.push_back(std::move(staged));
  side.start([this, onHost] { return runOnHost(onHost); });
  return {};
}

Error HostTransport::await(size_t left, Device &device) {
  if (Error error = side.await(left))
    return error;
  bool isStaged = false;
  Error error;
  for (size_t i = 0; i + left < underWay.size() && !error; ++i)
    if (const Staged &staged = underWay[i]; staged.target) {
      error = device.upload(staged.target, staged.destination.get(), staged.bytes);
      isStaged = true;
    }
  if (isStaged && !error)
    error = device.synchronise();
  while (underWay.size() > left)
    underWay.pop_front();
  return error;
}

/// The links are cancelled, so what runs ends soon.
void HostTransport::abort() {
  side.settle();
  underWay.clear();
}

/// What ranks do is compared at each step.
Error HostTransport::begin(const std::vector<Collective> *) {
  (void)links.beginRun();
  return {};
}

Error HostTransport::exchange(const Collective &collective, const std::vector<Links::Transfer> &transfers) {
  Step step = {uint8_t(collective.kind), uint8_t(collective.reduction), uint8_t(collective.dtype), steps++,
               collective.bytes};
  return links.exchange(step, transfers, describe(collective));
}

/// The own part, [bounds[rank], bounds[rank + 1]) bytes, of what all ranks give.
Error HostTransport::reduceParts(const Collective &collective, const std::vector<uint64_t> &bounds, uint8_t *result) {
  const auto *source = static_cast<const uint8_t *>(collective.source);
  uint64_t own = bounds[rank + 1] - bounds[rank], size = getBits(collective.dtype) / 8;
  AlignedMemory memory;
  if (!memory.allocate(own * ranks))
    return makeError(ErrorCode::Resource, "no memory for %" PRIu64 " bytes of a collective", own * ranks);
  std::vector<Links::Transfer> transfers(ranks);
  std::vector<const uint8_t *> rows(ranks);
  for (uint32_t i = 0; i < ranks; ++i) {
    uint8_t *row = static_cast<uint8_t *>(memory.get()) + i * own;
    transfers[i] = {source + bounds[i], bounds[i + 1] - bounds[i], row, own};
    rows[i] = i == rank ? source + bounds[rank] : row;
  }
  if (Error error = exchange(collective, transfers))
    return error;
  combineRows(collective.dtype, collective.reduction, rows, own / size, result);
  return {};
}

/// Each rank combines a part, and all gather the parts.
Error HostTransport::allReduce(const Collective &collective) {
  uint64_t size = getBits(collective.dtype) / 8, count = collective.bytes / size;
  std::vector<uint64_t> bounds(ranks + 1);
  for (uint32_t i = 0; i <= ranks; ++i)
    bounds[i] = count / ranks * i * size + std::min<uint64_t>(i, count % ranks) * size;
  auto *result = static_cast<uint8_t *>(collective.destination);
  if (Error error = reduceParts(collective, bounds, result + bounds[rank]))
    return error;
  std::vector<Links::Transfer> transfers(ranks);
  for (uint32_t i = 0; i < ranks; ++i)
    transfers[i] = {result + bounds[rank], bounds[rank + 1] - bounds[rank], result + bounds[i],
                    bounds[i + 1] - bounds[i]};
  return exchange(collective, transfers);
}

Error HostTransport::runOnHost(const Collective &collective) {
  const auto *source = static_cast<const uint8_t *>(collective.source);
  auto *result = static_cast<uint8_t *>(collective.destination);
  uint64_t bytes = collective.bytes, part = bytes / ranks;
  std::vector<Links::Transfer> transfers(ranks);
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    return allReduce(collective);
  case CollectiveKind::ReduceScatter: {
    std::vector<uint64_t> bounds(ranks + 1);
    for (uint32_t i = 0; i <= ranks; ++i)
      bounds[i] = part * i;
    return reduceParts(collective, bounds, result);
  }
  case CollectiveKind::AllGather:
    for (uint32_t i = 0; i < ranks; ++i)
      transfers[i] = {source, bytes, result + i * bytes, bytes};
    std::memcpy(result + rank * bytes, source, bytes);
    return exchange(collective, transfers);
  case CollectiveKind::AllToAll:
    for (uint32_t i = 0; i < ranks; ++i)
      transfers[i] = {source + i * part, part, result + i * part, part};
    std::memcpy(result + rank * part, source + rank * part, part);
    return exchange(collective, transfers);
  }
  return Error(ErrorCode::Internal, "unknown collective");
}

std::unique_ptr<Transport> weft::createHostTransport(const CommunicatorOptions &options, Links &links) {
  return std::make_unique<HostTransport>(options, links);
}
