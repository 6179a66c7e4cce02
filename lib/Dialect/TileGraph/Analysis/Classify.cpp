// DNNFusion's combination table and the types of ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Analysis/Classify.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"

using namespace mlir;

namespace weft::tg {

// DNNFusion, PLDI'21, table 3: rows the first op, columns the second. The paper's two refusals are Expand->Conv and
// Conv->Conv; it asks for profiling where a Reorganize or Shuffle meets One-to-Many or Many-to-Many. Three cells are a
// reading of ours where its text is silent: One-to-Many before One-to-Many, Reorganize and Shuffle are Profile.
// One-to-One before Many-to-Many is Fuse as printed there; our planner prices it all the same, since a prologue is
// computed once per column block of tiles (rule G2 of weft/Plan/Groups.h).
static constexpr Combination table[numMappingClasses][numMappingClasses] = {
    // One-to-One                                  One-to-Many                                     Many-to-Many
    // Reorganize                                  Shuffle
    {{Verdict::Fuse, MappingClass::OneToOne},
     {Verdict::Fuse, MappingClass::OneToMany},
     {Verdict::Fuse, MappingClass::ManyToMany},
     {Verdict::Fuse, MappingClass::Reorganize},
     {Verdict::Fuse, MappingClass::Shuffle}},
    {{Verdict::Fuse, MappingClass::OneToMany},
     {Verdict::Profile, MappingClass::OneToMany},
     {Verdict::Refuse, MappingClass::ManyToMany},
     {Verdict::Profile, MappingClass::OneToMany},
     {Verdict::Profile, MappingClass::OneToMany}},
    {{Verdict::Fuse, MappingClass::ManyToMany},
     {Verdict::Profile, MappingClass::ManyToMany},
     {Verdict::Refuse, MappingClass::ManyToMany},
     {Verdict::Profile, MappingClass::ManyToMany},
     {Verdict::Profile, MappingClass::ManyToMany}},
    {{Verdict::Fuse, MappingClass::Reorganize},
     {Verdict::Profile, MappingClass::OneToMany},
     {Verdict::Profile, MappingClass::ManyToMany},
     {Verdict::Fuse, MappingClass::Reorganize},
     {Verdict::Fuse, MappingClass::Reorganize}},
    {{Verdict::Fuse, MappingClass::Shuffle},
     {Verdict::Profile, MappingClass::OneToMany},
     {Verdict::Profile, MappingClass::ManyToMany},
     {Verdict::Fuse, MappingClass::Reorganize},
     {Verdict::Fuse, MappingClass::Shuffle}},
};

std::optional<MappingClass> getMappingClass(MappingType type) {
  switch (type) {
  case MappingType::OneToOne:
    return MappingClass::OneToOne;
  case MappingType::OneToMany:
    return MappingClass::OneToMany;
  case MappingType::Reorganize:
    return MappingClass::Reorganize;
  case MappingType::Shuffle:
    return MappingClass::Shuffle;
  case MappingType::Contraction:
  case MappingType::Reduction:
  case MappingType::Window:
    return MappingClass::ManyToMany;
  case MappingType::Opaque:
    return std::nullopt;
  }
  llvm_unreachable("a mapping type without a class");
}

llvm::StringRef stringifyMappingClass(MappingClass mapping) {
  static constexpr llvm::StringLiteral names[numMappingClasses] = {"one_to_one", "one_to_many", "many_to_many",
                                                                   "reorganize", "shuffle"};
  return names[unsigned(mapping)];
}

unsigned getComplexity(MappingType type) {
  std::optional<MappingClass> mapping = getMappingClass(type);
  if (!mapping)
    return 4;
  static constexpr unsigned byClass[numMappingClasses] = {0, 2, 3, 1, 1};
  return byClass[unsigned(*mapping)];
}

static MappingType mostComplex(ArrayRef<MappingType> types, MappingType ifEmpty) {
  const MappingType *most = nullptr;
  for (const MappingType &type : types)
    if (!most || getComplexity(type) > getComplexity(*most))
      most = &type;
  return most ? *most : ifEmpty;
}

MappingType getMappingType(Operation *op) {
  SmallVector<MappingType> types;
  if (auto tile = dyn_cast<TileOpInterface>(op)) {
    for (unsigned i = 0, end = op->getNumOperands(); i < end; ++i)
      types.push_back(tile.getMappingType(i));
    return mostComplex(types, MappingType::OneToMany);
  }
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (isClassified(&inner))
        types.push_back(getMappingType(&inner));
  bool isSource = op->getNumOperands() == 0 && op->getNumRegions() == 0;
  return mostComplex(types, isSource ? MappingType::OneToMany : MappingType::Opaque);
}

llvm::StringRef stringifyVerdict(Verdict verdict) {
  return verdict == Verdict::Fuse ? "fuse" : verdict == Verdict::Profile ? "profile" : "refuse";
}

const Combination &combine(MappingClass first, MappingClass second) { return table[unsigned(first)][unsigned(second)]; }

Combination combine(MappingType first, MappingType second) {
  std::optional<MappingClass> a = getMappingClass(first), b = getMappingClass(second);
  if (!a || !b)
    return {Verdict::Refuse, MappingClass::ManyToMany};
  return combine(*a, *b);
}

std::optional<Combination> combine(OpOperand &operand) {
  Operation *producer = operand.get().getDefiningOp(), *user = operand.getOwner();
  if (!producer || !isClassified(producer) || isa<ConstantOp, WeightOp>(producer))
    return std::nullopt;
  auto tile = dyn_cast<TileOpInterface>(user);
  return combine(getMappingType(producer),
                 tile ? tile.getMappingType(operand.getOperandNumber()) : getMappingType(user));
}

bool isRemovable(OpResult result) {
  return !result.use_empty() && llvm::all_of(result.getUses(), [](OpOperand &use) {
    std::optional<Combination> combination = combine(use);
    return combination && !use.getOwner()->hasTrait<OpTrait::IsTerminator>() && combination->verdict != Verdict::Refuse;
  });
}

bool isClassified(Operation *op) {
  return isa_and_nonnull<TileGraphDialect>(op->getDialect()) && op->getNumResults() > 0 &&
         llvm::all_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); });
}

} // namespace weft::tg
