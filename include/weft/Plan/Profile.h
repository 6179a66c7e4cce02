// Measured times of subgraphs, which override what the planner's models say of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile is a table from (subgraph, device, shapes) to a time and a choice, JSON (docs/profile.md). Compiling reads
// it and never measures. A subgraph's name is a hash of its ops, attributes and types in an order that follows from its
// results alone, so names of values, locations and the order of independent ops do not matter.
#ifndef WEFT_PLAN_PROFILE_H
#define WEFT_PLAN_PROFILE_H

#include "weft/Plan/Groups.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>

namespace weft::plan {

/// What a subgraph is called in profiles.
struct SubgraphKey {
  std::string name;                         ///< 32 hexadecimal digits.
  llvm::SmallVector<std::string, 4> shapes; ///< Types of what it reads, then of its results: "64x128xf16".
};

/// Of a group of ops of one block.
SubgraphKey describeSubgraph(const Group &group);

/// Writes the key into a kernel's attributes (subgraphAttr, shapesAttr of Passes.h): its dispatch, and what `weft
/// explain` reads, have it too.
void nameSubgraph(mlir::Operation *kernel, const SubgraphKey &key);

struct ProfileRecord {
  enum class Choice : uint8_t { None, Fused, Apart };
  double seconds = 0;           ///< Of one kernel that computes it.
  double apartSeconds = 0;      ///< Of the kernels that compute it otherwise; 0: not measured.
  Choice choice = Choice::None; ///< Whether one kernel is to compute it.
  std::string schedule;         ///< The #tg.schedule it was measured with; empty: not told.
};

class Profile {
public:
  /// Adds the records of `file`. Of several records of one subgraph, device and shapes the fastest counts. False, with
  /// `error`, for anything but a profile of this version, in which case nothing is added.
  bool read(llvm::StringRef file, std::string &error);
  /// The same of a text.
  bool parse(llvm::StringRef text, std::string &error);

  /// The record of a subgraph on a device ("H100", "cpu"), or null.
  const ProfileRecord *find(const SubgraphKey &key, llvm::StringRef device) const;
  bool isEmpty() const { return records.empty(); }
  /// Whether any record is of that device.
  bool knows(llvm::StringRef device) const { return devices.contains(device.lower()); }

private:
  llvm::StringMap<ProfileRecord> records; ///< By name, device and shapes in one text.
  llvm::StringMap<size_t> devices;
};

/// "12.0 us together, 9.0 us apart, measured on H100".
std::string describe(const ProfileRecord &record, llvm::StringRef device);

} // namespace weft::plan

#endif // WEFT_PLAN_PROFILE_H
