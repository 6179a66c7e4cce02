// What the tool prints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_BENCH_REPORT_H
#define WEFT_BENCH_REPORT_H

#include "Bench.h"

namespace weft::bench {

/// A table for people on stdout.
void printText(const Options &options, const Side &program, const Results &results);
/// One JSON object on stdout, schema "weft.bench/1".
void printJson(const Options &options, const Side &program, const Results &results);
/// All times, one JSON object with an array for each series.
Error exportTimes(const std::string &path, const Results &results);

} // namespace weft::bench

#endif // WEFT_BENCH_REPORT_H
