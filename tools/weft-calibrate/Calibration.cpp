// The benchmarks, and the table as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Calibration.h"
#include "Kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <ctime>

using namespace weft;
using namespace weft::calibrate;

namespace {
/// How much is done: enough for stable times on a GPU, little on the emulator.
struct Sizes {
  int64_t blocks, threads; ///< Of a launch that fills the GPU.
  int64_t iterations;      ///< Of loops.
  int64_t largest;         ///< Bytes of the largest working set.
  int64_t smallest;
  int64_t bytesRead; ///< By the measurement of one working set.
  int64_t lines;     ///< Whose latency is measured.
  int rounds, launches;
};

class Benchmarks {
public:
  Benchmarks(CalibratedCard &card, Calibration &result) : card(card), result(result) {
    int64_t sms = result.card.sms, l2 = std::max<int64_t>(result.card.l2Bytes, 1 << 20);
    if (result.card.isEmulated)
      sizes = {2, 64, 16, 1 << 14, 1 << 12, 1 << 14, 16, 1, 2};
    else
      sizes = {2 * sms, 1024, 4096, 8 * l2, 1 << 20, 64 * l2, 4096, 5, 1000};
  }

  Error run();

private:
  /// The least seconds of several rounds, after one that warms up.
  Error best(const KernelStart &start, int count, double &seconds);
  Error readWorkingSet(int64_t bytes, bool isShifted, double &rate);
  Error measureMemory();
  Error measureLatencies();
  Error measureBarriers();
  Error measureUnits();
  Error measureHopper();
  Error measureClusters();
  Error measureTileTimes();
  Error readClocks(const KernelStart &start, double &clocks);

  CalibratedCard &card;
  Calibration &result;
  Sizes sizes = {};
  uint64_t data = 0, out = 0;
};
} // namespace

Error Benchmarks::best(const KernelStart &start, int count, double &seconds) {
  double once = 0;
  if (Error error = card.time(start, 1, once))
    return error;
  seconds = HUGE_VAL;
  for (int round = 0; round < sizes.rounds; ++round) {
    if (Error error = card.time(start, count, once))
      return error;
    seconds = std::min(seconds, once);
  }
  seconds = std::max(seconds, 1e-12) / count;
  return {};
}

Error Benchmarks::readWorkingSet(int64_t bytes, bool isShifted, double &rate) {
  int64_t vectors = bytes / 16, passes = std::max<int64_t>(sizes.bytesRead / bytes, 1);
  // A few blocks further: nearly the same order, but another SM reads, half of the time one on the other side.
  constexpr int64_t blocksFurther = 37;
  int64_t shift = isShifted ? blocksFurther * sizes.threads % vectors : 0;
  double seconds = 0;
  KernelStart start{
      "stream", sizes.blocks, sizes.threads, {data, uint64_t(vectors), uint64_t(passes), uint64_t(shift), out}};
  if (Error error = best(start, 1, seconds))
    return error;
  rate = double(vectors * 16 * passes) / seconds;
  return {};
}

Error Benchmarks::measureMemory() {
  for (double bytes = double(sizes.smallest); bytes <= double(sizes.largest) * 1.001; bytes *= std::pow(2, 0.25)) {
    WorkingSet set;
    set.bytes = int64_t(bytes) / 4096 * 4096;
    if (Error error = readWorkingSet(set.bytes, false, set.own))
      return error;
    if (Error error = readWorkingSet(set.bytes, true, set.shifted))
      return error;
    result.workingSets.push_back(set);
    result.l2BytesPerSecond = std::max(result.l2BytesPerSecond, set.own);
  }
  result.dramBytesPerSecond = result.workingSets.back().own;
  double limit = std::sqrt(result.l2BytesPerSecond * result.dramBytesPerSecond);
  for (const WorkingSet &set : result.workingSets) {
    if (set.own >= limit)
      result.effectiveL2Own = set.bytes;
    if (set.shifted >= limit)
      result.effectiveL2Shifted = set.bytes;
  }
  return {};
}

