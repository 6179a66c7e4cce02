// Vectors and boxes of affine accesses, by following each expression along one dimension of the tile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Schedule/Access.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <numeric>

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

/// For each symbol operand the kernel symbol that it is: the position among the `index` arguments of the function.
static SmallVector<std::optional<unsigned>> getKernelSymbols(ValueRange symbols) {
  SmallVector<std::optional<unsigned>> numbers;
  for (Value symbol : symbols) {
    auto argument = dyn_cast<BlockArgument>(symbol);
    auto func = argument ? dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
    if (!func) {
      numbers.push_back(std::nullopt);
      continue;
    }
    unsigned number = 0;
    for (BlockArgument other : func.getArguments().take_front(argument.getArgNumber()))
      number += other.getType().isIndex();
    numbers.push_back(number);
  }
  return numbers;
}

template <typename Op> static Access makeAccess(Op op, tk::GlobalType global, ArrayRef<int64_t> shape) {
  std::optional<IntegerSet> guard;
  if (IntegerSetAttr set = op.getGuardAttr())
    guard = set.getValue();
  return {global.getTensor(), op.getMap(), guard, SmallVector<int64_t>(shape), getKernelSymbols(op.getSymbols())};
}

Access schedule::getAccess(tk::LoadOp load) {
  return makeAccess(load, load.getSource().getType(), load.getResult().getType().getShape());
}
Access schedule::getAccess(tk::StoreOp store) {
  return makeAccess(store, store.getTarget().getType(), store.getValue().getType().getShape());
}
Access schedule::getAccess(tk::CopyOp copy) {
  Access access = makeAccess(copy, copy.getSource().getType(), copy.getTarget().getType().getShape());
  if (std::optional<ArrayRef<int64_t>> live = copy.getLive())
    access.live.assign(live->begin(), live->end());
  return access;
}

namespace {
/// Over one vector, from a multiple of its length on, an expression is base + slope * index, where `divisor` divides
/// the base (0: the base is 0).
struct Line {
  int64_t slope, divisor;
};

/// Follows expressions along `dim` over vectors of `length`.
class LineFinder {
public:
  LineFinder(unsigned dim, int64_t length) : dim(dim), length(length) {}

  std::optional<Line> find(AffineExpr expr) const {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return Line{0, std::abs(constant.getValue())};
    if (auto place = dyn_cast<AffineDimExpr>(expr))
      return place.getPosition() == dim ? Line{1, length} : Line{0, 1};
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary)
      return Line{0, 1};
    std::optional<Line> lhs = find(binary.getLHS()), rhs = find(binary.getRHS());
    if (!lhs || !rhs)
      return std::nullopt;
    if (expr.getKind() == AffineExprKind::Add)
      return Line{lhs->slope + rhs->slope, std::gcd(lhs->divisor, rhs->divisor)};
    if (expr.getKind() == AffineExprKind::Mul)
      return multiply(*lhs, *rhs, binary.getRHS());
    return divide(*lhs, *rhs, expr.getKind(), binary.getRHS());
  }

private:
  std::optional<Line> multiply(Line lhs, Line rhs, AffineExpr factor) const {
    int64_t divisor;
    if (llvm::MulOverflow(lhs.divisor, rhs.divisor, divisor))
      divisor = 1;
    if (lhs.slope == 0 && rhs.slope == 0)
      return Line{0, divisor};
    auto constant = dyn_cast<AffineConstantExpr>(factor);
    if (!constant || std::abs(constant.getValue()) > int64_t(1) << 40)
      return std::nullopt;
    return Line{lhs.slope * constant.getValue(), divisor};
  }

  /// floordiv, ceildiv and mod.
  std::optional<Line> divide(Line lhs, Line rhs, AffineExprKind kind, AffineExpr by) const {
    auto constant = dyn_cast<AffineConstantExpr>(by);
    bool isFlat = lhs.slope == 0 && rhs.slope == 0;
    if (!constant || constant.getValue() <= 0 || kind == AffineExprKind::CeilDiv)
      return isFlat ? std::optional(Line{0, 1}) : std::nullopt;
    int64_t divider = constant.getValue();
    // A vector that starts at a multiple of its length does not cross a multiple of the divider.
    if (!isFlat && (lhs.slope != 1 || lhs.divisor % length || divider % length))
      return std::nullopt;
    if (kind == AffineExprKind::Mod)
      return Line{lhs.slope, std::gcd(lhs.divisor, divider)};
    return Line{0, lhs.divisor % divider ? 1 : lhs.divisor / divider};
  }

