// Addresses, ldmatrix, stmatrix and vector accesses of tiles in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared.h"
#include "SharedTile.h"
#include "weft/Target/Device.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;
using layout::LinearLayout;

//===-- Addresses -------------------------------------------------------------------------------------------------===//

static Value makeInt(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

ThreadAddresses::ThreadAddresses(OpBuilder &builder, Location loc, const Role &role, Value base,
                                 ArrayRef<uint64_t> columns)
    : builder(builder), loc(loc), role(role), base(base) {
  for (uint64_t column : columns)
    used |= column;
  threadOffset = emitThreadOffset(columns);
}

/// Fields of bits whose offsets double are one multiplication, where multiples do not overlap.
Value ThreadAddresses::emitThreadOffset(ArrayRef<uint64_t> columns) {
  if (!used)
    return {};
  Value id = getThread(builder, loc, role).id, result;
  id = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), id);
  unsigned all = 5 + llvm::Log2_64_Ceil(role.warps);
  for (unsigned bit = 0; bit < columns.size();) {
    if (!columns[bit]) {
      ++bit;
      continue;
    }
    uint64_t field = columns[bit];
    unsigned count = 1;
    while (bit + count < columns.size() && columns[bit + count] == columns[bit] << count &&
           !(field & columns[bit + count])) {
      field |= columns[bit + count];
      ++count;
    }
    Value part = id;
    if (bit)
      part = arith::ShRUIOp::create(builder, loc, part, makeInt(builder, loc, bit));
    if (bit + count < all)
      part = arith::AndIOp::create(builder, loc, part, makeInt(builder, loc, (int64_t(1) << count) - 1));
    part = arith::MulIOp::create(builder, loc, part, makeInt(builder, loc, columns[bit]));
    result = result ? Value(arith::XOrIOp::create(builder, loc, result, part)) : part;
    bit += count;
  }
  return result;
}

ThreadAddresses::Address ThreadAddresses::get(uint64_t constant) {
  uint64_t mixed = constant & used;
  Value &pointer = pointers[mixed];
  if (!pointer) {
    Value offset = threadOffset;
    if (mixed)
      offset = arith::XOrIOp::create(builder, loc, offset, makeInt(builder, loc, mixed));
    pointer = base;
    if (offset)
      pointer = LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(), base, ValueRange(offset));
  }
  return {pointer, int64_t(constant & ~used)};
}

//===-- Loads -----------------------------------------------------------------------------------------------------===//

/// Byte offsets of the bits of the thread's number.
static SmallVector<uint64_t> getThreadColumns(const LinearLayout &offsets, unsigned elementBits) {
  SmallVector<uint64_t> columns;
  for (uint64_t base : getThreadBases(offsets))
    columns.push_back(base * elementBits / 8);
  return columns;
}

/// For ldmatrix and stmatrix: lane 8 j + r gives the address of row r of matrix j; the first bits above a word in the
/// register index number the matrices.
static SmallVector<uint64_t> getMatrixColumns(const LinearLayout &offsets, const layout::MatrixAccess &matrix,
                                              unsigned elementBits) {
  layout::Vectors registers = offsets.basesOf("register"), rows = layout::getMatrixRows(offsets, matrix);
  unsigned wordBits = llvm::Log2_32(32 / elementBits);
  SmallVector<uint64_t> columns(rows.begin(), rows.end());
  for (unsigned bit = 0; bit < 2; ++bit)
    columns.push_back((1u << bit) < matrix.matrices ? registers[wordBits + bit] : 0);
  for (uint64_t base : offsets.basesOf("warp"))
    columns.push_back(base);
  for (uint64_t &column : columns)
    column = column * elementBits / 8;
  return columns;
}

