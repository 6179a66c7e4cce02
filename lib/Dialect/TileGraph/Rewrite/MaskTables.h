// Constant masks: what each row of a table keeps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_MASKTABLES_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_MASKTABLES_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/DenseMap.h"

namespace weft::tg {

/// A mask's numbers are far below all scores; others are biases.
constexpr double greatestMask = -1000;

double toDouble(llvm::APFloat number);
/// The largest number of the type of its elements; infinity if they are none of floating point.
double largestOf(mlir::Value value);

/// low <= j - (isSlanted ? i : 0) <= high; a side that masks nothing is none.
struct Band {
  std::optional<int64_t> low, high;
  bool isSlanted = true;
};

/// What a constant keeps of each row, and the number that stands in the other positions.
struct Table {
  int64_t rows = 1, places = 1;
  double masked = 0;
  std::optional<Band> band;
  std::optional<int64_t> emptyRow; ///< The first that keeps nothing.
};

/// Reads constants, each once, and not more of them than there is work for.
class Tables {
public:
  /// `value` as numbers of 0 and one other, far below; none if it is not constant or not such.
  std::optional<Table> readNumbers(mlir::Value value);
  /// `condition` as booleans, or as numbers that count as true where they are not 0, that are `kept` where a position
  /// is kept.
  std::optional<Table> readBooleans(mlir::Value condition, bool kept);

private:
  static std::optional<Table> readShape(mlir::RankedTensorType type);
  mlir::DenseElementsAttr evaluate(mlir::Value value);
  std::optional<Table> makeNumbers(mlir::Value value);
  std::optional<Table> makeBooleans(mlir::Value condition, bool kept);

  /// What all masks of a program may take to evaluate and read.
  static constexpr int64_t mostWork = int64_t(1) << 27;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, std::optional<Table>> known;
  int64_t workLeft = mostWork;
};

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_MASKTABLES_H