  unsigned dim;
  int64_t length;
};
} // namespace

/// Whether `constraint` (>= 0 or == 0) holds for all or no elements of each vector.
static bool isUniform(const LineFinder &finder, AffineExpr constraint, bool isEquality, int64_t length, unsigned dims,
                      unsigned symbols) {
  std::optional<Line> line = finder.find(simplifyAffineExpr(constraint, dims, symbols));
  if (!line || line->slope == 0)
    return line.has_value();
  if (isEquality || std::abs(line->slope) != 1)
    return false;
  if (line->slope == 1)
    return line->divisor % length == 0;
  // limit - index - 1 >= 0, where the limit is a multiple. Simplified, so that constants are added up.
  std::optional<Line> next = finder.find(simplifyAffineExpr(constraint + 1, dims, symbols));
  return next && next->divisor % length == 0;
}

static bool isVector(const Access &access, unsigned dim, int64_t length) {
  if (access.shape[dim] % length || access.map.getNumResults() == 0)
    return false;
  LineFinder finder(dim, length);
  tg::Dims extents = tg::getDims(access.tensor);
  int64_t stride = 1; // What divides the stride.
  for (int64_t i = int64_t(extents.size()) - 1; i >= 0; --i) {
    std::optional<Line> line =
        finder.find(simplifyAffineExpr(access.map.getResult(i), access.map.getNumDims(), access.map.getNumSymbols()));
    bool isLast = i + 1 == int64_t(extents.size());
    if (!line || line->slope != (isLast ? 1 : 0) || std::gcd(line->divisor, length) * std::gcd(stride, length) % length)
      return false;
    stride = std::gcd(stride, length) * std::gcd(extents[i].getLargestKnownDivisor(), length);
  }
  if (!access.guard)
    return true;
  for (auto [i, constraint] : llvm::enumerate(access.guard->getConstraints()))
    if (!isUniform(finder, constraint, access.guard->isEq(i), length, access.guard->getNumDims(),
                   access.guard->getNumSymbols()))
      return false;
  return true;
}

int64_t schedule::getVectorElements(const Access &access, unsigned dim, int64_t maxElements) {
  for (int64_t length = maxElements; length > 1; length /= 2)
    if (isVector(access, dim, length))
      return length;
  return 1;
}

Contiguity schedule::getContiguity(const Access &access, int64_t maxElements) {
  Contiguity best{access.shape.empty() ? 0 : unsigned(access.shape.size() - 1), 1};
  for (int64_t dim = int64_t(access.shape.size()) - 1; dim >= 0; --dim) {
    int64_t elements = getVectorElements(access, dim, maxElements);
    if (elements > best.elements)
      best = {unsigned(dim), elements};
  }
  return best;
}

/// By how much a constraint falls along a line; nothing if it rises, or changes otherwise.
static std::optional<int64_t> getFall(const LineFinder &finder, const IntegerSet &guard, unsigned number) {
  std::optional<Line> line =
      finder.find(simplifyAffineExpr(guard.getConstraint(number), guard.getNumDims(), guard.getNumSymbols()));
  bool falls = line && line->slope == -1 && !guard.isEq(number);
  return line && (line->slope == 0 || falls) ? std::optional(-line->slope) : std::nullopt;
}

static bool isLine(const Access &access, unsigned dim, int64_t length) {
  LineFinder finder(dim, length);
  unsigned rank = access.map.getNumResults();
  for (unsigned i = 0; i < rank; ++i) {
    std::optional<Line> line =
        finder.find(simplifyAffineExpr(access.map.getResult(i), access.map.getNumDims(), access.map.getNumSymbols()));
    if (!line || line->slope != (i + 1 == rank ? 1 : 0))
      return false;
  }
  for (unsigned i = 0; access.guard && i < access.guard->getNumConstraints(); ++i)
    if (!getFall(finder, *access.guard, i))
      return false;
  return rank > 0;
}

int64_t schedule::getLineElements(const Access &access, unsigned dim) {
  for (int64_t length = access.shape[dim]; length > 1; length /= 2)
    if (isLine(access, dim, length))
      return length;
  return 1;
}

