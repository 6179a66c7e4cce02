// Intervals of symbols: the search for them on made-up times, and what it chooses for graphs against static compiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipelines/Variants.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Pipelines/Compile.h"
#include "weft/Plan/Resolution.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace weft;

namespace {

using Times = std::function<double(int64_t, bool, int64_t)>;

std::vector<std::tuple<int64_t, int64_t, int64_t>> choose(int64_t low, int64_t high, int64_t likely, unsigned most,
                                                          const Times &times) {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> list;
  for (const Variant &each : chooseIntervals(low, high, likely, most, times))
    list.emplace_back(each.low, each.high, each.planned);
  return list;
}

using List = std::vector<std::tuple<int64_t, int64_t, int64_t>>;
constexpr int64_t endless = INT64_MAX;

/// A graph of Inputs/ whose rows are the symbol T, normalized as static programs are.
class Graph {
public:
  explicit Graph(const std::string &name, const char *target = "H100") {
    loadCompilerDialects(context);
    module = mlir::parseSourceFile<mlir::ModuleOp>(WEFT_TEST_INPUTS "/" + name + ".mlir", mlir::ParserConfig(&context));
    mlir::PassManager normalize(&context);
    tg::buildNormalizePipeline(normalize, {});
    if (module && mlir::failed(normalize.run(*module)))
      module = {};
    options.gpu.emplace();
    options.gpu->target = target;
  }

  /// Of the variant that runs at this many rows against the static program of as many.
  double getLoss(const VariantChoice &choice, int64_t rows) {
    size_t i = 0;
    while (i + 1 < choice.variants.size() && (rows < choice.variants[i].low || rows > choice.variants[i].high))
      ++i;
    double own = predictVariant(*module, choice, i, rows, options);
    double fixed = predictVariant(*module, {choice.symbol, {{rows, rows, rows}}}, 0, rows, options);
    EXPECT_GT(own, 0);
    EXPECT_GT(fixed, 0);
    return own / fixed - 1;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  PhaseOptions options;
};

} // namespace

TEST(VariantsTest, OnePlanWhereNoneIsBetter) {
  EXPECT_EQ(choose(0, endless, 256, 6, [](int64_t, bool, int64_t at) { return 1 + std::ceil(double(at) / 8); }),
            (List{{0, endless, 256}}));
  // Better, but by less than a plan is worth.
  EXPECT_EQ(choose(2, 4096, 64, 6, [](int64_t planned, bool, int64_t) { return planned == 64 ? 1.0 : 1.02; }).size(),
            1u);
}

TEST(VariantsTest, CutsWhereAnotherPlanBeginsToWin) {
  // Tiles of 16 and of 128 rows: a fixed price, and one for each tile.
  auto times = [](int64_t planned, bool, int64_t at) {
    return planned < 100 ? 10.0 + 3 * std::ceil(double(at) / 16) : 20.0 + 4 * std::ceil(double(at) / 128);
  };
  List list = choose(2, 8192, 256, 6, times);
  ASSERT_EQ(list.size(), 2u);
  auto [low, high, planned] = list[0];
  EXPECT_EQ(low, 2);
  EXPECT_LT(planned, 100);
  EXPECT_NEAR(double(high), 64, 16); // 10 + 3 * 4 = 22, 10 + 3 * 5 = 25, where the other one has 24.
  EXPECT_EQ(std::get<0>(list[1]), high + 1);
  EXPECT_EQ(std::get<1>(list[1]), 8192);
}

TEST(VariantsTest, OneValueIsAProgramOfItsOwn) {
  auto times = [](int64_t, bool isStatic, int64_t) { return isStatic ? 1.0 : 2.0; };
  EXPECT_EQ(choose(0, endless, 256, 6, times), (List{{1, 1, 1}, {2, endless, 2}}));
  EXPECT_EQ(choose(1, 64, 8, 6, times), (List{{1, 1, 1}, {2, 64, 2}}));
  EXPECT_EQ(choose(2, 64, 8, 6, times).size(), 1u); // It never runs with 1.
  EXPECT_EQ(choose(0, endless, 256, 1, times).size(), 1u);
}

TEST(VariantsTest, AtMostAsManyPlansAsAllowed) {
  // Each plan is good for its own values only.
  auto times = [](int64_t planned, bool, int64_t at) {
    return 1.0 + std::abs(std::log2(double(planned)) - std::log2(double(at)));
  };
  size_t before = 0;
  for (unsigned most : {1u, 2u, 3u, 5u, 16u}) {
    List list = choose(2, 8192, 256, most, times);
    EXPECT_LE(list.size(), most);
    EXPECT_GT(list.size(), before); // Each is worth it.
    before = list.size();
    for (size_t i = 1; i < list.size(); ++i) // Without gaps.
      EXPECT_EQ(std::get<0>(list[i]), std::get<1>(list[i - 1]) + 1);
  }
}

TEST(VariantsTest, RangesOfFewValues) {
  auto times = [](int64_t, bool, int64_t) { return 1.0; };
  EXPECT_EQ(choose(7, 7, 7, 6, times), (List{{7, 7, 7}}));
  EXPECT_EQ(choose(0, 1, 1, 6, times).size(), 1u);
  EXPECT_EQ(choose(1, 2, 2, 6, times), (List{{1, 2, 2}}));
  EXPECT_EQ(choose(100000, 200000, 150000, 6, times).size(), 1u);
  auto refuses = [](int64_t, bool, int64_t) { return -1.0; };
  EXPECT_EQ(choose(0, endless, 256, 6, refuses), (List{{0, endless, 256}}));
}

TEST(VariantsTest, GraphsAreAsFastAsStaticOnes) {
  for (const char *name : {"swiglu", "bert_layer", "llama_layer", "mlp", "classifier"}) {
    Graph graph(name);
    ASSERT_TRUE(graph.module) << name;
    VariantChoice choice = chooseVariants(*graph.module, graph.options);
    EXPECT_LE(choice.variants.size(), graph.options.mostVariants) << name;
    if (choice.variants.empty()) // One plan for all: for 256.
      choice.variants = {{0, endless, 256}};
    for (int64_t rows : {1, 7, 16, 100, 128, 512, 1000, 4096})
      EXPECT_LE(graph.getLoss(choice, rows), 0.08) << name << " " << rows << ": " << choice.describe(*graph.module);
  }
}

TEST(VariantsTest, OtherCardsHaveIntervalsToo) {
  for (const char *target : {"A100-40", "RTX4090"}) {
    Graph graph("swiglu", target);
    VariantChoice choice = chooseVariants(*graph.module, graph.options);
    ASSERT_GT(choice.variants.size(), 1u) << target;
    for (int64_t rows : {1, 7, 16, 100, 128, 512, 1000, 4096})
      EXPECT_LE(graph.getLoss(choice, rows), 0.08) << target << " " << rows << ": " << choice.describe(*graph.module);
  }
}

TEST(VariantsTest, TrialsLeaveTheModelAlone) {
  Graph graph("mlp");
  std::string before, after;
  llvm::raw_string_ostream(before) << *graph.module;
  (void)chooseVariants(*graph.module, graph.options);
  llvm::raw_string_ostream(after) << *graph.module;
  EXPECT_EQ(before, after);
}
