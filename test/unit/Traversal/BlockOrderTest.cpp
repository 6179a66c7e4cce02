// Orders of block loops: the closed forms of a chain of two products within 1 %, where the schedules change over, what
// an order moves counted by hand, what is refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Cost/BlockOrder.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace weft::plan;

enum : int32_t { M, K, L, N, B }; // Loops of makeChainGroup.

static BlockOrder count(const AffineGroup &group, std::vector<int32_t> loops, std::vector<int64_t> tile) {
  BlockOrder order;
  order.loops = std::move(loops), order.tile = std::move(tile);
  std::string error;
  EXPECT_TRUE(computeBlockTraffic(group, order, error)) << error;
  return order;
}

static BlockOrder choose(const AffineGroup &group, double fastElements, int64_t leastTile = 16) {
  BlockOrder best;
  std::string error;
  EXPECT_TRUE(chooseBlockOrder(group, 2 * fastElements, leastTile, best, error)) << error;
  EXPECT_LE(best.residentBytes, 2 * fastElements);
  return best;
}

TEST(BlockOrder, CountsByHand) {
  AffineGroup chain = makeChainGroup(1024, 512, 2048, 256);
  // Rows in 8 blocks, the middle in 16, k in 8, n in 4: A and E by each block of the middle, B and D by each of rows.
  BlockOrder tiled = count(chain, {B, M, L, K, N}, {128, 64, 128, 64, 1});
  EXPECT_EQ(tiled.bytesByArray, (std::vector<double>{2.0 * 1024 * 512 * 16, 2.0 * 512 * 2048 * 8, 0,
                                                     2.0 * 2048 * 256 * 8, 2.0 * 1024 * 256 * 16}));
  // The second product holds a block of C, of D and of E: 128 x 128 + 128 x 64 + 128 x 64.
  EXPECT_EQ(tiled.residentBytes, 2.0 * (128 * 128 + 2 * 128 * 64));
  // Rows of A and E whole: they stay while the middle passes by, each below the other's product too.
  BlockOrder rows = count(chain, {B, M, L, K, N}, {64, 512, 128, 256, 1});
  EXPECT_EQ(rows.bytesByArray,
            (std::vector<double>{2.0 * 1024 * 512, 2.0 * 512 * 2048 * 16, 0, 2.0 * 2048 * 256 * 16, 2.0 * 1024 * 256}));
  EXPECT_EQ(rows.residentBytes, 2.0 * (64 * 512 + 64 * 256 + 64 * 128 + 512 * 128));
  // A batch multiplies what moves, not what is held.
  BlockOrder heads = count(makeChainGroup(1024, 512, 2048, 256, 2, 12), {B, M, L, K, N}, {64, 512, 128, 256, 1});
  EXPECT_EQ(heads.bytes, 12 * rows.bytes);
  EXPECT_EQ(heads.residentBytes, rows.residentBytes);
}

/// C[m,l] = A[m,k] B[k,l], E[m,n] = C[m,l] D[l,n] with blocks tileM x tileL of C where all of a row and column pass by
/// in blocks of `leastTile` (order m, l, k, n): the best bytes, 2 m l (k + n) / (sqrt(a^2 + S) - a), at
/// tileM = tileL = sqrt(a^2 + S) - a, for `fastElements` elements S.
static double computeTiledChainBytes(int64_t m, int64_t k, int64_t l, int64_t n, int64_t leastTile, double fastElements,
                                     int64_t elementBytes) {
  double a = double(leastTile), side = std::sqrt(a * a + fastElements) - a;
  return double(elementBytes) * 2 * double(m) * double(l) * double(k + n) / side;
}

/// At the best tiles of the formula, S being the shared memory of an A100, of an H100, and half an H100's L2.
TEST(BlockOrder, TiledChainIsTheClosedForm) {
  for (double elements : {81920.0, 116224.0, 13107200.0})
    for (int64_t least : {16, 64}) {
      AffineGroup chain = makeChainGroup(1 << 18, 1 << 14, 1 << 18, 1 << 14);
      auto side = int64_t(std::sqrt(double(least * least) + elements) - double(least));
      ASSERT_LT(2 * std::sqrt(elements), 2 << 14) << "wide";
      BlockOrder order = count(chain, {B, M, L, K, N}, {side, least, side, least, 1});
      EXPECT_LE(order.residentBytes, 2 * elements);
      double form = computeTiledChainBytes(1 << 18, 1 << 14, 1 << 18, 1 << 14, least, elements, 2);
      EXPECT_NEAR(order.bytes, form, 0.01 * form) << elements << " " << least;
      // The search, which may take any order and tiles, finds it too.
      EXPECT_NEAR(choose(chain, elements, least).bytes, form, 0.01 * form) << elements << " " << least;
    }
}

