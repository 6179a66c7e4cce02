// A cascade of reductions over one dimension, and the fold that it becomes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_CASCADE_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_CASCADE_H

#include "FoldTerms.h"
#include "weft/Dialect/TileGraph/Rewrite/FoldChain.h"

namespace weft::tg {

/// One sum (a contraction or a reduction) that depends on earlier reductions of the dimension it sums over.
class Cascade {
public:
  /// `licence`: of ops without the attribute `tg.numerics`.
  Cascade(mlir::Operation *root, Numerics licence, const FoldGuards &guards)
      : root(root), licence(licence), guards(guards) {}

  /// Finds the streamed dimension and what depends on it; the reason if there is no cascade.
  std::string findStream();
  /// The same where no reduction is between the streamed operand and the one contraction that makes it.
  std::string findChain();
  /// After findChain.
  ChainShape describeChain() const;
  /// Why the fold would not pay; "" if it does. After findStream or findChain.
  std::string findLoss();
  /// Proves that there is a fold; the reason if not. After findStream or findChain.
  std::string derive();
  /// Why its states would not pay; "" if they do. After derive.
  std::string findLossOfStates();
  /// Whether what is contracted may have the type of the other operand, as matrix instructions want it. After derive.
  bool fitsMatrix() const;
  /// Replaces the root by the fold, which also returns earlier reductions that are read elsewhere if `withResults`.
  FoldOp build(mlir::OpBuilder &builder, bool withResults);

private:
  /// What one state holds: an extreme so far, a sum so far, or the number of elements so far.
  struct State {
    mlir::Operation *owner = nullptr; ///< The reduction; null: the number of elements.
    Monoid kind = Monoid::Add;
    mlir::Type type;
    mlir::Value whole; ///< What is reduced, as it is; null: difference^power * factors.
    llvm::SmallVector<Factor> factors;
    mlir::Value difference;
    unsigned power = 0;
    llvm::SmallVector<int, 2> lower; ///< The states of powers below; -1: always 0.
  };
  /// A reduction: its terms, and the state of each.
  struct Owner {
    mlir::Operation *op;
    Monoid kind = Monoid::Add;
    llvm::SmallVector<Term> terms;
    llvm::SmallVector<unsigned> states;
    mlir::Value core; ///< What an extreme is the extreme of; null: a sum.
  };
  /// The values of reductions before and after a change: `before` as they are, `safe` with 0 for infinite extremes.
  struct Change {
    StateValues before, safe;
    llvm::SmallVector<mlir::Value> states;
  };

  bool findOperandStream(ContractOp contract);
  std::string planOwner(mlir::Operation *op, mlir::Value input);
  std::string planExtreme(ReduceOp reduce);
  void findMeans(llvm::ArrayRef<Term> terms);
  void planStates();
  int stateOf(const Owner &owner, const Term &term, unsigned power);
  mlir::Type stateTypeOf(const Owner &owner) const;
  bool isCount(mlir::Value divisor, bool isInverse) const;
  /// Whether `difference` is x less the mean of x, whose mean so far is always finite.
  bool isDeviation(mlir::Value difference) const;
  /// Whether sums of `owner` were made of differences with guarded values.
  bool hasGuard(const Owner &owner) const;

  bool staysNarrow(const State &state, mlir::FloatType other) const;
  mlir::Value buildPart(GraphBuilder &b, const State &state, const StateValues &values);
  mlir::Value buildCore(GraphBuilder &b, const State &state, const StateValues &values);
  mlir::Value buildOnes(GraphBuilder &b, mlir::Type element);
  mlir::Value repaired(GraphBuilder &b, unsigned state, const Change &change, const StateValues &after,
                       bool isLast = false);
  mlir::Value ratioOf(GraphBuilder &b, const Factor &factor, const Change &change, const StateValues &after);
  mlir::Value combined(GraphBuilder &b, const State &state, mlir::Value left, mlir::Value right);
  void note(GraphBuilder &b, unsigned state, llvm::ArrayRef<mlir::Value> known, StateValues &values, bool isSafe);
  mlir::Value assemble(GraphBuilder &b, const Owner &owner, const Change &change, const StateValues &values,
                       bool isLast);
  mlir::Value scaled(GraphBuilder &b, mlir::Value value, const Scale &scale, const StateValues &values,
                     mlir::Operation *owner);
  void define(GraphBuilder &b, const Owner &owner, llvm::ArrayRef<mlir::Value> states, StateValues &values,
              bool isSafe);
  mlir::Value align(GraphBuilder &b, mlir::Operation *owner, mlir::Value value);
  void buildUpdate(mlir::OpBuilder &builder, FoldOp fold);
  void buildMerge(mlir::OpBuilder &builder, FoldOp fold);
  void buildFinish(mlir::OpBuilder &builder, FoldOp fold);
  llvm::SmallVector<ReduceOp> findEscaping() const;
  FoldOp createFold(mlir::OpBuilder &builder);

  mlir::Operation *root;
  Numerics licence, numerics = Numerics::Exact;
  FoldGuards guards;
  mlir::Value streamed; ///< The root's operand that the cascade computes.
  unsigned operand = 0; ///< Its number.
  int64_t axis = 0;     ///< Its streamed dimension.
  std::optional<StreamTree> tree;
  llvm::SmallVector<Owner> owners;
  llvm::SmallVector<State> states;
  bool needsCount = false;
  llvm::SmallVector<std::pair<mlir::Value, ReduceOp>> means; ///< A value, and the sum that it is the mean of.
  llvm::SmallVector<ReduceOp> escaping;
};

/// Takes the order of a `tg.top_k` or `tg.arg_reduce` from the values that those it orders rise or fall with; the
/// reason if that is not possible.
std::string commuteOrder(mlir::Operation *op, mlir::OpBuilder &builder, const FoldGuards &guards);

/// Leaves out the rounding of products that a fold's update widens again, with a constant scale or a mask of -inf
/// between: the values stay in registers, and two conversions of each would stand beside a softmax's five instructions.
/// The result is nearer to that of exact arithmetic; where a product would overflow f16 it is a number. Not in folds
/// that are exact.
void widenProducts(mlir::OpBuilder &builder, mlir::Block &update);

/// Moves a positive scale behind masks and maxima of a fold's update, so that it is left to the difference with the
/// maximum, where it costs nothing (an FMA), and to single rows. Exact: -inf * c = -inf, and rounding is monotonic.
void delayScales(mlir::OpBuilder &builder, mlir::Block &update);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_CASCADE_H
