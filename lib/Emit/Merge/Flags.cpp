// Code that asks for tensors ahead, waits for counters and raises them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Flags.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::emit {

/// Of a counter: a sector of its own.
static constexpr int64_t kCounterBytes = 32, kEpochBytes = 4;
/// What a part asks for ahead of its wait: what DRAM brings while one part ends and the next begins.
static constexpr int64_t kPrefetchBytes = 8 << 20, kPrefetchBytesOfCta = 64 << 10, kLeastShare = 512;

Flags::Flags(OpBuilder &builder, ModuleOp module, int64_t counters, int64_t grid)
    : builder(builder), counters(counters) {
  OpBuilder::InsertionGuard restore(builder);
  builder.setInsertionPointToStart(module.getBody());
  int64_t size = kCounterBytes * counters + kEpochBytes * grid;
  storage = LLVM::GlobalOp::create(builder, module.getLoc(), LLVM::LLVMArrayType::get(builder.getI8Type(), size),
                                   /*isConstant=*/false, LLVM::Linkage::Internal, "counters",
                                   builder.getZeroAttr(RankedTensorType::get({size}, builder.getI8Type())),
                                   /*alignment=*/128, /*addrSpace=*/1);
}

Value Flags::makeInt(Location loc, int64_t value, unsigned bits) {
  Type type = builder.getIntegerType(bits);
  return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
}

Value Flags::makeAddress(Location loc, Value counter) {
  Value base = LLVM::AddressOfOp::create(builder, loc, storage);
  Value offset = LLVM::MulOp::create(builder, loc, counter, makeInt(loc, kCounterBytes));
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(), base, ArrayRef<LLVM::GEPArg>{offset});
}

Value Flags::makeEpochAddress(Location loc) {
  Value base = LLVM::AddressOfOp::create(builder, loc, storage);
  Value cta = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  Value offset = LLVM::MulOp::create(builder, loc, cta, makeInt(loc, kEpochBytes));
  offset = LLVM::AddOp::create(builder, loc, offset, makeInt(loc, kCounterBytes * counters));
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(), base, ArrayRef<LLVM::GEPArg>{offset});
}

Value Flags::makeAsm(Location loc, Type type, ValueRange operands, StringRef text, StringRef constraints) {
  auto op = LLVM::InlineAsmOp::create(builder, loc, type ? TypeRange(type) : TypeRange(), operands, text, constraints,
                                      /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                      LLVM::AsmDialectAttr(), ArrayAttr());
  return type ? op->getResult(0) : Value();
}

Block *Flags::addBlock() {
  OpBuilder::InsertionGuard restore(builder);
  Region *body = builder.getInsertionBlock()->getParent();
  return builder.createBlock(body, body->end());
}

void Flags::branch(Location loc, Block *to, ValueRange operands) {
  LLVM::BrOp::create(builder, loc, operands, to);
  builder.setInsertionPointToEnd(to);
}

Block *Flags::beginIf(Location loc, Value condition) {
  Block *then = addBlock(), *after = addBlock();
  LLVM::CondBrOp::create(builder, loc, condition, then, after);
  builder.setInsertionPointToEnd(then);
  return after;
}

Value Flags::isFirstThread(Location loc) {
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, thread, makeInt(loc, 0));
}

/// Rows of a tensor go to CTAs in order in most kernels, so the share is often what the CTA reads first.
void Flags::prefetch(Location loc, Value tensor, int64_t bytes, int64_t grid, Value cta) {
  int64_t share = std::max(int64_t(llvm::alignTo(llvm::divideCeil(bytes, grid), 128)), kLeastShare);
  int64_t part = std::min({share, kPrefetchBytesOfCta, std::max(kPrefetchBytes / grid / 128 * 128, kLeastShare)});
  int64_t whole = bytes / share; // CTAs whose share lies inside the tensor; the next one has the rest.
  Value isInside = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sle, cta,
                                        makeInt(loc, bytes % share ? whole : whole - 1));
  Value isAsking = LLVM::AndOp::create(builder, loc, isFirstThread(loc), isInside);
  Block *after = beginIf(loc, isAsking);
  Value offset = LLVM::MulOp::create(builder, loc, LLVM::ZExtOp::create(builder, loc, builder.getI64Type(), cta),
                                     makeInt(loc, share, 64));
  Value rest = LLVM::SubOp::create(builder, loc, makeInt(loc, bytes, 64), offset);
  Value most = makeInt(loc, part, 64);
  Value isShort = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, rest, most);
  Value size = LLVM::TruncOp::create(builder, loc, builder.getI32Type(),
                                     LLVM::SelectOp::create(builder, loc, isShort, rest, most));
  Value address =
      LLVM::GEPOp::create(builder, loc, tensor.getType(), builder.getI8Type(), tensor, ArrayRef<LLVM::GEPArg>{offset});
  makeAsm(loc, Type(), {address, size}, "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r");
  branch(loc, after);
}

