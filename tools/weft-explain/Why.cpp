// --why A,B and --why-not A,B: the recorded decisions about two nodes, the decisive reason first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <set>

using namespace weft;
using namespace weft::explain;
using bundle::Error;
using bundle::ErrorCode;
using llvm::StringRef;

static std::set<std::string> listNodes(const Model &model) {
  std::set<std::string> names;
  for (const Program &program : model.programs) {
    for (const Edge &edge : program.edges)
      names.insert({edge.producerNode, edge.consumerNode});
    for (const Dispatch &dispatch : program.dispatches)
      names.insert(dispatch.nodes.begin(), dispatch.nodes.end());
  }
  names.erase("");
  return names;
}

/// Up to three names that differ least from `name`, or hold it.
static std::string suggest(const std::set<std::string> &names, const std::string &name) {
  std::vector<std::pair<unsigned, std::string>> near;
  unsigned most = unsigned(std::max<size_t>(name.size() / 2, 3));
  for (const std::string &each : names) {
    unsigned distance = StringRef(name).edit_distance(each, true, most);
    if (StringRef(each).contains_insensitive(name))
      distance = 0;
    if (distance < most)
      near.push_back({distance, each});
  }
  llvm::sort(near);
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(near.size(), 3); ++i)
    text += (i ? ", " : "; did you mean ") + bundle::quote(near[i].second);
  return text.empty() ? "" : text + "?";
}

/// The dispatch that computes `node`, or -1.
static int64_t findDispatch(const Program &program, const std::string &node) {
  for (size_t i = 0; i < program.dispatches.size(); ++i)
    if (llvm::is_contained(program.dispatches[i].nodes, node))
      return int64_t(i);
  return -1;
}

static std::string describeKernel(const Program &program, int64_t dispatch) {
  if (dispatch < 0)
    return "no kernel (a constant, a view or shape arithmetic)";
  return "kernel " + std::to_string(dispatch) + " (" + program.dispatches[dispatch].kernel + ")";
}

/// "the value stays in register; 6.40 MB of traffic saved, 1.9 us at 3.4 TB/s".
static void printNumbers(const Program &program, const Edge &edge, llvm::raw_ostream &os) {
  if (edge.bytes < 0) {
    os << "  they share an operand; no result of one goes to the other\n";
    return;
  }
  bool isRegister = llvm::StringRef(edge.level) == "register", isShared = llvm::StringRef(edge.level) == "shared";
  os << "  " << formatBytes(edge.bytes) << (edge.isFused ? " stay in " : " go through ")
     << (isRegister ? "registers"
         : isShared ? "shared memory"
                    : edge.level)
     << "; " << (edge.isFused ? "fusing saves " : "fusing would save ") << formatBytes(edge.savedBytes)
     << " of traffic";
  if (program.device)
    os << llvm::format(", %.2f us at %.2f TB/s", edge.savedBytes / program.device->memoryBandwidth * 1e6,
                       program.device->memoryBandwidth / 1e12);
  os << "\n";
}

static void printEdge(const Program &program, const Edge &edge, llvm::raw_ostream &os) {
  constexpr size_t mostReasons = 3;
  std::string names = bundle::quote(edge.producerNode) + " -> " + bundle::quote(edge.consumerNode);
  if (edge.isFused) {
    os << "fused on " << program.target << ": " << names << ", in " << describeKernel(program, edge.producerDispatch)
       << "\n";
  } else {
    llvm::SmallVector<StringRef> reasons;
    StringRef(edge.reason).split(reasons, "; ");
    os << "not fused on " << program.target << ": " << names << ": " << reasons[0] << "\n";
    for (StringRef reason : llvm::ArrayRef(reasons).drop_front().take_front(mostReasons - 1))
      os << "  also: " << reason << "\n";
    os << "  " << describeKernel(program, edge.producerDispatch) << ", "
       << describeKernel(program, edge.consumerDispatch) << "\n";
  }
  os << "  " << edge.producerOp << " -> " << edge.consumerOp << "\n";
  printNumbers(program, edge, os);
  if (edge.isInFold) {
    os << "  both are inside of one fold, by --weft-derive-folds; --planner=dnnfusion and tvm-rules derive none\n";
    return;
  }
  os << "  override: " << (edge.isFused ? "--no-fuse=" : "--force-fuse=") << edge.producerNode << ","
     << edge.consumerNode << "\n";
}

