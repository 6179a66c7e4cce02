// Runs a kernel given as PTX text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the header. The dump is plain files, so that a script without this repository can replay them.
#include "KernelHarness.h"

#include "Emulator/Ptx/Parser.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace weft::emu::test {

Argument buffer(Bytes bytes) {
  Argument argument;
  argument.kind = Argument::Kind::Buffer;
  argument.bytes = std::move(bytes);
  return argument;
}

Argument output(size_t bytes) {
  Argument argument = buffer(Bytes(bytes, 0xcb));
  argument.isPoisoned = true;
  return argument;
}

bool KernelResult::found(std::string_view kind) const {
  for (const Finding &finding : launch.findings)
    if (finding.kind == kind)
      return true;
  return false;
}

std::string module(const std::string &body, const std::string &version, const std::string &target) {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n" + body;
}

std::set<std::string> &executedForms() {
  static std::set<std::string> forms;
  return forms;
}

//===--------------------------------------------------------------------------------------------------------------===//
// The dump
//===--------------------------------------------------------------------------------------------------------------===//

static void writeFile(const std::filesystem::path &path, const void *bytes, size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char *>(bytes), std::streamsize(size));
  EXPECT_TRUE(file.good()) << path;
}

static std::string hex(const Bytes &bytes) {
  std::string text;
  for (uint8_t byte : bytes) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

static std::string json(const Dim3 &dim) {
  return "[" + std::to_string(dim.x) + ", " + std::to_string(dim.y) + ", " + std::to_string(dim.z) + "]";
}

static std::string describe(const Tolerance &tolerance) {
  if (tolerance.type.empty())
    return "";
  char text[120];
  snprintf(text, sizeof text, ", \"tolerance\": {\"type\": \"%s\", \"units\": %g, \"absolute\": %.17g}",
           tolerance.type.c_str(), tolerance.units, tolerance.absolute);
  return text;
}

static std::string describe(const KernelCase &kernel) {
  std::string text = "{\n  \"entry\": \"" + kernel.entry + "\",\n  \"grid\": " + json(kernel.grid) +
                     ",\n  \"block\": " + json(kernel.block) + ",\n  \"cluster\": " + json(kernel.cluster) +
                     ",\n  \"dynamicShared\": " + std::to_string(kernel.dynamicShared) + ",\n  \"arguments\": [";
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Argument &argument = kernel.arguments[i];
    text += i ? ",\n    " : "\n    ";
    switch (argument.kind) {
    case Argument::Kind::Buffer:
      text += "{\"kind\": \"buffer\", \"index\": " + std::to_string(i) +
              ", \"bytes\": " + std::to_string(argument.bytes.size()) +
              ", \"compared\": " + (argument.isCompared ? "true" : "false") + describe(argument.tolerance) + "}";
      break;
    case Argument::Kind::Value:
      text += "{\"kind\": \"value\", \"alignment\": " + std::to_string(argument.alignment) + ", \"hex\": \"" +
              hex(argument.bytes) + "\"}";
      break;
    case Argument::Kind::TensorMap:
      text += "{\"kind\": \"tensorMap\", \"buffer\": " + std::to_string(argument.buffer) +
              ", \"map\": " + (argument.description.empty() ? "{}" : argument.description) + "}";
      break;
    }
  }
  return text + "\n  ]\n}\n";
}