SharedReader::SharedReader(OpBuilder &builder, Location loc, const Role &role, Value base,
                           const LinearLayout &registers, const LinearLayout &memory, unsigned elementBits)
    : builder(builder), loc(loc), offsets(layout::getOffsets(registers, memory)), elementBits(elementBits) {
  std::optional<LinearLayout> inverted = memory.inverse();
  if (!offsets || !inverted) {
    offsets.reset();
    return;
  }
  // The tile's bits in the order of the register layout's outputs.
  inverted = inverted->transposed({"dim0", "dim1"}, {"offset"});
  if (!inverted)
    inverted = memory.inverse();
  inverse = inverted->columns();
  if (elementBits >= 8 && elementBits <= 32)
    matrix = layout::getMatrixAccess(registers, memory, elementBits);
  width = *layout::getVectorWidth(registers, memory, elementBits);
  addresses.emplace(builder, loc, role, base,
                    matrix ? getMatrixColumns(*offsets, *matrix, elementBits)
                           : getThreadColumns(*offsets, elementBits));
}

/// The position of each matrix's word in the register index is its number.
SmallVector<Value> SharedReader::readMatrices(uint64_t constant, ArrayRef<bool> live) {
  unsigned words = (1u << offsets->inBits("register")) * elementBits / 32;
  SmallVector<Value> result(words);
  std::string outputs = "{$0";
  for (unsigned i = 1; i < matrix->matrices; ++i)
    outputs += ", $" + std::to_string(i);
  std::string constraints;
  for (unsigned i = 0; i < matrix->matrices; ++i)
    constraints += "=r,";
  SmallVector<Type> types(matrix->matrices, builder.getI32Type());
  auto isLive = [&](unsigned word) { return live.empty() || live[word / (words / live.size())]; };
  for (unsigned word = 0; word < words; word += matrix->matrices) {
    if (llvm::none_of(llvm::seq(word, word + matrix->matrices), isLive))
      continue;
    uint64_t image = getRegisterImage(*offsets, word * 32 / elementBits);
    auto [pointer, immediate] = addresses->get((image ^ constant) * elementBits / 8);
    std::string text = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrix->matrices) +
                       (matrix->isTransposed ? ".trans" : "") + ".shared.b16 " + outputs + "}, [$" +
                       std::to_string(matrix->matrices) + "+" + std::to_string(immediate) + "];";
    SmallVector<Value> loaded =
        emitAsm(builder, loc, types, pointer, text, constraints + "r,~{memory}", /*hasSideEffects=*/true);
    llvm::copy(loaded, result.begin() + word);
  }
  return result;
}

SmallVector<Value> SharedReader::readWords(uint64_t place, ArrayRef<bool> live) {
  if (matrix)
    return readMatrices(getConstant(place), live);
  SmallVector<Value> elements = readElements(builder.getIntegerType(elementBits), place);
  unsigned perWord = std::max(1u, 32 / elementBits);
  if (perWord == 1 || elements.size() < perWord)
    return elements;
  SmallVector<Value> words;
  for (unsigned i = 0; i < elements.size(); i += perWord)
    words.append(packWords(builder, loc, ValueRange(elements).slice(i, perWord)));
  return words;
}

SmallVector<Value> SharedReader::readElements(Type element, uint64_t place) {
  unsigned count = 1u << offsets->inBits("register");
  SmallVector<Value> result(count);
  if (matrix && elementBits >= 8) {
    SmallVector<Value> words = readMatrices(getConstant(place), {});
    unsigned perWord = 32 / elementBits;
    for (auto [i, word] : llvm::enumerate(words))
      llvm::copy(unpackWords(builder, loc, word, element, perWord), result.begin() + i * perWord);
    return result;
  }
  for (unsigned reg = 0; reg < count; ++reg) {
    if (result[reg])
      continue;
    uint64_t image = getRegisterImage(*offsets, reg) ^ getConstant(place);
    SmallVector<unsigned> members; // In the order of memory, from the vector's start.
    uint64_t first = image & ~uint64_t(width.elements - 1);
    unsigned start = reg;
    for (auto [bit, source] : llvm::enumerate(width.registerBits))
      if (image >> bit & 1)
        start ^= source;
    for (unsigned i = 0; i < width.elements; ++i)
      members.push_back(start ^ layout::combine(width.registerBits, i));
    auto [pointer, immediate] = addresses->get(first * elementBits / 8);
    SmallVector<Value> loaded = emitSharedLoad(builder, loc, pointer, immediate, element, width.elements);
    for (auto [member, value] : llvm::zip(members, loaded))
      result[member] = value;
  }
  return result;
}