/// Of lines in the L2, some are on the other side of it: the clocks fall into two groups, parted halfway between the
/// 5th and the 95th percentile.
Error Benchmarks::measureLatencies() {
  uint64_t clocks = 0;
  if (Error error = card.allocate(uint64_t(sizes.lines) * 4, clocks))
    return error;
  std::vector<uint32_t> values(static_cast<size_t>(sizes.lines));
  double seconds = 0;
  // What was written last by the working sets' reads is not this part: the first read comes from DRAM.
  KernelStart start{"latency", 1, 1, {data, uint64_t(sizes.lines), 128, clocks}};
  for (double *median : {&result.dramLatency, &result.nearLatency}) {
    if (Error error = card.time(start, 1, seconds))
      return error;
    if (Error error = card.read(clocks, values.data(), values.size() * 4))
      return error;
    std::sort(values.begin(), values.end());
    *median = values[values.size() / 2];
  }
  uint32_t low = values[values.size() / 20], high = values[values.size() * 19 / 20];
  auto isFar = [&](uint32_t value) { return 2 * uint64_t(value) > uint64_t(low) + high; };
  auto first = std::find_if(values.begin(), values.end(), isFar);
  size_t near = size_t(first - values.begin());
  if (near == 0 || near == values.size())
    return {};
  result.nearLatency = values[near / 2];
  result.farLatency = values[near + (values.size() - near) / 2];
  result.farPart = double(values.size() - near) / double(values.size());
  return {};
}

Error Benchmarks::measureBarriers() {
  double seconds = 0;
  if (Error error = best({"empty", 1, 32, {}}, sizes.launches, result.launchSeconds))
    return error;
  uint64_t clocks = 0;
  int64_t iterations = 16 * sizes.iterations;
  if (Error error = best({"block_barrier", 1, sizes.threads, {uint64_t(iterations), out}}, 1, seconds))
    return error;
  if (Error error = card.read(out, &clocks, sizeof clocks))
    return error;
  if (!clocks) // What is told in clocks has no sense then; inf is no JSON.
    return Error(ErrorCode::Device, "expected clocks of kernel \"block_barrier\", got 0: " + result.card.name +
                                        " ran no kernel; try `nvidia-smi` and another driver");
  result.blockBarrierClocks = double(clocks) / double(iterations);
  result.clock = double(clocks) / std::max(seconds - result.launchSeconds, 1e-12);
  // The counter must be zero before each start, so there is one of its own for each, none to warm up.
  int64_t blocks = result.card.isEmulated ? 2 : result.card.sms;
  result.gridBarrierSeconds = HUGE_VAL;
  for (int round = 0; round < sizes.rounds; ++round) {
    uint64_t counter = 0;
    if (Error error = card.allocate(256, counter))
      return error;
    if (Error error = card.time({"grid_barrier", blocks, 128, {uint64_t(sizes.iterations), counter}}, 1, seconds))
      return error;
    result.gridBarrierSeconds = std::min(result.gridBarrierSeconds, seconds / double(sizes.iterations));
  }
  return {};
}

Error Benchmarks::measureUnits() {
  double seconds = 0;
  int64_t sms = result.card.isEmulated ? 1 : result.card.sms;
  int64_t threads = std::min<int64_t>(sizes.threads, 512);
  uint64_t iterations = uint64_t(sizes.iterations);
  if (Error error = best({"shared", sms, sizes.threads, {iterations, out}}, 1, seconds))
    return error;
  result.sharedBytesPerClock = double(kSharedBytes * sizes.threads) * double(iterations) / (seconds * result.clock);
  if (Error error = best({"mma", sms, threads, {iterations, out}}, 1, seconds))
    return error;
  result.mmaFlops = double(kMmaFlops * (threads / 32) * sms) * double(iterations) / seconds;
  if (Error error = readClocks({"fold_chain", 1, 128, {iterations, out}}, result.mmaFoldClocks))
    return error;
  result.mmaFoldClocks /= double(iterations);
  return {};
}

/// What only sm_90a has.
Error Benchmarks::measureHopper() {
  if (result.card.architecture != "sm_90a")
    return {};
  if (Error error = card.load(makeHopperKernels()))
    return error;
  double seconds = 0;
  int64_t sms = result.card.isEmulated ? 1 : result.card.sms, groups = result.card.isEmulated ? 1 : 2;
  uint64_t iterations = uint64_t(sizes.iterations);
  if (Error error = best({"wgmma", sms, 128 * groups, {iterations, out}}, 1, seconds))
    return error;
  result.wgmmaFlops = double(kWgmmaFlops * groups * sms) * double(iterations) / seconds;
  if (Error error = readClocks({"group_fold_chain", 1, 128, {iterations, out}}, result.foldClocks))
    return error;
  result.foldClocks /= double(iterations);
  return measureClusters();
}

/// Clocks of block 0 by its own count, of the last of several starts.
Error Benchmarks::readClocks(const KernelStart &start, double &clocks) {
  double seconds = 0;
  if (Error error = best(start, 1, seconds))
    return error;
  uint64_t count = 0;
  Error error = card.read(out, &count, sizeof count);
  clocks = double(count);
  return error;
}