/// Thread t takes blocks from + t, from + t + threads, ... `launches`: this one and all before.
void Flags::pollBlocks(Location loc, const Awaited &awaited, int64_t threads, Value launches) {
  Type word = builder.getI32Type();
  const Counters &of = awaited.of;
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, word);
  Value start = LLVM::AddOp::create(builder, loc, awaited.from, thread);
  Block *head = addBlock(), *begin = addBlock(), *poll = addBlock(), *next = addBlock(), *after = addBlock();
  head->addArgument(word, loc);
  branch(loc, head, start);
  Value block = head->getArgument(0);
  Value isInside = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sle, block, awaited.to);
  LLVM::CondBrOp::create(builder, loc, isInside, begin, after);
  builder.setInsertionPointToEnd(begin);
  Value address = makeAddress(loc, LLVM::AddOp::create(builder, loc, block, makeInt(loc, of.first)));
  Value isLast = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, block, makeInt(loc, of.blocks - 1));
  Value count = LLVM::SelectOp::create(builder, loc, isLast, makeInt(loc, of.grid - (of.blocks - 1) * of.ctas),
                                       makeInt(loc, of.ctas));
  count = LLVM::MulOp::create(builder, loc, count, launches);
  branch(loc, poll);
  Value found = makeAsm(loc, word, {address}, "ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}");
  Value isReady = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, found, count);
  LLVM::CondBrOp::create(builder, loc, isReady, next, poll);
  builder.setInsertionPointToEnd(next);
  LLVM::BrOp::create(builder, loc,
                     ValueRange(LLVM::AddOp::create(builder, loc, block, makeInt(loc, threads)).getResult()), head);
  builder.setInsertionPointToEnd(after);
}

void Flags::wait(Location loc, ArrayRef<Awaited> awaited, int64_t threads, bool readsInBulk) {
  Value epoch = makeEpochAddress(loc);
  Value before = makeAsm(loc, builder.getI32Type(), {epoch}, "ld.relaxed.gpu.global.u32 $0, [$1];", "=r,l,~{memory}");
  Value launches = LLVM::AddOp::create(builder, loc, before, makeInt(loc, 1));
  for (const Awaited &each : awaited)
    pollBlocks(loc, each, threads, launches);
  NVVM::BarrierOp::create(builder, loc, TypeRange(), makeInt(loc, 0), makeInt(loc, threads),
                          NVVM::BarrierReductionAttr(), Value());
  Block *after = beginIf(loc, isFirstThread(loc)); // All threads have read the word.
  makeAsm(loc, Type(), {epoch, launches}, "st.relaxed.gpu.global.u32 [$0], $1;", "l,r,~{memory}");
  branch(loc, after);
  if (readsInBulk)
    makeAsm(loc, Type(), {}, "fence.proxy.async.global;", "~{memory}");
}

void Flags::waitForGrids(Location loc) { makeAsm(loc, Type(), {}, "griddepcontrol.wait;", "~{memory}"); }

void Flags::raise(Location loc, const Counters &counters, Value cta, int64_t threads, bool writesInBulk,
                  bool waitsForGrids) {
  if (writesInBulk)
    makeAsm(loc, Type(), {}, "cp.async.bulk.wait_group 0;\n\tfence.proxy.async.global;", "~{memory}");
  // Warps come from roles of their own, and lanes from loops that one of them ran: a barrier that does not ask for
  // warps as a whole.
  makeAsm(loc, Type(), {}, "barrier.sync 0, " + std::to_string(threads) + ";", "~{memory}");
  Block *after = beginIf(loc, isFirstThread(loc));
  if (waitsForGrids)
    waitForGrids(loc);
  Value block = LLVM::UDivOp::create(builder, loc, cta, makeInt(loc, counters.ctas));
  Value address = makeAddress(loc, LLVM::AddOp::create(builder, loc, block, makeInt(loc, counters.first)));
  makeAsm(loc, Type(), {address, makeInt(loc, 1)}, "red.release.gpu.global.add.u32 [$0], $1;", "l,r,~{memory}");
  branch(loc, after);
}

//===--- Loads ---===//

/// The parameter that `address` is derived from; null if that cannot be seen.
static BlockArgument findParameter(Value address) {
  while (Operation *op = address.getDefiningOp()) {
    if (!isa<LLVM::GEPOp, LLVM::AddrSpaceCastOp, LLVM::BitcastOp>(op))
      return {};
    address = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(address);
  return argument.getOwner()->isEntryBlock() ? argument : BlockArgument();
}

static constexpr llvm::StringLiteral kReadOnlyPath = "ld.global.nc";

bool isStaleLoad(Operation *op, ArrayRef<bool> isWritten) {
  auto isCovered = [&](Value address) {
    BlockArgument parameter = findParameter(address);
    return !parameter || isWritten[parameter.getArgNumber()];
  };
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return load.getInvariant() && isCovered(load.getAddr());
  auto text = dyn_cast<LLVM::InlineAsmOp>(op);
  return text && text.getAsmString().contains(kReadOnlyPath) && llvm::any_of(text.getOperands(), [&](Value operand) {
           return isa<LLVM::LLVMPointerType>(operand.getType()) && isCovered(operand);
         });
}

void makeCoherent(Operation *op) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return load.setInvariant(false);
  auto text = cast<LLVM::InlineAsmOp>(op);
  auto [front, back] = text.getAsmString().split(kReadOnlyPath);
  text.setAsmString((front + "ld.global" + back).str());
  text.setHasSideEffects(true);
  text.setConstraints((text.getConstraints() + ",~{memory}").str());
}

} // namespace weft::emit
