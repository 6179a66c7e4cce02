// Counters under their names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names without weft__ are Nsight Compute's (`ncu --query-metrics --chip gh100`).

#include "Emulator/Counters/LaunchCounters.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>

using namespace weft::emu;

namespace {

class Emitter {
public:
  explicit Emitter(Machine &machine) : counters(machine.result.counters) {}
  void add(std::string name, double value) { counters.push_back({std::move(name), value}); }
  void sum(std::string_view name, uint64_t value) { add(std::string(name) + ".sum", double(value)); }
  void percent(std::string_view name, uint64_t part, uint64_t whole) {
    if (whole != 0)
      add(std::string(name) + ".pct", 100 * double(part) / double(whole));
  }

private:
  std::vector<Counter> &counters;
};

} // namespace

void LaunchCounters::emitInstructions(Machine &machine) {
  Emitter emit(machine);
  uint64_t warp = 0, thread = 0, tensor = 0, gmma = 0, loads = 0;
  uint64_t types[kMatrixTypeCount] = {}, flops[kMatrixTypeCount] = {};
  for (size_t i = 0; i < classes.size(); ++i) {
    warp += warpCounts[i];
    thread += threadCounts[i];
    const OpcodeClass &kind = classes[i];
    loads += kind.kind == OpcodeClass::Tma ? warpCounts[i] : 0;
    if (kind.kind != OpcodeClass::Mma && kind.kind != OpcodeClass::Wgmma)
      continue;
    uint64_t onCard = warpCounts[i] * cardInstructions(machine.module.opcodes[i], kind, machine.card.smVersion);
    tensor += onCard;
    gmma += kind.kind == OpcodeClass::Wgmma ? onCard : 0;
    types[kind.pipe] += onCard;
    flops[kind.pipe] += warpCounts[i] * kind.flops;
  }
  emit.sum("smsp__inst_executed", warp);
  emit.sum("smsp__thread_inst_executed", thread + predicatedOff);
  emit.sum("smsp__thread_inst_executed_pred_on", thread);
  emit.sum("sm__inst_executed_pipe_tensor", tensor);
  emit.sum("sm__inst_executed_pipe_tensor_op_gmma", gmma);
  emit.sum("sm__inst_executed_pipe_tensor_op_hmma", types[0] + types[1] + types[2] + types[3]);
  emit.sum("sm__inst_executed_pipe_tensor_op_dmma", types[4]);
  emit.sum("sm__inst_executed_pipe_tensor_op_imma", types[5] + types[6] + types[7]);
  for (unsigned i = 0; i < kMatrixTypeCount; ++i)
    if (types[i] != 0) {
      emit.sum(std::string("weft__mma_inst_executed_") + kMatrixTypes[i], types[i]);
      emit.sum(std::string("weft__mma_flops_") + kMatrixTypes[i], flops[i]);
    }
  emit.sum("weft__bulk_copies_issued", loads);
  emit.sum("weft__cta_barrier_arrivals", barriers);
  for (size_t i = 0; i < classes.size(); ++i)
    if (warpCounts[i] != 0) {
      emit.sum("weft__inst_executed_ptx_" + machine.module.opcodes[i], warpCounts[i]);
      emit.sum("weft__thread_inst_executed_ptx_" + machine.module.opcodes[i], threadCounts[i]);
    }
}

void LaunchCounters::emitMemory(Machine &machine) {
  Emitter emit(machine);
  emit.sum("smsp__inst_executed_op_global_ld", rows[Load].instructions);
  emit.sum("smsp__inst_executed_op_global_st", rows[Store].instructions);
  emit.sum("smsp__inst_executed_op_global_red", rows[Red].instructions);
  emit.sum("smsp__sass_inst_executed_op_global_atom", rows[Atom].instructions);
  emit.sum("smsp__inst_executed_op_ldgsts", rows[Copy].instructions);
  emit.sum("smsp__inst_executed_op_local_ld", rows[LocalLoad].instructions);
  emit.sum("smsp__inst_executed_op_local_st", rows[LocalStore].instructions);
  const std::string requests = "l1tex__t_requests_pipe_lsu_mem_", sectors = "l1tex__t_sectors_pipe_lsu_mem_";
  emit.sum(requests + "global_op_ld", rows[Load].instructions + rows[Copy].instructions);
  emit.sum(requests + "global_op_st", rows[Store].instructions);
  emit.sum(requests + "global_op_atom", rows[Atom].instructions);
  emit.sum(requests + "global_op_red", rows[Red].instructions);
  emit.sum(requests + "local_op_ld", rows[LocalLoad].instructions);
  emit.sum(requests + "local_op_st", rows[LocalStore].instructions);
  emit.sum(sectors + "global_op_ld", rows[Load].sectors + rows[Copy].sectors);
  emit.sum(sectors + "global_op_st", rows[Store].sectors);
  emit.sum(sectors + "global_op_atom", rows[Atom].sectors);
  emit.sum(sectors + "global_op_red", rows[Red].sectors);
  emit.sum(sectors + "local_op_ld", rows[LocalLoad].sectors);
  emit.sum(sectors + "local_op_st", rows[LocalStore].sectors);
  emit.sum("weft__global_lines", lines);
  emit.sum("weft__global_ld_bytes", rows[Load].bytes);
  emit.sum("weft__global_st_bytes", rows[Store].bytes);
  emit.sum("weft__cp_async_bytes", rows[Copy].bytes);
  emit.sum("l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld", bulkRead);
  emit.sum("l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st", bulkWritten);
  emit.sum("l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_red", bulkReduced);
  const MemoryTraffic &traffic = memory->traffic();
  emit.sum("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit", traffic.l1Hits);
  emit.percent("l1tex__t_sector_hit_rate", traffic.l1Hits, traffic.l1Lookups);
  uint64_t atomics = traffic.l2Atomics + traffic.l2Reductions;
  emit.sum("lts__t_sectors_op_read", traffic.l2Reads);
  emit.sum("lts__t_sectors_op_write", traffic.l2Writes);
  emit.sum("lts__t_sectors_op_atom", traffic.l2Atomics);
  emit.sum("lts__t_sectors_op_red", traffic.l2Reductions);
  emit.sum("lts__t_sectors_op_read_lookup_hit", traffic.l2ReadHits);
  emit.sum("lts__t_sectors_op_write_lookup_hit", traffic.l2WriteHits);
  emit.sum("weft__l2_fabric_sectors", traffic.l2Fabric);
  emit.sum("weft__l2_fabric_write_sectors", traffic.l2FabricWrites);
  emit.percent("lts__t_sector_op_read_hit_rate", traffic.l2ReadHits, traffic.l2Reads);
  emit.percent("lts__t_sector_hit_rate", traffic.l2ReadHits + traffic.l2WriteHits + traffic.l2AtomicHits,
               traffic.l2Reads + traffic.l2Writes + atomics);
  emit.sum("dram__sectors_read", traffic.dramReads);
  emit.sum("dram__sectors_write", traffic.dramWrites);
  emit.sum("dram__bytes_read", traffic.dramReads * kSectorBytes);
  emit.sum("dram__bytes_write", traffic.dramWrites * kSectorBytes);
}

