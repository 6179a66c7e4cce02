// --weft-tk-layouts: a layout for every tile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles that an op handles element by element (maps, loop states, sums of a dot, scans) form a class with one layout.
// Classes are related by projections: the operand of a broadcast, and the result of a reduction, lack dimensions of a
// larger tile. Dots fix the layouts of their classes; projections follow from larger classes; of what is left the
// largest class is laid out for its accesses of global memory, and so on. Where an op then meets a layout it cannot
// work with, or memory would be accessed in units of less than a sector, a tk.convert is placed.
#include "TileLayouts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Dialect/TileKernel/Layout/Analysis.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"
#include "weft/Schedule/Access.h"
#include "weft/Schedule/DerivedLayouts.h"
#include "weft/Schedule/DotLayouts.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/StoreLines.h"
#include "weft/Schedule/Wgmma.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using weft::layout::LinearLayout;

namespace weft::schedule {

#define GEN_PASS_DEF_TKLAYOUTS
#include "weft/Schedule/Passes.h.inc"

namespace {

constexpr int64_t sectorBytes = 32, vectorBits = 128;
/// Smaller tiles are not worth a pass through shared memory.
constexpr int64_t minConvertedBytes = 2048;

bool isTile(Value value) { return isa<tk::TileType>(value.getType()); }
tk::TileType tileType(Value value) { return cast<tk::TileType>(value.getType()); }

/// Tiles of one layout.
struct TileClass {
  SmallVector<Value> values;
  std::optional<LinearLayout> layout;
};

/// The tile of `small` is that of `large` without some dimensions.
struct Projection {
  Value large, small;
  SmallVector<int64_t> dims; ///< Of `large`, by dimension of `small`.
};

class LayoutChooser {
public:
  LayoutChooser(func::FuncOp func, StringRef target) : func(func), target(target) {}

  LogicalResult run(unsigned &numConverts);

private:
  void collect();
  void collect(Operation *op);
  LogicalResult placeDots();
  void setBufferLayout(Value shared, tk::LayoutAttr layout);
  void placeBuffers();
  bool project();
  TileClass *largestOpen();
  LinearLayout choose(const TileClass &tiles);
  void applyTypes();
  LogicalResult fixOp(Operation *op);
  void fixAccess(Operation *op, Value tile, OpOperand *operand);
  void fixLines(tk::LoadOp load);
  Value convert(OpBuilder &builder, Location loc, Value tile, const LinearLayout &to, StringRef why);
  void convertOperand(OpOperand &operand, const LinearLayout &to, StringRef why);
  void convertResult(OpResult result, const LinearLayout &produced, StringRef why);

  TileClass &classOf(Value value) { return classes[unions.getLeaderValue(value.getAsOpaquePointer())]; }
  void unite(ValueRange values) {
    for (Value value : values)
      unions.unionSets(values.front().getAsOpaquePointer(), value.getAsOpaquePointer());
  }

  func::FuncOp func;
  StringRef target;
  llvm::EquivalenceClasses<const void *> unions;
  llvm::MapVector<const void *, TileClass> classes;
  SmallVector<Value> tiles; ///< In program order.
  SmallVector<Projection> projections;
  llvm::DenseSet<std::pair<const void *, int64_t>> reduced; ///< (class, dimension).
  unsigned converts = 0;
  bool hasDots = false;
};

/// What reduce keeps, as dimensions of its operand.
SmallVector<int64_t> keptDims(tk::ReduceOp op) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < tileType(op.getInputs().front()).getRank(); ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      kept.push_back(dim);
  return kept;
}

/// Whether the reduction adds up the slices of a dot's sum (weft-tk-slice-steps). They lie in different warps, so they
/// pass through shared memory: the sum is laid out for those who use it.
bool addsSlices(tk::ReduceOp op) {
  auto loop = op.getInputs().front().getDefiningOp<scf::ForOp>();
  if (!loop || op.getInputs().size() != 1)
    return false;
  unsigned number = cast<OpResult>(op.getInputs().front()).getResultNumber();
  auto dot = loop.getYieldedValues()[number].getDefiningOp<tk::DotOp>();
  return dot && dot.getSlices() > 1;
}

void LayoutChooser::collect(Operation *op) {
  SmallVector<Value> own;
  for (Value result : op->getResults())
    if (isTile(result))
      own.push_back(result);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Value argument : block.getArguments())
        if (isTile(argument))
          own.push_back(argument);
  for (Value value : own) {
    tiles.push_back(value);
    unions.insert(value.getAsOpaquePointer());
  }
}