/// Without an edge between them: which kernels they are in, and what the second reads.
static void printApart(const Program &program, const std::string &a, const std::string &b, llvm::raw_ostream &os) {
  int64_t first = findDispatch(program, a), second = findDispatch(program, b);
  bool isTogether = first >= 0 && first == second;
  os << (isTogether ? "fused on " : "not fused on ") << program.target << ": no edge leads from " << bundle::quote(a)
     << " to " << bundle::quote(b) << "\n";
  if (isTogether)
    os << "  both in " << describeKernel(program, first) << ", by what is between them or as parts of one op\n";
  else
    os << "  " << bundle::quote(a) << ": " << describeKernel(program, first) << "; " << bundle::quote(b) << ": "
       << describeKernel(program, second) << "\n";
  std::set<std::string> readers, reads;
  for (const Edge &edge : program.edges) {
    if (edge.producerNode == a && edge.consumerNode != a)
      readers.insert(edge.consumerNode);
    if (edge.consumerNode == b && edge.producerNode != b)
      reads.insert(edge.producerNode);
  }
  auto print = [&](const char *what, const std::string &node, const std::set<std::string> &list) {
    constexpr size_t most = 5;
    if (list.empty())
      return;
    os << "  " << bundle::quote(node) << what;
    size_t i = 0;
    for (const std::string &name : list)
      if (i++ < most)
        os << (i > 1 ? ", " : " ") << bundle::quote(name);
    os << (list.size() > most ? ", ...\n" : "\n");
  };
  print(" is read by", a, readers);
  print(" reads", b, reads);
}

/// What rewriting said of the nodes: folds that were derived or refused, splits over ranks, collectives beside kernels.
static void printRemarks(const Program &program, const std::string &a, const std::string &b, llvm::raw_ostream &os) {
  int left = 4;
  for (const Remark &remark : program.remarks)
    if ((remark.node == a || remark.node == b) &&
        llvm::is_contained({"fold", "rewrite", "shard", "overlap"}, remark.category) && left-- > 0)
      os << "  " << remark.kind << " " << remark.name << " at " << bundle::quote(remark.node) << ": " << remark.text
         << "\n";
}

Error weft::explain::printReason(const Model &model, const std::string &request, llvm::raw_ostream &os) {
  auto [first, second] = StringRef(request).split(',');
  std::string a = first.trim().str(), b = second.trim().str();
  if (a.empty() || b.empty())
    return Error(ErrorCode::Usage, "expected two nodes, separated by a comma, got " + bundle::quote(request));
  std::set<std::string> names = listNodes(model);
  for (const std::string &name : {a, b})
    if (!names.count(name))
      return Error(ErrorCode::Usage, "no op of the plan computes a node " + bundle::quote(name) + suggest(names, name));
  for (const Program &program : model.programs) {
    std::vector<const Edge *> found;
    for (const Edge &edge : program.edges)
      if ((edge.producerNode == a && edge.consumerNode == b) || (edge.producerNode == b && edge.consumerNode == a))
        found.push_back(&edge);
    if (found.empty()) {
      printApart(program, a, b, os);
      printRemarks(program, a, b, os);
      continue;
    }
    // One that is not fused explains most; several ops of a node may be on the same side.
    llvm::stable_sort(found, [](const Edge *x, const Edge *y) { return x->isFused < y->isFused; });
    printEdge(program, *found.front(), os);
    if (found.size() > 1)
      os << "  (" << found.size() - 1 << " more edges between their ops: see --json)\n";
    printRemarks(program, a, b, os);
  }
  return {};
}
