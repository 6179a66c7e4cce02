// What the emulator counted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the header. The text comes from the runtime, which escapes quotes in names of kernels: a member's name in quotes
// stands nowhere else.
#include "Counts.h"

#include <charconv>

using namespace weft;
using namespace weft::bench;

static const struct {
  const char *name, *what;
} kCounters[] = {
    {"smsp__inst_executed.sum", "warp instructions"},
    {"sm__inst_executed_pipe_tensor.sum", "of them matrix instructions"},
    {"dram__bytes_read.sum", "bytes read from memory (modelled)"},
    {"dram__bytes_write.sum", "bytes written to memory (modelled)"},
    {"lts__t_sectors_op_read.sum", "32-byte sectors read through L2"},
    {"lts__t_sectors_op_write.sum", "32-byte sectors written through L2"},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "32-byte sectors of global loads"},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "32-byte sectors of global stores"},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "bank conflicts of shared memory"},
};

double weft::bench::sumMembers(std::string_view json, std::string_view name) {
  std::string key = "\"" + std::string(name) + "\": ";
  double sum = 0;
  for (size_t at = json.find(key); at != json.npos; at = json.find(key, at + 1)) {
    double value = 0;
    auto [end, error] = std::from_chars(json.data() + at + key.size(), json.data() + json.size(), value);
    if (error == std::errc())
      sum += value;
  }
  return sum;
}

std::vector<Count> weft::bench::readCounts(const run::Runner &runner) {
  std::string_view json = weft_session_counters(runner.getSession(), /*as_json=*/1);
  std::vector<Count> counts;
  for (const auto &counter : kCounters)
    counts.push_back({counter.name, counter.what, sumMembers(json, counter.name)});
  return counts;
}
