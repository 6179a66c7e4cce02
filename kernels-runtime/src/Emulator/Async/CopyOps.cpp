// Queued copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cp.async, cp.async.bulk, prefetches and st.async do when their moment has come.
#include "Emulator/Async/CopyOps.h"

#include "Emulator/Async/AsyncMemory.h"
#include "Emulator/Async/Swizzle.h"

#include <algorithm>
#include <cstring>

namespace weft::emu {
namespace {

Access accessOf(AsyncOp &op, AccessKind kind, MemorySpace space, uint32_t bytes, LaneMask mask) {
  Access access;
  access.kind = kind;
  access.space = space;
  access.bytes = bytes;
  access.mask = mask;
  access.warp = op.warp;
  access.step = op.step;
  access.async = &op;
  return access;
}

} // namespace

//===--------------------------------------------------------------------------------------------------------------===//
// cp.async
//===--------------------------------------------------------------------------------------------------------------===//

bool CopyAsyncOp::readSources(Machine &machine, uint8_t (*data)[16]) {
  // Lanes that read equal numbers of bytes are one access.
  for (LaneMask rest = lanes; rest;) {
    uint32_t count = sourceBytes[__builtin_ctz(rest)];
    LaneMask same = 0;
    forLanes(rest, [&](unsigned lane) { same |= LaneMask(sourceBytes[lane] == count) << lane; });
    rest &= ~same;
    if (count == 0)
      continue;
    Access read = accessOf(*this, AccessKind::AsyncRead, MemorySpace::Global, count, same);
    read.cache = cache;
    read.alignment = 1; // Of the whole copy: checked at issue.
    forLanes(same, [&](unsigned lane) { read.addresses[lane] = source[lane]; });
    if (!machine.resolve(read))
      return false;
    forLanes(same, [&](unsigned lane) { std::memcpy(data[lane], read.host[lane], count); });
  }
  return true;
}

bool CopyAsyncOp::perform(Machine &machine) {
  uint8_t data[32][16] = {};
  if (!readSources(machine, data))
    return false;
  Access write = accessOf(*this, AccessKind::AsyncWrite, MemorySpace::Shared, bytes, lanes);
  forLanes(lanes, [&](unsigned lane) { write.addresses[lane] = target[lane]; });
  if (!machine.resolve(write))
    return false;
  forLanes(lanes, [&](unsigned lane) { std::memcpy(write.host[lane], data[lane], bytes); });
  return true;
}

bool CopyArriveOp::perform(Machine &machine) {
  for (const std::shared_ptr<AsyncOp> &copy : copies)
    if (!copy->isDone && !machine.force(*copy))
      return false;
  copies.clear();
  MbarrierActor actor = {warp, step, lanes, this, Order::Release, Scope::Cta};
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    actor.lanes = rest & -rest;
    MbarrierPlace place;
    if (!placeMbarrier(actor, mbarrier[actor.lane()], place) ||
        !arriveMbarrier(actor, place, 1, 0, false, false, nullptr))
      return false;
  }
  return true;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Bulk copies
//===--------------------------------------------------------------------------------------------------------------===//

template <typename Body> bool BulkOp::forTargets(uint32_t address, Body &&body) {
  if (!isMulticast)
    return body(address);
  for (uint32_t rest = ctaMask; rest; rest &= rest - 1)
    if (!body((address & kSharedOffsetMask) | uint32_t(__builtin_ctz(rest)) << kSharedRankShift))
      return false;
  return true;
}

bool BulkOp::complete(Machine &, uint32_t bytes) {
  if (!completion.isUsed)
    return true;
  MbarrierActor actor = {warp, step, lanes, this, Order::Release, Scope::Cluster};
  return forTargets(completion.address, [&](uint32_t address) {
    MbarrierPlace place;
    return placeMbarrier(actor, address, place) && completeTxMbarrier(actor, place, bytes);
  });
}

void BulkOp::put(uint8_t *target, const uint8_t *source, size_t bytes) const {
  if (isReduction)
    reduceElements(reduceOp, reduceType, target, source, bytes);
  else
    std::memcpy(target, source, bytes);
}

bool BulkCopyOp::perform(Machine &machine) {
  constexpr uint32_t kPiece = 16;
  AsyncPieces read(machine, *this, AccessKind::AsyncRead,
                   readsShared ? MemorySpace::SharedCluster : MemorySpace::Global, kPiece);
  for (uint32_t i = 0; i < bytes; i += kPiece)
    if (!read.add(source + i))
      return false;
  if (!read.flush())
    return false;
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < read.size(); ++i)
    std::memcpy(&data[i * kPiece], read[i], kPiece);
  auto writeTo = [&](uint64_t to) {
    AsyncPieces write(machine, *this, writeKind(), writesShared ? MemorySpace::SharedCluster : MemorySpace::Global,
                      kPiece);
    for (uint32_t i = 0; i < bytes; i += kPiece)
      if (!write.add(to + i))
        return false;
    if (!write.flush())
      return false;
    for (size_t i = 0; i < write.size(); ++i)
      put(write[i], &data[i * kPiece], kPiece);
    return true;
  };
  if (!writesShared)
    return writeTo(target);
  return forTargets(uint32_t(target), writeTo) && complete(machine, bytes);
}