SmallVector<int64_t> schedule::getGuardFalls(const Access &access, unsigned dim, int64_t elements) {
  SmallVector<int64_t> falls;
  for (unsigned i = 0; access.guard && i < access.guard->getNumConstraints(); ++i)
    falls.push_back(getFall(LineFinder(dim, elements), *access.guard, i).value_or(0));
  return falls;
}

//===-- Boxes -----------------------------------------------------------------------------------------------------===//

/// (index floordiv divisor) mod modulus of a tile dimension; a modulus of 0 is none.
struct Digits {
  int64_t dim, divisor, modulus;
};

static std::optional<Digits> getDigits(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return Digits{dim.getPosition(), 1, 0};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  auto by = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : AffineConstantExpr();
  std::optional<Digits> inner = by && by.getValue() > 0 ? getDigits(binary.getLHS()) : std::nullopt;
  if (!inner)
    return std::nullopt;
  int64_t value = by.getValue();
  bool divides = inner->modulus % value == 0;
  if (expr.getKind() == AffineExprKind::FloorDiv && divides && !llvm::MulOverflow(inner->divisor, value, value))
    return Digits{inner->dim, value, inner->modulus / by.getValue()};
  if (expr.getKind() == AffineExprKind::Mod && divides)
    return Digits{inner->dim, inner->divisor, value};
  return std::nullopt;
}

/// The part of the tile that `index` follows; the rest is the same for the whole tile.
static std::optional<BoxPart> getBoxPart(AffineExpr index, ArrayRef<int64_t> shape) {
  SmallVector<AffineExpr> terms{index};
  int64_t step = 1;
  std::optional<Digits> found;
  while (!terms.empty()) {
    AffineExpr term = terms.pop_back_val();
    if (auto sum = dyn_cast<AffineBinaryOpExpr>(term); sum && sum.getKind() == AffineExprKind::Add) {
      terms.append({sum.getLHS(), sum.getRHS()});
      continue;
    }
    bool varies = false;
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      varies |= term.isFunctionOfDim(dim);
    if (!varies)
      continue;
    if (auto scaled = dyn_cast<AffineBinaryOpExpr>(term);
        scaled && scaled.getKind() == AffineExprKind::Mul && isa<AffineConstantExpr>(scaled.getRHS())) {
      term = scaled.getLHS();
      step = cast<AffineConstantExpr>(scaled.getRHS()).getValue();
    }
    std::optional<Digits> digits = found ? std::nullopt : getDigits(term);
    if (!digits)
      return std::nullopt;
    found = digits;
  }
  if (!found)
    return BoxPart();
  int64_t rest = llvm::divideCeil(shape[found->dim], found->divisor);
  return BoxPart{found->dim, found->divisor, found->modulus ? std::min(found->modulus, rest) : rest, step};
}

std::optional<BoxPart> schedule::getSlidingPart(const Access &a, const Access &b) {
  AffineMap first = a.map, second = b.map;
  std::optional<BoxPart> found;
  if (a.tensor != b.tensor || first.getNumResults() != second.getNumResults() || first.getNumResults() == 0)
    return std::nullopt;
  for (unsigned i = 0; i < first.getNumResults(); ++i) {
    AffineExpr distance =
        simplifyAffineExpr(first.getResult(i) - second.getResult(i), first.getNumDims(), first.getNumSymbols());
    if (!isa<AffineConstantExpr>(distance))
      return std::nullopt;
    if (cast<AffineConstantExpr>(distance).getValue() == 0)
      continue;
    if (found || i + 1 == first.getNumResults())
      return std::nullopt;
    found = getBoxPart(first.getResult(i), a.shape);
    if (!found || found->dim < 0)
      return std::nullopt;
  }
  return found;
}

std::optional<SmallVector<BoxPart>> schedule::getBoxParts(AffineMap map, ArrayRef<int64_t> shape) {
  constexpr int64_t mostStep = 8;
  SmallVector<BoxPart> parts;
  SmallVector<int64_t> covered(shape.size(), 1);
  for (AffineExpr index : llvm::reverse(map.getResults())) {
    std::optional<BoxPart> part = getBoxPart(simplifyAffineExpr(index, map.getNumDims(), map.getNumSymbols()), shape);
    if (!part)
      part = getBoxPart(index, shape); // Simplification may have replaced a remainder by a difference.
    if (!part || (part->dim >= 0 && part->divisor != covered[part->dim]) || part->step < 1 ||
        part->step > (parts.empty() ? 1 : mostStep))
      return std::nullopt;
    if (part->dim >= 0)
      covered[part->dim] *= part->extent;
    parts.push_back(*part);
  }
  for (auto [places, extent] : llvm::zip_equal(covered, shape))
    if (places != 1 && places != extent)
      return std::nullopt;
  std::reverse(parts.begin(), parts.end());
  return parts;
}

