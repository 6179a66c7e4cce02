// Legality of groups: rules R1 to R8 of weft/Plan/Groups.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Plan/Constraints.h"
#include "weft/Plan/DimClasses.h"
#include "weft/Plan/Records.h"
#include "weft/Target/Device.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::plan {

static bool isPointwise(Operation *op) { return isa<tg::PointwiseOpInterface>(op); }
/// Views that read each operand element at an affine index, for which a consumer can read the operand itself.
static bool isView(Operation *op) { return isa<tg::TransposeOp, tg::SliceOp, tg::BroadcastOp, tg::PadOp>(op); }

/// R1: the one op whose results are used outside, or null.
static Operation *findSink(const Group &group) {
  Operation *sink = nullptr;
  for (Operation *op : group) {
    bool leaves = llvm::any_of(op->getUsers(), [&](Operation *user) { return !group.contains(user); });
    if (leaves && std::exchange(sink, op))
      return nullptr;
  }
  return sink;
}

/// Bytes of `value`; none if it is not static.
static std::optional<int64_t> bytesOf(Value value) { return tg::getByteSize(value.getType()); }

/// Whether the result's neighbours are those of operand `i`, and no operand has a window: what is computed of the
/// operand on the way is computed by vectors.
static bool hasColumns(tg::ContractOp contract, unsigned i) {
  for (unsigned map : {0u, 1u, 2u})
    if (!contract.getMap(map).isProjectedPermutation())
      return false;
  tg::Dims dims = tg::getDims(contract.getType());
  for (size_t d = dims.size(); d-- > 0;)
    if (tg::getConstant(dims[d]) != 1) {
      AffineExpr column = contract.getMap(2).getResult(d);
      return contract.getMap(i).getResultPosition(column) && !contract.getMap(1 - i).getResultPosition(column);
    }
  return false;
}

/// The ops of the group that compute `factor`, an operand of its contraction, if they compute it element by element
/// from stored tensors of at most half its bytes, for it alone: the kernel then reads these in its place. Else none.
static llvm::SmallPtrSet<Operation *, 8> findUnpacking(const Group &group, Operation *contract, Value factor) {
  constexpr int64_t fewer = 2;
  llvm::SmallPtrSet<Operation *, 8> ops;
  llvm::SmallPtrSet<Value, 8> stored;
  SmallVector<Value> values{factor};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *op = value.getDefiningOp();
    bool isStored = isa_and_nonnull<tg::WeightOp, tg::ConstantOp>(op);
    if (!isStored && (!op || !group.contains(op) || !isPointwise(op)))
      return {};
    if (isStored)
      stored.insert(value);
    else if (ops.insert(op).second)
      llvm::append_range(values, op->getOperands());
  }
  int64_t read = 0;
  for (Value value : stored)
    if (std::optional<int64_t> bytes = bytesOf(value); !bytes || llvm::AddOverflow(read, *bytes, read))
      return {};
  bool isAlone = llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) { return user == contract || ops.contains(user); });
  });
  std::optional<int64_t> whole = bytesOf(factor);
  return isAlone && whole && read <= *whole / fewer ? ops : llvm::SmallPtrSet<Operation *, 8>();
}

/// R2.
static std::string checkEpilogue(const Group &group, Operation *contract, const DimClasses &dims) {
  llvm::SmallPtrSet<Operation *, 8> downstream, upstream;
  if (auto product = dyn_cast<tg::ContractOp>(contract))
    for (unsigned i : {0u, 1u})
      if (hasColumns(product, i))
        upstream.insert_range(findUnpacking(group, contract, contract->getOperand(i)));
  for (Operation *op : group) {
    if (op == contract || upstream.contains(op))
      continue;
    if (!isPointwise(op) || !dims.areSame(op->getResult(0), contract->getResult(0)))
      return "R2: '" + op->getName().stripDialect().str() + "' is not an elementwise op over the contraction's result";
    bool fed = llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return def == contract || downstream.contains(def);
    });
    if (!fed)
      return "R2: '" + op->getName().stripDialect().str() + "' is not downstream of the contraction";
    downstream.insert(op);
  }
  return "";
}

/// Elements of one row of what `reduce` reduces; symbolic extents count as 1.
static int64_t countRowElements(tg::ReduceOp reduce) {
  int64_t elements = 1;
  for (int64_t axis : reduce.getAxes())
    if (llvm::MulOverflow(elements, tg::getConstant(tg::getDim(reduce.getInput().getType(), axis)).value_or(1),
                          elements))
      return INT64_MAX;
  return elements;
}

