// What the tool prints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results, comparisons, timings, placement and statistics, as text or as one JSON object (schema "weft.run/1") on
// stdout.
#ifndef WEFT_RUN_REPORT_H
#define WEFT_RUN_REPORT_H

#include "Runner.h"

namespace weft::run {

/// Everything there is to say about a run.
struct Report {
  const Options &options;
  const Runner &runner;
  bool printsResults = true;
  std::vector<std::optional<Comparison>> comparisons; ///< One for each output; unset: not compared.
  std::optional<Benchmark> benchmark;
};

void printText(const Report &report);
void printJson(const Report &report);

/// "[1 2 3][4 5 6]": the rows of `tensor`, at most `maxElements` of its elements.
std::string formatElements(const Tensor &tensor, int64_t maxElements);

} // namespace weft::run

#endif // WEFT_RUN_REPORT_H