/// An extent, over the symbols of the access; nothing if a symbol is not among them.
static std::optional<AffineExpr> rename(AffineExpr extent, const Access &access) {
  bool isKnown = true;
  DenseMap<AffineExpr, AffineExpr> renamed;
  extent.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    if (!symbol)
      return;
    const auto *place = llvm::find(access.kernelSymbols, std::optional<unsigned>(symbol.getPosition()));
    isKnown &= place != access.kernelSymbols.end();
    renamed[part] = getAffineSymbolExpr(place - access.kernelSymbols.begin(), extent.getContext());
  });
  return isKnown ? std::optional(extent.replace(renamed)) : std::nullopt;
}

/// What a guard says where it says that indices lie inside their extents.
static SmallVector<AffineExpr> getBounds(const Access &access) {
  unsigned dims = access.map.getNumDims(), symbols = access.map.getNumSymbols();
  SmallVector<AffineExpr> bounds;
  for (auto [index, whole] : llvm::zip_equal(access.map.getResults(), tg::getDims(access.tensor))) {
    bounds.push_back(simplifyAffineExpr(index, dims, symbols));
    if (std::optional<AffineExpr> extent = rename(whole, access))
      bounds.push_back(simplifyAffineExpr(*extent - 1 - index, dims, symbols));
  }
  return bounds;
}

/// A dimension of the tile and the elements of it, from the first one on, that a constraint leaves.
using Cut = std::pair<unsigned, int64_t>;

static SmallVector<AffineExpr> zeros(unsigned count, AffineExpr like) {
  return SmallVector<AffineExpr>(count, getAffineConstantExpr(0, like.getContext()));
}

/// What a constraint leaves of the elements that the outermost index along a tile dimension follows: whole runs of
/// those inside of it.
static std::optional<Cut> getCut(AffineExpr constraint, const Access &access) {
  unsigned dims = access.guard->getNumDims(), symbols = access.guard->getNumSymbols();
  AffineExpr place = -constraint; // Less the last one.
  AffineExpr simple = simplifyAffineExpr(place, dims, symbols);
  for (AffineExpr each : {simple, place}) { // Simplification may have replaced a remainder by a difference.
    auto last = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(constraint.replaceDimsAndSymbols(zeros(dims, each), zeros(symbols, each)), 0, 0));
    AffineExpr term = last ? simplifyAffineExpr(each + last.getValue(), dims, symbols) : AffineExpr();
    std::optional<Digits> digits = term ? getDigits(term) : std::nullopt;
    if (!digits || last.getValue() < 0)
      continue;
    int64_t whole = access.shape[digits->dim];
    bool isOutermost = digits->modulus == 0 || digits->divisor * digits->modulus >= whole;
    if (isOutermost && (digits->divisor == 1 || whole % digits->divisor == 0))
      return Cut(digits->dim, std::min(whole, (last.getValue() + 1) * digits->divisor));
  }
  return std::nullopt;
}

/// For each constraint that is no bound its cut, or nothing.
static SmallVector<std::optional<Cut>> getCuts(const Access &access) {
  SmallVector<std::optional<Cut>> cuts;
  if (!access.guard)
    return cuts;
  unsigned dims = access.guard->getNumDims(), symbols = access.guard->getNumSymbols();
  SmallVector<AffineExpr> bounds = getBounds(access);
  for (auto [i, constraint] : llvm::enumerate(access.guard->getConstraints())) {
    if (!access.guard->isEq(i) && llvm::is_contained(bounds, simplifyAffineExpr(constraint, dims, symbols)))
      continue;
    cuts.push_back(access.guard->isEq(i) ? std::nullopt : getCut(constraint, access));
  }
  return cuts;
}

bool schedule::isCut(const Access &access, unsigned constraint) {
  AffineExpr at = access.guard->getConstraint(constraint);
  AffineExpr simple = simplifyAffineExpr(at, access.guard->getNumDims(), access.guard->getNumSymbols());
  return !access.guard->isEq(constraint) && !llvm::is_contained(getBounds(access), simple) &&
         getCut(at, access).has_value();
}

