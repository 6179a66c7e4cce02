// The algebra against enumeration and on random layouts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Random.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"

#include <gtest/gtest.h>
#include <set>

using namespace weft::layout;

static const Dims registersAndLanes = {{"register", 3}, {"lane", 5}}, tile = {{"dim0", 4}, {"dim1", 4}};

TEST(Span, AgreesWithEnumeration) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    Vectors a(random() % 6), b(random() % 6);
    for (Vectors *vectors : {&a, &b})
      for (uint64_t &vector : *vectors)
        vector = random() % 64;
    std::set<uint64_t> inA, inB, inBoth;
    for (uint64_t i = 0; i < uint64_t(1) << a.size(); ++i)
      inA.insert(combine(a, i));
    for (uint64_t i = 0; i < uint64_t(1) << b.size(); ++i)
      inB.insert(combine(b, i));
    Span span(a), both(intersect(a, b));
    EXPECT_EQ(inA.size(), size_t(1) << span.rank());
    EXPECT_EQ(span.relations().size() + span.rank(), a.size());
    for (uint64_t relation : span.relations())
      EXPECT_EQ(combine(a, relation), 0u);
    for (uint64_t vector = 0; vector < 64; ++vector) {
      std::optional<uint64_t> coordinates = span.solve(vector);
      ASSERT_EQ(coordinates.has_value(), inA.count(vector) == 1);
      if (coordinates)
        EXPECT_EQ(combine(a, *coordinates), vector);
      EXPECT_EQ(both.contains(vector), inA.count(vector) && inB.count(vector));
    }
  }
}

TEST(LinearLayout, MakeRefusesWhatDoesNotFit) {
  EXPECT_TRUE(LinearLayout::make({{"a", 1}}, {{"x", 1}}, {1}));
  EXPECT_FALSE(LinearLayout::make({{"a", 1}}, {{"x", 1}}, {2})) << "a column outside the output";
  EXPECT_FALSE(LinearLayout::make({{"a", 2}}, {{"x", 1}}, {1})) << "too few columns";
  EXPECT_FALSE(LinearLayout::make({{"a", 1}, {"a", 0}}, {{"x", 1}}, {1})) << "a name twice";
  EXPECT_FALSE(LinearLayout::make({{"", 1}}, {{"x", 1}}, {1})) << "no name";
  EXPECT_FALSE(LinearLayout::make({}, {{"x", 40}, {"y", 21}}, {})) << "more than 60 bits";
  EXPECT_FALSE(LinearLayout::make({}, {{"x", 4000000000u}, {"y", 4000000000u}}, {}));
}

TEST(LinearLayout, ApplyIsLinearAndComposes) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 50; ++round) {
    LinearLayout f = makeRandom(random, registersAndLanes, tile),
                 g = makeRandom(random, {{"dim1", 4}, {"dim0", 4}}, {{"x", 7}}),
                 h = makeRandom(random, {{"x", 7}}, {{"y", 3}, {"z", 4}});
    LinearLayout gf = *f.compose(g);
    for (uint64_t i = 0; i < 256; ++i) {
      Index mid = f.apply(f.unflattenIn(i));
      EXPECT_EQ(gf.apply(gf.unflattenIn(i)), g.apply({mid[1], mid[0]}));
      uint64_t j = random() % 256;
      EXPECT_EQ(f.applyFlat(i ^ j), f.applyFlat(i) ^ f.applyFlat(j));
    }
    EXPECT_EQ(*gf.compose(h), *f.compose(*g.compose(h))) << "associativity";
    EXPECT_FALSE(f.compose(h)) << "dimensions that do not meet";
  }
}

TEST(LinearLayout, Inverses) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 100; ++round) {
    LinearLayout f = makeRandomBijection(random, registersAndLanes, tile), inverse = *f.inverse();
    EXPECT_EQ(*inverse.inverse(), f);
    for (uint64_t i = 0; i < 256; ++i)
      EXPECT_EQ(inverse.applyFlat(f.applyFlat(i)), i);
    LinearLayout g = makeRandomBijection(random, tile, {{"offset", 8}});
    EXPECT_EQ(*f.compose(g)->inverse(), *g.inverse()->compose(inverse));
    LinearLayout any = makeRandom(random, {{"a", unsigned(random() % 7)}}, {{"b", unsigned(random() % 7)}}),
                 p = any.pseudoInverse();
    EXPECT_EQ(*any.compose(p)->compose(any), any);
    EXPECT_EQ(*p.compose(any)->compose(p), p);
    EXPECT_EQ(any.inverse().has_value(), any.isInjective() && any.isSurjective());
    EXPECT_EQ(any.kernel().size() + any.image().size(), any.inBits());
    std::optional<LinearLayout> where = any.invertAndCompose(any);
    ASSERT_TRUE(where);
    EXPECT_EQ(*where->compose(any), any);
  }
}

