// Bundles that must be refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes a good bundle, breaks one thing, makes the hashes right again, and expects the message that names the position;
// each within milliseconds and without memory. Last, single-bit flips of everything: refused or harmless.
#include "Repair.h"
#include "TestBundles.h"

#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft;
using namespace weft::bundle;
using namespace weft::test;

namespace {
/// A bundle in memory whose records can be changed.
class Editor {
public:
  explicit Editor(std::vector<uint8_t> &bytes) : bytes(bytes) {}

  FileHeader &header() { return *reinterpret_cast<FileHeader *>(bytes.data()); }
  SectionEntry *sections() { return reinterpret_cast<SectionEntry *>(bytes.data() + sizeof(FileHeader)); }
  SectionEntry &section(SectionKind kind) {
    SectionEntry *entry = sections();
    while (entry->kind != uint32_t(kind))
      ++entry;
    return *entry;
  }
  template <class T> T *records(SectionKind kind) { return reinterpret_cast<T *>(bytes.data() + section(kind).offset); }
  InstructionRecord *instructions() { return records<InstructionRecord>(SectionKind::Instructions); }
  BufferRecord *buffers() { return records<BufferRecord>(SectionKind::Buffers); }
  CommandRecord *commands() { return records<CommandRecord>(SectionKind::Commands); }
  ArgumentRecord *arguments() { return records<ArgumentRecord>(SectionKind::Arguments); }
  EntryRecord *entries() { return records<EntryRecord>(SectionKind::Entries); }
  PortRecord *ports() { return records<PortRecord>(SectionKind::Ports); }
  WeightRecord *weights() { return records<WeightRecord>(SectionKind::Weights); }
  uint32_t *values(SectionKind kind) { return records<uint32_t>(kind); }
  GpuModuleRecord *modules() { return records<GpuModuleRecord>(SectionKind::GpuModules); }
  GpuKernelRecord *gpuKernels() { return records<GpuKernelRecord>(SectionKind::GpuKernels); }
  TensorMapRecord *maps() { return records<TensorMapRecord>(SectionKind::TensorMaps); }
  char *text() { return records<char>(SectionKind::StringBytes); }

  std::vector<uint8_t> &bytes;
};

struct Broken {
  const char *name;
  std::function<void(Editor &)> damage;
  const char *message;
  bool repairs = true;
};
} // namespace

/// One entry with a bit of everything. Registers: 0 n, 1 const 1 or other constants..., then derived ones; see the
/// messages.
static std::vector<uint8_t> makeGood() {
  static const std::vector<float> ones(100, 1.0f);
  Builder builder("weft 9.9.9");
  builder.setMetadata("model", "good");
  addKernels(builder, {"sse2"});
  TensorMapRecord map = {
      0, uint8_t(DType::F16), 2, 3, 0, {{64, 0}, {8, 0}}, {0, 1, kNone, kNone, kNone}, {1, kNone, kNone, kNone}};
  builder.addPtx("sm_80", ".version 7.0\n", {{{0}, 64, 1, 0, 0, {}}, {{1}, 128, 2, 1024, 40, {map}}});
  ConstantId constant = builder.addConstantData(ones.data(), 64);
  addSumEntry(builder, ones);
  addPositionsEntry(builder);
  EntryBuilder &entry = builder.addEntry("constant");
  BufferId c = entry.addConstant(constant, DType::F32, {16}),
           y = entry.addOutput("y", DType::F32, {entry.constant(16)});
  entry.copy({c}, {y}, entry.constant(64));
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}

static std::string openError(const std::vector<uint8_t> &bytes, int *code = nullptr) {
  weft_bundle_options options = {sizeof options, 1, nullptr};
  weft_bundle *bundle = nullptr;
  weft_error *error = weft_bundle_open_memory(bytes.data(), bytes.size(), &options, &bundle);
  weft_bundle_release(bundle);
  if (code)
    *code = weft_error_code(error);
  return take(error);
}