Error Benchmarks::measureClusters() {
  uint64_t iterations = uint64_t(sizes.iterations);
  double barriers = 0, once = 0, twice = 0, one = 0, seconds = 0;
  if (Error error = readClocks({"cluster_barrier", kClusterCtas, 128, {iterations, out}, kClusterCtas}, barriers))
    return error;
  result.clusterBarrierClocks = barriers / double(iterations);
  int64_t sms = result.card.isEmulated ? kExchangingCtas : result.card.sms / kExchangingCtas * kExchangingCtas;
  for (auto [repeats, clocks] : {std::pair(1, &once), std::pair(2, &twice)})
    if (Error error =
            readClocks({"cluster_exchange", sms, 128, {iterations, uint64_t(repeats), out}, kExchangingCtas}, *clocks))
      return error;
  // What twice as many bytes take more is their rate; of one exchange the rest is the merge.
  double bytesClocks = std::max((twice - once) / double(iterations), 1.0);
  result.clusterBytesPerClock = double(kExchangedBytes) / bytesClocks;
  result.clusterMergeClocks = std::max(once / double(iterations) - bytesClocks - 2 * result.clusterBarrierClocks, 0.0);
  // Two blocks of 1,024 threads fit an SM: the most clusters that take no longer than one.
  constexpr int64_t blocksOfSm = 2;
  uint64_t clocks = result.card.isEmulated ? 64 : 1 << 18;
  int64_t clusters = result.card.isEmulated ? 1 : result.card.sms * blocksOfSm / kSpinningCtas;
  if (Error error = best({"cluster_spin", kSpinningCtas, 1024, {clocks}, kSpinningCtas}, 1, one))
    return error;
  for (; clusters > 1; --clusters) {
    if (Error error = best({"cluster_spin", clusters * kSpinningCtas, 1024, {clocks}, kSpinningCtas}, 1, seconds))
      return error;
    if (seconds < 1.5 * one)
      break;
  }
  result.clusteredSms = clusters * kSpinningCtas / blocksOfSm;
  return {};
}

Error Benchmarks::measureTileTimes() {
  Stopwatch watch;
  watch.clocks = [&](const KernelStart &start, double &clocks) { return readClocks(start, clocks); };
  watch.seconds = [&](const KernelStart &start, double &seconds) { return best(start, 1, seconds); };
  watch.iterations = sizes.iterations;
  watch.clockHz = result.clock;
  watch.out = out;
  return measureTiles(card, watch, result.tiles);
}

Error Benchmarks::run() {
  if (Error error = card.load(makeKernels()))
    return error;
  if (Error error = card.allocate(uint64_t(sizes.largest), data))
    return error;
  if (Error error = card.allocate(256, out))
    return error;
  // After a fault nothing can be measured: what most ask for comes first.
  for (auto [fields, step] :
       {std::pair("launchSeconds, blockBarrierClocks, gridBarrierSeconds", &Benchmarks::measureBarriers),
        {"sharedReadBytesPerClock, mmaSyncF16Flops, mmaFoldClocks", &Benchmarks::measureUnits},
        {"wgmmaF16Flops, foldClocks, clusters", &Benchmarks::measureHopper},
        {"workingSets", &Benchmarks::measureMemory},
        {"latencyClocks", &Benchmarks::measureLatencies},
        {"tileClocks", &Benchmarks::measureTileTimes}}) {
    if (Error error = (this->*step)())
      return std::move(error).within(fields);
    ++result.steps;
  }
  return {};
}

Error weft::calibrate::calibrateCard(CalibratedCard &card, Calibration &result) {
  result.card = card.getDescription();
  Error error = Benchmarks(card, result).run();
  result.error = error.getMessage();
  return error;
}

//===--- JSON ---===//

static void append(std::string &text, const char *format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text += line;
}

std::string weft::calibrate::formatLinks(const LinkTimes &links) {
  std::string text;
  if (links.ranks)
    append(text, " \"linkRanks\": %u, \"linkBytesPerSecond\": %.4g, \"linkSeconds\": %.3g", links.ranks,
           links.bytesPerSecond, links.seconds);
  return text;
}