void LaunchCounters::emitShared(Machine &machine) {
  Emitter emit(machine);
  emit.sum("smsp__inst_executed_op_shared_ld", sharedRows[SharedLoad].instructions);
  emit.sum("smsp__inst_executed_op_shared_st", sharedRows[SharedStore].instructions);
  emit.sum("smsp__inst_executed_op_shared_atom", sharedRows[SharedAtom].instructions);
  emit.sum("smsp__inst_executed_op_ldsm", sharedRows[SharedLdmatrix].instructions);
  emit.sum("smsp__inst_executed_op_shared_stsm", sharedRows[SharedStmatrix].instructions);
  const std::string wavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared",
                    conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared";
  uint64_t all = 0, allConflicts = 0;
  for (const Shared &row : sharedRows) {
    all += row.wavefronts;
    allConflicts += row.conflicts;
  }
  emit.sum(wavefronts, all);
  emit.sum(wavefronts + "_op_ld", sharedRows[SharedLoad].wavefronts + sharedRows[SharedLdmatrix].wavefronts);
  emit.sum(wavefronts + "_op_st", sharedRows[SharedStore].wavefronts + sharedRows[SharedStmatrix].wavefronts);
  emit.sum(wavefronts + "_op_atom", sharedRows[SharedAtom].wavefronts);
  emit.sum(conflicts, allConflicts);
  emit.sum(conflicts + "_op_ld", sharedRows[SharedLoad].conflicts + sharedRows[SharedLdmatrix].conflicts);
  emit.sum(conflicts + "_op_st", sharedRows[SharedStore].conflicts + sharedRows[SharedStmatrix].conflicts);
  emit.sum(conflicts + "_op_atom", sharedRows[SharedAtom].conflicts);
  emit.sum(conflicts + "_op_ldgsts", sharedRows[SharedCopy].conflicts);
  emit.sum("weft__shared_ld_bytes", sharedRows[SharedLoad].bytes + sharedRows[SharedLdmatrix].bytes);
  emit.sum("weft__shared_st_bytes", sharedRows[SharedStore].bytes + sharedRows[SharedStmatrix].bytes);
  emit.sum("sm__sass_data_bytes_mem_shared_op_gmma", wgmmaBytes);
}

/// Counts without a fraction, rates with two digits.
static std::string numberOf(double value) {
  char text[64];
  if (value == std::floor(value) && std::fabs(value) < 9e15)
    snprintf(text, sizeof(text), "%" PRId64, int64_t(value));
  else
    snprintf(text, sizeof(text), "%.2f", value);
  return text;
}

std::string weft::emu::formatCounters(const std::vector<Counter> &counters) {
  size_t width = 0;
  for (const Counter &counter : counters)
    width = counter.name.size() > width ? counter.name.size() : width;
  std::string text;
  for (const Counter &counter : counters) {
    std::string number = numberOf(counter.value);
    text += counter.name + std::string(width - counter.name.size() + 2, ' ');
    text += std::string(number.size() < 16 ? 16 - number.size() : 0, ' ') + number + "\n";
  }
  return text;
}

std::string weft::emu::formatCountersJson(const std::vector<Counter> &counters) {
  std::string text = "{";
  for (size_t i = 0; i < counters.size(); ++i)
    text += (i ? ",\n \"" : "\n \"") + counters[i].name + "\": " + numberOf(counters[i].value);
  return text + "\n}\n";
}
