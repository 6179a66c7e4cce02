// Lanes and atoms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Space.h"
#include "Kernelizer.h"

using namespace mlir;

namespace weft::kernelize {

unsigned Space::addLane(int64_t extent, double key, Scope *root) {
  unsigned number = lanes.size();
  AffineExpr atom = add({Atom::Kind::Lane, constant(extent), root, {}, {}, 1, 1, {number}});
  lanes.push_back({extent, key, atom});
  return number;
}

AffineExpr Space::add(Atom atom) {
  AffineExpr symbol = arithmetic.addAtom(atom.extent);
  atoms.push_back(std::move(atom));
  return symbol;
}

AffineExpr Space::addScalar(Value index, AffineExpr extent, Scope *scope) {
  return add({Atom::Kind::Scalar, extent, scope, index, {}, 1, 1, {}});
}

AffineExpr Space::getAxis(AffineExpr extent, AffineExpr base, int64_t tile, unsigned lane, int64_t divisor,
                          Scope *root) {
  auto number = [](int64_t value) { return reinterpret_cast<const void *>(value); };
  std::vector<const void *> key{extent.getAsOpaquePointer(), base.getAsOpaquePointer(), number(tile), number(lane),
                                number(divisor)};
  AffineExpr &axis = known[key];
  if (!axis)
    axis = add({Atom::Kind::Axis, extent, scopeOf(base, root), {}, base, tile, divisor, {lane}});
  return axis;
}

AffineExpr Space::getIndex(Value tile, ArrayRef<unsigned> lanes, AffineExpr extent, Scope *scope) {
  AffineExpr &index = known[{tile.getAsOpaquePointer(), extent.getAsOpaquePointer()}];
  if (!index)
    index = add({Atom::Kind::Index, extent, scope, tile, {}, 1, 1, SmallVector<unsigned>(lanes)});
  return index;
}

SmallVector<unsigned> Space::atomsOf(ArrayRef<AffineExpr> exprs) const {
  SmallVector<unsigned> result;
  for (AffineExpr expr : exprs)
    expr.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e); symbol && !llvm::is_contained(result, symbol.getPosition()))
        result.push_back(symbol.getPosition());
    });
  return result;
}

SmallVector<unsigned> Space::unite(ArrayRef<unsigned> a, ArrayRef<unsigned> b) const {
  SmallVector<unsigned> result(a);
  for (unsigned lane : b)
    if (!llvm::is_contained(result, lane))
      result.push_back(lane);
  llvm::sort(result, [&](unsigned x, unsigned y) { return std::pair(lanes[x].key, x) < std::pair(lanes[y].key, y); });
  return result;
}

SmallVector<unsigned> Space::lanesOf(ArrayRef<AffineExpr> exprs) const {
  SmallVector<unsigned> result;
  for (unsigned i : atomsOf(exprs))
    result = unite(result, atoms[i].lanes);
  return result;
}

Scope *Space::scopeOf(ArrayRef<AffineExpr> exprs, Scope *root) const {
  Scope *result = root;
  for (unsigned i : atomsOf(exprs))
    if (atoms[i].scope->depth > result->depth)
      result = atoms[i].scope;
  return result;
}

Constraints Space::ragged(ArrayRef<AffineExpr> exprs) const {
  Constraints result;
  for (unsigned i : atomsOf(exprs)) {
    const Atom &atom = atoms[i];
    if (atom.kind != Atom::Kind::Axis)
      continue;
    std::optional<int64_t> extent = tg::getConstant(atom.extent);
    AffineExpr axis = getAffineSymbolExpr(i, context);
    if (!extent || *extent % atom.tile != 0 || *extent == 0)
      result.push_back({atom.extent - 1 - axis});
    if (atom.isNarrow())
      result.push_back({atom.base * atom.tile + (atom.tile - 1) - axis});
  }
  return result;
}

AffineExpr Space::expanded(AffineExpr expr) {
  SmallVector<AffineExpr> replacements(atoms.size());
  bool hasAxis = false;
  for (unsigned i : atomsOf(expr)) {
    const Atom &atom = atoms[i];
    replacements[i] = getAffineSymbolExpr(i, context);
    if (atom.kind != Atom::Kind::Axis)
      continue;
    hasAxis = true;
    const Lane &lane = lanes[atom.lanes.front()];
    replacements[i] = atom.base * atom.tile + lane.atom.floorDiv(atom.divisor) % atom.getPlaces();
  }
  return simplify(hasAxis ? expr.replaceSymbols(replacements) : expr);
}

void Indexing::addConstraint(const Constraint &constraint) {
  AffineExpr condition = convert(constraint.expr);
  if (auto constant = tg::getConstant(condition); constant && (constraint.isEquality ? *constant == 0 : *constant >= 0))
    return;
  for (auto [other, isEquality] : llvm::zip(conditions, equalities))
    if (other == condition && isEquality == constraint.isEquality)
      return;
  conditions.push_back(condition);
  equalities.push_back(constraint.isEquality);
}

AffineExpr Indexing::convert(AffineExpr expr) {
  expr = space.expanded(expr);
  SmallVector<unsigned> atoms = space.atomsOf(expr);
  SmallVector<AffineExpr> replacements(atoms.empty() ? 0 : *llvm::max_element(atoms) + 1);
  for (unsigned i : atoms) {
    const Atom &atom = space.atom(i);
    if (atom.kind == Atom::Kind::Lane) {
      unsigned place = llvm::find(lanes, atom.lanes.front()) - lanes.begin();
      replacements[i] = getAffineDimExpr(place, space.getContext());
    } else if (atom.kind == Atom::Kind::Index) {
      auto it = llvm::find(indices, &atom);
      replacements[i] =
          getAffineDimExpr(std::max<size_t>(lanes.size(), 1) + (it - indices.begin()), space.getContext());
      if (it == indices.end())
        indices.push_back(&atom);
    } else {
      auto it = llvm::find(symbols, atom.value);
      replacements[i] = getAffineSymbolExpr(it - symbols.begin(), space.getContext());
      if (it == symbols.end())
        symbols.push_back(atom.value);
    }
  }
  return expr.replaceSymbols(replacements);
}

AffineMap Indexing::getMap() const {
  return AffineMap::get(std::max<size_t>(lanes.size(), 1) + indices.size(), symbols.size(), results,
                        space.getContext());
}

std::optional<IntegerSet> Indexing::getSet() const {
  if (conditions.empty())
    return std::nullopt;
  return IntegerSet::get(std::max<size_t>(lanes.size(), 1) + indices.size(), symbols.size(), conditions, equalities);
}

} // namespace weft::kernelize