static const Broken fileLevel[] = {
    {"empty", [](Editor &e) { e.bytes.clear(); },
     "not a bundle: expected the Weft signature at its beginning; weft compile makes bundles of models", false},
    {"magic", [](Editor &e) { e.bytes[0] = 0; },
     "not a bundle: expected the Weft signature at its beginning; weft compile makes bundles of models", false},
    {"short header", [](Editor &e) { e.bytes.resize(100); }, "header: truncated: expected 128 bytes, got 100", false},
    {"truncated", [](Editor &e) { e.bytes.resize(e.bytes.size() - 1); }, "header: expected a file of ", false},
    {"longer", [](Editor &e) { e.bytes.push_back(0); }, "header: expected a file of ", false},
    {"flipped header bit", [](Editor &e) { e.header().sectionCount ^= 1; },
     "header: hash mismatch: the file is damaged", false},
    {"flipped table bit", [](Editor &e) { e.sections()[2].size ^= 8; },
     "section table: hash mismatch: the file is damaged", false},
    {"flipped data bit", [](Editor &e) { e.text()[0] ^= 1; },
     "section 1 (StringBytes): hash mismatch: the file is damaged", false},
    {"flipped weight bit", [](Editor &e) { *e.records<uint8_t>(SectionKind::WeightData) ^= 1; },
     "(WeightData): hash mismatch: the file is damaged", false},
    {"newer format", [](Editor &e) { e.header().formatMajor = 2; },
     "bundle format 2.7, written by \"weft 9.9.9\"; this is weft 0.1.0, which reads format 1.0 to 1.7; update the "
     "runtime, or compile "
     "the model with this version of weft-compile"},
    {"newer minor", [](Editor &e) { e.header().formatMinor = 8; },
     "bundle format 1.8, written by \"weft 9.9.9\"; this is weft 0.1.0"},
    {"older format", [](Editor &e) { e.header().formatMajor = 0; },
     "compile the model again with this version of weft-compile"},
    {"version text", [](Editor &e) { e.header().productVersion[0] = '\x1b'; },
     "header: product version is not printable ASCII"},
    {"version end", [](Editor &e) { std::memset(e.header().productVersion, 'x', 40); },
     "header: product version is not terminated"},
    {"reserved", [](Editor &e) { e.header().reserved[3] = 1; }, "header: reserved bytes are not zero"},
    {"struct size", [](Editor &e) { e.header().sectionBytes = 32; },
     "header: expected struct sizes 128 and 64, got 128 and 32"},
    {"section count", [](Editor &e) { e.header().sectionCount = 0xffffffff; },
     "header: expected at most 256 sections, got 4294967295"},
    {"section count 2",
     [](Editor &e) { e.bytes.resize(4096), e.header().fileBytes = 4096, e.header().sectionCount = 200; },
     "header: the table of 200 sections does not fit into the file"},
    {"unknown kind", [](Editor &e) { e.sections()[2].kind = 99; }, "section 2 (kind 99): unknown section kind"},
    {"flags", [](Editor &e) { e.sections()[2].flags = 6; }, "section 2 (Metadata): unknown flags 0x6"},
    {"alignment", [](Editor &e) { e.sections()[2].offset += 8; }, " is not a multiple of 64"},
    {"overlap", [](Editor &e) { e.sections()[2].offset = e.sections()[1].offset; }, "section 2 (Metadata): offset "},
    {"section in header", [](Editor &e) { e.sections()[0].offset = 64; },
     "section 0 (StringIndex): offset 64 overlaps what ends at "},
    {"outside", [](Editor &e) { e.sections()[2].size = ~uint64_t(0); }, "section 2 (Metadata): offset "},
    {"offset wraps", [](Editor &e) { e.sections()[2].offset = ~uint64_t(63); }, " do not fit into a file of "},
    {"gap", [](Editor &e) { e.bytes[e.sections()[1].offset + e.sections()[1].size] = 1; },
     "section 2 (Metadata): unused bytes before "},
    {"twice", [](Editor &e) { e.sections()[2].kind = e.sections()[1].kind, e.sections()[2].recordBytes = 1; },
     "section 2 (StringBytes): this kind occurs twice"},
    {"record size", [](Editor &e) { e.sections()[2].recordBytes = 4; },
     "section 2 (Metadata): expected records of 8 bytes, got 4"},
    {"half a record", [](Editor &e) { e.sections()[2].size -= 4; },
     "section 2 (Metadata): size 4 is not a multiple of the record size 8"},
};

