// Einsum: the equation's parser, diagonals, and contraction of the operands pair by pair from the left.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Compose.h"
#include "Shared/Contraction.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;

namespace weft::onnx {

namespace {

/// Labels from here on name dimensions that an ellipsis covers, counted from the last one.
constexpr int firstEllipsisLabel = 256;

/// Letters are labels by their character code; `ellipsis` stands for as many dimensions as the operand has left.
struct Term {
  SmallVector<int> before, after;
  bool ellipsis = false;
};

struct Equation {
  SmallVector<Term> inputs;
  std::optional<Term> output;
};

FailureOr<Term> parseTerm(NodeContext &n, StringRef text) {
  Term term;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (term.ellipsis)
        return n.error("expected at most one ellipsis a term of the equation");
      term.ellipsis = true;
      continue;
    }
    char letter = text.front();
    if (!llvm::isAlpha(letter))
      return n.error("expected letters, `...`, `,` and `->` in the equation, got `" + Twine(letter) + "`");
    (term.ellipsis ? term.after : term.before).push_back(letter);
    text = text.drop_front();
  }
  return term;
}

FailureOr<Equation> parseEquation(NodeContext &n, StringRef text) {
  std::string compact;
  llvm::copy_if(text, std::back_inserter(compact), [](char c) { return c != ' '; });
  auto [left, right] = StringRef(compact).split("->");
  bool hasOutput = StringRef(compact).contains("->");
  Equation equation;
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != n.numInputs())
    return n.error("expected one term an input in the equation, got " + Twine(terms.size()) + " terms and " +
                   Twine(n.numInputs()) + " inputs");
  for (StringRef termText : terms) {
    FailureOr<Term> term = parseTerm(n, termText);
    if (failed(term))
      return failure();
    equation.inputs.push_back(*term);
  }
  if (hasOutput) {
    FailureOr<Term> term = parseTerm(n, right);
    if (failed(term))
      return failure();
    equation.output = *term;
  }
  return equation;
}

/// The term's labels with its ellipsis spelled out as `count` dimensions.
SmallVector<int> expand(const Term &term, int64_t count) {
  SmallVector<int> labels(term.before);
  if (term.ellipsis)
    for (int64_t i = count; i > 0; --i)
      labels.push_back(firstEllipsisLabel + i - 1);
  llvm::append_range(labels, term.after);
  return labels;
}

/// Without `->`, the output has the ellipsis and then, in order, the letters that occur once.
Term implicitOutput(const Equation &equation) {
  std::map<int, int> counts;
  Term output;
  for (const Term &term : equation.inputs) {
    output.ellipsis |= term.ellipsis;
    for (int letter : llvm::concat<const int>(term.before, term.after))
      ++counts[letter];
  }
  for (auto [letter, count] : counts)
    if (count == 1)
      output.after.push_back(letter);
  return output;
}

/// Merges dimensions `first` < `second` of one label into `first`: their diagonal. A view where the extent is static,
/// else a sum under the mask i = j.
Value diagonal(NodeContext &n, Value x, int64_t first, int64_t second) {
  if (!x || failed(n.assumeEqual(n.dim(x, first), n.dim(x, second), "dimensions of one label")))
    return {};
  tg::Dims dims = n.dims(x);
  std::optional<int64_t> extent = n.staticDim(x, first);
  if (!extent) {
    Type index = n.b.getI64Type();
    Value same = compare(n, tg::CmpPredicate::Eq, iota(n, first, dims, index), iota(n, second, dims, index));
    return n.reduce(tg::Monoid::Add, n.make<tg::SelectOp>(same, x, scalarLike(n, 0, x)), second, false);
  }
  if (*extent > (int64_t(1) << 30)) {
    (void)n.unsupported("a diagonal of extent " + Twine(*extent) + " is not supported");
    return {};
  }
  // Both dimensions to the end, as one of extent n * n, of which every (n+1)-th element is on the diagonal.
  int64_t rank = n.rank(x);
  SmallVector<int64_t> toEnd, back;
  for (int64_t d = 0; d < rank; ++d)
    if (d != first && d != second)
      toEnd.push_back(d);
  for (int64_t d = 0; d < rank - 2; ++d)
    back.push_back(d);
  back.insert(back.begin() + first, rank - 2);
  llvm::append_values(toEnd, first, second);
  Value moved = n.transpose(x, toEnd);
  if (!moved)
    return {};
  tg::Dims merged = n.dims(moved);
  merged.truncate(rank - 2);
  merged.push_back(n.constExpr(*extent * *extent));
  return n.transpose(n.slice(n.reshape(moved, merged), rank - 2, 0, n.constExpr(*extent), *extent + 1), back);
}