void LayoutChooser::collect() {
  func.walk<WalkOrder::PreOrder>([&](Operation *op) { collect(op); });
  func.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults()))
        if (isTile(result))
          unite({result, init, argument, yielded});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region &region : branch->getRegions())
        if (!region.empty())
          for (auto [yielded, result] :
               llvm::zip_equal(region.front().getTerminator()->getOperands(), branch.getResults()))
            if (isTile(result))
              unite({result, yielded});
    } else if (isa<tk::MapOp, tk::ScanOp, tk::SortOp, tk::DotWaitOp>(op)) {
      SmallVector<Value> all(op->getOperands());
      llvm::append_range(all, op->getResults());
      if (!all.empty())
        unite(all);
    } else if (auto sum = dyn_cast<tk::ClusterSumOp>(op)) {
      unite({sum.getValue(), sum.getResult()});
    } else if (auto send = dyn_cast<tk::ClusterSendOp>(op)) {
      unite(send.getValues());
    } else if (auto sum = dyn_cast<tk::PartSumOp>(op)) {
      unite({sum.getValue(), sum.getResult()});
    } else if (auto dot = dyn_cast<tk::DotOp>(op)) {
      unite({dot.getResult(), dot.getAcc()});
    } else if (auto broadcast = dyn_cast<tk::BroadcastOp>(op)) {
      projections.push_back({broadcast.getResult(), broadcast.getInput(), SmallVector<int64_t>(broadcast.getDims())});
    } else if (auto reduce = dyn_cast<tk::ReduceOp>(op); reduce && !addsSlices(reduce)) {
      unite(reduce.getInputs());
      unite(reduce.getResults());
      projections.push_back({reduce.getInputs().front(), reduce.getResults().front(), keptDims(reduce)});
    }
    // Index tiles and masks lie as the tile they belong to.
    if (auto load = dyn_cast<tk::LoadOp>(op)) {
      SmallVector<Value> all{load.getResult()};
      llvm::append_range(all, load.getIndices());
      if (load.getMask())
        all.push_back(load.getMask());
      unite(all);
    } else if (auto store = dyn_cast<tk::StoreOp>(op)) {
      SmallVector<Value> all{store.getValue()};
      llvm::append_range(all, store.getIndices());
      if (store.getMask())
        all.push_back(store.getMask());
      unite(all);
    } else if (isa<tk::AffineOp, tk::GuardOp>(op)) {
      SmallVector<Value> all{op->getResult(0)};
      for (Value operand : op->getOperands())
        if (isTile(operand))
          all.push_back(operand);
      unite(all);
    }
  });
  for (Value tile : tiles) {
    TileClass &members = classOf(tile);
    members.values.push_back(tile);
    if (tk::LayoutAttr given = tileType(tile).getLayout(); given && !members.layout)
      members.layout = given.getValue();
  }
  func.walk([&](tk::ReduceOp op) {
    if (addsSlices(op))
      return;
    for (int64_t dim : op.getDims())
      reduced.insert({unions.getLeaderValue(op.getInputs().front().getAsOpaquePointer()), dim});
  });
}

/// Gives a buffer, its slots and the values they pass through the layout.
void LayoutChooser::setBufferLayout(Value shared, tk::LayoutAttr layout) {
  auto shapeOf = [](Value buffer) { return cast<tk::SharedType>(buffer.getType()).getShape(); };
  while (auto slot = shared.getDefiningOp<tk::SlotOp>()) {
    layout = tk::getSlotLayout(layout, shapeOf(slot.getBuffer()), shapeOf(shared));
    shared = slot.getBuffer();
  }
  SmallVector<std::pair<Value, tk::LayoutAttr>> work{{shared, layout}};
  while (!work.empty()) {
    auto [buffer, own] = work.pop_back_val();
    auto type = cast<tk::SharedType>(buffer.getType());
    if (type.getLayout())
      continue;
    buffer.setType(type.withLayout(own));
    for (Operation *user : buffer.getUsers())
      if (auto slot = dyn_cast<tk::SlotOp>(user))
        work.push_back({slot.getResult(), tk::joinSlots(own, type.getShape(), shapeOf(slot.getResult()))});
  }
}

