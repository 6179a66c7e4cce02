// L1, L2 and DRAM as global accesses see them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Associativities are assumptions (16 ways at L2, 64 at L1): the GPUs' are not published. Which partition is a line's
// home is a hash of 4 KB blocks.

#include "Emulator/Counters/MemoryModel.h"

using namespace weft::emu;

static constexpr unsigned kL1Ways = 64;
static constexpr unsigned kL2Ways = 16;
static constexpr unsigned kSectorsPerLine = kLineBytes / kSectorBytes;

MemoryModel::MemoryModel(const MemoryModelConfig &config) : config(config), l1(config.sms) {
  for (unsigned i = 0; i < config.l2Partitions; ++i)
    l2.emplace_back(config.l2Bytes / config.l2Partitions, kL2Ways, /*fetchesPairs=*/true);
}

unsigned MemoryModel::homeOf(uint64_t line) const {
  if (config.l2Partitions == 1)
    return 0;
  return unsigned(((line >> 5) * 0xd6e8feb86659fd93u) >> 63);
}

void MemoryModel::count(const SectorTraffic &traffic, uint64_t &hits) {
  hits += traffic.hits;
  total.dramWrites += traffic.writeBacks;
}

void MemoryModel::readL2(uint32_t sm, uint64_t line, unsigned mask, EvictionClass eviction) {
  unsigned home = homeOf(line);
  unsigned near = sm % config.l2Partitions;
  unsigned wanted = mask;
  if (near != home) {
    SectorTraffic traffic = l2[near].read(line, mask, eviction);
    total.l2Reads += unsigned(__builtin_popcount(mask));
    count(traffic, total.l2ReadHits);
    wanted = traffic.fetched;
    if (wanted == 0)
      return;
    total.l2Fabric += unsigned(__builtin_popcount(wanted));
  }
  SectorTraffic traffic = l2[home].read(line, wanted, eviction);
  total.l2Reads += unsigned(__builtin_popcount(wanted));
  count(traffic, total.l2ReadHits);
  total.dramReads += unsigned(__builtin_popcount(traffic.fetched));
}

void MemoryModel::writeL2(uint32_t sm, uint64_t line, unsigned mask, EvictionClass eviction) {
  unsigned home = homeOf(line);
  unsigned near = sm % config.l2Partitions;
  for (unsigned i = 0; i < config.l2Partitions; ++i)
    if (i != home)
      l2[i].drop(line, mask);
  // Lines have byte masks: what a store leaves out of a sector is not fetched.
  SectorTraffic traffic = l2[home].write(line, mask, /*partial=*/0, eviction);
  unsigned sectors = unsigned(__builtin_popcount(mask));
  total.l2Writes += sectors;
  count(traffic, total.l2WriteHits);
  if (near != home) {
    total.l2Writes += sectors;
    total.l2WriteHits += sectors;
    total.l2FabricWrites += sectors;
  }
}

/// `count`: sectors as the serialised lanes count them.
void MemoryModel::atomicL2(GlobalOp op, uint64_t line, unsigned mask, unsigned sectors) {
  unsigned home = homeOf(line);
  for (unsigned i = 0; i < config.l2Partitions; ++i)
    if (i != home)
      l2[i].drop(line, mask);
  SectorTraffic traffic = l2[home].write(line, mask, /*partial=*/mask, EvictionClass::Normal);
  (op == GlobalOp::Atomic ? total.l2Atomics : total.l2Reductions) += sectors;
  total.l2AtomicHits += sectors - traffic.misses;
  total.dramWrites += traffic.writeBacks;
  total.dramReads += unsigned(__builtin_popcount(traffic.fetched));
}

void MemoryModel::perform(GlobalOp op, uint32_t sm, const LineAccess &access, bool usesL1, EvictionClass l1Class,
                          EvictionClass l2Class) {
  if (op == GlobalOp::Store)
    return writeL2(sm, access.line, access.mask, l2Class);
  unsigned mask = access.mask;
  if (usesL1 && config.l1Bytes != 0) {
    std::unique_ptr<SectorCache> &cache = l1[sm];
    if (!cache)
      cache = std::make_unique<SectorCache>(config.l1Bytes, kL1Ways, /*fetchesPairs=*/false);
    SectorTraffic traffic = cache->read(access.line, mask, l1Class);
    total.l1Lookups += unsigned(__builtin_popcount(mask));
    total.l1Hits += traffic.hits;
    mask = traffic.fetched;
  }
  if (mask != 0)
    readL2(sm, access.line, mask, l2Class);
}

void MemoryModel::access(GlobalOp op, uint32_t sm, const TouchedSectors &sectors, bool usesL1, EvictionClass l1Class,
                         EvictionClass l2Class) {
  bool isAtomic = op == GlobalOp::Atomic || op == GlobalOp::Reduction;
  unsigned extra = sectors.passes - sectors.count; // Of lanes that wait for one another; charged to the first line.
  for (unsigned i = 0; i < sectors.count;) {
    LineAccess access{sectors.sector[i].number / kSectorsPerLine, 0};
    for (; i < sectors.count && sectors.sector[i].number / kSectorsPerLine == access.line; ++i)
      access.mask |= 1u << (sectors.sector[i].number % kSectorsPerLine);
    if (!isAtomic) {
      perform(op, sm, access, usesL1, l1Class, l2Class);
      continue;
    }
    if (l1[sm])
      l1[sm]->drop(access.line, access.mask);
    atomicL2(op, access.line, access.mask, unsigned(__builtin_popcount(access.mask)) + extra);
    extra = 0;
  }
}

void MemoryModel::range(GlobalOp op, uint32_t sm, uint64_t address, uint64_t bytes, EvictionClass l2Class) {
  for (uint64_t end = address + bytes; address < end;) {
    LineAccess access{address / kLineBytes, 0};
    uint64_t lineEnd = (access.line + 1) * kLineBytes;
    for (uint64_t stop = lineEnd < end ? lineEnd : end; address < stop;) {
      uint64_t sectorEnd = (address / kSectorBytes + 1) * kSectorBytes;
      uint64_t next = sectorEnd < stop ? sectorEnd : stop;
      access.mask |= 1u << (address / kSectorBytes % kSectorsPerLine);
      address = next;
    }
    if (op == GlobalOp::Atomic || op == GlobalOp::Reduction)
      atomicL2(op, access.line, access.mask, unsigned(__builtin_popcount(access.mask)));
    else
      perform(op, sm, access, /*usesL1=*/false, EvictionClass::Normal, l2Class);
  }
}

void MemoryModel::invalidateL1(uint32_t sm) {
  if (l1[sm])
    l1[sm]->flush();
}
