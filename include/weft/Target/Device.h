// The GPUs that the compiler knows, as data: what a CTA may use, and the rates that the cost model divides by.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_DEVICE_H
#define WEFT_TARGET_DEVICE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace weft {

/// Dense matrix rates of one SM in floating-point (or integer) operations per clock; a multiply-add counts as two, 0
/// means that the type has no such instruction. Accumulation in f32 (i32 for i8).
struct MatrixRates {
  unsigned f16 = 0; ///< f16 and bf16.
  unsigned tf32 = 0;
  unsigned f8 = 0; ///< e4m3 and e5m2.
  unsigned i8 = 0;
};

/// What the devices of an architecture can do beside products, and what follows from how they are built: a row of the
/// table for each. Code asks for these, and for no architecture's number (tools/dev/check-rooms.py).
struct Capabilities {
  unsigned computeVersion;   ///< 90 for sm_90a.
  unsigned firstPtx;         ///< The first PTX ISA that has the architecture, ten times the version.
  bool wgmma = false;        ///< Products of warpgroups, whose operands TMA copies.
  bool tma = false;          ///< One thread copies boxes of tensors, beside what the others do.
  bool earlyStarts = false;  ///< A kernel may start while the one before still runs (griddepcontrol).
  bool matrixStores = false; ///< stmatrix.
  bool bf16Atomics = false;  ///< Pairs of bf16 are added in memory by one instruction.
  unsigned f64Shares = 64;   ///< Operations of f32 in the time of one of f64, outside the matrix units.
  unsigned l2Partitions = 1; ///< Of the L2, each with what its own SMs read.
  unsigned smsPerPort = 1;   ///< Of neighbours that share their way to the L2, and requests for the same line.
  unsigned drift = 0;        ///< Ticks of the simulation that CTAs of a wave start apart from each other, at most.
};

/// What a tiled product takes beside its bytes and operations: clocks of one SM, or of one warp where it says so.
struct TileClocks {
  double start; ///< A CTA's: until its first operands are there, and from its last store to its end.
  double turn;  ///< From a tile to the next one of the same SM.
  /// Until what is asked for has come from the L2 where nothing else is under way: a thread's copy, and a box (TMA).
  double copy, box;
  double heldSlots; ///< Of the slots that boxes come to, those that wait for instructions which are under way.
  /// Of a step beside its work: where threads copy, and of that the barrier and the first read of shared memory of a
  /// CTA that is alone; where a warp copies boxes.
  double step, copyStep, boxStep;
  double pairedStep;                ///< And where CTAs of a cluster copy a part each for all: they wait for each other.
  double copyIssue;                 ///< A warp's, for a copy of 16 bytes or less a lane and its address.
  double narrowCopy, narrowestCopy; ///< An SM's, for a copy by a warp of 4 or 8 bytes a lane, and of less.
  /// And of an element a lane that windows slide along, each with an address and a mask of its own.
  double slidingCopy;
  /// A warp's, for a result a lane: converted, through shared memory, and stored by threads, or as a box.
  double store, boxStore;
  double instruction;         ///< A warp's, for one in what follows products.
  double besideBytesPerClock; ///< Of tensors that what follows products reads.
  /// A warpgroup's step that unpacks an operand in registers, beside unpacking and products: one waits for the other.
  double unpackedStep;
  /// What whole tiles take longer: of more rows than columns; of columns that are no power of two; and of these whose
  /// rows are short and begin anywhere in a sector.
  double tall, narrow, straddling;
};

/// Steps of several taps of a window, by boxes.
struct WindowClocks {
  double step;       ///< Of a step, beside its work.
  double turn;       ///< Of a tile, beside its steps and its stores.
  double beside;     ///< Of what a step takes elsewhere, the part that comes on top of the longest.
  double straddling; ///< Of the lines of pieces that straddle two, the part that comes on top of both.
  double paired;     ///< How many times as long as alone CTAs of a cluster take that read as much each.
  /// How many times as long results take in pieces of rows that begin at any element, of 64 bytes and more, and of
  /// less.
  double oddStores, narrowOddStores;
  /// How many times parts of sectors are moved that are written alone: where the L2 holds all of them, and where not.
  double heldParts, evictedParts;
};

/// A fold's CTA, beside the steps of its chain.
struct FoldClocks {
  double operands;      ///< Of mma.sync's step: its copies, and what it reads of shared memory.
  double ends, mmaEnds; ///< Of a tile beside its steps, by the best instructions and by mma.sync.
  double vectorStep;    ///< Barriers of a step of one row.
};

/// What a CTA takes that computes something for itself alone, ahead of what it is there for: one SM, the others idle
/// or at the same. Rates of a second, and seconds.
struct AloneTimes {
  double points, narrowPoints; ///< Products of a matrix and a vector, of f32 and of narrower elements.
  double bytes, rowBytes;      ///< Weights, all under way at once; rows, step by step.
  double windowTerm;           ///< Of windows, from shared memory.
  double vector;               ///< For each vector one after the other.
  double sum, productSum; ///< Until the warps have summed up, and where a product waits for it that would have begun.
  double step;            ///< Of a product's step whose operand is computed: its loads.
  double rowStepBytes, rowStep; ///< What 16 warps read of rows at a time, and how long it takes with the sum of it.
  /// Of a CTA that holds what it reduces: from its first request to its last store, beside instructions; the part of
  /// that which each of its warps adds; of the instructions of its elements, the part that is issued; of the lesser of
  /// its time and memory's, what comes on top of the greater where no other CTA is on its SM.
  double rowWait, rowWarp, rowIssued, rowUnhidden;
};