bool PrefetchOp::perform(Machine &machine) {
  std::vector<BoxRow> rows;
  if (isTensor && map.isIm2col)
    walkIm2col(map, coordinates, offsets, rows);
  else if (isTensor)
    walkTile(map, coordinates, rows);
  else
    for (uint32_t i = 0; i < bytes; i += 128)
      rows.push_back({source + i, 0, 0, 0, uint16_t(std::min(bytes - i, 128u))});
  for (size_t i = 0; i < rows.size();) {
    // Runs of rows with equally many bytes.
    uint32_t size = rows[i].insideBytes;
    AsyncPieces read(machine, *this, AccessKind::AsyncRead, MemorySpace::Global, size);
    for (; i < rows.size() && rows[i].insideBytes == size; ++i)
      if (size && !read.add(rows[i].globalAddress))
        return false;
    if (!read.flush())
      return false;
  }
  return true;
}

//===--------------------------------------------------------------------------------------------------------------===//
// st.async, red.async
//===--------------------------------------------------------------------------------------------------------------===//

bool StoreAsyncOp::perform(Machine &machine) {
  Access write = accessOf(*this, isReduction ? AccessKind::Atomic : AccessKind::AsyncWrite, MemorySpace::SharedCluster,
                          bytes, lanes);
  forLanes(lanes, [&](unsigned lane) { write.addresses[lane] = target[lane]; });
  if (!machine.resolve(write))
    return false;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint8_t *to = reinterpret_cast<uint8_t *>(write.host[lane]);
    if (isReduction)
      reduceElements(reduceOp, reduceType, to, data[lane], bytes);
    else
      std::memcpy(to, data[lane], bytes);
    MbarrierActor actor = {warp, step, rest & -rest, this, Order::Release, Scope::Cluster};
    MbarrierPlace place;
    if (!placeMbarrier(actor, mbarrier[lane], place) || !completeTxMbarrier(actor, place, bytes))
      return false;
  }
  return true;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Tensor copies
//===--------------------------------------------------------------------------------------------------------------===//

namespace {

/// The bytes of a box in shared memory at `box`, row by row: a swizzled row that fills its span is one piece (the
/// swizzle permutes it in itself), a shorter one is pieces of 16 bytes.
class SharedRows {
public:
  SharedRows(Machine &machine, AsyncOp &op, AccessKind kind, const TensorMapSpec &map, uint32_t box, uint32_t rowBytes)
      : span(swizzleSpan(map.swizzle)), box(box), rowBytes(rowBytes), isWhole(span == 0 || rowBytes == span),
        pieces(machine, op, kind, MemorySpace::SharedCluster, isWhole ? rowBytes : 16) {}