static const Broken tableLevel[] = {
    {"string gap", [](Editor &e) { e.records<StringRecord>(SectionKind::StringIndex)[1].offset = 0; },
     "string 1: expected offset 6, got 0"},
    {"string size", [](Editor &e) { e.records<StringRecord>(SectionKind::StringIndex)[0].size = 60000; },
     "string 0: 60000 bytes leave the section of "},
    {"string limit", [](Editor &e) { e.records<StringRecord>(SectionKind::StringIndex)[0].size = 70000; },
     "string 0: expected at most 65535 bytes, got 70000"},
    {"string NUL", [](Editor &e) { e.text()[1] = 0; }, "string 0: expected exactly one NUL, after the last byte"},
    {"string UTF-8", [](Editor &e) { e.text()[0] = '\xc0'; }, "string 0: not UTF-8: \"\\xc0odel\""},
    {"metadata string", [](Editor &e) { e.records<MetadataRecord>(SectionKind::Metadata)->value = 1000; },
     "metadata: string 1000 does not exist"},
    {"kernel origins", [](Editor &e) { e.records<KernelRecord>(SectionKind::Kernels)[1].originCount = 0xfffffff0; },
     "kernel 1: its range of Origins [1, +4294967280) leaves the table of 5"},
    {"kernel order", [](Editor &e) { e.records<KernelRecord>(SectionKind::Kernels)[1].firstOrigin = 0; },
     "kernel 1: expected its range of Origins to begin at 1, got 0"},
    {"origin", [](Editor &e) { e.values(SectionKind::Origins)[0] = kNone; },
     "origin: string 4294967295 does not exist"},
    {"constant", [](Editor &e) { e.records<DataRecord>(SectionKind::Constants)->size = 65; },
     "constant 0: offset 0 and size 65 leave the section of 64 bytes"},
    {"constant alignment", [](Editor &e) { e.records<DataRecord>(SectionKind::Constants)->offset = 4; },
     "constant 0: offset 4 is not a multiple of 64"},
    {"weight size", [](Editor &e) { e.weights()->size = uint64_t(1) << 63; },
     "weight 0: offset 0 and size 9223372036854775808 leave "},
    {"weight wrap", [](Editor &e) { e.weights()->offset = ~uint64_t(63); },
     "weight 0: offset 18446744073709551552 and size 400 leave "},
    {"weight hash", [](Editor &e) { e.weights()->hash.low ^= 1; },
     "weight 0 \"ones\": hash mismatch: the data is not the data of this "},
    {"variant section", [](Editor &e) { e.records<VariantRecord>(SectionKind::Variants)->section = 0; },
     "code variant 0: section 0 is not a NativeCode section"},
    {"features", [](Editor &e) { e.records<VariantRecord>(SectionKind::Variants)->featureCount = 300; },
     "code variant 0: expected at most 256 features, got 300"},
    {"ptx target", [](Editor &e) { e.modules()->target = 9999; }, "GPU module 0: target: string 9999 does not exist"},
    {"ptx section", [](Editor &e) { e.modules()->section = 0; }, "GPU module 0: section 0 is not a Ptx section"},
    {"ptx kernels", [](Editor &e) { e.modules()->kernelCount = 3; },
     "GPU module 0: its range of GpuKernels [0, +3) leaves the table of 2"},
    {"ptx kernels left", [](Editor &e) { e.modules()->kernelCount = 1; }, "GpuKernels: 1 records belong to no module"},
    {"gpu kernel", [](Editor &e) { e.gpuKernels()[1].kernel = 99; },
     "GPU module 0: kernel 1: kernel 99 does not exist (5 kernels)"},
    {"gpu kernel order", [](Editor &e) { e.gpuKernels()[1].kernel = 0; },
     "GPU module 0: kernel 1: expected kernels in increasing order, got 0"},
    {"gpu threads", [](Editor &e) { e.gpuKernels()[0].threads = 2048; },
     "GPU module 0: kernel 0: expected 1 to 1024 threads, got 2048"},
    {"gpu cluster", [](Editor &e) { e.gpuKernels()[0].clusterSize = 0; },
     "GPU module 0: kernel 0: expected a cluster of 1 to 16, got 0"},
    {"gpu shared", [](Editor &e) { e.gpuKernels()[0].sharedBytes = 1u << 30; },
     "GPU module 0: kernel 0: expected at most 1048576 bytes of shared memory, got 1073741824"},
    {"gpu registers", [](Editor &e) { e.gpuKernels()[0].registers = 256; },
     "GPU module 0: kernel 0: expected at most 255 registers, got 256"},
    {"gpu resident", [](Editor &e) { e.gpuKernels()[0].residentCtas = 1u << 31; },
     "GPU module 0: kernel 0: expected at most 2147483647 CTAs that wait for each other, got 2147483648"},
    {"tensor maps", [](Editor &e) { e.gpuKernels()[1].tensorMapCount = 17; },
     "GPU module 0: kernel 1: expected at most 16 tensor maps, got 17"},
    {"tensor maps left", [](Editor &e) { e.gpuKernels()[1].tensorMapCount = 0; },
     "TensorMaps: 1 records belong to no kernel"},
    {"map argument", [](Editor &e) { e.maps()->argument = 1024; },
     "GPU module 0: kernel 1: tensor map 0: argument 1024 is above the limit of 1024"},
    {"map type", [](Editor &e) { e.maps()->dtype = uint8_t(DType::I4); },
     "tensor map 0: expected an element type of whole bytes, got dtype 20"},
    {"map rank", [](Editor &e) { e.maps()->rank = 6; }, "tensor map 0: expected a rank of 1 to 5, got 6"},
    {"map swizzle", [](Editor &e) { e.maps()->swizzle = 4; }, "tensor map 0: unknown swizzle 4 or fill 0"},
    {"map box", [](Editor &e) { e.maps()->box[1].elements = 257; },
     "tensor map 0: box extent 1: expected 1 to 256, got 257"},
    {"map step", [](Editor &e) { e.maps()->box[1].skipped = 8; }, "tensor map 0: box step 1: expected 1 to 8, got 9"},
    {"map innermost step", [](Editor &e) { e.maps()->box[0].skipped = 1; },
     "tensor map 0: box step 0: expected 1 to 1, got 2"},
    {"map step beyond the rank", [](Editor &e) { e.maps()->box[2].skipped = 1; },
     "tensor map 0: box step 2: expected 1 to 1, got 2"},
    {"map reach", [](Editor &e) { e.maps()->box[1] = {129, 1}; },
     "tensor map 0: box 1: expected at most 256 elements from the first to the last, got 129 by steps of 2"},
    {"map extent", [](Editor &e) { e.maps()->extents[2] = 0; }, "tensor map 0: extent 2: expected none, got 0"},
    {"map stride", [](Editor &e) { e.maps()->strides[0] = kNone; },
     "tensor map 0: stride 1: expected a scalar, got 4294967295"},
};