SmallVector<int64_t> schedule::getLiveShape(const Access &access) {
  SmallVector<int64_t> live(access.live.empty() ? access.shape : access.live);
  for (const std::optional<Cut> &cut : getCuts(access))
    if (cut)
      live[cut->first] = std::min(live[cut->first], cut->second);
  return live;
}

/// Most dimensions of a tensor map, and bytes that its innermost coordinates are multiples of.
static constexpr size_t tmaRank = 5;
static constexpr int64_t tmaUnit = 16;

/// Whether tiles begin at multiples of what TMA takes along the last index: a window that slides along it (w + tap - 1)
/// does not, and the instruction traps.
static bool beginsAtUnits(const Access &access, unsigned dim, int64_t bits) {
  int64_t unit = std::max<int64_t>(tmaUnit * 8 / bits, 1);
  AffineExpr last =
      simplifyAffineExpr(access.map.getResults().back(), access.map.getNumDims(), access.map.getNumSymbols());
  std::optional<Line> line = LineFinder(dim, unit).find(last);
  return line && line->slope == 1 && line->divisor % unit == 0;
}

bool schedule::isBox(const Access &access) {
  tg::Dims extents = tg::getDims(access.tensor);
  int64_t bits = tg::getElementBits(access.tensor.getElementType()), stride = 1;
  if (extents.empty() || extents.size() > tmaRank || bits % 8)
    return false;
  std::optional<SmallVector<BoxPart>> parts = getBoxParts(access.map, access.shape);
  if (!parts || parts->back().dim < 0 || parts->back().extent != access.shape[parts->back().dim] ||
      !beginsAtUnits(access, parts->back().dim, bits))
    return false;
  SmallVector<int64_t> live = getLiveShape(access);
  llvm::SmallBitVector used(access.shape.size());
  for (int64_t i = int64_t(extents.size()) - 1; i >= 0; --i) {
    const BoxPart &part = (*parts)[i];
    bool isLast = i + 1 == int64_t(extents.size());
    if (part.dim >= 0)
      used.set(part.dim);
    bool isCut = part.dim >= 0 && live[part.dim] < access.shape[part.dim];
    if (isCut && part.divisor * part.extent == access.shape[part.dim] && live[part.dim] % part.divisor != 0)
      return false; // No whole rows of the indices inside of the outermost.
    if (isLast ? part.extent * bits / 8 % tmaUnit : part.getReach() > 256 || stride * bits / 8 % tmaUnit)
      return false;
    stride = std::gcd<int64_t>(stride, 16) * std::gcd<int64_t>(extents[i].getLargestKnownDivisor(), 16);
  }
  return used.all() && llvm::all_of(getCuts(access), [](const std::optional<Cut> &cut) { return cut.has_value(); });
}

/// Bytes of a swizzled line.
static constexpr int64_t panelBytes = 128;

int64_t schedule::getSlotPitch(const Access &access) {
  constexpr int64_t unit = 1024;
  if (access.shape.size() != 2)
    return 0;
  unsigned inner = access.map.getResults().back().isFunctionOfDim(1) ? 1 : 0;
  SmallVector<int64_t> live = getLiveShape(access);
  int64_t elementBytes = tg::getElementBits(access.tensor.getElementType()) / 8;
  int64_t width = std::min(panelBytes / elementBytes, access.shape[inner]), line = width * elementBytes;
  int64_t panels = llvm::divideCeil(live[inner], width), whole = access.shape[1 - inner] * line;
  int64_t pitch = llvm::alignTo((panels - 1) * whole + live[1 - inner] * line, unit);
  return pitch < access.shape[inner] / width * whole ? pitch : 0;
}

int64_t schedule::countBoxBytes(const Access &access) {
  SmallVector<int64_t> live = getLiveShape(access);
  int64_t elementBytes = tg::getElementBits(access.tensor.getElementType()) / 8, bytes = elementBytes;
  for (unsigned dim = 0; dim < live.size(); ++dim) {
    bool isInner = access.map.getResults().back().isFunctionOfDim(dim);
    int64_t panel = isInner ? std::min(panelBytes / elementBytes, access.shape[dim]) : 1;
    bytes *= int64_t(llvm::alignTo(live[dim], panel));
  }
  return bytes;
}
