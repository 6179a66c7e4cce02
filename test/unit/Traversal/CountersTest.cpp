// Predicted counters, ncu's CSV, and how far apart they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Cost/Counters.h"
#include <gtest/gtest.h>

using namespace weft::plan;

TEST(Counters, PredictionOfAProduct) {
  std::vector<Configuration> launches;
  std::string error;
  ASSERT_TRUE(readConfigurations(R"([{"problem": {"kind": "gemm", "m": 1024, "n": 1024, "k": 512},
      "tile": {"m": 128, "n": 128, "k": 64}, "machine": {"device": "A100-40"}}])",
                                 launches, error))
      << error;
  EXPECT_EQ(launches[0].machine.sms, 108);
  EXPECT_EQ(launches[0].machine.cache.partitions, 2);
  Counters counters;
  ASSERT_TRUE(predictCounters(launches[0], counters, error)) << error;
  EXPECT_EQ(counters["dram__bytes_read.sum"], 2 * 1024 * 512 * 2);
  EXPECT_EQ(counters["lts__t_sectors_srcunit_tex.sum"], 64 * 2 * 128 * 512 * 2 / 32 + 1024 * 1024 * 2 / 32);
  // What goes to the other half is looked up there, too.
  EXPECT_GT(counters["lts__t_sectors_srcunit_ltcfabric.sum"], 0);
  EXPECT_EQ(counters["lts__t_sectors.sum"],
            counters["lts__t_sectors_srcunit_tex.sum"] + counters["lts__t_sectors_srcunit_ltcfabric.sum"]);
  EXPECT_EQ(counters["lts__t_sectors.sum"],
            counters["lts__t_sectors_op_read.sum"] + counters["lts__t_sectors_op_write.sum"]);
  EXPECT_NEAR(counters["lts__t_sector_hit_rate.pct"],
              100 - 100 * counters["lts__t_sectors_lookup_miss.sum"] / counters["lts__t_sectors.sum"], 1e-9);
  EXPECT_EQ(counters["weft.l2_dirty_bytes_at_end"], 1024 * 1024 * 2);
  EXPECT_EQ(counters["launch__grid_size"], 64);
  EXPECT_EQ(counters["weft.operations"], 2.0 * 1024 * 1024 * 512);
  EXPECT_NEAR(counters["weft.last_wave_full_pct"], 100 * 64.0 / 108, 1e-9);
  EXPECT_EQ(counters["weft.steps"], 8);
  EXPECT_NEAR(counters["weft.dram_seconds"], 2097152 / 1555e9, 1e-9);
  EXPECT_NEAR(counters["weft.matrix_seconds"] * 312e12, counters["weft.operations"],
              0.01 * counters["weft.operations"]);
  EXPECT_EQ(counters["weft.dram_bytes_bound"], counters["weft.dram_bytes_compulsory"]);
}

TEST(Counters, CsvOfNcu) {
  const char *text = "==PROF== Connected\n"
                     "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\r\n"
                     "\"0\",\"k<\"\"a\"\", b>\",\"dram__bytes_read.sum\",\"Mbyte\",\"1,234.5\"\n"
                     "\"0\",\"k<\"\"a\"\", b>\",\"lts__t_sector_hit_rate.pct\",\"%\",\"70.5\"\n"
                     "\"1\",\"other\",\"dram__sectors_read.sum\",\"sector\",\"1,000\"\n"
                     "\"1\",\"other\",\"no__metric.sum\",\"\",\"n/a\"\n";
  std::vector<MeasuredKernel> kernels;
  std::string error;
  ASSERT_TRUE(parseNcuCsv(text, kernels, error)) << error;
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "k<\"a\", b>");
  EXPECT_EQ(kernels[0].counters["dram__bytes_read.sum"], 1234.5e6);
  EXPECT_EQ(kernels[0].counters["lts__t_sector_hit_rate.pct"], 70.5);
  EXPECT_EQ(kernels[1].counters["dram__bytes_read.sum"], 32000);
  EXPECT_EQ(kernels[1].counters.count("no__metric.sum"), 0u);
  kernels.clear();
  EXPECT_FALSE(parseNcuCsv("\"ID\",\"Name\"\n", kernels, error));
  EXPECT_EQ(error, "expected a table of ncu --csv with a column Kernel Name");
  EXPECT_FALSE(parseNcuCsv("", kernels, error));
}