TEST(LinearLayout, ProductsAndDivision) {
  std::mt19937_64 random(4);
  LinearLayout unit;
  for (int round = 0; round < 100; ++round) {
    LinearLayout a = makeRandom(random, {{"register", 2}, {"lane", 1}}, {{"dim0", 2}, {"dim1", 1}}),
                 b = makeRandom(random, {{"lane", 2}, {"warp", 1}}, {{"dim1", 3}}),
                 c = makeRandom(random, {{"register", 1}}, {{"dim0", 2}});
    EXPECT_EQ(a.product(*b.product(c))->canonical(), a.product(b)->product(c)->canonical()) << "associativity";
    EXPECT_EQ(*a.product(unit), a);
    EXPECT_EQ(*unit.product(a), a);
    LinearLayout ab = *a.product(b);
    for (uint64_t r = 0; r < 4; ++r)
      for (uint64_t l = 0; l < 8; ++l)
        for (uint64_t w = 0; w < 2; ++w) {
          Index low = a.apply({r, l & 1}), high = b.apply({l >> 1, w});
          EXPECT_EQ(ab.apply({r, l, w}), (Index{low[0], low[1] | high[0] << 1}));
        }
    EXPECT_EQ(ab.divide(a)->canonical(), b.canonical());
    EXPECT_EQ(ab.divide(ab)->canonical(), unit);
    Vectors columns = ab.columns();
    columns[0] ^= 1;
    EXPECT_FALSE(LinearLayout::make(ab.ins(), ab.outs(), columns)->divide(a)) << "no factor any more";
    EXPECT_FALSE(a.divide(ab));
  }
  EXPECT_FALSE(LinearLayout::identity("a", "b", 40).product(LinearLayout::identity("a", "b", 40))) << "80 bits";
}

TEST(LinearLayout, PartsAndConcatenation) {
  std::mt19937_64 random(5);
  LinearLayout f = makeRandom(random, registersAndLanes, tile);
  LinearLayout lanes = *f.sublayout({"lane"}, {"dim0", "dim1"}),
               registers = *f.sublayout({"register"}, {"dim0", "dim1"});
  EXPECT_EQ(*registers.concatenateIns(lanes), f);
  EXPECT_EQ(*f.sublayout({"register", "lane"}, {"dim0"})->concatenateOuts(*f.sublayout({"lane", "register"}, {"dim1"})),
            f);
  LinearLayout turned = *f.transposed({"lane", "register"}, {"dim1", "dim0"});
  for (uint64_t r = 0; r < 8; ++r)
    for (uint64_t l = 0; l < 32; ++l)
      EXPECT_EQ(turned.apply({l, r}), (Index{f.apply({r, l})[1], f.apply({r, l})[0]}));
  EXPECT_NE(turned, f);
  EXPECT_EQ(turned.canonical(), f.canonical());
  EXPECT_FALSE(f.sublayout({"warp"}, {"dim0"}));
  EXPECT_FALSE(f.concatenateIns(f)) << "names twice";
  LinearLayout zeros = LinearLayout::zeros("warp", 2, tile);
  EXPECT_EQ(f.concatenateIns(zeros)->apply({5, 9, 3}), f.apply({5, 9})) << "a broadcast";
  EXPECT_EQ(zeros.kernel().size(), 2u);
}

TEST(Blocked, AgreesWithArithmetic) {
  // 4 x 8 threads of 1 x 4 elements, 2 x 1 warps, columns first: a block of 8 x 32 in a tile of 16 x 16.
  LinearLayout layout = *makeBlocked({{16, 16}, {1, 4}, {4, 8}, {2, 1}, {1, 0}});
  EXPECT_EQ(layout.inBits("register"), 3u);
  for (uint64_t r = 0; r < 8; ++r)
    for (uint64_t l = 0; l < 32; ++l)
      for (uint64_t w = 0; w < 2; ++w)
        EXPECT_EQ(layout.apply({r, l, w}), (Index{l / 8 + 4 * w + 8 * (r / 4), (l % 8 * 4 + r % 4) % 16}));
  EXPECT_TRUE(layout.isSurjective());
  EXPECT_EQ(layout.kernel().size(), 1u) << "lanes 4 ... 7 of a row hold what 0 ... 3 hold";
  EXPECT_FALSE(makeBlocked({{16, 16}, {1, 4}, {4, 4}, {2, 1}, {1, 0}})) << "16 threads";
  EXPECT_FALSE(makeBlocked({{16, 12}, {1, 4}, {4, 8}, {2, 1}, {1, 0}})) << "no power of two";
  EXPECT_FALSE(makeBlocked({{16, 16}, {1, 4}, {4, 8}, {2, 1}, {1, 1}})) << "no order";
  EXPECT_FALSE(makeBlocked({{16, 16}, {1}, {4, 8}, {2, 1}, {1, 0}})) << "ranks";
}