static const Broken entryLevel[] = {
    {"entry range", [](Editor &e) { e.entries()[0].instructionCount = 0xffffffff; },
     "entry \"sum\": its range of Instructions [0, +4294967295) leaves the table of "},
    {"entry overlap", [](Editor &e) { e.entries()[1].firstBuffer = 0; },
     "entry \"positions\": expected its range of Buffers to begin at 5, got 0"},
    {"entry names", [](Editor &e) { e.entries()[1].name = e.entries()[0].name; }, "entry \"sum\" occurs twice"},
    {"orphans", [](Editor &e) { --e.entries()[2].commandCount; }, "Commands: 1 records belong to no entry"},
    {"opcode", [](Editor &e) { e.instructions()[0].opcode = 77; }, "entry \"sum\": register 0: unknown opcode 77"},
    {"cycle", [](Editor &e) { e.instructions()[2].a = 2; },
     "entry \"sum\": register 2: operand register 2 is not defined before it"},
    {"forward", [](Editor &e) { e.instructions()[2].b = 3; },
     "entry \"sum\": register 2: operand register 3 is not defined before it"},
    {"unused operand", [](Editor &e) { e.instructions()[0].b = 0; },
     "entry \"sum\": register 0: unused operands are set"},
    {"symbol", [](Editor &e) { e.instructions()[0].a = 9; }, "entry \"sum\": register 0: symbol 9 does not exist"},
    {"symbol range", [](Editor &e) { e.records<SymbolRecord>(SectionKind::Symbols)->min = -1; },
     "entry \"sum\": symbol 0: expected 0 <= min <= max, got [-1, 100]"},
    {"buffer kind", [](Editor &e) { e.buffers()[0].kind = 9; }, "entry \"sum\": buffer 0: unknown kind 9"},
    {"dtype", [](Editor &e) { e.buffers()[0].dtype = 200; }, "entry \"sum\": buffer 0: unknown dtype code 200"},
    {"rank", [](Editor &e) { e.buffers()[0].rank = 33; }, "entry \"sum\": buffer 0: expected rank at most 32, got 33"},
    {"extent", [](Editor &e) { e.values(SectionKind::Extents)[0] = 500; },
     "entry \"sum\": buffer 0: extent register 500 does not exist"},
    {"size register", [](Editor &e) { e.buffers()[0].sizeRegister = kNone; },
     "entry \"sum\": buffer 0: size register 4294967295 does not exist"},
    {"weight index", [](Editor &e) { e.buffers()[3].source = 1; }, "entry \"sum\": buffer 3: weight 1 does not exist"},
    {"interval", [](Editor &e) { e.buffers()[4].lastCommand = 1000; },
     "entry \"sum\": buffer 4: live interval [1, 1000] does not lie in the 3 commands"},
    {"dead buffer", [](Editor &e) { e.buffers()[4].lastCommand = 1; },
     "entry \"sum\": command 2: argument 0: buffer 4 is used outside of its live interval [1, 1]"},
    {"port buffer", [](Editor &e) { e.ports()[0].buffer = 2; },
     "entry \"sum\": input 0: buffer 2 is not an input buffer"},
    {"port twice", [](Editor &e) { e.ports()[1].buffer = 0; }, "entry \"sum\": input 1: buffer 0 has another input"},
    {"port names", [](Editor &e) { e.ports()[1].name = e.ports()[0].name; }, "input \"a\" occurs twice"},
    {"command kind", [](Editor &e) { e.commands()[1].kind = 8; }, "entry \"sum\": command 1: unknown kind 8"},
    {"eval twice", [](Editor &e) { e.commands()[1] = e.commands()[0]; },
     "entry \"sum\": command 1: expected registers from "},
    {"eval too much", [](Editor &e) { e.commands()[0].b = 100; },
     "entry \"sum\": command 0: expected registers from 0 on, at least one "},
    {"eval too little", [](Editor &e) { e.commands()[0].b = 1; }, "entry \"sum\": command 1: grid register "},
    {"kernel", [](Editor &e) { e.commands()[1].a = 5; }, "entry \"sum\": command 1: kernel 5 does not exist"},
    {"argument count", [](Editor &e) { e.commands()[1].d = 5000; },
     "entry \"sum\": command 1: expected at most 1024 arguments and 1024 scalars, got 5000 and 1"},
    {"argument buffer", [](Editor &e) { e.arguments()[0].buffer = 50; },
     "entry \"sum\": command 1: argument 0: buffer 50 does not exist"},
    {"read-only", [](Editor &e) { e.arguments()[2].buffer = 3; },
     "entry \"sum\": command 1: argument 2: buffer 3 is read-only and is written"},
    {"offset register", [](Editor &e) { e.arguments()[0].offsetRegister = 99; },
     "entry \"sum\": command 1: argument 0: offset register 99 is not defined at this command"},
    {"scalar register", [](Editor &e) { e.values(SectionKind::Scalars)[0] = 99; },
     "entry \"sum\": command 1: scalar register 99 is not defined at this command"},
    {"scratch register", [](Editor &e) { e.commands()[1].g = 99; },
     "entry \"sum\": command 1: scratch register 99 is not defined "},
    {"inputs", [](Editor &e) { e.commands()[1].inputs = 9; },
     "entry \"sum\": command 1: 9 of 3 arguments cannot be inputs"},
    {"unbound symbol", [](Editor &e) { e.values(SectionKind::Extents)[0] = e.values(SectionKind::Extents)[1] = 1; },
     "entry \"sum\": symbol \"n\" is the extent of no input dimension, so nothing can bind it"},
    {"early load", [](Editor &e) { e.buffers()[6].sizeRegister = e.entries()[1].instructionCount - 1; },
     "entry \"positions\": command 1: argument 1: buffer 1: size register "},
};