TEST(Counters, Summary) {
  std::vector<Comparison> comparisons = {{"a", "", {{"x", 110}, {"r", 50}}, {{"x", 100}, {"r", 57}}},
                                         {"b", "", {{"x", 70}, {"r", 60}}, {{"x", 100}, {"r", 59}}},
                                         {"c", "", {{"x", 100}}, {{"x", 100}}},
                                         {"d", "", {{"x", 5}}, {}}};
  ErrorSummary bytes = summarise(comparisons, "x", false), rates = summarise(comparisons, "r", true);
  EXPECT_EQ(bytes.launches, 3);
  EXPECT_NEAR(bytes.median, 0.1, 1e-12);
  EXPECT_NEAR(bytes.worst, 0.3, 1e-12);
  EXPECT_EQ(bytes.worstName, "b");
  EXPECT_NEAR(rates.median, 4, 1e-12);
  EXPECT_EQ(summarise(comparisons, "none", true).launches, 0);
}

/// Measured on an H100 (bench/results/h100-l2-orders.json).
TEST(Counters, InstructionsAsMeasured) {
  struct {
    const char *launch;
    double instructions, wavefronts, within;
  } cases[] = {
      {R"("problem": {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}, "tile": {"m": 128, "n": 256, "k": 64}, "engine": "wgmma")",
       8388608, 169233905, 0.003},
      {R"("problem": {"kind": "attention", "heads": 64, "group": 4, "queries": 4096, "keys": 4096, "headDim": 128, "causal": true},
          "tile": {"m": 128, "n": 128, "k": 128}, "engine": "wgmma")",
       4325376, 46150695, 0.06},
      {R"("problem": {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}, "tile": {"m": 128, "n": 128, "k": 32}, "engine": "mma", "warps": 4)",
       268435456, 282071791, 0.05},
      {R"("problem": {"kind": "gemm", "m": 16, "n": 28672, "k": 4096}, "tile": {"m": 16, "n": 128, "k": 128}, "engine": "mma", "warps": 4)",
       917504, 3006762, 0.09}};
  for (const auto &entry : cases) {
    std::vector<Configuration> launches;
    std::string error;
    ASSERT_TRUE(readConfigurations(std::string("[{") + entry.launch + "}]", launches, error)) << error;
    Counters counters;
    countInstructions(launches[0], counters);
    EXPECT_EQ(counters["sm__inst_executed_pipe_tensor.sum"], entry.instructions) << entry.launch;
    EXPECT_NEAR(counters["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"] / entry.wavefronts, 1, entry.within);
  }
}

TEST(Counters, Engines) {
  std::vector<Configuration> launches;
  std::string error;
  EXPECT_FALSE(readConfigurations(R"([{"problem": {"kind": "gemm", "m": 1, "n": 1, "k": 1}, "engine": "tensor"}])",
                                  launches, error));
  EXPECT_EQ(error, "launch 0: launch.engine: expected wgmma, mma or simt");
  launches.clear();
  ASSERT_TRUE(readConfigurations(
      R"([{"problem": {"kind": "gemm", "m": 2048, "n": 2048, "k": 64}, "persistent": true, "machine": {"sms": 100}},
                                     {"problem": {"kind": "gemm", "m": 2048, "n": 2048, "k": 64}, "machine": {"sms": 100}}])",
      launches, error));
  Counters persistent, others;
  ASSERT_TRUE(predictCounters(launches[0], persistent, error) && predictCounters(launches[1], others, error));
  EXPECT_EQ(persistent["launch__grid_size"], 100);
  EXPECT_EQ(persistent["launch__waves_per_multiprocessor"], 1);
  EXPECT_EQ(others["launch__grid_size"], 256);
  EXPECT_EQ(others["launch__waves_per_multiprocessor"], 2.56);
  EXPECT_EQ(persistent["weft.tile_waves"], 2.56);
  EXPECT_EQ(persistent.count("sm__inst_executed_pipe_tensor.sum"), 0U) << "no engine, no instructions";
}

TEST(Counters, TreesOfAChain) {
  std::vector<Configuration> launches;
  std::string error;
  ASSERT_TRUE(readConfigurations(
      R"([{"problem": {"kind": "chain", "m": 1024, "k": 512, "l": 2048, "n": 512}, "order": "chain<2>"},
                                     {"problem": {"kind": "chain", "m": 1000, "k": 512, "l": 2048, "n": 512}, "order": "chain<2>"}])",
      launches, error))
      << error;
  Counters counters, ragged;
  countTrees(launches[0], counters);
  double a = 1024 * 512 * 2, weights = 2 * 512 * 2048 * 2, c = 1024 * 2048 * 2;
  // Four strips of 256 rows: weights for each; the intermediate twice where nothing stays.
  EXPECT_EQ(counters["weft.tree_bytes_sequential"], 2 * a + 4 * weights + 2 * c);
  EXPECT_EQ(counters["weft.tree_bytes_shared"], 2 * a + 4 * weights);
  EXPECT_EQ(counters["weft.tree_resident_bytes_pipelined"], counters["weft.tree_resident_bytes_shared"] + c / 4);
  countTrees(launches[1], ragged);
  EXPECT_TRUE(ragged.empty());
}

