// What decides a bundle's bytes, as a key, and the way of a bundle that was made before.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The key is of the imported module, not of the model's file: its text with the nodes' names, and the bytes of each
// weight. So it knows what
// --dim, --bind and --to made of the model, and where weights lie does not matter.
#include "Environment.h"
#include "weft/Compiler/Compilation.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/IR/WeightPart.h"
#include "weft/Dialect/TileGraph/IR/WeightStore.h"
#include "weft/Support/InputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using weft::onnx::ErrorClass;

namespace weft {

/// Bundles whose making says or writes something beside are made each time. Weights that stay in the model's files are
/// named by where these lie, seen from the bundle; those of a model in memory by their locations, whatever the bundle.
bool Compilation::mayCache() const {
  return request.cache && emission.kind == Emission::Bundle && (flags.weights != "external" || request.bytes) &&
         flags.dump.empty() && flags.remarks.empty() && flags.emitPlan.empty();
}

bool Compilation::addToKey(CacheKey &key, llvm::StringRef file) {
  std::string text, problem;
  if (!file.empty() && !readInputFile(file, text, problem))
    return false;
  key.add(text);
  return true;
}

/// None: a file that decides cannot be read, which the compilation will say.
std::optional<std::string> Compilation::makeKey() {
  CacheKey key;
  key.add("weft " WEFT_VERSION " LLVM " LLVM_VERSION_STRING);
  for (const std::string &program : {getOwnPath(), getPtxas()}) {
    llvm::sys::fs::file_status status;
    bool isThere = !program.empty() && !llvm::sys::fs::status(program, status);
    key.add(isThere ? uint64_t(status.getLastModificationTime().time_since_epoch().count()) : 0);
    key.add(isThere ? status.getSize() : 0);
  }
  key.add(cpu.cpu);
  key.add(llvm::join(cpu.features, ","));
  for (const FlagBase *flag : flags.getFlags())
    if (flag->name != "threads" && flag->category != "Files and messages") {
      key.add(flag->name);
      key.add(flag->getText());
      key.add(flag->getNumOccurrences());
    }
  for (llvm::StringRef file :
       {llvm::StringRef(flags.deviceTable), llvm::StringRef(flags.plan), llvm::StringRef(records)})
    if (!addToKey(key, file))
      return std::nullopt;
  key.add(llvm::sys::path::filename(request.model));
  key.add(summary.nodes);
  key.add(mesh.ranks); // The model may say them.
  key.add(llvm::join(mesh.shards, ","));
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/true));
  key.add(text);
  const tg::WeightStore &store = context->getOrLoadDialect<tg::TileGraphDialect>()->getWeightStore();
  module->walk([&](tg::WeightOp op) {
    tg::DataAttr data = op.getData();
    std::optional<tg::WeightPart> part = tg::WeightPart::parse(data.getSource());
    auto bytes = part ? store.lookup(part->source, part->offset, part->getStoredBytes())
                      : store.lookup(data.getSource(), data.getOffset(), data.getSize());
    if (bytes)
      key.add(llvm::StringRef(bytes->data(), bytes->size()));
  });
  return key.getText();
}

bool Compilation::takeCached(llvm::StringRef key) {
  std::string problem;
  cached = request.cache->lookUp(key, [&](llvm::ArrayRef<uint8_t> bytes) {
    if (request.bundle)
      return void(*request.bundle = bytes.vec());
    llvm::Error error = llvm::writeToOutput(outputPath(".weft"), [&](llvm::raw_ostream &os) {
      os.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
      return llvm::Error::success();
    });
    if (error)
      problem = llvm::toString(std::move(error));
  });
  if (!cached)
    return false;
  if (!problem.empty())
    return fail(ErrorClass::Usage, "cannot write '" + outputPath(".weft") + "': " + problem), true;
  summaryText = "cached    " + (request.bundle ? std::string("in memory") : onnx::escape(outputPath(".weft"))) + "\n";
  return true;
}

} // namespace weft
