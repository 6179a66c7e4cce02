// Tensor copies in kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads of every rank, mode, swizzle and fill, stores, reductions, prefetches, multicast and edited maps, against loop
// nests over coordinates.
#include "TensorMapArgument.h"

#include <algorithm>

using namespace weft;
using namespace weft::emu;
using namespace weft::emu::test;

namespace {

constexpr uint32_t kBoxBytes = 16384; ///< Of shared memory in these kernels; the mbarrier is behind it.

TensorMapSpec tensor(TensorMapType type, std::vector<uint64_t> dims, std::vector<uint32_t> box) {
  TensorMapSpec spec;
  spec.type = type;
  spec.rank = uint32_t(dims.size());
  uint64_t stride = (dims[0] * elementSize(type) + 15) / 16 * 16;
  for (unsigned i = 0; i < spec.rank; ++i) {
    spec.globalDim[i] = dims[i];
    spec.boxDim[i] = box[i];
    if (i > 0)
      spec.globalStrides[i - 1] = stride;
    stride *= i > 0 ? dims[i] : 1;
  }
  return spec;
}

std::string list(const std::string &name, unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", %" : "%") + name + std::to_string(first + i);
  return text;
}

const char *kParameters =
    ".param .align 64 .b8 map[128], .param .u64 out, .param .u32 bytes, .param .u32 c0, .param .u32 c1, "
    ".param .u32 c2, .param .u32 c3, .param .u32 c4, .param .u16 o0, .param .u16 o1, .param .u16 o2, .param .u64 in";

/// Fills shared memory with 0xee, loads a box with `instruction`, waits and stores all of shared memory to `out`.
/// %rd1: map, %r1: smem, %r2: mbarrier, %r10..14: coordinates, %h1..3: offsets.
std::string loadKernel(const std::string &instruction) {
  return kernelText(kParameters, R"(
    mov.u32 %r1, smem;
    add.u32 %r2, %r1, 16384;
    mov.u32 %r3, %tid.x;
    shl.b32 %r4, %r3, 4;
    add.u32 %r4, %r4, %r1;
    mov.b32 %r5, 0xeeeeeeee;
    mov.b32 %r6, 0;
FILL:
    st.shared.v4.b32 [%r4], {%r5, %r5, %r5, %r5};
    add.u32 %r4, %r4, 512;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p1, %r6, 32;
    @%p1 bra FILL;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra WAIT;
    mbarrier.init.shared.b64 [%r2], 1;
WAIT:
    fence.proxy.async;
    bar.sync 0;
    @%p2 bra TEST;
    mov.b64 %rd1, map;
    cvta.param.u64 %rd1, %rd1;
    ld.param.u32 %r10, [c0];
    ld.param.u32 %r11, [c1];
    ld.param.u32 %r12, [c2];
    ld.param.u32 %r13, [c3];
    ld.param.u32 %r14, [c4];
    ld.param.u16 %h1, [o0];
    ld.param.u16 %h2, [o1];
    ld.param.u16 %h3, [o2];
    ld.param.u32 %r7, [bytes];
    mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r2], %r7;
    )" + instruction + R"(
TEST:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;
    @!%p3 bra TEST;
    ld.param.u64 %rd3, [out];
    cvta.to.global.u64 %rd3, %rd3;
    mul.wide.u32 %rd4, %r3, 16;
    add.u64 %rd3, %rd3, %rd4;
    shl.b32 %r4, %r3, 4;
    add.u32 %r4, %r4, %r1;
    mov.b32 %r6, 0;
COPY:
    ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r4];
    st.global.v4.b32 [%rd3], {%r20, %r21, %r22, %r23};
    add.u32 %r4, %r4, 512;
    add.u64 %rd3, %rd3, 512;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p1, %r6, 32;
    @%p1 bra COPY;
)");
}

/// A load of `spec` over `global`; result: buffer 1.
KernelCase loadCase(const std::string &instruction, const TensorMapSpec &spec, const std::vector<uint8_t> &global,
                    std::vector<int32_t> at, std::vector<uint16_t> offsets = {}) {
  at.resize(5);
  offsets.resize(3);
  KernelCase kernel;
  kernel.ptx = loadKernel(instruction);
  kernel.block = {32, 1, 1};
  kernel.dynamicShared = kBoxBytes + 64;
  kernel.arguments = {tensorMap(spec, 11), output(kBoxBytes), value(uint32_t(boxBytes(spec)))};
  for (int32_t c : at)
    kernel.arguments.push_back(value(c));
  for (uint16_t o : offsets)
    kernel.arguments.push_back(value(o));
  kernel.arguments.push_back(buffer(global));
  return kernel;
}

