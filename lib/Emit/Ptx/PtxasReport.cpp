// Parsing the report of `ptxas -v`.
//
//   ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; ...
//   ptxas info    : Compiling entry function 'k0' for 'sm_80'
//   ptxas info    : Function properties for k0
//       32 bytes stack frame, 32 bytes spill stores, 32 bytes spill loads
//   ptxas info    : Used 24 registers, used 1 barriers, 49152 bytes smem, 400 bytes cmem[0]
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/Ptxas.h"
#include "llvm/ADT/StringExtras.h"

namespace weft::emit {

namespace {

/// "24 registers" in a list of such: the number before ` unit`; 0 if there is none.
unsigned numberOf(llvm::StringRef list, llvm::StringRef unit) {
  while (!list.empty()) {
    auto [item, rest] = list.split(',');
    list = rest;
    item = item.trim();
    item.consume_front("Used ");
    item.consume_front("used ");
    unsigned value = 0;
    if (!item.consumeInteger(10, value) && item.trim() == unit)
      return value;
  }
  return 0;
}

/// What stands between the first quotes behind `before`; empty if there is none.
llvm::StringRef quotedAfter(llvm::StringRef line, llvm::StringRef before) {
  size_t place = line.find(before);
  if (place == llvm::StringRef::npos)
    return {};
  llvm::StringRef rest = line.drop_front(place + before.size());
  return rest.consume_front("'") ? rest.take_until([](char c) { return c == '\''; }) : llvm::StringRef();
}

class Parser {
public:
  void parseLine(llvm::StringRef line) {
    if (llvm::StringRef name = quotedAfter(line, "Compiling entry function "); !name.empty())
      current = &find(name);
    else if (line.contains("bytes spill stores"))
      parseSpills(line);
    else if (line.contains("Used ") && line.contains(" registers"))
      parseUse(line.drop_front(line.find("Used ")));
    else if (line.contains("(C75"))
      parseLoss(line.drop_front(line.find("(C75")));
  }

  PtxasReport report;

private:
  PtxasEntry &find(llvm::StringRef name) {
    for (PtxasEntry &entry : report.entries)
      if (entry.name == name)
        return entry;
    report.entries.emplace_back();
    report.entries.back().name = name.str();
    return report.entries.back();
  }

  void parseSpills(llvm::StringRef line) {
    if (!current)
      return;
    current->stack = numberOf(line, "bytes stack frame");
    current->spillStores = numberOf(line, "bytes spill stores");
    current->spillLoads = numberOf(line, "bytes spill loads");
  }

  void parseUse(llvm::StringRef list) {
    if (!current)
      return;
    current->registers = numberOf(list, "registers");
    current->sharedBytes = numberOf(list, "bytes smem");
    current->barriers = numberOf(list, "barriers");
  }

  /// "(C7510) Potential Performance Loss: ... in the function 'k0'".
  void parseLoss(llvm::StringRef line) {
    auto [code, text] = line.drop_front(1).split(')');
    std::string loss = (code + ": " + text.trim()).str();
    llvm::StringRef name = quotedAfter(line, "function ");
    (name.empty() ? report.losses : find(name).losses).push_back(loss);
    // `find` may have moved the entries.
    current = nullptr;
  }

  PtxasEntry *current = nullptr; ///< Valid until the next `find`.
};

} // namespace

PtxasReport parsePtxasReport(llvm::StringRef text) {
  Parser parser;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines)
    parser.parseLine(line.trim());
  return std::move(parser.report);
}

} // namespace weft::emit