static void dump(const char *root, const KernelCase &kernel, const KernelResult &result) {
  static std::set<std::string> taken;
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = test ? std::string(test->test_suite_name()) + "." + test->name() : "kernel";
  for (char &c : name)
    if (c == '/')
      c = '_';
  std::string unique = name;
  for (unsigned n = 1; !taken.insert(unique).second; ++n)
    unique = name + "." + std::to_string(n);
  std::filesystem::path folder = std::filesystem::path(root) / unique;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  writeFile(folder / "kernel.ptx", kernel.ptx.data(), kernel.ptx.size());
  std::string launch = describe(kernel);
  writeFile(folder / "launch.json", launch.data(), launch.size());
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    if (kernel.arguments[i].kind != Argument::Kind::Buffer)
      continue;
    writeFile(folder / ("in" + std::to_string(i) + ".bin"), kernel.arguments[i].bytes.data(),
              kernel.arguments[i].bytes.size());
    writeFile(folder / ("out" + std::to_string(i) + ".bin"), result.buffers[i].data(), result.buffers[i].size());
  }
  std::string counters = "{";
  for (const Counter &counter : result.launch.counters) {
    char number[64];
    snprintf(number, sizeof number, "%.17g", counter.value);
    counters += (counters.size() > 1 ? ",\n  \"" : "\n  \"") + counter.name + "\": " + number;
  }
  counters += "\n}\n";
  writeFile(folder / "counters.json", counters.data(), counters.size());
}

//===--------------------------------------------------------------------------------------------------------------===//
// ptxas and coverage
//===--------------------------------------------------------------------------------------------------------------===//

static std::string targetOf(const ptx::Module &tree) { return tree.target; }

static void checkWithPtxas(const char *ptxas, const KernelCase &kernel, const ptx::Module &tree) {
  static std::set<std::string> checked;
  if (!checked.insert(kernel.ptx).second)
    return;
  std::filesystem::path folder = std::filesystem::temp_directory_path();
  std::filesystem::path file = folder / ("weft-emu-" + std::to_string(getpid()) + ".ptx");
  writeFile(file, kernel.ptx.data(), kernel.ptx.size());
  std::string command = std::string(ptxas) + " -arch=" + targetOf(tree) + " -o /dev/null " + file.string() + " 2>&1";
  std::string said;
  if (FILE *pipe = popen(command.c_str(), "r")) { // NOLINT(bugprone-command-processor): no word of it is input.
    char line[512];
    while (fgets(line, sizeof line, pipe))
      said += line;
    EXPECT_EQ(pclose(pipe), 0) << said;
  }
  std::filesystem::remove(file);
}

static void remember(const ptx::Module &tree) {
  for (const ptx::Function &function : tree.functions)
    for (const ptx::Instruction &instruction : function.instructions) {
      std::string name(tree.names[instruction.mnemonic]);
      for (const ptx::Modifier &modifier : function.modifiersOf(instruction))
        name.append(".").append(tree.names[modifier.name]);
      executedForms().insert(name);
    }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Launches
//===--------------------------------------------------------------------------------------------------------------===//

/// Places buffers and lays out the parameters as PTX does: each at a multiple of its alignment.
static Error makeParameters(Emulator &emulator, const KernelCase &kernel, std::vector<uint64_t> &addresses,
                            Bytes &parameters) {
  addresses.assign(kernel.arguments.size(), 0);
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Argument &argument = kernel.arguments[i];
    if (argument.kind != Argument::Kind::Buffer)
      continue;
    if (Error error = emulator.allocate(std::max<size_t>(argument.bytes.size(), 1), addresses[i]))
      return error;
    if (!argument.isPoisoned)
      if (Error error = emulator.write(addresses[i], argument.bytes.data(), argument.bytes.size()))
        return error;
  }
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Argument &argument = kernel.arguments[i];
    uint8_t map[128] = {};
    const void *bytes = argument.bytes.data();
    size_t size = argument.bytes.size(), alignment = argument.alignment;
    if (argument.kind == Argument::Kind::Buffer) {
      bytes = &addresses[i];
      size = alignment = 8;
    } else if (argument.kind == Argument::Kind::TensorMap) {
      if (!argument.encode || !argument.encode(addresses[argument.buffer], map))
        return Error(bundle::ErrorCode::Usage, "the tensor map cannot be encoded");
      bytes = map;
      size = sizeof map;
      alignment = 64;
    }
    parameters.resize((parameters.size() + alignment - 1) / alignment * alignment);
    parameters.insert(parameters.end(), static_cast<const uint8_t *>(bytes),
                      static_cast<const uint8_t *>(bytes) + size);
  }
  return {};
}