std::string weft::calibrate::formatCalibration(const Calibration &c) {
  std::time_t now = std::time(nullptr);
  char date[32] = "";
  std::tm parts = {};
  if (gmtime_r(&now, &parts))
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
  std::string text = "{\"schema\": \"weft.calibration/1\",\n";
  append(text, " \"date\": \"%s\", \"tool\": \"weft calibrate %s\",\n", date, WEFT_VERSION);
  if (!c.error.empty())
    text += " \"error\": " + bundle::quoteJson(c.error) + ",\n";
  text += " \"device\": " + bundle::quoteJson(c.card.name) +
          ", \"architecture\": " + bundle::quoteJson(c.card.architecture) +
          ", \"driver\": " + bundle::quoteJson(c.card.driver) + ",\n";
  append(text, " \"emulated\": %s, \"sms\": %lld, \"l2Bytes\": %lld,\n", c.card.isEmulated ? "true" : "false",
         (long long)c.card.sms, (long long)c.card.l2Bytes);
  append(text, " \"clockHz\": %.4g,\n", c.clock);
  append(text,
         " \"dramReadBytesPerSecond\": %.4g, \"l2ReadBytesPerSecond\": %.4g, \"sharedReadBytesPerClock\": %.4g,\n",
         c.dramBytesPerSecond, c.l2BytesPerSecond, c.sharedBytesPerClock);
  append(text, " \"effectiveL2Bytes\": {\"own\": %lld, \"shifted\": %lld},\n", (long long)c.effectiveL2Own,
         (long long)c.effectiveL2Shifted);
  append(text, " \"latencyClocks\": {\"dram\": %.0f, \"l2Near\": %.0f, \"l2Far\": %.0f, \"farPart\": %.3f},\n",
         c.dramLatency, c.nearLatency, c.farLatency, c.farPart);
  append(text, " \"launchSeconds\": %.3g, \"blockBarrierClocks\": %.1f, \"gridBarrierSeconds\": %.3g,\n",
         c.launchSeconds, c.blockBarrierClocks, c.gridBarrierSeconds);
  append(text,
         " \"clusterBarrierClocks\": %.1f, \"clusterBytesPerClock\": %.1f, \"clusterMergeClocks\": %.0f, "
         "\"clusteredSms\": %lld,\n",
         c.clusterBarrierClocks, c.clusterBytesPerClock, c.clusterMergeClocks, (long long)c.clusteredSms);
  append(text, " \"mmaFoldClocks\": %.0f, \"foldClocks\": %.0f,\n", c.mmaFoldClocks, c.foldClocks);
  text += formatTileTimes(c.tiles);
  if (c.links.ranks)
    text += formatLinks(c.links) + ",\n";
  append(text, " \"mmaSyncF16Flops\": %.4g, \"wgmmaF16Flops\": %.4g,\n \"workingSets\": [", c.mmaFlops, c.wgmmaFlops);
  for (const WorkingSet &set : c.workingSets)
    append(text, "%s\n  {\"bytes\": %lld, \"own\": %.4g, \"shifted\": %.4g}", &set == c.workingSets.data() ? "" : ",",
           (long long)set.bytes, set.own, set.shifted);
  text += "],\n \"method\": [\n"
          "  \"times between two events of a stream, the least of 5 after one that warms up; clocks as found\",\n"
          "  \"reads: 2048 threads of every SM, ld.global.cg.v4, 64 times the L2 in all; own: a thread reads its "
          "vectors in every pass; shifted: others in each pass\",\n"
          "  \"effectiveL2Bytes: the largest set read at no less than sqrt(L2 rate x DRAM rate)\",\n"
          "  \"latencyClocks: one thread, a line after the other, medians; near and far: two groups, parted halfway "
          "between the 5th and 95th percentile\",\n"
          "  \"blockBarrierClocks: bar.sync of 1024 threads; gridBarrierSeconds: atom.add and ld.acquire by one thread "
          "of a block on every SM\",\n"
          "  \"clusterBarrierClocks: barrier.cluster.arrive.relaxed and wait of 8 blocks of 128 threads\",\n"
          "  \"clusterBytesPerClock: 16 KiB more by st.async.v4 of 128 threads to the other block of a pair, "
          "on all SMs; clusterMergeClocks: of 16 KiB that are sent and added up, without that and two barriers; "
          "clusteredSms: the most clusters of 4 blocks of 1024 threads, 2 blocks an SM, that take as long as one\",\n"
          "  \"mmaFoldClocks, foldClocks: of one m16n8k16 (m64n16k16), the maximum of its rows, exponentials, another "
          "product of these, one after the other; the former with a barrier of 128 threads\",\n" +
          std::string(kTileMethod) +
          "  \"linkBytesPerSecond, linkSeconds: all_reduce of 64 MiB and of 1 KiB over the ranks of --rank, the least "
          "of 5; "
          "without --rank they are not measured\",\n"
          "  \"launchSeconds: 1000 empty kernels, one after the other\",\n"
          "  \"mma.sync m16n8k16: 16 warps of every SM, 8 sums each; wgmma m64n256k16: 2 warpgroups of every SM, "
          "operands in shared memory; all zero\"]}\n";
  return text;
}