/// What a load leaves in shared memory: rows of the box in order, each where the swizzle's picture puts it.
std::vector<uint8_t> expectedBox(const TensorMapSpec &spec, const std::vector<uint8_t> &global,
                                 const std::vector<int32_t> &at) {
  std::vector<uint8_t> shared(kBoxBytes, 0xee);
  unsigned size = elementSize(spec.type), span = swizzleSpan(spec.swizzle);
  uint32_t pitch = std::max(spec.boxDim[0] * size, span), row = 0;
  uint32_t index[5] = {};
  for (;; ++row) {
    for (uint32_t a = 0; a < spec.boxDim[0]; ++a) {
      int64_t place[5] = {int64_t(at[0]) + a};
      uint64_t offset = 0;
      bool isInside = place[0] >= 0 && uint64_t(place[0]) < spec.globalDim[0];
      for (unsigned i = 1; i < spec.rank; ++i) {
        place[i] = int64_t(at[i]) + index[i];
        isInside &= place[i] >= 0 && uint64_t(place[i]) < spec.globalDim[i];
        offset += uint64_t(place[i]) * spec.globalStrides[i - 1];
      }
      for (unsigned byte = 0; byte < size; ++byte) {
        uint32_t linear = row * pitch + a * size + byte;
        uint32_t line = linear / 128, chunk = linear / 16 % 8;
        uint32_t where = span ? line * 128 + (chunk ^ (line & (span / 16 - 1))) * 16 + linear % 16 : linear;
        uint8_t fill = spec.fill == TensorMapFill::Zero ? 0 : byte % 2 ? 0x7f : 0xf7;
        shared[where] = isInside ? global[offset + uint64_t(place[0]) * size + byte] : fill;
      }
    }
    unsigned i = 1;
    for (; i < spec.rank; ++i) {
      if ((index[i] += spec.elementStrides[i]) < spec.boxDim[i])
        break;
      index[i] = 0;
    }
    if (i >= spec.rank)
      return shared;
  }
}

std::vector<uint8_t> pattern(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i)
    data[i] = uint8_t(i * 167 + i / 256 * 13 + 7);
  return data;
}

std::string tileLoad(unsigned rank) {
  return "cp.async.bulk.tensor." + std::to_string(rank) +
         "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {" + list("r", 10, rank) +
         "}], [%r2];";
}

TEST(TensorCopy, LoadsTilesOfEveryRank) {
  std::vector<uint8_t> global = pattern(1 << 16);
  const std::vector<uint64_t> dims = {21, 6, 5, 4, 3};
  const std::vector<uint32_t> box = {16, 4, 3, 2, 2};
  const std::vector<int32_t> places[] = {{0, 0, 0, 0, 0}, {-8, -2, -1, -1, -1}, {8, 4, 3, 3, 2}, {800, 0, 0, 0, 0}};
  for (unsigned rank = 1; rank <= 5; ++rank)
    for (const std::vector<int32_t> &at : places)
      for (TensorMapFill fill : {TensorMapFill::Zero, TensorMapFill::Nan}) {
        TensorMapSpec spec =
            tensor(TensorMapType::BFloat16, {dims.begin(), dims.begin() + rank}, {box.begin(), box.begin() + rank});
        spec.fill = fill;
        KernelResult result = runAllWays(loadCase(tileLoad(rank), spec, global, at));
        EXPECT_EQ(result.buffers[1], expectedBox(spec, global, at)) << "rank " << rank;
      }
}

TEST(TensorCopy, LoadsEverySwizzleAndType) {
  std::vector<uint8_t> global = pattern(1 << 16);
  for (TensorMapType type : {TensorMapType::UInt8, TensorMapType::UInt16, TensorMapType::Int32, TensorMapType::Float64})
    for (unsigned mode = 0; mode < 4; ++mode)
      for (uint32_t bytes = 16; bytes <= (mode ? 16u << mode : 256u); bytes *= 2) {
        uint32_t inner = bytes / elementSize(type);
        TensorMapSpec spec = tensor(type, {256 / elementSize(type), 48}, {inner, 40});
        spec.swizzle = TensorMapSwizzle(mode);
        KernelResult result = runClean(loadCase(tileLoad(2), spec, global, {0, 3}));
        EXPECT_EQ(result.buffers[1], expectedBox(spec, global, {0, 3})) << mode << " " << bytes;
      }
}

