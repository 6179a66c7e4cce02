// The recursion of Kernelize: tile(value, coordinates), and what its op families share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tile` gives the register tile of a tg value at coordinates, one expression over the atoms of the index space for
// each dimension of the value. The tile has the lanes that occur in the coordinates. Code goes to the outermost scope
// (for_tiles body or loop) in which all atoms of the coordinates are known, and equal requests are answered once; so
// values that do not depend on a loop are computed before it.
//
// Where an axis runs past its extent, a tile holds anything (loads never leave their tensor: they are guarded, with
// zero outside). Whoever combines elements along an axis asks for `masked` tiles.
//
// Errors are emitted at the op; the recursion goes on with a tile of zeros, and `hasFailed` says so.
#ifndef WEFT_LIB_KERNELIZE_KERNELIZER_H
#define WEFT_LIB_KERNELIZE_KERNELIZER_H

#include "Space.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "llvm/ADT/SetVector.h"
#include <set>

namespace weft::tg {
struct PartsResult;
} // namespace weft::tg

namespace weft::kernelize {

/// A tile of the `tk` dialect and its lanes, in the order of its dimensions. A tile without lanes has the extents [1].
struct Tile {
  mlir::Value value;
  llvm::SmallVector<unsigned> lanes;

  mlir::Type element() const { return llvm::cast<tk::TileType>(value.getType()).getElementType(); }
};

/// What a request for a tile is known by: its parts as addresses.
using Key = std::vector<const void *>;

/// A block under construction.
struct Scope {
  Scope *parent = nullptr;
  unsigned depth = 0;
  mlir::Block *block = nullptr;
  mlir::Operation *pending = nullptr; ///< The loop in `block` that is being filled; code goes before it.
  std::map<Key, Tile> tiles;
};

/// A reduced dimension and how a loop goes through it.
struct Streamed {
  mlir::AffineExpr extent;
  int64_t step;            ///< Elements of one step, a power of two if they are side by side.
  unsigned lane = 0;       ///< If step > 1.
  int64_t divisor = 1;     ///< Of the lane, which may hold several dimensions.
  bool isUnrolled = false; ///< The elements of a step, any number, are gone through one by one.
};

/// A box of an argument in shared memory, zeros where it leaves the tensor.
struct StagedInput {
  mlir::BlockArgument argument;
  Exprs low;                        ///< Its first position.
  llvm::SmallVector<unsigned> dims; ///< The argument's, by dimension of the buffer; along others it has one element.
  llvm::SmallVector<int64_t> shape; ///< Of the buffer: powers of two.
  mlir::Value buffer;
  int64_t slots = 1; ///< Room behind the box for elements past the end of an axis.
};

/// Type of an element in a register tile: as stored, in at least 8 bits, except that booleans are i1.
mlir::Type getHeldType(mlir::Type element);
/// The element of a tile as a scalar of the op's arithmetic, and back with the one rounding. For bodies of `tk.map`.
mlir::Value loadScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value held, mlir::Type element,
                       mlir::FloatType compute);
mlir::Value storeScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar, mlir::Type element);
/// `held` as an attribute of the held type; null if the constant is not a splat (or has more than `limit` elements).
mlir::TypedAttr getHeldAttr(mlir::Attribute number, mlir::Type element);
/// The one value of a constant whose elements are equal, in the held type; null for other values.
mlir::TypedAttr getSplat(mlir::Value value);
mlir::TypedAttr getZero(mlir::Type held);
/// The identity of a monoid in the held type of `element`.
mlir::TypedAttr getIdentity(tg::Monoid kind, mlir::Type element);
/// f32 (f64 for f64), or the held integer.
mlir::Type getAccumulator(mlir::Type element);
/// i32 where indices below `extent` fit, else i64.
mlir::Type getIndexType(mlir::AffineExpr extent);
/// A tile step that holds a constant `extent` up to `limit`, which symbolic extents get.
int64_t fittingStep(mlir::AffineExpr extent, int64_t limit);
/// A schedule that is legal for the kernel and no more.
tg::ScheduleAttr makeSimpleSchedule(mlir::func::FuncOp kernel);