class BrokenBundle : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenBundle, IsRefused) {
  static const std::vector<uint8_t> good = makeGood();
  ASSERT_EQ(openError(good), "");
  std::vector<uint8_t> bytes = good;
  Editor editor(bytes);
  GetParam().damage(editor);
  if (GetParam().repairs)
    repairHashes(bytes.data(), bytes.size());
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  auto begin = std::chrono::steady_clock::now();
  int code = 0;
  std::string message = openError(bytes, &code);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  getrusage(RUSAGE_SELF, &after);
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  EXPECT_EQ(code, WEFT_ERROR_INPUT);
  EXPECT_LT(seconds.count(), 1.0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "kB";
}

static std::string getCaseName(const ::testing::TestParamInfo<Broken> &info) {
  std::string name = info.param.name;
  for (char &c : name)
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(File, BrokenBundle, ::testing::ValuesIn(fileLevel), getCaseName);
INSTANTIATE_TEST_SUITE_P(Table, BrokenBundle, ::testing::ValuesIn(tableLevel), getCaseName);
INSTANTIATE_TEST_SUITE_P(Entry, BrokenBundle, ::testing::ValuesIn(entryLevel), getCaseName);

/// What a small file can ask for by sharing: long names compared a million times, expressions that double with every
/// register or nest as deep as the program is long.
TEST(BrokenBundles, SharingIsNotExpensive) {
  std::clock_t begin = std::clock();
  std::string longName(60000, 'n');
  Builder builder("weft test");
  EntryBuilder &first = builder.addEntry(longName + "a");
  (void)first;
  for (int i = 0; i < 20000; ++i)
    builder.addEntry(longName + (i % 2 ? "b" : "c"));
  std::vector<uint8_t> bytes;
  EXPECT_NE(builder.build(bytes).getMessage().find("occurs twice"), std::string::npos);

  Builder deep("weft test");
  EntryBuilder &entry = deep.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n")), doubled = n, chain = n;
  for (int i = 0; i < 60; ++i)
    doubled = entry.max(doubled, entry.min(doubled, entry.constant(i)));
  for (int i = 0; i < 200000; ++i)
    chain = entry.sub(chain, i % 2 ? n : doubled);
  entry.addInput("x", DType::UI8, {n});
  entry.addOutput("y", DType::UI8, {doubled});
  entry.addOutput("z", DType::UI8, {chain});
  Error error = deep.build(bytes);
  ASSERT_FALSE(error) << error.getMessage();
  BundlePtr bundle = open(bytes);
  SessionPtr session = createSession(bundle.get(), "main", 1);
  weft_port port;
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(weft_session_output(session.get(), i, &port), 0);
    EXPECT_STREQ(port.dim_texts[0], "?");
  }
  EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 5 * test::kSlowdown);
}