static Error launch(const KernelCase &kernel, KernelResult &result) {
  std::unique_ptr<Emulator> emulator;
  if (Error error = Emulator::create(kernel.card, emulator))
    return error;
  LaunchSpec spec;
  if (Error error = emulator->load(kernel.ptx, "kernel.ptx", spec.module))
    return error;
  result.isLoaded = true;
  std::vector<uint64_t> addresses;
  Bytes parameters;
  if (Error error = makeParameters(*emulator, kernel, addresses, parameters))
    return error;
  spec.entry = kernel.entry;
  spec.grid = kernel.grid;
  spec.block = kernel.block;
  spec.cluster = kernel.cluster;
  spec.dynamicSharedBytes = kernel.dynamicShared;
  spec.parameters = parameters.data();
  spec.parameterBytes = parameters.size();
  spec.options = kernel.options;
  spec.options.isCounted |= getenv("WEFT_EMU_DUMP") != nullptr;
  Error error = emulator->launch(spec, result.launch);
  result.buffers.resize(kernel.arguments.size());
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    if (kernel.arguments[i].kind != Argument::Kind::Buffer)
      continue;
    result.buffers[i].resize(kernel.arguments[i].bytes.size());
    if (Error readError = emulator->read(addresses[i], result.buffers[i].data(), result.buffers[i].size()))
      return readError;
  }
  return error;
}

KernelResult run(const KernelCase &kernel) {
  KernelResult result;
  result.error = launch(kernel, result);
  ptx::Module tree;
  if (!result.isLoaded || ptx::parse(kernel.ptx, tree))
    return result;
  if (result.error)
    return result;
  if (const char *ptxas = getenv("WEFT_EMU_PTXAS"))
    checkWithPtxas(ptxas, kernel, tree);
  remember(tree);
  if (const char *root = getenv("WEFT_EMU_DUMP"); root && kernel.isDumped)
    dump(root, kernel, result);
  return result;
}

KernelResult runClean(const KernelCase &kernel) {
  KernelResult result = run(kernel);
  EXPECT_FALSE(result.error) << result.error.getMessage();
  for (const Finding &finding : result.launch.findings)
    ADD_FAILURE() << finding.kind << ": " << finding.message;
  result.buffers.resize(kernel.arguments.size());
  for (size_t i = 0; i < result.buffers.size(); ++i) // So that a test that goes on does not read behind the end.
    if (result.buffers[i].empty())
      result.buffers[i] = kernel.arguments[i].bytes;
  return result;
}

KernelResult runAllWays(const KernelCase &kernel) {
  KernelResult first;
  bool isFirst = true;
  for (Interleaving interleaving : {Interleaving::Random, Interleaving::DepthFirst, Interleaving::Reverse}) {
    for (AsyncTiming timing : {AsyncTiming::Random, AsyncTiming::Early, AsyncTiming::Late}) {
      for (uint64_t seed = 1; seed <= (interleaving == Interleaving::Random ? 3 : 1); ++seed) {
        KernelCase one = kernel;
        one.options.seed = seed;
        one.options.timing = timing;
        one.options.interleaving = interleaving;
        one.isDumped = kernel.isDumped && isFirst;
        KernelResult result = runClean(one);
        for (size_t i = 0; !isFirst && i < result.buffers.size(); ++i)
          if (kernel.arguments[i].isCompared)
            EXPECT_EQ(result.buffers[i], first.buffers[i]) << "argument " << i << ", interleaving " << int(interleaving)
                                                           << ", timing " << int(timing) << ", seed " << seed;
        if (isFirst)
          first = std::move(result);
        isFirst = false;
      }
    }
  }
  return first;
}

std::string refusal(const std::string &ptx) {
  std::unique_ptr<Emulator> emulator;
  Error error = Emulator::create("H100", emulator);
  uint32_t number = 0;
  if (!error)
    error = emulator->load(ptx, "kernel.ptx", number);
  EXPECT_TRUE(error) << "loads: " << ptx;
  return error.getMessage();
}

} // namespace weft::emu::test