TEST(TensorCopy, ElementStrides) {
  std::vector<uint8_t> global = pattern(1 << 14);
  TensorMapSpec spec = tensor(TensorMapType::Float16, {16, 12, 9}, {8, 7, 5});
  spec.elementStrides[1] = 2;
  spec.elementStrides[2] = 3;
  EXPECT_EQ(runClean(loadCase(tileLoad(3), spec, global, {8, 1, -1})).buffers[1],
            expectedBox(spec, global, {8, 1, -1}));
}

TEST(TensorCopy, LoadsIm2col) {
  std::vector<uint8_t> global = pattern(1 << 14);
  // NDHWC, 3x3.. filter with padding 1 in every spatial dimension; pixels of the second image too.
  for (unsigned spatial = 1; spatial <= 3; ++spatial) {
    std::vector<uint64_t> dims = {8, 5, 4, 3};
    dims.resize(1 + spatial);
    dims.push_back(2);
    TensorMapSpec spec = tensor(TensorMapType::Float16, dims, std::vector<uint32_t>(dims.size(), 1));
    spec.isIm2col = true;
    spec.channelsPerPixel = 8;
    spec.pixelsPerColumn = 30;
    uint64_t extent[3] = {1, 1, 1};
    for (unsigned i = 0; i < spatial; ++i) {
      spec.pixelBoxLowerCorner[i] = -1, spec.pixelBoxUpperCorner[i] = -1;
      extent[i] = dims[i + 1];
    }
    std::string offsets = list("h", 1, spatial);
    std::string load = "cp.async.bulk.tensor." + std::to_string(spatial + 2) +
                       "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {" +
                       list("r", 10, spatial + 2) + "}], [%r2], {" + offsets + "};";
    std::vector<int32_t> at = {0, -1, -1, -1};
    at.resize(1 + spatial);
    at.push_back(0);
    for (uint16_t tap = 0; tap < 3; ++tap) {
      std::vector<uint8_t> found = runClean(loadCase(load, spec, global, at, {tap, uint16_t(2 - tap), 1})).buffers[1];
      std::vector<uint8_t> expected(kBoxBytes, 0xee);
      int taps[3] = {tap, 2 - tap, 1};
      for (uint64_t p = 0; p < 30; ++p) {
        uint64_t o[3] = {p % extent[0], p / extent[0] % extent[1], p / extent[0] / extent[1] % extent[2]};
        uint64_t image = p / (extent[0] * extent[1] * extent[2]), offset = 0;
        bool isInside = image < 2;
        for (unsigned i = 0; i < spatial; ++i) {
          int64_t place = int64_t(o[i]) - 1 + taps[i];
          isInside &= place >= 0 && uint64_t(place) < extent[i];
          offset += uint64_t(place) * spec.globalStrides[i];
        }
        offset += image * spec.globalStrides[spatial];
        for (unsigned byte = 0; byte < 16; ++byte)
          expected[p * 16 + byte] = isInside ? global[offset + byte] : 0;
      }
      EXPECT_EQ(found, expected) << spatial << " spatial dimensions, tap " << tap;
    }
  }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Stores and reductions
//===--------------------------------------------------------------------------------------------------------------===//

/// Copies `in` (4096 bytes) to shared memory and stores it with `instruction`. %rd1: map, %r1: smem, %r10..
/// coordinates.
std::string storeKernel(const std::string &instruction, const std::string &wait = "cp.async.bulk.wait_group 0;") {
  return kernelText(
      ".param .align 64 .b8 map[128], .param .u64 in, .param .u32 c0, .param .u32 c1, .param .u32 c2, .param "
      ".u32 c3, .param .u32 c4, .param .u64 tensor",
      R"(
    mov.u32 %r1, smem;
    mov.u32 %r3, %tid.x;
    shl.b32 %r4, %r3, 4;
    add.u32 %r4, %r4, %r1;
    ld.param.u64 %rd3, [in];
    cvta.to.global.u64 %rd3, %rd3;
    mul.wide.u32 %rd4, %r3, 16;
    add.u64 %rd3, %rd3, %rd4;
    mov.b32 %r6, 0;
FILL:
    ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd3];
    st.shared.v4.b32 [%r4], {%r20, %r21, %r22, %r23};
    add.u32 %r4, %r4, 512;
    add.u64 %rd3, %rd3, 512;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p1, %r6, 8;
    @%p1 bra FILL;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra DONE;
    mov.b64 %rd1, map;
    cvta.param.u64 %rd1, %rd1;
    ld.param.u32 %r10, [c0];
    ld.param.u32 %r11, [c1];
    ld.param.u32 %r12, [c2];
    ld.param.u32 %r13, [c3];
    ld.param.u32 %r14, [c4];
    )" + instruction +
          R"(
    cp.async.bulk.commit_group;
    )" + wait +
          R"(
