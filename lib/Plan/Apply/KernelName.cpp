// Names of kernels, from their ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelName.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace weft::plan {

constexpr size_t mostWords = 5;

static bool has(const Group &group, llvm::function_ref<bool(Operation *)> isOne) { return llvm::any_of(group, isOne); }

static bool reduces(Operation *op, tg::Monoid kind) {
  auto reduce = dyn_cast<tg::ReduceOp>(op);
  return reduce && reduce.getKind() == kind;
}
static bool sums(Operation *op) { return reduces(op, tg::Monoid::Add); }

static std::string nameContraction(tg::ContractOp contract) {
  if (tg::isWindowSum(contract))
    return "depthwise";
  bool slides = !contract.getMap(0).isProjectedPermutation(true) || !contract.getMap(1).isProjectedPermutation(true);
  return slides ? "conv" : "gemm";
}

/// The kinds in their order, equal ones counted: two GEMMs that share an operand are `gemm2`.
static std::string nameContractions(ArrayRef<tg::ContractOp> contracts) {
  llvm::MapVector<StringRef, unsigned> counts;
  SmallVector<std::string> names;
  for (tg::ContractOp contract : contracts)
    names.push_back(nameContraction(contract));
  for (const std::string &name : names)
    ++counts[name];
  std::string text;
  for (auto [name, count] : counts)
    text += (text.empty() ? "" : "_") + name.str() + (count > 1 ? std::to_string(count) : "");
  return text;
}

/// The op that says what the kernel is for; empty where all are elementwise or move elements.
static std::string nameMain(const Group &group) {
  if (has(group, llvm::IsaPred<tg::FoldOp>))
    return "fold";
  SmallVector<tg::ContractOp> contracts;
  for (Operation *op : group)
    if (auto contract = dyn_cast<tg::ContractOp>(op))
      contracts.push_back(contract);
  if (!contracts.empty())
    return nameContractions(contracts);
  if (has(group, llvm::IsaPred<tg::ReduceOp>)) {
    bool hasSum = has(group, sums), hasMax = has(group, [](Operation *op) { return reduces(op, tg::Monoid::Max); });
    if (hasSum && hasMax && has(group, llvm::IsaPred<tg::ExpOp>))
      return "softmax";
    if (hasSum && has(group, llvm::IsaPred<tg::RsqrtOp, tg::SqrtOp>))
      return "norm";
    for (Operation *op : group)
      if (auto reduce = dyn_cast<tg::ReduceOp>(op))
        return sums(op) ? "sum" : tg::stringifyMonoid(reduce.getKind()).str();
  }
  return "";
}

/// What an op adds to the name; empty for what every kernel of the kind has, for views and casts, and for arithmetic
/// with constants, which is part of a function such as GELU.
static StringRef nameOf(Operation *op, StringRef main) {
  auto isConstant = [](Value value) { return isa_and_nonnull<tg::ConstantOp>(value.getDefiningOp()); };
  if (isa<tg::ContractOp, tg::FoldOp, tg::ReduceOp, tg::CastOp, tg::ReshapeOp, tg::TransposeOp, tg::BroadcastOp,
          tg::SliceOp, tg::ConstantOp>(op))
    return "";
  bool isArithmetic = isa<tg::AddOp, tg::SubOp, tg::MulOp, tg::DivOp>(op);
  if (isArithmetic && llvm::any_of(op->getOperands(), isConstant))
    return "";
  if (main == "softmax" && isa<tg::ExpOp, tg::SubOp, tg::DivOp>(op))
    return "";
  if (main == "norm" && (isArithmetic || isa<tg::RsqrtOp, tg::SqrtOp>(op)))
    return "";
  return isa<tg::ErfOp>(op) ? "gelu" : op->getName().stripDialect();
}

std::string nameKernel(const Group &group) {
  std::string main = nameMain(group);
  SmallVector<StringRef> words;
  if (!main.empty())
    words.push_back(main);
  for (Operation *op : group)
    if (StringRef word = nameOf(op, main); !word.empty() && !llvm::is_contained(words, word))
      words.push_back(word);
  if (words.empty())
    words.push_back(group.back()->getName().stripDialect());
  return llvm::join(ArrayRef(words).take_front(mostWords), "_");
}

} // namespace weft::plan