/// `operand` with distinct labels.
Labeled distinct(NodeContext &n, Labeled operand) {
  for (size_t i = 0; operand.value && i < operand.labels.size(); ++i)
    for (size_t j = operand.labels.size() - 1; j > i; --j)
      if (operand.labels[i] == operand.labels[j]) {
        operand.value = diagonal(n, operand.value, i, j);
        operand.labels.erase(operand.labels.begin() + j);
      }
  return operand;
}

/// Binds the terms' labels to the operands; fails with an error if ranks do not fit.
FailureOr<SmallVector<Labeled>> bindOperands(NodeContext &n, const Equation &equation, int64_t &ellipsisRank) {
  SmallVector<Labeled> operands;
  for (auto [i, term] : llvm::enumerate(equation.inputs)) {
    Value value = n.required(i);
    if (!value)
      return failure();
    int64_t letters = term.before.size() + term.after.size(), rank = n.rank(value);
    if (term.ellipsis ? rank < letters : rank != letters)
      return n.error("expected input " + Twine(i) + " to have rank " + Twine(letters) +
                     (term.ellipsis ? " or more" : "") + " as its term says, got " + Twine(rank));
    if (term.ellipsis)
      ellipsisRank = std::max(ellipsisRank, rank - letters);
    Labeled operand = distinct(n, {value, expand(term, rank - letters)});
    if (!operand.value || failed(checkSameElement(n, n.required(0), value)))
      return failure();
    operands.push_back(operand);
  }
  return operands;
}

LogicalResult checkOutput(NodeContext &n, ArrayRef<int> output, ArrayRef<Labeled> operands) {
  for (auto [i, label] : llvm::enumerate(output)) {
    if (llvm::is_contained(output.drop_front(i + 1), label))
      return n.error("expected distinct labels in the output of the equation");
    if (llvm::none_of(operands, [&, label = label](const Labeled &x) { return llvm::is_contained(x.labels, label); }))
      return n.error("expected the labels of the output to be labels of inputs, got `" + Twine(char(label)) + "`");
  }
  return success();
}

/// Sums the labels that `output` lacks and puts the others in its order.
Value project(NodeContext &n, Labeled x, ArrayRef<int> output) {
  SmallVector<int64_t> summed, permutation;
  SmallVector<int> left;
  for (auto [d, label] : llvm::enumerate(x.labels)) {
    if (llvm::is_contained(output, label))
      left.push_back(label);
    else
      summed.push_back(d);
  }
  for (int label : output)
    permutation.push_back(llvm::find(left, label) - left.begin());
  Value value = summed.empty() ? x.value : n.reduce(tg::Monoid::Add, x.value, summed, false);
  return n.transpose(value, permutation);
}

/// Labels of `lhs` and `rhs` that the output or a later operand needs.
SmallVector<int> keptLabels(const Labeled &lhs, const Labeled &rhs, ArrayRef<int> output, ArrayRef<Labeled> later) {
  SmallVector<int> kept;
  for (int label : llvm::concat<const int>(lhs.labels, rhs.labels)) {
    bool needed = llvm::is_contained(output, label) ||
                  llvm::any_of(later, [&](const Labeled &x) { return llvm::is_contained(x.labels, label); });
    if (needed && !llvm::is_contained(kept, label))
      kept.push_back(label);
  }
  return kept;
}

LogicalResult einsum(NodeContext &n) {
  FailureOr<StringRef> text = n.stringAttr("equation");
  if (failed(text))
    return failure();
  FailureOr<Equation> equation = parseEquation(n, *text);
  if (failed(equation))
    return failure();
  int64_t ellipsisRank = 0;
  FailureOr<SmallVector<Labeled>> operands = bindOperands(n, *equation, ellipsisRank);
  if (failed(operands))
    return failure();
  SmallVector<int> output = expand(equation->output ? *equation->output : implicitOutput(*equation), ellipsisRank);
  if (failed(checkOutput(n, output, *operands)))
    return failure();

  Type result = n.elementType(operands->front().value);
  if (operands->size() == 1)
    return deliver(n, project(n, operands->front(), output));
  Labeled total = operands->front();
  for (size_t i = 1; i < operands->size(); ++i) {
    bool last = i + 1 == operands->size();
    ArrayRef<Labeled> later = ArrayRef(*operands).drop_front(i + 1);
    SmallVector<int> labels = last ? output : keptLabels(total, (*operands)[i], output, later);
    // Intermediate products of narrow floats stay in f32.
    total = {contractLabeled(n, total, (*operands)[i], labels, last ? result : computeType(result)), labels};
    if (!last && total.value && i + 1 < operands->size())
      (*operands)[i + 1].value = n.toCompute((*operands)[i + 1].value);
  }
  return deliver(n, total.value);
}

} // namespace

ArrayRef<OpEntry> getEinsumOps() {
  static const OpEntry table[] = {
      {"", "Einsum", 12, newestOpset, einsum, ""},
  };
  return table;
}

} // namespace weft::onnx
