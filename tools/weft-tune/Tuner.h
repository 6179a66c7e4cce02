// What `weft tune` does: checks and times the schedules of each kernel, and writes a record of the best.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TUNE_TUNER_H
#define WEFT_TUNE_TUNER_H

#include "Lines.h"

#include <limits>
#include <string>
#include <vector>

namespace weft::tune {

struct Options {
  std::string device = "cuda", records;
  double end = std::numeric_limits<double>::infinity(); ///< By `now`: no kernel is begun after it.
  size_t trials = std::numeric_limits<size_t>::max();   ///< Schedules that are timed.
  unsigned processes = 0;                               ///< That have the driver compile ahead; 0: one a core.
  bool isQuiet = false;
};

/// One schedule of a kernel.
struct Candidate {
  std::string path; ///< Of its bundle.
  Fields line;      ///< As the compiler wrote it.
};

/// The schedules of one kernel, the planner's first.
struct Kernel {
  std::string name, device, version;
  std::vector<Candidate> candidates;
  std::string reference; ///< A bundle of another device that computes the same; empty: there is none.

  /// What a record is found by: the same text for equal kernels on equal devices.
  std::string getKey() const;
};

/// The kernels of a folder that `weft compile --emit=candidates` made, or of the folders in it; equal ones once.
Error readKernels(const std::string &folder, std::vector<Kernel> &kernels);

/// The key of a record, as Kernel::getKey.
std::string getKey(const Fields &record);

/// Goes through the kernels that `options.records` has no record of yet, until the budget is spent. What was begun and
/// not ended before (the process died of it) is in FOLDER/times.jsonl, and left out. `isLost`: the GPU's context is;
/// another process goes on.
Error tuneKernels(const std::string &folder, const Options &options, bool &isLost);

/// One record for each key of all files, the fastest; in the order of their first. `skipped` lines that were not whole.
Error mergeRecords(const std::vector<std::string> &inputs, const std::string &output);

} // namespace weft::tune

#endif // WEFT_TUNE_TUNER_H