LogicalResult LayoutChooser::placeDots() {
  WalkResult walked = func.walk([&](tk::DotOp dot) {
    std::optional<DotLayouts> layouts = getDotLayouts(dot, getWarps(dot), target);
    if (!layouts)
      return WalkResult::interrupt();
    TileClass &sums = classOf(dot.getResult());
    if (!sums.layout)
      sums.layout = layouts->acc.getValue();
    for (auto [operand, layout] :
         {std::pair<Value, tk::LayoutAttr>{dot.getLhs(), layouts->lhs}, {dot.getRhs(), layouts->rhs}})
      if (layout && isa<tk::SharedType>(operand.getType()))
        setBufferLayout(operand, layout);
      else if (layout && (dot.getDepthOrder() || isWgmma(dot)) && !classOf(operand).layout)
        classOf(operand).layout = layout.getValue(); // Loaded and computed where it is multiplied.
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// Buffers that no dot reads: panels as TMA fills and matrix instructions read them without conflicts, else rows one
/// after the other.
void LayoutChooser::placeBuffers() {
  func.walk([&](tk::AllocOp op) {
    tk::SharedType type = op.getResult().getType();
    bool isFetched = llvm::any_of(op->getUsers(), [](Operation *user) {
      auto copy = dyn_cast<tk::CopyOp>(user);
      return copy && copy.getEngine() == tk::CopyEngine::Tma;
    });
    if (isFetched)
      if (std::optional<LinearLayout> panels =
              getWgmmaBuffer(type.getShape(), 1, tk::getElementBits(type.getElementType())))
        setBufferLayout(op.getResult(), tk::LayoutAttr::get(op.getContext(), *panels));
    layout::Shared memory{
        {type.getShape().begin(), type.getShape().end()}, {}, tk::getElementBits(type.getElementType())};
    for (unsigned dim = type.getRank(); dim-- > 0;)
      memory.order.push_back(dim);
    if (std::optional<LinearLayout> rows = layout::makeShared(memory))
      setBufferLayout(op.getResult(), tk::LayoutAttr::get(op.getContext(), *rows));
  });
}

/// Whether the tile is loaded ahead of a loop (weft-tk-stage), to be added up behind it: beside the dots' sums, whose
/// rows it is for.
bool isEarly(Value tile) {
  auto load = tile.getDefiningOp<tk::LoadOp>();
  return load && load->hasAttr(schedule::earlyAttr) && load->hasOneUse() &&
         isa<tk::ReduceOp>(*load->getUsers().begin());
}

/// One sweep over the projections; whether a class got its layout.
bool LayoutChooser::project() {
  bool changed = false;
  for (const Projection &projection : projections) {
    TileClass &large = classOf(projection.large), &small = classOf(projection.small);
    tk::TileType largeType = tileType(projection.large), smallType = tileType(projection.small);
    if (large.layout && !small.layout)
      small.layout = projectLayout(*large.layout, projection.dims, smallType.getShape());
    else if (small.layout && !large.layout && smallType.getNumElements() == largeType.getNumElements())
      large.layout = injectLayout(*small.layout, projection.dims, largeType.getShape());
    else if (small.layout && !large.layout && isEarly(projection.large))
      large.layout = makeSummedLayout(*small.layout, projection.dims, largeType.getShape());
    else
      continue;
    changed = true;
  }
  return changed;
}

TileClass *LayoutChooser::largestOpen() {
  TileClass *largest = nullptr;
  for (Value tile : tiles) {
    TileClass &candidate = classOf(tile);
    if (!candidate.layout &&
        (!largest || tileType(tile).getNumElements() > tileType(largest->values.front()).getNumElements()))
      largest = &candidate;
  }
  return largest;
}

/// The contiguity of the access that makes or takes `tile`; none if it is no access.
std::optional<Contiguity> contiguityOf(Operation *op) {
  if (auto load = dyn_cast_or_null<tk::LoadOp>(op))
    return getContiguity(getAccess(load), vectorBits / tk::getElementBits(load.getResult().getType().getElementType()));
  if (auto store = dyn_cast_or_null<tk::StoreOp>(op))
    return getContiguity(getAccess(store),
                         vectorBits / tk::getElementBits(store.getValue().getType().getElementType()));
  return std::nullopt;
}

/// Calls `visit` for each load that makes a tile of the class and each store that takes one.
void forEachAccess(const TileClass &tiles, llvm::function_ref<void(Operation *, Contiguity)> visit) {
  for (Value tile : tiles.values) {
    if (auto found = contiguityOf(tile.getDefiningOp()))
      visit(tile.getDefiningOp(), *found);
    for (OpOperand &use : tile.getUses())
      if (auto store = dyn_cast<tk::StoreOp>(use.getOwner()); store && store.getValue() == tile)
        if (auto found = contiguityOf(store))
          visit(store, *found);
  }
}

int64_t elementBytes(Operation *access) {
  Type tile = isa<tk::LoadOp>(access) ? access->getResult(0).getType() : access->getOperand(0).getType();
  return tk::getElementBits(cast<tk::TileType>(tile).getElementType()) / 8;
}

/// Whether a tile of the class goes to shared memory.
bool isStoredLocally(const TileClass &tiles) {
  return llvm::any_of(tiles.values, [](Value tile) {
    return llvm::any_of(tile.getUsers(), [](Operation *user) { return isa<tk::LocalStoreOp>(user); });
  });
}

/// Terms of a window that a thread's elements have in common are loaded once: elements along the index in which the
/// terms differ go to one thread. Where rows of the tensor slide, too, many terms begin between vectors; then a thread
/// has elements of one column.
void wishSliding(const TileClass &tiles, BlockedWish &wish) {
  constexpr int64_t most = 8;
  llvm::MapVector<Value, SmallVector<tk::LoadOp>> loads;
  for (Value tile : tiles.values)
    if (auto load = tile.getDefiningOp<tk::LoadOp>(); load && load.getIndices().empty())
      loads[load.getSource()].push_back(load);
  for (auto &[source, terms] : loads) {
    tk::LoadOp first = terms.front();
    int64_t narrow = 0;
    std::optional<BoxPart> part;
    for (tk::LoadOp term : terms) {
      narrow += contiguityOf(term)->elements == 1;
      if (!part && term.getSymbols() == first.getSymbols())
        part = getSlidingPart(getAccess(first), getAccess(term));
    }
    if (!part || (part->dim == int64_t(wish.fastDim) && part->divisor == 1))
      continue;
    wish.slidingDim = part->dim;
    wish.firstSlidingBit = llvm::Log2_64(part->divisor);
    wish.slidingBits = llvm::Log2_64(std::min(part->extent, most));
    if (4 * narrow > int64_t(terms.size()))
      wish.vector = 1;
  }
}

/// The dimension along which most bytes are contiguous wins; vectors are as wide as its widest access. What shared
/// memory alone gets goes there in vectors, too.
LinearLayout LayoutChooser::choose(const TileClass &members) {
  tk::TileType type = tileType(members.values.front());
  BlockedWish wish;
  wish.shape.assign(type.getShape().begin(), type.getShape().end());
  Value first = members.values.front();
  wish.warps = getWarps(first.getParentBlock()->getTerminator());
  SmallVector<int64_t> bytes(type.getRank(), 0), vectors(type.getRank(), 1);
  bool isAccessed = false;
  forEachAccess(members, [&](Operation *access, Contiguity found) {
    isAccessed = true;
    if (found.elements == 1 && type.getRank() > 1)
      return;
    bytes[found.dim] += elementBytes(access);
    vectors[found.dim] = std::max(vectors[found.dim], found.elements);
  });
  wish.fastDim = type.getRank() ? type.getRank() - 1 : 0;
  if (type.getRank() && !isAccessed && isStoredLocally(members))
    vectors[wish.fastDim] = std::max<int64_t>(vectorBits / tk::getElementBits(type.getElementType()), 1);
  for (auto [dim, weight] : llvm::enumerate(bytes))
    if (weight > bytes[wish.fastDim])
      wish.fastDim = dim;
  if (type.getRank())
    wish.vector = std::min(vectors[wish.fastDim], type.getShape()[wish.fastDim]);
  wishSliding(members, wish);
  const void *leader = unions.getLeaderValue(members.values.front().getAsOpaquePointer());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    wish.reduced.push_back(reduced.contains({leader, dim}));
  return makeBlockedLayout(wish);
}

void LayoutChooser::applyTypes() {
  for (auto &[leader, members] : classes) {
    tk::LayoutAttr layout = tk::LayoutAttr::get(func.getContext(), *members.layout);
    for (Value tile : members.values)
      tile.setType(tileType(tile).withLayout(layout));
  }
}

Value LayoutChooser::convert(OpBuilder &builder, Location loc, Value tile, const LinearLayout &to, StringRef why) {
  tk::TileType type = tileType(tile).withLayout(tk::LayoutAttr::get(tile.getContext(), to));
  auto op = tk::ConvertOp::create(builder, loc, type, tile);
  std::optional<layout::Conversion> kind = layout::classifyConversion(tileType(tile).getLayout().getValue(), to);
  if (kind && kind->kind != layout::ConversionKind::none && kind->kind != layout::ConversionKind::withinThread) {
    ++converts;
    remark::analysis(loc, remark::RemarkOpts::name("convert").category("layout"))
        << remark::add("{0}", why) << remark::metric("by", layout::getName(kind->kind))
        << remark::metric("bytes", type.getNumElements() * tk::getElementBits(type.getElementType()) / 8);
  }
  return op;
}

void LayoutChooser::convertOperand(OpOperand &operand, const LinearLayout &to, StringRef why) {
  if (tileType(operand.get()).getLayout().getValue() == to)
    return;
  OpBuilder builder(operand.getOwner());
  operand.set(convert(builder, operand.getOwner()->getLoc(), operand.get(), to, why));
}

/// The op makes its result in layout `produced`; its readers get the layout they were promised.
void LayoutChooser::convertResult(OpResult result, const LinearLayout &produced, StringRef why) {
  LinearLayout promised = tileType(result).getLayout().getValue();
  if (promised == produced)
    return;
  result.setType(tileType(result).withLayout(tk::LayoutAttr::get(func.getContext(), produced)));
  OpBuilder builder(func.getContext());
  builder.setInsertionPointAfter(result.getOwner());
  Value converted = convert(builder, result.getLoc(), result, promised, why);
  result.replaceAllUsesExcept(converted, converted.getDefiningOp());
}

/// How a warp loads lines that begin at any element: lanes side by side along them, and in each thread's registers what
/// `layout` has there of another dimension. Nothing if there are no lines as long as a sector.
static std::optional<BlockedWish> wishLines(tk::LoadOp load, const LinearLayout &layout, int64_t warps) {
  tk::TileType type = load.getResult().getType();
  Access access = getAccess(load);
  BlockedWish wish{SmallVector<int64_t>(type.getShape()), warps};
  int64_t longest = 1;
  for (unsigned dim = 0; dim < type.getRank(); ++dim)
    if (int64_t elements = getLineElements(access, dim); elements > longest)
      longest = elements, wish.fastDim = dim;
  for (unsigned dim = 0; dim < type.getRank(); ++dim)
    if (unsigned bits = countRegisterBits(layout, dim); dim != wish.fastDim && bits > wish.slidingBits)
      wish.slidingBits = bits, wish.slidingDim = dim;
  return longest * elementBytes(load) >= sectorBytes ? std::optional(wish) : std::nullopt;
}

/// A load of lines that begin at any element goes through shared memory where a warp would read less than a sector of a
/// line at a time: the caches would have to keep the rest for others (H100: a transposition of 18 x 576 x 9801 bf16 by
/// 4 elements of each of 8 lines took 1.2 to 1.7 times as long as its bytes, the more the less of L1 is left).
void LayoutChooser::fixLines(tk::LoadOp load) {
  tk::TileType type = load.getResult().getType();
  int64_t bytes = elementBytes(load);
  if (hasDots || !load.getIndices().empty() || load.getMask() || type.getNumElements() * bytes < minConvertedBytes)
    return;
  LinearLayout current = type.getLayout().getValue();
  std::optional<BlockedWish> wish = wishLines(load, current, getWarps(load));
  if (!wish)
    return;
  LinearLayout better = makeBlockedLayout(*wish);
  int64_t run = getRunLength(current, wish->fastDim, sectorBytes / bytes) * bytes;
  if (run < sectorBytes && getRunLength(better, wish->fastDim, 1) * bytes >= 2 * run)
    convertResult(load->getResult(0), better, "lines would be read in units of less than a sector");
}

/// An access in pieces of less than a sector, where its own layout would give twice as long ones, goes through another
/// layout.
void LayoutChooser::fixAccess(Operation *op, Value tile, OpOperand *operand) {
  std::optional<Contiguity> found = contiguityOf(op);
  tk::TileType type = tileType(tile);
  bool hasIndices = isa<tk::LoadOp>(op)
                        ? !cast<tk::LoadOp>(op).getIndices().empty() || cast<tk::LoadOp>(op).getMask()
                        : !cast<tk::StoreOp>(op).getIndices().empty() || cast<tk::StoreOp>(op).getMask();
  if (!found || found->elements == 1 || hasIndices || type.getNumElements() * elementBytes(op) < minConvertedBytes)
    return;
  LinearLayout current = type.getLayout().getValue();
  BlockedWish wish{SmallVector<int64_t>(type.getShape()), getWarps(op), found->dim, found->elements};
  LinearLayout better = makeBlockedLayout(wish);
  // A thread's neighbouring vectors that fill a sector together count as one piece: the cache holds the rest of it.
  int64_t bytes = elementBytes(op), held = std::max(found->elements, sectorBytes / bytes);
  int64_t run = getRunLength(current, found->dim, held) * bytes;
  if (run >= sectorBytes || getRunLength(better, found->dim, found->elements) * bytes < 2 * run)
    return;
  StringRef why = "memory would be accessed in units of less than a sector";
  if (operand)
    convertOperand(*operand, better, why);
  else
    convertResult(cast<OpResult>(tile), better, why);
}

/// Whether a result leaves in lines: its rows have no alignment at all, and an access of a warp pieces of less than a
/// sector. Rows that are aligned to some elements take as long through another layout (H100: 0.87 to 1.03 of the time
/// of 17 convolutions and GEMMs, aligned to 4 or 8 bytes), and a line's ends as its whole where it is short.
static bool leavesInLines(tk::StoreOp store) {
  constexpr int64_t leastPieces = 4;
  tk::TileType type = tileType(store.getValue());
  std::optional<StoreLines> lines = getStoreLines(store);
  if (!lines || lines->unit > 1 || lines->elements < leastPieces * lines->piece ||
      type.getNumElements() * elementBytes(store) < minConvertedBytes)
    return false;
  int64_t bytes = elementBytes(store);
  return getRunLength(type.getLayout().getValue(), lines->dim, lines->unit) * bytes < sectorBytes;
}

LogicalResult LayoutChooser::fixOp(Operation *op) {
  if (auto broadcast = dyn_cast<tk::BroadcastOp>(op)) {
    LinearLayout out = broadcast.getResult().getType().getLayout().getValue();
    convertOperand(broadcast.getInputMutable(),
                   projectLayout(out, broadcast.getDims(), broadcast.getInput().getType().getShape()),
                   "the operand of a broadcast lies otherwise than its result");
  } else if (auto reduce = dyn_cast<tk::ReduceOp>(op)) {
    SmallVector<int64_t> kept = keptDims(reduce);
    if (addsSlices(reduce))
      convertOperand(reduce->getOpOperand(0),
                     makeSummedLayout(tileType(reduce.getResult(0)).getLayout().getValue(), kept,
                                      tileType(reduce.getInputs().front()).getShape()),
                     "slices of a sum lie in different warps");
    LinearLayout in = tileType(reduce.getInputs().front()).getLayout().getValue();
    for (OpResult result : reduce->getResults())
      convertResult(result, projectLayout(in, kept, tileType(result).getShape()),
                    "the result of a reduction is used in another layout");
  } else if (auto dot = dyn_cast<tk::DotOp>(op)) {
    std::optional<DotLayouts> layouts = getDotLayouts(dot, getWarps(dot), target);
    if (!layouts)
      return failure();
    for (auto [operand, layout] : {std::pair<OpOperand *, tk::LayoutAttr>{&dot.getLhsMutable(), layouts->lhs},
                                   {&dot.getRhsMutable(), layouts->rhs}})
      if (layout && isTile(operand->get()))
        convertOperand(*operand, layout.getValue(), "a dot reads its operand from registers");
  } else if (auto load = dyn_cast<tk::LoadOp>(op)) {
    if (contiguityOf(load)->elements == 1)
      fixLines(load);
    else
      fixAccess(op, load.getResult(), nullptr);
  } else if (auto store = dyn_cast<tk::StoreOp>(op)) {
    if (leavesInLines(store))
      store.setLines(true);
    else
      fixAccess(op, store.getValue(), &store.getValueMutable());
  }
  return success();
}

LogicalResult LayoutChooser::run(unsigned &numConverts) {
  collect();
  func.walk([&](tk::DotOp) { hasDots = true; });
  if (failed(placeDots()))
    return failure();
  placeBuffers();
  while (true) {
    while (project())
      ;
    TileClass *open = largestOpen();
    if (!open)
      break;
    open->layout = choose(*open);
  }
  applyTypes();
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (failed(fixOp(op)))
      return failure();
  numConverts += converts;
  return success();
}

class TkLayouts : public impl::TkLayoutsBase<TkLayouts> {
  void runOnOperation() override {
    auto target = getOperation()->getAttrOfType<StringAttr>(tk::targetAttr);
    unsigned count = 0;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(LayoutChooser(func, target ? target.getValue() : "sm_80").run(count)))
        return signalPassFailure();
    numConverts += count;
  }
};

} // namespace
} // namespace weft::schedule