/// Every bit of everything but code and weights, with the hashes repaired: refused, or a bundle that still opens.
TEST(BrokenBundles, BitFlips) {
  std::vector<uint8_t> good = makeGood();
  Editor editor(good);
  size_t end = editor.section(SectionKind::NativeCode).offset, opened = 0, refused = 0;
  for (size_t bit = 0; bit < end * 8; ++bit) {
    std::vector<uint8_t> bytes = good;
    bytes[bit / 8] ^= uint8_t(1u << bit % 8);
    bool isHeader = bit / 8 < sizeof(FileHeader);
    if (!isHeader)
      repairHashes(bytes.data(), bytes.size());
    std::string message = openError(bytes);
    EXPECT_FALSE(isHeader && message.empty()) << "bit " << bit << " of the header is not protected";
    (message.empty() ? opened : refused) += 1;
  }
  EXPECT_GT(refused, opened) << "most fields are checked";
}

//===--------------------------------------------------------------------------------------------------------------===//
// External weights
//===--------------------------------------------------------------------------------------------------------------===//

namespace {
class ExternalWeights : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/weft-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    std::ofstream(folder + "/data.bin") << std::string(256, 'w');
    ASSERT_EQ(symlink("data.bin", (folder + "/link.bin").c_str()), 0);
    ASSERT_EQ(symlink("/", (folder + "/root").c_str()), 0);
    ASSERT_EQ(mkfifo((folder + "/fifo").c_str(), 0600), 0);
    ASSERT_EQ(mkdir((folder + "/sub").c_str(), 0700), 0);
    std::ofstream(folder + "/sub/data.bin") << std::string(64, 's');
  }
  void TearDown() override {
    for (const char *file : {"/data.bin", "/link.bin", "/root", "/fifo", "/sub/data.bin", "/m.weft"})
      unlink((folder + file).c_str());
    rmdir((folder + "/sub").c_str());
    rmdir(folder.c_str());
  }

  /// The message of opening a bundle with one weight at `path`, from a file in the folder.
  std::string tryOpen(std::string_view path, uint64_t offset, uint64_t size, bool verify = false, Hash128 hash = {}) {
    Builder builder("weft test");
    WeightId weight = builder.addExternalWeight("w", path, offset, size, hash);
    EntryBuilder &entry = builder.addEntry("main");
    BufferId w = entry.addWeight(weight, DType::UI8, {int64_t(size & 0xffff)});
    BufferId y = entry.addOutput("y", DType::UI8, {entry.constant(int64_t(size & 0xffff))});
    entry.copy({w}, {y}, entry.getSize(y));
    Error error = builder.writeFile(folder + "/m.weft");
    EXPECT_FALSE(error) << error.getMessage();
    weft_bundle_options options = {sizeof options, verify, nullptr};
    weft_bundle *opened = nullptr;
    std::string message = take(weft_bundle_open((folder + "/m.weft").c_str(), &options, &opened));
    bundle.reset(opened);
    size_t where = message.find(": weight \"w\": ");
    return where == message.npos ? message : message.substr(where + 14);
  }

  std::string folder;
  BundlePtr bundle;
};
} // namespace