//===-- Stores ----------------------------------------------------------------------------------------------------===//

static void writeMatrices(OpBuilder &builder, Location loc, ThreadAddresses &addresses, const LinearLayout &offsets,
                          const layout::MatrixAccess &matrix, ValueRange values, unsigned elementBits) {
  unsigned perMatrix = 32 / elementBits, step = perMatrix * matrix.matrices;
  for (unsigned reg = 0; reg < values.size(); reg += step) {
    auto [pointer, immediate] = addresses.get(getRegisterImage(offsets, reg) * elementBits / 8);
    SmallVector<Value> operands{pointer};
    std::string constraints = "r,", words;
    for (unsigned i = 0; i < matrix.matrices; ++i) {
      operands.append(packWords(builder, loc, values.slice(reg + i * perMatrix, perMatrix)));
      constraints += "r,";
      words += (i ? ", $" : "$") + std::to_string(i + 1);
    }
    std::string text = "stmatrix.sync.aligned.m8n8.x" + std::to_string(matrix.matrices) +
                       (matrix.isTransposed ? ".trans" : "") + ".shared.b16 [$0+" + std::to_string(immediate) + "], {" +
                       words + "};";
    emitAsm(builder, loc, {}, operands, text, constraints + "~{memory}", /*hasSideEffects=*/true);
  }
}

LogicalResult weft::gpu::writeShared(OpBuilder &builder, Location loc, const KernelInfo &info, const Role &role,
                                     Value base, ValueRange values, const LinearLayout &registers,
                                     const LinearLayout &memory) {
  Type element = values[0].getType();
  unsigned bits = tk::getElementBits(element);
  std::optional<LinearLayout> offsets = layout::getOffsets(registers, memory);
  if (!offsets)
    return emitError(loc) << "expected a tile whose elements are all in shared memory";
  std::optional<layout::MatrixAccess> matrix;
  const Device *device = findDevice(info.target);
  if (device && device->can.matrixStores && bits >= 8 && bits <= 32 && !element.isInteger(1))
    matrix = layout::getMatrixAccess(registers, memory, bits);
  if (matrix) {
    OpBuilder::InsertionGuard scope(builder);
    // Of the warps that hold the same elements, the first one writes them, with all its lanes, as the instruction
    // demands: lanes that hold the same write the same words to the same addresses.
    constexpr uint64_t lanes = 31;
    Predicate isFirst =
        isFirstHolder(builder, loc, getThread(builder, loc, role), getReplicatedBits(registers, role.warps) & ~lanes);
    if (!isFirst.isKnown) {
      auto branch = scf::IfOp::create(builder, loc, isFirst.value, /*withElseRegion=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    ThreadAddresses addresses(builder, loc, role, base, getMatrixColumns(*offsets, *matrix, bits));
    writeMatrices(builder, loc, addresses, *offsets, *matrix, values, bits);
    return success();
  }
  if (getReplicatedBits(registers, role.warps)) {
    SharedTile(builder, loc, base, *offsets, role, bits).store(values);
    return success();
  }
  ThreadAddresses addresses(builder, loc, role, base, getThreadColumns(*offsets, bits));
  layout::VectorWidth width = *layout::getVectorWidth(registers, memory, bits);
  llvm::DenseSet<uint64_t> written;
  for (unsigned reg = 0; reg < values.size(); ++reg) {
    uint64_t image = getRegisterImage(*offsets, reg), first = image & ~uint64_t(width.elements - 1);
    if (!written.insert(first).second)
      continue;
    unsigned start = reg;
    for (auto [bit, source] : llvm::enumerate(width.registerBits))
      if (image >> bit & 1)
        start ^= source;
    SmallVector<Value> members;
    for (unsigned i = 0; i < width.elements; ++i)
      members.push_back(values[start ^ layout::combine(width.registerBits, i)]);
    auto [pointer, immediate] = addresses.get(first * bits / 8);
    emitSharedStore(builder, loc, pointer, immediate, members);
  }
  return success();
}