/// Whether `value` has some of the rows' dimensions, aligned with the last one as operands of elementwise ops are.
static bool isAlongRows(Value value, tg::ReduceOp rows, const DimClasses &dims) {
  auto rankOf = [](Value v) { return cast<RankedTensorType>(v.getType()).getRank(); };
  int64_t missing = rankOf(rows.getInput()) - rankOf(value);
  return missing >= 0 && llvm::all_of(llvm::seq(rankOf(value)), [&](int64_t d) {
           return tg::getConstant(tg::getDim(value.getType(), d)) == 1 ||
                  dims.isSame(value, d, rows.getInput(), d + missing);
         });
}

/// R3 and R5.
static std::string checkRows(const Group &group, tg::ReduceOp first, const GroupOptions &options) {
  const DimClasses &dims = *options.dims;
  constexpr int64_t cheap = 4; // Instructions that may be computed again for each row.
  int64_t rowBytes = 0, values = 0, repeated = 0;
  for (Operation *op : group) {
    StringRef name = op->getName().stripDialect();
    if (auto reduce = dyn_cast<tg::ReduceOp>(op)) {
      if (reduce.getAxes() != first.getAxes() || !dims.areSame(reduce.getInput(), first.getInput()))
        return "R3: reductions over different axes or extents";
      continue;
    }
    bool isWindow = isa<tg::WindowOp>(op);
    if (!isPointwise(op) && !isWindow && !isView(op) && !isa<tg::IotaOp, tg::ExtentsOp>(op))
      return ("R3: '" + name + "' is not an elementwise op").str();
    bool isRow = dims.isOfRows(op->getResult(0), first);
    if (!isRow && isPointwise(op) && isAlongRows(op->getResult(0), first, dims))
      isRow = (repeated += countInstructions(op)) <= cheap;
    if (!isRow)
      return ("R3: '" + name + "' has other extents than the rows").str();
    // A view inside a row group may only feed it: between its ops it would mix rows.
    bool readsGroup = llvm::any_of(op->getOperands(), [&](Value v) { return group.contains(v.getDefiningOp()); });
    if ((isView(op) || isWindow) && readsGroup)
      return ("R3: '" + name + "' reads a value of the group").str();
    rowBytes += tg::getElementBits(cast<RankedTensorType>(op->getResult(0).getType()).getElementType()) / 8;
    ++values;
  }
  int64_t bytes = 0;
  if (values > 1 && (llvm::MulOverflow(countRowElements(first), rowBytes, bytes) || bytes > options.maxRowBytes))
    return "R3: a row's working set exceeds " + std::to_string(options.maxRowBytes) + " bytes";
  return "";
}

/// R4.
static std::string checkElementwise(const Group &group, const DimClasses &dims) {
  for (Operation *op : group) {
    StringRef name = op->getName().stripDialect();
    if (!isPointwise(op) && !isView(op) && !isa<tg::GatherOp, tg::IotaOp, tg::ExtentsOp>(op))
      return ("R6: '" + name + "' does not fuse").str();
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || !group.contains(producer))
        continue;
      if (isa<tg::GatherOp>(op))
        return "R4: a gather's operands are materialised";
      bool stretches = (isPointwise(op) || isa<tg::BroadcastOp>(op)) && !dims.areSame(operand, op->getResult(0));
      if (stretches && !isa<tg::IotaOp, tg::ExtentsOp, tg::CastOp>(producer))
        return ("R4: '" + producer->getName().stripDialect() + "' would be computed again under a broadcast").str();
    }
  }
  return "";
}

/// Whose records count.
static StringRef deviceOf(const GroupOptions &options) { return options.device ? options.device->name : "cpu"; }

std::string findViolation(const Group &group, const GroupOptions &options) {
  if (group.size() == 1)
    return "";
  if (group.size() > mostOpsOfGroup)
    return "R7: more than 64 ops";
  if (options.constraints)
    if (std::string violation = options.constraints->findViolation(group); !violation.empty())
      return violation;
  if (options.records && options.records->knows(deviceOf(options)))
    if (const Record *record = options.records->find(describeSubgraph(group), deviceOf(options));
        record && record->choice != Record::Choice::None) {
      if (record->choice == Record::Choice::Apart)
        return "records: " + describe(*record, deviceOf(options));
      GroupOptions measured = options;
      measured.records = nullptr;
      measured.isMeasured = true;
      return findViolation(group, measured);
    }
  if (options.gpu)
    return findGpuViolation(group, options);
  if (!findSink(group))
    return "R1: more than one op has users outside";
  Operation *contract = nullptr;
  tg::ReduceOp reduce;
  for (Operation *op : group) {
    if (isa<tg::ContractOp, tg::FoldOp>(op) && std::exchange(contract, op))
      return "R2: two contractions";
    if (auto candidate = dyn_cast<tg::ReduceOp>(op); candidate && !reduce)
      reduce = candidate;
  }
  if (contract)
    return checkEpilogue(group, contract, *options.dims);
  if (reduce)
    return checkRows(group, reduce, options);
  return checkElementwise(group, *options.dims);
}

} // namespace weft::plan