class Kernelizer {
public:
  /// With `allowTf32`, dots of f32 operands may round them.
  Kernelizer(mlir::func::FuncOp source, tg::ScheduleAttr schedule, bool allowTf32);
  /// Replaces the function, or leaves it and fails.
  llvm::LogicalResult run();

private:
  friend class InScope;
  using Scalars = llvm::SmallVector<mlir::Value>;
  using StatePlaces = llvm::SmallVector<std::optional<Exprs>>;
  using MapBody = llvm::function_ref<Scalars(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
  using LoopBody = llvm::function_ref<Scalars(mlir::AffineExpr counter, mlir::ValueRange state)>;
  using StreamBody = llvm::function_ref<Scalars(llvm::ArrayRef<mlir::AffineExpr> places, const Constraints &mask,
                                                mlir::ValueRange state)>;

  /// Turns [lower, upper) of a loop; null: the loop's own.
  struct StepRange {
    mlir::Value lower, upper;
    std::optional<int64_t> turns; ///< Where it is the same for all parts: then a loop of so many, from `first` on.
    mlir::AffineExpr first;
    mlir::Value offset; ///< Of the loop's turns, which go from 0 on.
  };
  /// factor * position + the sum of `rest` + most >= 0, for the greatest value of what is not the position.
  struct StepBound {
    int64_t factor = 0, most = 0;
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> rest;
    std::optional<int64_t> mostPlaces; ///< It is a bound for streams of fewer positions.
  };

  /// rest + sign * data[indices] >= 0; the indices do not depend on the fold's.
  struct DataForm {
    mlir::AffineExpr rest;
    mlir::BlockArgument data;
    Exprs places;
    int64_t sign;
  };
  /// What holds wherever a mask keeps a position: sums of axes that are at least 0, and the same with numbers from
  /// memory.
  struct MaskForms {
    Exprs affine;
    llvm::SmallVector<DataForm> data;
  };

  // Sinks.cpp: the function, its tile loop and its results.
  void makeFunction();
  void readSymbols();
  void makeSinks();
  void makeTileLoop(llvm::ArrayRef<mlir::AffineExpr> counts);
  void makeTilePart(tk::ForTilesOp loop);
  /// For each dimension of the domain: 1 if only the left operand of the contraction behind the results reads it, 2 if
  /// only the right one does, else 0.
  llvm::SmallVector<int> findContractionSides();
  bool findContraction(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at, llvm::ArrayRef<mlir::AffineExpr> probes,
                       llvm::SmallVectorImpl<int> &sides, llvm::SmallPtrSetImpl<mlir::Operation *> &seen);
  void makeSinkLanes();
  bool isRow(int64_t dim);
  bool isStreamedRow(int64_t dim);
  mlir::AffineExpr sinkPlace(int64_t dim, mlir::AffineExpr base);
  void streamRows(int64_t dim, Exprs at);
  void storeResults(llvm::ArrayRef<mlir::AffineExpr> at);
  void storeFurther(unsigned number, llvm::ArrayRef<mlir::AffineExpr> at);
  /// What a tile of the results is of a reduction in parts (tg::findTileParts).
  /// A result that is the updates of memory (gpu::intoAttr).
  struct Into {
    unsigned result;
    mlir::Type type, updates, places, own; ///< Of the memory, the updates, the indices as told, the result.
    mlir::AffineMap dataMap;
    llvm::SmallVector<mlir::AffineMap> indexMaps;
    mlir::BlockArgument indices;
  };
  struct TilePart {
    Exprs places; ///< Of the reduction's result: the part, and the tile's other elements.
    mlir::AffineExpr reduced;
    unsigned lane; ///< Of the tile; its elements are those of the part.
  };
  std::optional<TilePart> findTilePart(tg::ReduceOp op);
  bool storeParts(mlir::Value result, mlir::Value buffer);
  void storePacked(mlir::Value result, mlir::Value target);

  // Kernelizer.cpp: the recursion.
  Tile tile(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at);
  /// The tile where all of `mask` hold, elsewhere `fill` (of the held type).
  Tile masked(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at, const Constraints &mask, mlir::TypedAttr fill);
  Tile evaluate(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile fail(mlir::Operation *op, mlir::Value value, const llvm::Twine &reason);
  Tile memoised(Key key, Scope *scope, mlir::Location loc, llvm::function_ref<Tile()> make);
  /// Where the tile of `value` goes: where all of `exprs` are known, and inside the loop of its fold.
  Scope *scopeFor(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> exprs);
  Exprs canonical(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at);
  static Key keyOf(const void *what, llvm::ArrayRef<mlir::AffineExpr> at);

  // Tiles.cpp: building blocks.
  tk::TileType typeOf(llvm::ArrayRef<unsigned> lanes, mlir::Type held) const;
  Tile constant(mlir::TypedAttr value, llvm::ArrayRef<unsigned> lanes = {});
  Tile broadcast(const Tile &tile, llvm::ArrayRef<unsigned> lanes);
  /// One `tk.map` over all lanes of the inputs; `elements` are the results' held types.
  llvm::SmallVector<Tile> map(llvm::ArrayRef<Tile> inputs, llvm::ArrayRef<mlir::Type> elements, MapBody body);
  Tile map(llvm::ArrayRef<Tile> inputs, mlir::Type element,
           llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> body);
  Tile select(const Tile &condition, const Tile &onTrue, const Tile &onFalse);
  Tile guard(const Constraints &constraints);
  /// Values of an expression, in i32 or i64.
  Tile affine(mlir::AffineExpr expr, mlir::Type element);
  /// Between element type and accumulator type (f32, f64 or the held integer).
  Tile toAccumulator(const Tile &tile, mlir::Type element, mlir::Type accumulator);
  Tile fromAccumulator(const Tile &tile, mlir::Type element);
  llvm::SmallVector<Tile> combineLanes(llvm::ArrayRef<Tile> inputs, llvm::ArrayRef<unsigned> lanes, MapBody combiner);
  mlir::Value index(mlir::AffineExpr expr);
  /// for counter = 0 .. count - 1, or the part of it in `range`; no loop if that is one turn.
  Scalars loop(mlir::AffineExpr count, mlir::ValueRange init, LoopBody body, StepRange range = {});
  /// One flat loop over the steps through `dims`. `mask` says where the elements are within the extents.
  Scalars stream(llvm::ArrayRef<Streamed> dims, mlir::ValueRange init, StreamBody body, StepRange range = {});

  // Access.cpp: global memory.
  Tile load(mlir::BlockArgument argument, llvm::ArrayRef<mlir::AffineExpr> at, const Constraints &mask,
            mlir::TypedAttr fill);
  /// Whether elements of the argument share the bytes or words of its buffer.
  bool hasFields(mlir::BlockArgument argument) const;
  Tile loadPacked(mlir::BlockArgument argument, llvm::ArrayRef<mlir::AffineExpr> at, const Constraints &mask);
  Tile loadElements(mlir::Value source, llvm::ArrayRef<mlir::AffineExpr> at, llvm::ArrayRef<mlir::AffineExpr> extents,
                    const Constraints &mask, mlir::TypedAttr fill, mlir::Type element);
  void store(const Tile &tile, mlir::Value target, llvm::ArrayRef<mlir::AffineExpr> at, mlir::Type element);
  /// Into.cpp: where in the caller's memory an element of the result is, and that it is within.
  std::pair<Exprs, std::optional<Tile>> placesInto(llvm::ArrayRef<mlir::AffineExpr> at);
  void readInto();

  // Views.cpp
  /// Coordinates of the operand of an affine view.
  std::optional<Exprs> throughView(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> at);
  Exprs reshaped(mlir::Type from, mlir::Type to, llvm::ArrayRef<mlir::AffineExpr> at);
  Exprs composed(mlir::AffineMap map, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile bitcast(tg::BitcastOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile bitcastTile(tg::BitcastOp op, const Tile &input);
  /// Where the operand of a pad is read, and the constraints under which there is something to read.
  std::pair<Exprs, Constraints> throughPad(tg::PadOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile pad(tg::PadOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile concat(tg::ConcatOp op, llvm::ArrayRef<mlir::AffineExpr> at);

  // Pointwise.cpp
  Tile pointwise(tg::PointwiseOpInterface op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile apply(tg::PointwiseOpInterface op, llvm::ArrayRef<Tile> operands);
  Tile iota(tg::IotaOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile extents(tg::ExtentsOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile contents(tg::ConstantOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile choose(mlir::AffineExpr place, llvm::ArrayRef<Tile> entries);

  // Reduction.cpp
  Tile reduce(tg::ReduceOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile argReduce(tg::ArgReduceOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  /// The first element of `input` along `axis` in the order `precedes`, and its index (i32 or i64).
  llvm::SmallVector<Tile> findFirst(mlir::Operation *op, int64_t axis, llvm::ArrayRef<mlir::AffineExpr> kept,
                                    const struct Order &order);
  llvm::SmallVector<Streamed> planReduction(mlir::Operation *op, llvm::ArrayRef<int64_t> axes,
                                            llvm::ArrayRef<mlir::AffineExpr> kept);
  unsigned reductionLane(int64_t extent, double key, llvm::ArrayRef<unsigned> taken);

  // Contraction.cpp
  /// `start`, of the accumulator type, is what products are added to; none: zero.
  Tile contract(tg::ContractOp op, llvm::ArrayRef<mlir::AffineExpr> at, std::optional<Tile> start = std::nullopt);
  void planProduct(tg::ContractOp op, struct Product &product);
  void copyVector(tg::ContractOp op, struct Product &product);
  Tile contractByDot(tg::ContractOp op, const struct Product &product);
  std::optional<int64_t> livePlaces(llvm::ArrayRef<mlir::AffineExpr> places, unsigned lane) const;
  Tile contractByMaps(tg::ContractOp op, struct Product &product);
  void orderTaps(tg::ContractOp op, struct Product &product);
  void stageWindow(tg::ContractOp op, struct Product &product, int64_t elements);
  bool isShared(tg::ContractOp op, const struct Product &product);
  mlir::AffineExpr countAllSteps(const struct Product &product);
  Scalars streamProduct(const struct Product &product, mlir::Value init, StreamBody body, StepRange range = {});
  Scalars unrollTaps(llvm::ArrayRef<Streamed> dims, int64_t taps, int64_t together, mlir::ValueRange init,
                     StreamBody body);
  Scalars unrollSteps(llvm::ArrayRef<Streamed> dims, int64_t steps, mlir::ValueRange init, StreamBody body);
  Tile operandAt(tg::ContractOp op, unsigned i, const struct Product &product, llvm::ArrayRef<mlir::AffineExpr> places,
                 const Constraints &mask);

  // StagedInputs.cpp
  struct BoxSide {
    mlir::AffineExpr low;
    int64_t last, lastOfTile; ///< Positions behind `low`: within the extents, and where a tile runs past them.
  };
  std::optional<std::pair<mlir::BlockArgument, Exprs>> throughToMemory(mlir::Value value,
                                                                       llvm::ArrayRef<mlir::AffineExpr> at);
  std::optional<BoxSide> planSide(llvm::ArrayRef<mlir::AffineExpr> reads);
  std::optional<StagedInput> planBox(mlir::BlockArgument argument, llvm::ArrayRef<Exprs> reads, int64_t elements);
  Tile loadBox(const StagedInput &staged);
  mlir::Value makeRoom(StagedInput &staged, const Tile &box);
  /// Fetches the boxes; the CTA's threads meet.
  void stage(llvm::MutableArrayRef<StagedInput *> inputs);
  Tile readStaged(const StagedInput &staged, llvm::ArrayRef<mlir::AffineExpr> places);

  // GatherScatter.cpp
  Tile gather(tg::GatherOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile scatter(tg::ScatterOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile applyUpdate(tg::ScatterOp op, llvm::ArrayRef<mlir::AffineExpr> at, llvm::ArrayRef<mlir::AffineExpr> place,
                   const Constraints &bounds, const Tile &before);
  /// Entries of an index tensor, counted from the end of `extent` if negative, and brought into [0, extent) if
  /// `clamps`.
  Tile wrapped(mlir::Value indices, llvm::ArrayRef<mlir::AffineExpr> at, mlir::AffineExpr extent, bool clamps);

  // Order.cpp
  Tile scan(tg::ScanOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile scanTile(tg::ScanOp op, llvm::ArrayRef<mlir::AffineExpr> at, unsigned lane);
  Tile scanByLoop(tg::ScanOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  Tile topK(tg::TopKOp op, unsigned result, llvm::ArrayRef<mlir::AffineExpr> at);
  llvm::SmallVector<Tile> sorted(tg::TopKOp op, llvm::ArrayRef<mlir::AffineExpr> at, const struct Order &order);
  /// The lane that holds `extent` elements of an axis, if `place` is such an axis.
  std::optional<unsigned> wholeLane(mlir::AffineExpr place, mlir::AffineExpr extent);

  // Fold.cpp
  Tile fold(tg::FoldOp op, unsigned result, llvm::ArrayRef<mlir::AffineExpr> at);
  /// The coordinates at which `value` asks for states of the fold, by state; false if it asks twice differently.
  bool findStates(tg::FoldOp op, mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at,
                  llvm::SmallVectorImpl<std::optional<Exprs>> &states, std::set<Key> &seen);
  bool findOperandStates(tg::FoldOp op, mlir::Operation *user, llvm::ArrayRef<mlir::AffineExpr> at,
                         llvm::SmallVectorImpl<std::optional<Exprs>> &states, std::set<Key> &seen);
  /// The same for what the next states ask for, until no state asks for another one.
  bool findAllStates(tg::FoldOp op, unsigned result, llvm::ArrayRef<mlir::AffineExpr> at, StatePlaces &states);
  StatePlaces planStates(tg::FoldOp op, unsigned result, llvm::ArrayRef<mlir::AffineExpr> at);
  /// `part` is the number of a part, null for a fold that is not in parts.
  void runFold(tg::FoldOp op, const StatePlaces &places, mlir::AffineExpr part);
  bool canMergeParts(tg::FoldOp op, const StatePlaces &places);
  Scalars mergeParts(tg::FoldOp op, const StatePlaces &places, mlir::ValueRange own);
  using MergePart = llvm::function_ref<Scalars(mlir::ValueRange, mlir::Value, const Tile &)>;
  Scalars gatherParts(mlir::ValueRange own, mlir::IntegerAttr live, MergePart merge);
  void guardStores();
  Tile state(mlir::BlockArgument argument, llvm::ArrayRef<mlir::AffineExpr> at);
  Streamed planFold(tg::FoldOp op);
  /// The step of the fold that is being computed, for an op that reduces its streamed dimension.
  std::optional<mlir::AffineExpr> foldStep(mlir::Operation *op) const;
  /// A sum one of whose operands is a contraction over this step: the other one is where it starts.
  std::optional<Tile> addToContraction(tg::PointwiseOpInterface op, llvm::ArrayRef<mlir::AffineExpr> at);

  /// e^(x - m) of a fold whose terms are rounded to 16 bits: one FMA and the approximate power of 2.
  std::optional<Tile> foldExp(tg::PointwiseOpInterface op, llvm::ArrayRef<mlir::AffineExpr> at);

  // FoldSteps.cpp
  std::optional<mlir::AffineExpr> indexForm(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at);
  void compareForms(tg::CmpOp op, llvm::ArrayRef<mlir::AffineExpr> at, bool isNegated, MaskForms &forms);
  /// A comparison of index forms as constraints; none for others.
  Constraints indexCondition(tg::CmpOp op, llvm::ArrayRef<mlir::AffineExpr> at);
  void findConditions(mlir::Value condition, llvm::ArrayRef<mlir::AffineExpr> at, bool isNegated, MaskForms &forms);
  void findMasks(tg::FoldOp op, mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at, mlir::AffineExpr step,
                 MaskForms &forms, std::set<Key> &seen);
  std::optional<StepBound> boundOf(mlir::AffineExpr form, mlir::AffineExpr step);

  // FoldBounds.cpp: bounds of steps that are data.
  std::optional<DataForm> dataForm(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at);
  mlir::Value numberOf(mlir::AffineExpr expr);
  /// The greatest value of sign * data over the tile, as a number and its sign; null if it takes too many loads.
  std::optional<StepBound> boundOf(const DataForm &form, mlir::AffineExpr step, mlir::AffineExpr extent);
  StepRange stepsOfPart(tg::FoldOp op, mlir::AffineExpr part, const Streamed &dim);
  StepRange shareSteps(StepRange range, mlir::AffineExpr count);
  StepRange findSteps(tg::FoldOp op, const StatePlaces &places, const Streamed &dim, mlir::AffineExpr part);
  void putLongTilesFirst();

  mlir::func::FuncOp source, target;
  tg::ScheduleAttr schedule;
  bool allowTf32;
  tg::KernelAccess access; ///< Which dimensions of the kernel's values belong together.
  mlir::ImplicitLocOpBuilder builder;
  Space space;
  Scope root;
  Scope *current = nullptr;
  bool failed = false;
  bool isForDot = false;            ///< What is being computed is an operand of a dot.
  mlir::Operation *tiles = nullptr; ///< The tk.for_tiles.
  llvm::DenseMap<mlir::Value, mlir::Value> arguments;
  llvm::SmallVector<mlir::Value> targets; ///< Buffers of the results.
  std::optional<Into> into;
  mlir::RankedTensorType domain;                        ///< Of the first result.
  llvm::SmallVector<std::optional<unsigned>> sinkLanes; ///< By its dimension.
  llvm::SmallVector<int64_t> sinkDivisors;
  Exprs sinkPlaces; ///< Of the results that are being stored.
  llvm::SmallVector<unsigned> reductionLanes;
  /// Of folds under way: the tiles of block arguments at their coordinates, the scope of a region, the step's
  /// positions.
  llvm::DenseMap<mlir::Value, std::pair<Exprs, Tile>> states;
  llvm::DenseMap<mlir::Block *, Scope *> regionScopes;
  llvm::DenseMap<mlir::Operation *, mlir::AffineExpr> foldPlaces;
  /// Folds that have run, and in which scope: results at the same positions share the loop.
  struct DoneFold {
    Scope *scope = nullptr;
    mlir::AffineExpr part;
    StatePlaces places;
  };
  llvm::DenseMap<mlir::Operation *, DoneFold> foldsDone;
  tk::TilePartOp tilePart;                     ///< Where several CTAs share a tile's steps: which of them it is, ...
  int64_t partsOfTile = 1, partSlots;          ///< ... how many there are, and for how many parts of all tiles, ...
  mlir::Value isStoring;                       ///< ... whether it has the merged states.
  llvm::SetVector<mlir::Value> growing;        ///< Tile numbers with which folds take more steps.
  std::map<const void *, mlir::Value> indices; ///< Values of expressions of kernel symbols.
};

/// Code goes to `scope` while this lives.
class InScope {
public:
  InScope(Kernelizer &kernelizer, Scope *scope, mlir::Location loc);
  ~InScope();

private:
  Kernelizer &kernelizer;
  Scope *before;
  mlir::OpBuilder::InsertPoint place;
  mlir::Location loc;
};

/// Extents of the smallest power of two that holds `extent` elements.
int64_t roundUpToPowerOf2(int64_t extent);

} // namespace weft::kernelize

#endif // WEFT_LIB_KERNELIZE_KERNELIZER_H
