// Weights that kernels see in another order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight is stored once, however many orders of it the kernels of a bundle's entries see; it is put in order when a
// session needs it, on the host only for devices that compute there; a GPU does it by kernels of its own.
#include "Memory/WeightOrder.h"
#include "Cuda/CudaOrder.h"
#include "Cuda/CudaTest.h"
#include "Emulator/Emulator.h"
#include "Memory/LoadedBundle.h"
#include "Session/Session.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace weft;
using namespace weft::bundle;
using namespace weft::test;

namespace {
constexpr int64_t kBytes = 12;
using Bytes = std::vector<uint8_t>;

class WeightOrderTest : public CudaTest {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    std::iota(stored.begin(), stored.end(), uint8_t(0));
    bytes = buildOrdersBundle(
        [&](Builder &builder) { return builder.addEmbeddedWeight("w", stored.data(), stored.size()); });
    Error error = LoadedBundle::openMemory(bytes.data(), bytes.size(), {}, bundle);
    ASSERT_FALSE(error) << error.getMessage();
  }
  void TearDown() override {
    bundle.reset();
    CudaTest::TearDown();
  }
  std::unique_ptr<Session> create(const char *entry, const char *device) {
    SessionOptions options;
    options.entry = entry;
    options.threads = 1;
    options.device.cudaDriver = fakeCudaLibrary;
    std::unique_ptr<Session> session;
    Error error = Session::create(bundle, device, options, session);
    EXPECT_FALSE(error) << error.getMessage();
    return session;
  }
  Bytes run(Session &session) {
    weft_tensor output = {};
    Error error = session.run(nullptr, 0, &output, 1, std::nullopt);
    EXPECT_FALSE(error) << error.getMessage();
    const auto *data = static_cast<const uint8_t *>(output.data);
    return data ? Bytes(data, data + kBytes) : Bytes();
  }

  Bytes stored = Bytes(kBytes), bytes;
  const Bytes seen = {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11};
  std::shared_ptr<LoadedBundle> bundle;
};
} // namespace

TEST_F(WeightOrderTest, OneWeightInTwoOrdersIsStoredAndCountedOnce) {
  const Tables &tables = bundle->getTables();
  ASSERT_EQ(tables.weights.size, 2u);
  EXPECT_EQ(tables.weights[0].offset, tables.weights[1].offset);
  EXPECT_EQ(bundle->getWeightBytes(), uint64_t(kBytes));
  EXPECT_EQ(bundle->findOrder(0), nullptr);
  ASSERT_NE(bundle->findOrder(1), nullptr);
  EXPECT_EQ(bundle->findOrder(1)->weight, 1u);
}

TEST_F(WeightOrderTest, TheHostOrdersAWeightForTheFirstSessionThatSeesIt) {
  std::unique_ptr<Session> plain = create("stored", "cpu");
  EXPECT_EQ(run(*plain), stored);
  EXPECT_EQ(bundle->getSeenBytes(), 0u);
  std::unique_ptr<Session> first = create("seen", "cpu"), second = create("seen", "cpu");
  EXPECT_EQ(run(*first), seen);
  EXPECT_EQ(run(*second), seen);
  EXPECT_EQ(bundle->getSeenBytes(), uint64_t(kBytes));
}

TEST_F(WeightOrderTest, ACardKeepsItAndTheHostDoesNot) {
  for (const char *device : {"cuda", "emu:sm_80"}) {
    std::unique_ptr<Session> plain = create("stored", device), ordered = create("seen", device);
    EXPECT_EQ(run(*plain), stored) << device;
    EXPECT_EQ(run(*ordered), seen) << device;
    EXPECT_EQ(bundle->getSeenBytes(), 0u) << device;
  }
}

TEST_F(WeightOrderTest, AFailedCopyLeavesNothing) {
  fake.failures["cuMemcpyHtoDAsync"] = cuda::result::OutOfMemory;
  SessionOptions options;
  options.entry = "seen";
  options.device.cudaDriver = fakeCudaLibrary;
  std::unique_ptr<Session> session;
  Error error = Session::create(bundle, "cuda", options, session);
  EXPECT_NE(error.getMessage().find("cuMemcpyHtoDAsync"), std::string::npos) << error.getMessage();
  EXPECT_EQ(fake.memory.size(), 0u);
  fake.failures.clear();
  EXPECT_EQ(run(*create("seen", "cuda")), seen);
}

/// Element by element: what reorderWeight does by blocks.
static Bytes reorderSlowly(const WeightOrderRecord &record, const Bytes &stored) {
  Bytes result;
  std::vector<uint64_t> place(record.rank); // As seen.
  for (uint64_t i = 0; i < stored.size() / record.elementBytes; ++i) {
    uint64_t rest = i, index = 0;
    for (unsigned d = record.rank; d-- > 0;) {
      place[record.order[d]] = rest % record.extents[record.order[d]];
      rest /= record.extents[record.order[d]];
    }
    for (unsigned d = 0; d < record.rank; ++d)
      index = index * record.extents[d] + place[d];
    auto element = stored.begin() + int64_t(index * record.elementBytes);
    result.insert(result.end(), element, element + record.elementBytes);
  }
  return result;
}