DONE:)");
}

/// A store to `spec` over `global`, which is buffer 7.
KernelCase storeCase(const std::string &instruction, const TensorMapSpec &spec, const std::vector<uint8_t> &data,
                     const std::vector<uint8_t> &global, std::vector<int32_t> at) {
  at.resize(5);
  KernelCase kernel;
  kernel.ptx = storeKernel(instruction);
  kernel.block = {32, 1, 1};
  kernel.dynamicShared = kBoxBytes;
  kernel.arguments = {tensorMap(spec, 7), buffer(data)};
  for (int32_t c : at)
    kernel.arguments.push_back(value(c));
  kernel.arguments.push_back(buffer(global));
  return kernel;
}

TEST(TensorCopy, StoresTilesOfEveryRank) {
  std::vector<uint8_t> data = pattern(4096), global(1 << 14, 0x11);
  const std::vector<uint64_t> dims = {24, 6, 5, 4, 3};
  const std::vector<uint32_t> box = {16, 4, 3, 2, 2};
  for (unsigned rank = 1; rank <= 5; ++rank)
    for (int32_t shift : {0, 1, 3}) {
      TensorMapSpec spec =
          tensor(TensorMapType::Float16, {dims.begin(), dims.begin() + rank}, {box.begin(), box.begin() + rank});
      spec.swizzle = TensorMapSwizzle::Bytes32;
      std::vector<int32_t> at(rank, shift);
      at[0] = shift * 8;
      std::string store = "cp.async.bulk.tensor." + std::to_string(rank) +
                          "d.global.shared::cta.tile.bulk_group [%rd1, {" + list("r", 10, rank) + "}], [%r1];";
      // A tensor of 24 columns has whole chunks: a load of the same box from what is there must give the data back.
      std::vector<uint8_t> found = runAllWays(storeCase(store, spec, data, global, at)).buffers[7];
      std::vector<uint8_t> loaded = expectedBox(spec, found, at);
      uint64_t bytes = boxBytes(spec);
      for (uint64_t i = 0; i < bytes; i += 16) {
        bool isOutside = std::all_of(&loaded[i], &loaded[i] + 16, [](uint8_t byte) { return byte == 0; });
        EXPECT_TRUE(isOutside || std::equal(&loaded[i], &loaded[i] + 16, &data[i])) << "rank " << rank << " byte " << i;
      }
      uint64_t changed = 0, inside = 0;
      for (uint64_t i = 0; i < found.size(); ++i)
        changed += found[i] != 0x11;
      for (uint64_t i = 0; i < bytes; i += 16)
        inside += !std::all_of(&loaded[i], &loaded[i] + 16, [](uint8_t byte) { return byte == 0; }) * 16;
      EXPECT_LE(changed, inside);
      EXPECT_GE(changed + inside / 64 + 8, inside) << "only bytes that equal 0x11 by chance are unchanged";
    }
}

TEST(TensorCopy, StoresWithoutOffsets) {
  std::vector<uint8_t> data = pattern(4096), global(1 << 12, 0x11);
  for (unsigned spatial = 1; spatial <= 3; ++spatial) {
    std::vector<uint64_t> dims = {8, 5, 4, 3};
    dims.resize(1 + spatial);
    dims.push_back(2);
    TensorMapSpec spec = tensor(TensorMapType::Float16, dims, std::vector<uint32_t>(dims.size(), 1));
    spec.isIm2col = true;
    spec.channelsPerPixel = 8;
    spec.pixelsPerColumn = 7;
    std::string store = "cp.async.bulk.tensor." + std::to_string(spatial + 2) +
                        "d.global.shared::cta.im2col_no_offs.bulk_group [%rd1, {" + list("r", 10, spatial + 2) +
                        "}], [%r1];";
    std::vector<int32_t> at(spatial + 2, 0);
    at[1] = 2;
    std::vector<uint8_t> expected = global; // The tensor is dense: pixels from number 2 on.
    std::copy(data.begin(), data.begin() + 7 * 16, expected.begin() + 2 * 16);
    EXPECT_EQ(runClean(storeCase(store, spec, data, global, at)).buffers[7], expected);
  }
}

