// What was measured of kernels, which overrides what the planner's models say of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file of records is a table from (subgraph, device, shapes) to a schedule and times, or to a choice of groups: a
// JSON object a line, as `weft tune` writes them (docs/records.md). Compiling reads it and never measures. A subgraph's
// name is a hash of its ops, their attributes and the ranks and elements of their values, in an order that follows from
// its results alone: names of values, locations and the order of independent ops do not matter, and extents are beside
// it.
#ifndef WEFT_PLAN_RECORDS_H
#define WEFT_PLAN_RECORDS_H

#include "weft/Plan/BlockOps.h"
#include "llvm/ADT/StringMap.h"
#include <deque>
#include <optional>
#include <string>

namespace weft::plan {

/// What a subgraph is called in records.
struct SubgraphKey {
  std::string name;                         ///< 32 hexadecimal digits.
  llvm::SmallVector<std::string, 4> shapes; ///< Types of what it reads, then of its results: "64x128xf16".
};

/// Of a group of ops of one block. Extents with symbols are followed by what they are planned for: "s0~512x64xf16".
SubgraphKey describeSubgraph(const Group &group);

/// Writes the key into a kernel's attributes (subgraphAttr, shapesAttr of Passes.h): its dispatch, and what `weft
/// explain` reads, have it too.
void nameSubgraph(mlir::Operation *kernel, const SubgraphKey &key);

struct Record {
  enum class Choice : uint8_t { None, Fused, Apart };
  llvm::SmallVector<std::string, 4> shapes;
  double seconds = 0;           ///< Of one kernel that computes it.
  double apartSeconds = 0;      ///< Of the kernels that compute it otherwise; 0: not measured.
  Choice choice = Choice::None; ///< Whether one kernel is to compute it.
  std::string schedule;         ///< The #tg.schedule it was measured with; empty: not told.
  /// The one that the planner had chosen, its time as measured, and what the model said of it; empty and 0: not told.
  std::string planned;
  double plannedSeconds = 0, plannedModelSeconds = 0;
  std::string date, version; ///< Of the measurement and the compiler.
};

class Records {
public:
  /// Adds the records of `file`. Of several of one subgraph, device and shapes the fastest counts. False, with `error`,
  /// for anything but records of this version, in which case nothing is added. A last line that is not whole, as a
  /// tuner that was ended leaves it, is no error.
  bool read(llvm::StringRef file, std::string &error);
  /// The same of a text.
  bool parse(llvm::StringRef text, std::string &error);

  /// The record of a subgraph on a device ("H100", "cpu"), or null.
  const Record *find(const SubgraphKey &key, llvm::StringRef device) const;
  /// Records of the same ops on that device with schedules that gained something, whose extents are like these: equal,
  /// or at most an eighth apart, both multiples of 8 or neither, and cut into as many tiles. The nearest first.
  llvm::SmallVector<const Record *> findNear(const SubgraphKey &key, llvm::StringRef device) const;
  bool isEmpty() const { return all.empty(); }
  /// Whether any record is of that device.
  bool knows(llvm::StringRef device) const { return devices.contains(device.lower()); }

private:
  std::deque<Record> all;
  llvm::StringMap<Record *> exact;                          ///< By name, device and shapes in one text.
  llvm::StringMap<llvm::SmallVector<const Record *>> alike; ///< By name and device.
  llvm::StringMap<size_t> devices;
};

/// "12.0 us together, 9.0 us apart, measured on H100"; "12.0 us, 13.1 as planned, measured on H100 on 2026-11-23".
std::string describe(const Record &record, llvm::StringRef device);

} // namespace weft::plan

#endif // WEFT_PLAN_RECORDS_H