TEST(Counters, HintsByName) {
  LaunchModel launch = makeGemmLaunch({});
  std::string error;
  ASSERT_TRUE(applyHints("A=evict_last,B=evict_first", launch, error)) << error;
  EXPECT_EQ(launch.stages[0].accesses[0].hint, CacheHint::EvictLast);
  EXPECT_EQ(launch.stages[0].accesses[1].hint, CacheHint::EvictFirst);
  EXPECT_EQ(launch.stages[0].accesses[2].hint, CacheHint::Normal);
  EXPECT_TRUE(applyHints("", launch, error));
  EXPECT_FALSE(applyHints("Q=normal", launch, error));
  EXPECT_EQ(error, "hints: expected an array of A, B, C, got 'Q'");
  EXPECT_FALSE(applyHints("A=last", launch, error));
  EXPECT_EQ(error, "hints: A: expected evict_first, normal or evict_last");
}

TEST(Counters, ReuseByLoop) {
  auto classes = [](const AccessModel &access) {
    return std::vector<ReuseClass>{classifyReuse(access, LaunchLoop::Row), classifyReuse(access, LaunchLoop::Col),
                                   classifyReuse(access, LaunchLoop::Step)};
  };
  using R = ReuseClass;
  LaunchModel gemm = makeGemmLaunch({});
  EXPECT_EQ(classes(gemm.stages[0].accesses[0]), (std::vector<R>{R::New, R::Again, R::New}));
  EXPECT_EQ(classes(gemm.stages[0].accesses[1]), (std::vector<R>{R::Again, R::New, R::New}));
  EXPECT_EQ(classes(gemm.stages[0].accesses[2]), (std::vector<R>{R::New, R::New, R::Sum}));
  AttentionModelShape shape;
  shape.heads = 8, shape.group = 4, shape.queries = shape.keys = 1024;
  LaunchModel attention = makeAttentionLaunch(shape);
  EXPECT_EQ(classes(attention.stages[0].accesses[0]), (std::vector<R>{R::New, R::New, R::Again}));
  EXPECT_EQ(classes(attention.stages[0].accesses[1]), (std::vector<R>{R::Window, R::Again, R::New}))
      << "heads of a group";
  AccessModel window;
  window.outer.perStep = 1, window.outers = 3, window.bytes = 64;
  EXPECT_EQ(classifyReuse(window, LaunchLoop::Step), R::Window);
}

TEST(Counters, PairsOfOrders) {
  auto make = [](const char *family, double predicted, double measured) {
    return Comparison{"", family, {{"x", predicted}}, {{"x", measured}}};
  };
  // Of the first family: 100 < 120 right, 100 < 140 wrong, 120 < 140 wrong; 100 and 104 are too near, as are equals.
  std::vector<Comparison> comparisons = {make("f", 10, 100), make("f", 12, 120), make("f", 9, 140), make("g", 5, 100),
                                         make("g", 6, 104),  make("", 7, 1),     make("", 8, 2)};
  PairSummary pairs = rankPairs(comparisons, "x", 0.05);
  EXPECT_EQ(pairs.pairs, 3);
  EXPECT_EQ(pairs.right, 1);
  comparisons[0].predicted.clear();
  EXPECT_EQ(rankPairs(comparisons, "x", 0.05).pairs, 1);
}

/// Heads of a group read their keys once: the bound counts them once, too, and a causal half is no less than its
/// inputs.
TEST(Counters, BoundOfGroupedHeads) {
  std::vector<Configuration> launches;
  std::string error;
  ASSERT_TRUE(readConfigurations(R"([{"problem": {"kind": "attention", "heads": 32, "group": 4, "queries": 1024,
      "keys": 1024, "headDim": 128, "causal": true}, "tile": {"m": 128, "n": 64}, "machine": {"device": "H100"}}])",
                                 launches, error))
      << error;
  Counters counters;
  ASSERT_TRUE(predictCounters(launches[0], counters, error)) << error;
  EXPECT_EQ(counters["weft.dram_bytes_bound"], 2 * 1024 * 256 * (32 + 8));
  EXPECT_LE(counters["weft.dram_bytes_bound"], counters["dram__bytes_read.sum"] + counters["dram__bytes_write.sum"] +
                                                   counters["weft.l2_dirty_bytes_at_end"]);
}