  bool add(uint32_t sharedOffset) {
    uint32_t address = box + sharedOffset;
    if (isWhole)
      return pieces.add(address);
    for (uint32_t i = 0; i < rowBytes; i += 16)
      if (!pieces.add(swizzleAddress(address + i, span)))
        return false;
    return true;
  }
  bool flush() { return pieces.flush(); }

  /// The 16 bytes number `chunk` of row number `row` (in the order of add), which has offset `sharedOffset`.
  uint8_t *chunk(size_t row, uint32_t sharedOffset, uint32_t chunk) const {
    if (!isWhole)
      return pieces[row * (rowBytes / 16) + chunk];
    uint32_t address = box + sharedOffset;
    return pieces[row] + (swizzleAddress(address + chunk * 16, span) - address);
  }

private:
  uint32_t span, box, rowBytes;
  bool isWhole;
  AsyncPieces pieces;
};

} // namespace

bool TensorCopyOp::perform(Machine &machine) {
  std::vector<BoxRow> rows;
  if (map.isIm2col)
    walkIm2col(map, coordinates, offsets, rows);
  else
    walkTile(map, coordinates, rows);
  return isLoad ? load(machine, rows) : store(machine, rows);
}

bool TensorCopyOp::load(Machine &machine, const std::vector<BoxRow> &rows) {
  uint32_t rowBytes = rows.front().bytes;
  // The innermost extent is cut at the same position in every row that is inside at all.
  uint32_t inside = 0, begin = 0;
  for (const BoxRow &row : rows)
    if (row.insideBytes)
      inside = row.insideBytes, begin = row.insideBegin;
  AsyncPieces read(machine, *this, AccessKind::AsyncRead, MemorySpace::Global, inside);
  for (const BoxRow &row : rows)
    if (row.insideBytes && !read.add(row.globalAddress))
      return false;
  if (!read.flush())
    return false;
  std::vector<uint8_t> data(rows.size() * rowBytes);
  size_t piece = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    uint8_t *row = &data[i * rowBytes];
    if (rows[i].insideBytes != rowBytes)
      for (uint32_t byte = 0; byte < rowBytes; ++byte)
        row[byte] = fillByte(map, byte);
    if (rows[i].insideBytes) {
      std::memcpy(row + begin, read[piece++], inside);
      roundLoaded(map.type, row + begin, inside);
    }
  }
  bool isWritten = forTargets(shared, [&](uint32_t box) {
    SharedRows write(machine, *this, AccessKind::AsyncWrite, map, box, rowBytes);
    for (const BoxRow &row : rows)
      if (!write.add(row.sharedOffset))
        return false;
    if (!write.flush())
      return false;
    for (size_t i = 0; i < rows.size(); ++i)
      for (uint32_t chunk = 0; chunk < rowBytes / 16; ++chunk)
        std::memcpy(write.chunk(i, rows[i].sharedOffset, chunk), &data[i * rowBytes + chunk * 16], 16);
    return true;
  });
  return isWritten && complete(machine, uint32_t(boxBytes(map)));
}

bool TensorCopyOp::store(Machine &machine, const std::vector<BoxRow> &rows) {
  uint32_t rowBytes = rows.front().bytes, stored = 0;
  for (const BoxRow &row : rows)
    stored = std::max(stored, storedBytes(row));
  SharedRows read(machine, *this, AccessKind::AsyncRead, map, shared, rowBytes);
  AsyncPieces write(machine, *this, writeKind(), MemorySpace::Global, stored);
  for (const BoxRow &row : rows)
    if (row.insideBytes && (!read.add(row.sharedOffset) || !write.add(row.globalAddress)))
      return false;
  if (!read.flush() || !write.flush())
    return false;
  size_t piece = 0;
  for (const BoxRow &row : rows) {
    if (!row.insideBytes)
      continue;
    for (uint32_t chunk = 0; chunk < stored / 16; ++chunk)
      put(write[piece] + chunk * 16, read.chunk(piece, row.sharedOffset, chunk), 16);
    ++piece;
  }
  return true;
}

} // namespace weft::emu