TEST(TensorCopy, Reductions) {
  struct Case {
    const char *op;
    TensorMapType type;
    std::function<uint64_t(uint64_t, uint64_t)> apply;
  };
  const Case cases[] = {
      {"add", TensorMapType::UInt32, [](uint64_t a, uint64_t b) { return uint32_t(a + b); }},
      {"add", TensorMapType::UInt64, [](uint64_t a, uint64_t b) { return a + b; }},
      {"min", TensorMapType::Int32, [](uint64_t a, uint64_t b) { return uint32_t(std::min(int32_t(a), int32_t(b))); }},
      {"max", TensorMapType::Int64, [](uint64_t a, uint64_t b) { return uint64_t(std::max(int64_t(a), int64_t(b))); }},
      {"min", TensorMapType::UInt64, [](uint64_t a, uint64_t b) { return std::min(a, b); }},
      {"inc", TensorMapType::UInt32, [](uint64_t a, uint64_t b) { return a >= b ? 0 : a + 1; }},
      {"dec", TensorMapType::UInt32, [](uint64_t a, uint64_t b) { return a == 0 || a > b ? b : a - 1; }},
      {"and", TensorMapType::UInt32, [](uint64_t a, uint64_t b) { return a & b; }},
      {"or", TensorMapType::UInt64, [](uint64_t a, uint64_t b) { return a | b; }},
      {"xor", TensorMapType::Int32, [](uint64_t a, uint64_t b) { return a ^ b; }},
      {"add", TensorMapType::Float32,
       [](uint64_t a, uint64_t b) {
         float x, y;
         uint32_t i = uint32_t(a), j = uint32_t(b), bits;
         std::memcpy(&x, &i, 4), std::memcpy(&y, &j, 4);
         x += y;
         std::memcpy(&bits, &x, 4);
         return uint64_t(bits);
       }},
  };
  for (const Case &test : cases) {
    unsigned size = elementSize(test.type);
    std::vector<uint8_t> data = pattern(4096), global = pattern(8192);
    std::rotate(global.begin(), global.begin() + 31, global.end());
    if (test.type == TensorMapType::Float32)
      for (size_t i = 0; i < 4096; i += 4) { // Ordinary numbers.
        float x = float(i % 37) * 0.25f, y = float(i % 101) - 50;
        std::memcpy(&data[i], &x, 4), std::memcpy(&global[i], &y, 4);
      }
    TensorMapSpec spec = tensor(test.type, {32, 16}, {64 / size, 8});
    std::string reduce = std::string("cp.reduce.async.bulk.tensor.2d.global.shared::cta.") + test.op +
                         ".tile.bulk_group [%rd1, {%r10, %r11}], [%r1];";
    int32_t x = int32_t(16 / size), y = 2;
    std::vector<uint8_t> expected = global;
    for (uint64_t row = 0; row < 8; ++row)
      for (uint64_t column = 0; column < 64 / size; ++column) {
        uint64_t a = 0, b = 0;
        uint8_t *to = &expected[(row + uint64_t(y)) * spec.globalStrides[0] + (column + uint64_t(x)) * size];
        std::memcpy(&a, to, size), std::memcpy(&b, &data[row * 64 + column * size], size);
        a = test.apply(a, b);
        std::memcpy(to, &a, size);
      }
    EXPECT_EQ(runClean(storeCase(reduce, spec, data, global, {x, y})).buffers[7], expected)
        << test.op << " " << unsigned(test.type);
  }
}

TEST(TensorCopy, FaultsNameTheLine) {
  std::vector<uint8_t> global = pattern(1 << 14);
  TensorMapSpec spec = tensor(TensorMapType::Float16, {64, 16}, {16, 4});
  auto expectFault = [&](const std::string &instruction, const TensorMapSpec &map, std::vector<int32_t> at,
                         const char *message) {
    KernelCase kernel = loadCase(instruction, map, global, std::move(at));
    kernel.isDumped = false;
    KernelResult result = run(kernel);
    ASSERT_TRUE(result.error) << message;
    EXPECT_NE(result.error.getMessage().find(message), std::string::npos) << result.error.getMessage();
    EXPECT_NE(result.error.getMessage().find("cp.async.bulk.tensor"), std::string::npos) << result.error.getMessage();
  };
  expectFault(tileLoad(2), spec, {4, 0}, "multiple of 16 bytes, got 4 elements of 2 bytes");
  expectFault(tileLoad(3), spec, {0, 0}, "the tensor map has rank 2, the instruction 3");
  expectFault("add.u32 %r1, %r1, 64;" + tileLoad(2), spec, {0, 0}, "a multiple of 128");
  expectFault("add.u64 %rd1, %rd1, 32;" + tileLoad(2), spec, {0, 0}, "a tensor map at a multiple of 64");
  TensorMapSpec beyond = spec;
  beyond.globalDim[1] = 1 << 20;
  expectFault(tileLoad(2), beyond, {0, 1000}, "out of bounds");
}

} // namespace