TEST_F(ExternalWeights, AreMapped) {
  EXPECT_EQ(tryOpen("data.bin", 64, 128), "");
  SessionPtr session = createSession(bundle.get(), "main", 1);
  weft_tensor output = {};
  ASSERT_EQ(take(weft_session_run(session.get(), nullptr, 0, &output, 1)), "");
  EXPECT_EQ(std::string(static_cast<char *>(output.data), 128), std::string(128, 'w'));
  EXPECT_EQ(tryOpen("sub/data.bin", 0, 64), "");
  EXPECT_EQ(tryOpen("data.bin", 3, 5), "") << "unaligned data is copied";
  std::string text(256, 'w');
  EXPECT_EQ(tryOpen("data.bin", 0, 256, true, hashBytes(text.data(), 256)), "");
}

TEST_F(ExternalWeights, AreCheckedAgainstTheFile) {
  EXPECT_EQ(tryOpen("data.bin", 200, 57), "expected bytes [200, +57) in file \"data.bin\", got a file of 256 bytes");
  EXPECT_EQ(tryOpen("data.bin", 0, 256, true),
            "hash mismatch: file \"data.bin\" is not the one this model was compiled with");
}

TEST_F(ExternalWeights, StayInTheFolder) {
  std::string in = " in folder \"" + folder + "\": ",
              bad = "expected a relative path without empty, \".\" or \"..\" components";
  EXPECT_EQ(tryOpen("../data.bin", 0, 1), "file \"../data.bin\"" + in + bad);
  EXPECT_EQ(tryOpen("/etc/passwd", 0, 1), "file \"/etc/passwd\"" + in + bad);
  EXPECT_EQ(tryOpen("sub/../data.bin", 0, 1), "file \"sub/../data.bin\"" + in + bad);
  EXPECT_EQ(tryOpen("sub//data.bin", 0, 1), "file \"sub//data.bin\"" + in + bad);
  EXPECT_EQ(tryOpen("", 0, 1), "file \"\"" + in + bad);
  EXPECT_EQ(tryOpen("link.bin", 0, 1), "file \"link.bin\"" + in + "symbolic links are not followed");
  EXPECT_EQ(tryOpen("root/etc/passwd", 0, 1).substr(0, 20), "file \"root/etc/passw");
  EXPECT_EQ(tryOpen("fifo", 0, 1), "file \"fifo\"" + in + "expected a regular file");
  EXPECT_EQ(tryOpen("sub", 0, 1), "file \"sub\"" + in + "expected a regular file");
  EXPECT_EQ(tryOpen("absent", 0, 1), "file \"absent\"" + in + "cannot open: No such file or directory");
}

