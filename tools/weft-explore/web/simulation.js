// The sectored cache and the simulation of a launch: ports of lib/Plan/Cost/L2. No DOM here.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

//===--- The cache (CacheModel.cpp) ---===//

function mixBits(value) {
  value = Math.imul((value ^ (value >>> 16)) >>> 0, 0x85ebca6b) >>> 0;
  value = Math.imul((value ^ (value >>> 13)) >>> 0, 0xc2b2ae35) >>> 0;
  return (value ^ (value >>> 16)) >>> 0;
}

function countBits(value) {
  let count = 0;
  for (; value; value &= value - 1)
    ++count;
  return count;
}

/** One half, or the whole, of a cache; see CacheModel.h. access() leaves its answer in `missing` and `evicted`. */
class CacheBank {
  constructor(lines, ways, universe) {
    this.ways = ways;
    this.sets = ways ? Math.max(Math.floor(lines / ways), 1) : 1;
    const slots = ways ? this.sets * ways : Math.max(lines, 1);
    this.number = new Int32Array(slots).fill(-1);
    for (const name of ["valid", "dirty", "stamp", "hint"])
      this[name] = new Uint32Array(slots);
    this.before = new Int32Array(slots).fill(-1);
    this.after = new Int32Array(slots).fill(-1);
    this.places = new Int32Array(universe).fill(-1);
    this.first = [-1, -1, -1];
    this.last = [-1, -1, -1];
    this.clock = this.unused = this.missing = this.evicted = 0;
  }
  unlink(slot) {
    const list = this.hint[slot], before = this.before[slot], after = this.after[slot];
    if (before >= 0) this.after[before] = after; else this.first[list] = after;
    if (after >= 0) this.before[after] = before; else this.last[list] = before;
  }
  append(slot) {
    const list = this.hint[slot], last = this.last[list];
    this.before[slot] = last;
    this.after[slot] = -1;
    if (last >= 0) this.after[last] = slot; else this.first[list] = slot;
    this.last[list] = slot;
  }
  chooseVictim(line) {
    if (!this.ways) {
      if (this.unused < this.number.length)
        return this.unused++;
      const slot = this.first.find((candidate) => candidate >= 0);
      this.unlink(slot);
      return slot;
    }
    const run = Math.floor(line / this.sets), set = ((line % this.sets) + (mixBits(run) % this.sets)) % this.sets;
    const start = set * this.ways;
    let victim = start;
    for (let slot = start + 1; slot < start + this.ways; ++slot)
      if (this.isBefore(slot, victim))
        victim = slot;
    return victim;
  }
  isBefore(a, b) {
    const usedA = this.number[a] >= 0, usedB = this.number[b] >= 0;
    if (usedA !== usedB) return usedB;
    return this.hint[a] !== this.hint[b] ? this.hint[a] < this.hint[b] : this.stamp[a] < this.stamp[b];
  }
  access(line, sectors, hint, isWrite) {
    let slot = this.places[line];
    this.evicted = 0;
    if (slot >= 0) {
      if (!this.ways)
        this.unlink(slot);
    } else {
      slot = this.chooseVictim(line);
      if (this.number[slot] >= 0)
        this.places[this.number[slot]] = -1;
      this.evicted = countBits(this.dirty[slot]);
      this.number[slot] = line;
      this.valid[slot] = this.dirty[slot] = 0;
      this.places[line] = slot;
    }
    this.missing = (sectors & ~this.valid[slot]) >>> 0;
    this.valid[slot] |= sectors;
    if (isWrite)
      this.dirty[slot] |= sectors;
    this.hint[slot] = hint;
    this.stamp[slot] = ++this.clock;
    if (!this.ways)
      this.append(slot);
  }
  drop(line) {
    const slot = this.places[line];
    if (slot >= 0)
      this.valid[slot] = this.dirty[slot] = 0;
  }
  countDirtySectors() { return this.dirty.reduce((sum, bits) => sum + countBits(bits), 0); }
}

//===--- The simulation (Simulate.cpp) ---===//

const linesOfHome = 4;