TEST(BlockOrder, ResidentRowsAreTheClosedForm) {
  for (int64_t d : {32, 64, 128}) {
    double elements = 116224;
    BlockOrder best = choose(makeChainGroup(1 << 17, d, 1 << 17, d), elements, 1);
    // Beside the rows there are two columns of the operands that pass by, and one of the intermediate.
    double left = (elements - double(d)) * 2 * double(d) / (2 * double(d) + 1);
    double form = computeChainTraffic(1 << 17, d, 1 << 17, d, left, 2).rowResident;
    EXPECT_NEAR(best.bytes, form, 0.01 * form) << d;
    EXPECT_EQ(best.tile[K], d);
    EXPECT_EQ(best.tile[N], d);
    EXPECT_EQ(best.loops[1], M) << "rows outside";
  }
}

/// Rows are resident below k + n = 2 sqrt S, and not above.
TEST(BlockOrder, ChangesOverAtTwoRootS) {
  for (double elements : {65536.0, 1048576.0}) {
    double limit = 2 * std::sqrt(elements);
    for (double part : {0.25, 0.5, 0.9, 1.15, 1.5, 3.0}) {
      auto width = int64_t(part * limit / 2);
      BlockOrder best = choose(makeChainGroup(1 << 18, width, 1 << 18, width), elements, 1);
      EXPECT_EQ(best.tile[K] == width && best.tile[N] == width, part < 1) << elements << " " << part;
    }
  }
}

TEST(BlockOrder, NeverBelowTheBound) {
  for (auto [m, k, l, n] : {std::tuple(4096, 128, 4096, 128), {4096, 4096, 14336, 4096}, {512, 64, 4096, 1024}})
    for (double elements : {32768.0, 262144.0}) {
      AffineGroup chain = makeChainGroup(m, k, l, n);
      TrafficBound bound;
      std::string error;
      ASSERT_TRUE(computeTrafficBound(chain, 2 * elements, bound, error)) << error;
      EXPECT_GE(choose(chain, elements, 1).bytes, bound.bytes);
    }
}

TEST(BlockOrder, OneProductIsTheClosedForm) {
  // 2 m n k / (sqrt(1 + S) - 1) + m n of outer products.
  double elements = 65536, side = std::sqrt(1 + elements) - 1;
  BlockOrder best = choose(makeGemmGroup(1 << 15, 1 << 15, 1 << 15), elements, 1);
  EXPECT_NEAR(best.bytes / 2, 2 * std::pow(32768.0, 3) / side + 32768.0 * 32768, 0.01 * best.bytes / 2);
}

TEST(BlockOrder, Refuses) {
  std::string error;
  BlockOrder order;
  AffineGroup chain = makeChainGroup(64, 64, 64, 64);
  auto refuse = [&](std::vector<int32_t> loops, std::vector<int64_t> tile) {
    order.loops = std::move(loops), order.tile = std::move(tile);
    EXPECT_FALSE(computeBlockTraffic(chain, order, error));
    return error;
  };
  EXPECT_EQ(refuse({B, M, K, L, N}, {16, 16, 16, 16, 1}), "the order reads sums before they are complete");
  EXPECT_EQ(refuse({B, M, N, L, K}, {16, 16, 16, 16, 1}), "the order computes an intermediate several times");
  EXPECT_EQ(refuse({B, M, L, N}, {16, 16, 16, 16, 1}),
            "expected an order of all loops and a tile of at least 1 for each");
  EXPECT_EQ(refuse({B, M, L, K, K}, {16, 16, 16, 16, 1}),
            "expected an order of all loops and a tile of at least 1 for each");
  EXPECT_EQ(refuse({B, M, L, K, N}, {16, 16, 0, 16, 1}),
            "expected an order of all loops and a tile of at least 1 for each");
  EXPECT_FALSE(chooseBlockOrder(chain, 100, 16, order, error));
  EXPECT_EQ(error, "expected a fast memory that holds the least tiles");
  EXPECT_FALSE(chooseBlockOrder({}, 1e6, 16, order, error));
  AffineGroup apart = chain;
  apart.statements[1].reads = {3, 1};
  apart.arrays[2].kind = GroupArray::Kind::Output;
  EXPECT_FALSE(chooseBlockOrder(apart, 1e6, 16, order, error));
  EXPECT_EQ(error, "expected a chain, got statement 1 that does not read the result before it");
}