//===--------------------------------------------------------------------------------------------------------------===//
// Weights in another order
//===--------------------------------------------------------------------------------------------------------------===//

/// A bundle that copies a weight of 2 x 3 x 2 bytes, seen in the order [1, 2, 0], to its output.
static std::vector<uint8_t> buildOrderBundle(const std::vector<uint8_t> &stored) {
  Builder builder("weft test");
  WeightId weight = builder.addEmbeddedWeight("w", stored.data(), stored.size());
  builder.setWeightOrder(weight, 1, {2, 3, 2}, {1, 2, 0});
  EntryBuilder &entry = builder.addEntry("main");
  BufferId w = entry.addWeight(weight, DType::UI8, {3, 2, 2});
  BufferId y = entry.addOutput("y", DType::UI8, {entry.constant(12)});
  entry.copy({w}, {y}, entry.getSize(y));
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}

TEST(WeightOrders, AreChecked) {
  const std::vector<uint8_t> stored(12);
  auto tryOpen = [&](const std::function<void(WeightOrderRecord &)> &damage) {
    std::vector<uint8_t> bytes = buildOrderBundle(stored);
    Editor editor(bytes);
    damage(*editor.records<WeightOrderRecord>(SectionKind::WeightOrders));
    repairHashes(bytes.data(), bytes.size());
    weft_bundle *opened = nullptr;
    std::string message = take(weft_bundle_open_memory(bytes.data(), bytes.size(), nullptr, &opened));
    BundlePtr bundle(opened);
    return message;
  };
  EXPECT_NE(tryOpen([](WeightOrderRecord &r) { r.weight = 1; }).find("weight 1 does not exist"), std::string::npos);
  EXPECT_NE(tryOpen([](WeightOrderRecord &r) { r.order[0] = 2; }).find("expected a permutation of 3 dimensions"),
            std::string::npos);
  EXPECT_NE(tryOpen([](WeightOrderRecord &r) { r.rank = 9; }).find("expected a rank of 1 to 8"), std::string::npos);
  EXPECT_NE(tryOpen([](WeightOrderRecord &r) { r.extents[0] = 3; }).find("expected extents of 12 bytes, got 18"),
            std::string::npos);
  EXPECT_NE(tryOpen([](WeightOrderRecord &r) { r.extents[2] = uint64_t(1) << 63; }).find("extents overflow"),
            std::string::npos);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Outputs in the memory of inputs
//===--------------------------------------------------------------------------------------------------------------===//

TEST(Aliases, AreChecked) {
  Builder builder("weft test");
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n"));
  BufferId x = entry.addInput("x", DType::F32, {n}), y = entry.addOutput("y", DType::F32, {n});
  entry.copy({x}, {y}, entry.getSize(y));
  entry.addAlias(x, y);
  std::vector<uint8_t> whole;
  ASSERT_FALSE(builder.build(whole));
  auto tryOpen = [&](const std::function<void(Editor &, AliasRecord &)> &damage) {
    std::vector<uint8_t> bytes = whole;
    Editor editor(bytes);
    damage(editor, *editor.records<AliasRecord>(SectionKind::Aliases));
    repairHashes(bytes.data(), bytes.size());
    weft_bundle *opened = nullptr;
    std::string message = take(weft_bundle_open_memory(bytes.data(), bytes.size(), nullptr, &opened));
    BundlePtr bundle(opened);
    return message;
  };
  auto has = [](const std::string &text, const char *part) { return text.find(part) != std::string::npos; };
  EXPECT_EQ(tryOpen([](Editor &, AliasRecord &) {}), "");
  EXPECT_TRUE(has(tryOpen([](Editor &, AliasRecord &r) { r.entry = 1; }), "expected one of 1 entries, got 1"));
  EXPECT_TRUE(has(tryOpen([](Editor &, AliasRecord &r) { r.output = 2; }), "output 2 or input 0 does not exist"));
  EXPECT_TRUE(has(tryOpen([](Editor &, AliasRecord &r) { r.input = 3; }), "output 0 or input 3 does not exist"));
  EXPECT_TRUE(has(tryOpen([](Editor &editor, AliasRecord &) {
                    editor.records<BufferRecord>(SectionKind::Buffers)->dtype = uint8_t(DType::I32);
                  }),
                  "output 0 has not the type and extents of input 0"));
}