static WeightOrderRecord makeRecord(unsigned elementBytes, const std::vector<uint64_t> &extents) {
  WeightOrderRecord record = {};
  record.elementBytes = uint8_t(elementBytes);
  record.rank = uint8_t(extents.size());
  std::copy(extents.begin(), extents.end(), record.extents);
  std::iota(record.order, record.order + record.rank, uint8_t(0));
  return record;
}

static Bytes makeStored(const WeightOrderRecord &record) {
  Bytes stored(std::accumulate(record.extents, record.extents + record.rank, uint64_t(record.elementBytes),
                               std::multiplies<>()));
  for (uint64_t i = 0; i < stored.size(); ++i)
    stored[i] = uint8_t(i * 167 + i / 251);
  return stored;
}

TEST(ReorderWeight, AllOrdersOfAllElements) {
  for (uint8_t elementBytes : {1, 2, 3, 4, 8, 255})
    for (std::vector<uint64_t> extents :
         {std::vector<uint64_t>{7}, {65, 131}, {128, 64}, {3, 70, 5}, {2, 9, 3, 66}, {4, 0, 3}}) {
      WeightOrderRecord record = makeRecord(elementBytes, extents);
      const Bytes stored = makeStored(record);
      const uint64_t bytes = stored.size();
      do {
        AlignedMemory seen;
        Error error = reorderWeight(record, stored.data(), bytes, seen);
        ASSERT_FALSE(error) << error.getMessage();
        Bytes expected = reorderSlowly(record, stored);
        EXPECT_TRUE(bytes == 0 || std::memcmp(seen.get(), expected.data(), bytes) == 0)
            << unsigned(elementBytes) << " bytes, rank " << unsigned(record.rank) << ", last "
            << unsigned(record.order[record.rank - 1]);
      } while (std::next_permutation(record.order, record.order + record.rank));
    }
}

/// Runs the GPU's kernel for `record` on what lies `offset` bytes behind an aligned address.
static Bytes orderOnCard(emu::Emulator &card, uint32_t module, const WeightOrderRecord &record, const Bytes &stored,
                         uint64_t offset) {
  uint64_t from = 0, to = 0;
  EXPECT_FALSE(card.allocate(stored.size() + offset, from) || card.allocate(stored.size(), to) ||
               card.write(from + offset, stored.data(), stored.size()));
  const cuda::OrderedUnits units = cuda::findUnits(record, from + offset);
  struct {
    uint64_t from, to, count;
    cuda::OrderedUnits::Dim dims[cuda::OrderedUnits::kMostDims];
  } parameters = {from + offset, to, units.count, {}};
  std::copy(std::begin(units.dims), std::end(units.dims), parameters.dims);
  emu::LaunchSpec spec;
  const std::string entry = "order" + std::to_string(units.bytes);
  spec.module = module;
  spec.entry = entry;
  spec.grid.x = uint32_t(units.count / 32 + 1);
  spec.block.x = 32;
  spec.parameters = &parameters;
  spec.parameterBytes = sizeof parameters;
  emu::LaunchResult result;
  Error error = card.launch(spec, result);
  EXPECT_FALSE(error) << error.getMessage();
  EXPECT_TRUE(result.findings.empty()) << result.findings.front().message;
  Bytes seen(stored.size());
  EXPECT_FALSE(card.read(to, seen.data(), seen.size()) || card.free(from) || card.free(to));
  return seen;
}

TEST(OrderOnCard, AllOrdersOfAllElementsAtAnyAddress) {
  std::unique_ptr<emu::Emulator> card;
  uint32_t module = 0;
  ASSERT_FALSE(emu::Emulator::create("sm_80", card));
  Error error = card->load(cuda::makeOrderPtx(), "order.ptx", module);
  ASSERT_FALSE(error) << error.getMessage();
  for (unsigned elementBytes : {1, 2, 3, 4, 8, 12})
    for (std::vector<uint64_t> extents :
         {std::vector<uint64_t>{7}, {5, 33}, {16, 8}, {3, 7, 5}, {2, 9, 1, 4}, {2, 1, 2, 1, 3, 2, 1, 2}}) {
      WeightOrderRecord record = makeRecord(elementBytes, extents);
      const Bytes stored = makeStored(record);
      unsigned turn = 0;
      do {
        if (record.rank < 8 || turn % 911 == 0) // Some of 8! orders.
          EXPECT_EQ(orderOnCard(*card, module, record, stored, turn % 3 * 2), reorderSlowly(record, stored))
              << elementBytes << " bytes, rank " << unsigned(record.rank) << ", turn " << turn;
        ++turn;
      } while (std::next_permutation(record.order, record.order + record.rank));
    }
}

TEST(OrderOnCard, UnitsAreAsLargeAsOrderAndAddressAllow) {
  WeightOrderRecord record = makeRecord(2, {6, 4, 8});
  record.order[0] = 1, record.order[1] = 0; // Rows of 16 bytes stay.
  EXPECT_EQ(cuda::findUnits(record, 256).bytes, 8u);
  EXPECT_EQ(cuda::findUnits(record, 260).bytes, 4u);
  EXPECT_EQ(cuda::findUnits(record, 257).bytes, 1u);
  record.order[1] = 2, record.order[2] = 0; // Elements go apart.
  EXPECT_EQ(cuda::findUnits(record, 256).bytes, 2u);
  EXPECT_EQ(cuda::findUnits(makeRecord(4, {3, 0}), 256).count, 0u);
}