class Simulation {
  constructor(launch, tiles, machine) {
    Object.assign(this, { launch, tiles, machine, nextBlock: 0 });
    const cache = machine.cache;
    let sampling = machine.sampling || 64;
    if (!machine.sampling)
      for (const stage of launch.stages)
        for (const access of stage.accesses)
          while (sampling > Math.min(access.outers, launch.arrays[access.array].outers))
            sampling /= 2;
    let lines = 0;
    this.firstLine = [];
    this.linesPerRow = [];
    for (const array of launch.arrays) {
      this.firstLine.push(lines);
      this.linesPerRow.push(ceilDiv(array.rowBytes, cache.lineBytes));
      lines += ceilDiv(array.outers, sampling) * this.linesPerRow[this.linesPerRow.length - 1];
    }
    if (lines > 1 << 26)
      throw new Error("expected at most 67108864 lines in all arrays; use larger tiles");
    const perBank = Math.max(Math.floor(cache.bytes / cache.partitions / cache.lineBytes / sampling), 1);
    this.banks = Array.from({ length: cache.partitions }, () => new CacheBank(perBank, cache.ways, lines));
    const resident = machine.sms * machine.blocksPerSm, skew = machine.skew || 0;
    this.drift = machine.drift || 0;
    this.smsPerPort = machine.smsPerPort || 1;
    this.turn = 0;
    this.lastAsk = this.smsPerPort > 1 ? new Uint32Array(lines) : null;
    this.slots = Array.from({ length: resident }, (_, i) => ({
      block: -1, step: 0, next: i, side: cache.partitions === 2 ? mixBits(Math.floor((i % machine.sms) / this.smsPerPort)) & 1 : 0,
      delay: skew ? mixBits(i) % (skew + 1) : 0 }));
    this.doneInRow = new Array(launch.stages[0].grid.rows).fill(0);
    this.result = { readSectors: 0, writtenSectors: 0, merged: 0, lookups: 0, hits: 0, writeLookups: 0, dramReads: 0, dramWrites: 0, dirty: 0, fabric: 0, ticks: 0,
                    blocks: tiles.length, resident, dramReadsByArray: launch.arrays.map(() => 0), sampling };
  }
  accessLine(side, line, sectors, hint, isWrite) {
    const isSplit = this.banks.length === 2, r = this.result, asked = countBits(sectors);
    const home = isSplit ? mixBits(Math.floor(line / linesOfHome)) & 1 : 0;
    r.lookups += asked;
    if (isWrite) {
      r.writeLookups += asked;
      if (isSplit)
        this.banks[1 - home].drop(line);
      this.banks[home].access(line, sectors, hint, true);
      r.hits += asked;
      r.dramWrites += this.banks[home].evicted;
      if (home !== side && isSplit) {
        r.lookups += asked;
        r.writeLookups += asked;
        r.hits += asked;
        r.fabric += asked;
      }
      return 0;
    }
    const near = this.banks[isSplit ? side : 0];
    near.access(line, sectors, hint, false);
    let missing = countBits(near.missing);
    r.hits += asked - missing;
    r.dramWrites += near.evicted;
    if (isSplit && home !== side && missing) {
      r.lookups += missing;
      r.fabric += missing;
      const far = this.banks[home];
      far.access(line, near.missing, hint, false);
      r.hits += missing - countBits(far.missing);
      r.dramWrites += far.evicted;
      missing = countBits(far.missing);
    }
    r.dramReads += missing;
    return missing;
  }
  runAccess(access, tile, step, side) {
    const array = this.launch.arrays[access.array], r = this.result;
    const { lineBytes, sectorBytes } = this.machine.cache;
    const outerStart = at(access.outer, tile.row, tile.col, step, access.rowDivisor), byteStart = at(access.byte, tile.row, tile.col, step, access.rowDivisor);
    const outerEnd = Math.min(outerStart + access.outers, array.outers), byteEnd = Math.min(byteStart + access.bytes, array.rowBytes);
    const byte = Math.max(byteStart, 0);
    if (byte >= byteEnd)
      return;
    for (let sample = ceilDiv(Math.max(outerStart, 0), r.sampling); sample * r.sampling < outerEnd; ++sample) {
      const start = this.firstLine[access.array] + sample * this.linesPerRow[access.array];
      for (let line = Math.floor(byte / lineBytes); line <= Math.floor((byteEnd - 1) / lineBytes); ++line) {
        const first = Math.floor(Math.max(byte - line * lineBytes, 0) / sectorBytes);
        const last = Math.floor((Math.min(byteEnd - line * lineBytes, lineBytes) - 1) / sectorBytes);
        const sectors = (2 ** (last + 1) - 2 ** first) >>> 0;
        r[access.isWrite ? "writtenSectors" : "readSectors"] += last - first + 1;
        if (!access.isWrite && this.lastAsk) {
          const before = this.lastAsk[start + line];
          this.lastAsk[start + line] = this.turn;
          if (before === this.turn) {
            r.merged += last - first + 1;
            continue;
          }
        }
        r.dramReadsByArray[access.array] += this.accessLine(side, start + line, sectors, access.hint, access.isWrite);
      }
    }
  }
  advance(slot) {
    if (slot.delay > 0) {
      --slot.delay;
      return true;
    }
    if (slot.block < 0) {
      const isStatic = Boolean(this.launch.stages[0].isStatic);
      if ((isStatic ? slot.next : this.nextBlock) >= this.tiles.length)
        return false;
      slot.block = isStatic ? slot.next : this.nextBlock;
      slot.next += this.result.resident;
      ++this.nextBlock;
      slot.step = 0;
      if (this.drift && slot.block >= this.result.resident)
        slot.delay = mixBits(Math.floor(slot.block / this.smsPerPort)) % (this.drift + 1);
      if (slot.delay > 0)
        return true;
    }
    const tile = this.tiles[slot.block], stage = this.launch.stages[tile.stage];
    if (tile.stage === 1 && this.doneInRow[tile.row] < this.launch.stages[0].grid.cols)
      return false;
    const lastStep = getSteps(stage, tile.row, tile.col) - 1;
    for (const access of stage.accesses)
      if (access.when === "each" || slot.step === (access.when === "first" ? 0 : lastStep))
        this.runAccess(access, tile, slot.step, slot.side);
    if (slot.step++ === lastStep) {
      if (tile.stage === 0)
        ++this.doneInRow[tile.row];
      slot.block = -1;
    }
    return true;
  }
  run() {
    const r = this.result;
    while (this.nextBlock < this.tiles.length || this.slots.some((slot) => slot.block >= 0)) {
      let isMoving = false;
      this.slots.forEach((slot, i) => {
        if ((i % this.machine.sms) % this.smsPerPort === 0)
          this.turn = (this.turn + 1) >>> 0;
        isMoving = this.advance(slot) || isMoving;
      });
      if (!isMoving)
        throw new Error("expected an order in which blocks wait for earlier ones");
      ++r.ticks;
    }
    r.dirty = this.banks.reduce((sum, bank) => sum + bank.countDirtySectors(), 0);
    for (const name of ["readSectors", "writtenSectors", "merged", "lookups", "hits", "writeLookups", "dramReads", "dramWrites", "dirty", "fabric"])
      r[name] *= r.sampling;
    r.dramReadsByArray = r.dramReadsByArray.map((count) => count * r.sampling);
    return r;
  }
}

const simulate = (launch, tiles, machine) => new Simulation(launch, tiles, machine).run();
