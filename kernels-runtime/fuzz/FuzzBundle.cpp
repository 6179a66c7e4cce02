// Fuzzer of the bundle loader.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens arbitrary bytes as a bundle and, if they are one, walks everything that opening makes available: descriptions,
// extents for a few symbol values, and whole runs of entries without kernels (the shape program, the memory plan and
// copies are ours; the code in a bundle is its author's, so entries with dispatches are described but not run).
#include "../test/Repair.h"
#include "weft/Bundle/Builder.h"
#include "weft/Bundle/Reader.h"
#include "weft/runtime.h"

#include <cstdlib>
#include <string>
#include <vector>

using namespace weft;
using namespace weft::bundle;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// A small bundle with one of everything that the loader checks.
static std::vector<uint8_t> makeSeed() {
  Builder builder("weft fuzz");
  builder.setMetadata("model", "seed");
  builder.addKernel("kernel", {"/Node"});
  static const float ones[16] = {};
  WeightId weight = builder.addEmbeddedWeight("w", ones, sizeof ones);
  ConstantId constant = builder.addConstantData(ones, 8);
  EntryBuilder &entry = builder.addEntry("copy");
  Reg n = entry.symbol(entry.addSymbol("n", 0, 64)), m = entry.mul(n, entry.constant(2));
  BufferId x = entry.addInput("x", DType::I64, {n, entry.constant(2)}), t = entry.addTransient(DType::I64, {m});
  BufferId c = entry.addConstant(constant, DType::F32, {2}), w = entry.addWeight(weight, DType::F32, {16});
  entry.copy({x}, {t}, entry.getSize(x));
  Reg late = entry.min(entry.max(entry.load(t, entry.constant(0)), entry.constant(0)), entry.constant(4));
  entry.assertRange(late, entry.constant(0), entry.constant(4), "expected a small number");
  entry.assertEqual(entry.mod(m, entry.constant(2)), entry.constant(0), "expected an even number");
  BufferId y = entry.addOutput("y", DType::UI4, {late}), u = entry.addTransient(DType::F32, {late});
  entry.copy({w}, {u}, entry.getSize(u));
  entry.copy({c}, {y}, entry.getSize(y));
  const uint8_t flags[] = {1, 1, 0, 1};
  BufferId f = entry.addConstant(builder.addConstantData(flags, sizeof flags), DType::I1, {4});
  BufferId goesOn = entry.addTransient(DType::I1, {entry.constant(1)});
  entry.copy({f}, {goesOn}, entry.constant(1));
  entry.beginLoop(n);
  entry.copy({x, entry.mul(entry.turn(), entry.constant(16))}, {t}, entry.constant(16));
  entry.beginLoop(entry.constant(3), goesOn, "expected an end");
  entry.copy({f, entry.add(entry.turn(), entry.constant(1))}, {goesOn}, entry.constant(1));
  entry.endLoop();
  entry.endLoop();
  entry.beginLoop(late, {}, {}, /*branch=*/true);
  entry.copy({w}, {u}, entry.getSize(u));
  entry.endLoop();
  EntryBuilder &other = builder.addEntry("kernel");
  BufferId z = other.addOutput("z", DType::F16, {other.constant(3)});
  other.dispatch({0}, {other.constant(1), {}, {{z}}, {}});
  builder.addNativeCode("x86_64-unknown-linux-gnu", {"sse2"}, {0x7f, 'E', 'L', 'F'});
  builder.setExplain("{}");
  std::vector<uint8_t> bytes;
  if (builder.build(bytes))
    std::abort();
  return bytes;
}

/// Bundles with embedded weights are longer than libFuzzer's default limit on inputs: the weights start at byte 4096.
extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  static std::vector<char *> arguments(*argv, *argv + *argc);
  static char maxLength[] = "-max_len=16384";
  arguments.insert(arguments.begin() + 1, maxLength); // a later -max_len of the user wins
  arguments.push_back(nullptr);
  *argc += 1;
  *argv = arguments.data();
  return 0;
}

/// Mutates a valid bundle more often than random bytes, and repairs the hashes most of the time.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  static const std::vector<uint8_t> good = makeSeed();
  if (size < sizeof(FileHeader) && good.size() <= maxSize) {
    std::memcpy(data, good.data(), good.size());
    size = good.size();
  }
  // Mostly single fields of the tables: an inserted byte breaks the section table and hides everything behind it.
  if (seed % 4 != 0 && size > sizeof(FileHeader)) {
    size_t tables = size < kWeightAlignment ? size : size_t(kWeightAlignment); // what follows is weights
    for (unsigned i = 0; i < 1 + seed % 3; ++i) {
      size_t place = size_t(seed * 2654435761u + i * 40503u) % tables;
      LLVMFuzzerMutate(data + place, 1, 1);
    }
  } else {
    size = LLVMFuzzerMutate(data, size, maxSize);
  }
  if (seed % 16 != 0)
    test::repairHashes(data, size);
  return size;
}

static void ignore(weft_error *error) { weft_error_free(error); }

/// Describes a session, and runs it if it starts no kernels.
static void exercise(weft_session *session) {
  size_t symbolCount = weft_session_symbol_count(session);
  std::vector<std::vector<int64_t>> dims;
  std::vector<weft_tensor> inputs;
  std::vector<std::vector<uint64_t>> data;
  bool isSmall = true;
  for (int64_t value : {1, 0, 3}) {
    std::vector<int64_t> symbols(symbolCount, value);
    dims.clear();
    inputs.clear();
    data.clear();
    weft_port port;
    for (size_t i = 0; weft_session_input(session, i, &port) == 0; ++i) {
      dims.emplace_back(size_t(port.rank));
      ignore(weft_session_input_dims(session, i, symbols.data(), dims.back().data()));
      uint64_t bytes = weft_dtype_bits(port.dtype);
      constexpr int64_t limit = 1 << 12;
      for (int64_t dim : dims.back())
        isSmall = isSmall && dim >= 0 && dim <= limit && (bytes *= uint64_t(dim)) <= limit * 8;
      if (!isSmall)
        return;
      bytes = (bytes + 7) / 8;
      data.emplace_back(bytes / 8 + 8);
      inputs.push_back({port.dtype, port.rank, dims.back().data(), data.back().data(), bytes});
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i].dims = dims[i].data();
    std::vector<weft_tensor> outputs(weft_session_output_count(session));
    ignore(weft_session_run(session, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  // The loader may use aligned data in place; out-of-bounds reads show up if the allocation ends where the data ends.
  std::vector<uint8_t> copy(bytes, bytes + size);
  weft_bundle_options bundleOptions = {sizeof bundleOptions, 1, "/nonexistent"};
  weft_bundle *bundle = nullptr;
  ignore(weft_bundle_open_memory(copy.data(), copy.size(), &bundleOptions, &bundle));
  if (!bundle)
    return 0;
  for (size_t i = 0; i < weft_bundle_entry_count(bundle); ++i) {
    weft_session_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;
    options.entry = weft_bundle_entry_name(bundle, i);
    options.memory_limit = 1 << 20;
    options.turn_limit = 1 << 12;
    weft_session *session = nullptr;
    ignore(weft_session_create(bundle, "cpu", &options, &session));
    if (session && weft_session_dispatch_count(session) == 0)
      exercise(session);
    weft_session_release(session);
  }
  weft_bundle_release(bundle);
  return 0;
}