/// What groups without schedules are priced by: seconds of one more kernel; in a second, bytes, operations outside the
/// matrix units, and operations of products.
struct GroupRates {
  double launch, bytes, operations, products;
};
/// Of a CPU of a few cores.
inline constexpr GroupRates cpuGroupRates{3e-6, 20e9, 50e9, 200e9};

/// What goes from a device to another one: of a collective, the bytes a second that each sends while it gets as many,
/// and seconds beside its bytes.
struct LinkRates {
  double bytes, seconds;
};
/// Of processes of one machine, by sockets.
inline constexpr LinkRates cpuLinkRates{1e9, 50e-6};

/// One GPU. Sizes in bytes; registers are 32 bits wide.
struct Device {
  const char *name;         ///< "H100"
  const char *architecture; ///< PTX target: "sm_90a".
  unsigned computeVersion;  ///< 90 for sm_90a.
  Capabilities can;         ///< Of its architecture.

  unsigned sms;
  unsigned threadsPerSm, ctasPerSm;
  unsigned registersPerSm, registersPerThread; ///< The latter is the most that one thread can have.
  unsigned sharedPerSm;                        ///< That CTAs of one SM share, the reserve of each CTA included.
  unsigned sharedPerCta;                       ///< The most that one CTA can ask for.
  unsigned sharedReservedPerCta;               ///< Taken by the system for each resident CTA.
  unsigned maxCluster;                         ///< CTAs of a portable cluster; 1: no clusters.
  unsigned clusterClocks; ///< A barrier of a cluster that orders no accesses, or a signal to another CTA of it.
  /// CTAs that add up parts of a result, in a cluster or (where there are none) through the L2: bytes a clock that an
  /// SM sends, and the clocks that the merge takes beside, without a cluster's barriers.
  unsigned mergeBytesPerClock, mergeClocks;
  unsigned clusteredSms;        ///< That clusters of more than two CTAs find, one for each CTA.
  unsigned l1PerSm;             ///< Cache and shared memory of an SM together.
  unsigned sharedBytesPerClock; ///< Of shared memory, reads of one SM.

  uint64_t l2Bytes;
  uint64_t effectiveL2Bytes; ///< The most that all SMs can read again and again from the L2.
  uint64_t memoryBytes;
  double memoryBandwidth;   ///< Of DRAM, bytes per second.
  unsigned l2BytesPerClock; ///< Of the whole GPU, reads that hit.
  double clock;             ///< Boost clock in Hz: the one that the rates below are quoted at.

  unsigned f32PerClock;     ///< Operations of one SM per clock outside the matrix units.
  unsigned specialPerClock; ///< Exponentials, reciprocals and their like of one SM per clock.
  MatrixRates matrix;       ///< By the best instructions: wgmma where there is it, else mma.sync.
  MatrixRates mmaSync;      ///< By mma.sync.
  /// A step of a fold (a product, the maximum of its rows, exponentials, another product of these) one after the other:
  /// clocks beside what its pipes take, by the best instructions and by mma.sync.
  unsigned foldClocks, mmaFoldClocks;

  /// What a kernel costs in a graph beside its work: from the end of the kernel before it to its start, and for filling
  /// the SMs and draining them. The table's source says where they were measured.
  double launchSeconds, tailSeconds;

  /// Tiled products, of the whole GPU: reads of the L2, by lines, where several SMs ask for the same; sectors that the
  /// L2 takes where each is written in part.
  unsigned panelBytesPerClock, partialSectorsPerClock;
  double waveMerge; ///< How many times the former where tiles that start together ask for lines side by side.
  TileClocks tiles;
  WindowClocks windows;
  FoldClocks folds;
  AloneTimes alone;
  double coldClocks;        ///< Until what a step asks for has come from DRAM, while all SMs ask.
  double loadClocks;        ///< Until what is asked for has come, while all SMs ask.
  unsigned l1BytesPerClock; ///< Of an SM, reads that hit its L1.
  double waitSeconds;       ///< A kernel's part that waits for another one's in the same launch, instead of a launch.
  double mergeSeconds;      ///< A reader that adds up parts of hundreds of terms, instead of tens.
  double memorySeconds;     ///< From a request of DRAM to its answer: as many bytes are under way as come in that time.
  GroupRates groups;        ///< A GPU's kernels have a price of their own (kernelSeconds).
  LinkRates links;          ///< To other GPUs of its kind in the same host.

  bool hasWgmma() const { return can.wgmma; }
  /// One more kernel, of work that is done in any case.
  double kernelSeconds() const { return launchSeconds + tailSeconds; }
  /// Reads that hit the L2, of the whole GPU.
  double l2BytesPerSecond() const { return double(l2BytesPerClock) * clock; }
  /// Operations per second of the whole GPU.
  double perSecond(unsigned operationsPerClock) const { return double(operationsPerClock) * sms * clock; }
};

/// All devices; the first of an architecture stands for the architecture.
llvm::ArrayRef<Device> getDevices();

/// The device of that name ("H100", in any case), or the one that stands for that architecture ("sm_90a"); null if
/// there is none.
const Device *findDevice(llvm::StringRef nameOrArchitecture);

/// "sm_80, sm_86, sm_89, sm_90a, sm_120": for messages.
llvm::StringRef getArchitectureList();

} // namespace weft

#endif // WEFT_TARGET_DEVICE_H
