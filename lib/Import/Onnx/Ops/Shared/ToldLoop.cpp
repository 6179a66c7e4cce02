// Loops that carry sequences, whose number of turns is data: the user says how many elements the result has
// (--elements).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Loops.h"
#include "RuntimeShapes.h"
#include "weft/Import/Onnx/ModelReader.h"
#include <onnx/onnx_pb.h>

using namespace mlir;

namespace weft::onnx {

namespace {

/// A loop whose bounds are data and which carries lists: it has as many turns as make the list that is a result of the
/// model as long as the user says. The program checks that these are its turns.
class ToldLoop {
public:
  ToldLoop(NodeContext &ctx, const ::onnx::GraphProto &body) : ctx(ctx), body(body) {}

  LogicalResult import() {
    for (unsigned i = 2; i < ctx.numInputs(); ++i) {
      carried.push_back(ctx.required(i));
      if (!carried.back())
        return failure();
    }
    if (body.output_size() != static_cast<int>(carried.size()) + 1)
      return ctx.unsupported("a loop of unknown length that carries a sequence and gives scan outputs",
                             "if its trip count comes from a graph input, fix that with --bind");
    for (unsigned i = 0; i < carried.size(); ++i)
      if (std::optional<int64_t> count = NodeContext::isList(carried[i]) ? ctx.toldElements(i) : std::nullopt) {
        told = count;
        place = i;
      }
    if (!told)
      return askForCount();
    return failed(unroll()) ? failure() : checkTurns();
  }

private:
  LogicalResult askForCount();
  LogicalResult unroll();
  LogicalResult checkTurns();
  int64_t count() const { return static_cast<int64_t>(NodeContext::elements(carried[place]).size()); }
  bool hasTrips() const { return static_cast<bool>(ctx.input(0)); }

  NodeContext &ctx;
  const ::onnx::GraphProto &body;
  SmallVector<Value> carried;
  unsigned place = 0;
  std::optional<int64_t> told;
  int64_t turns = 0;
  Value condition; ///< Behind the last turn; null: true.
};

LogicalResult ToldLoop::askForCount() {
  unsigned first = 0;
  while (first + 1 < carried.size() && !NodeContext::isList(carried[first]))
    ++first;
  return ctx.needsElements(first, "the loop carries a sequence or an optional, and its trip count or condition is not "
                                  "known at compile time");
}

LogicalResult ToldLoop::unroll() {
  condition = ctx.input(1);
  for (; NodeContext::isEmptyOptional(carried[place]) || count() != *told; ++turns) {
    int64_t before = count();
    if (turns == ctx.limits().maxTripCount)
      return ctx.limit("the loop runs for more than " + Twine(turns) + " iterations",
                       "raise the limit with --max-trip-count");
    // A turn begins while the condition holds.
    if (condition && (failed(ctx.checkTensor(condition, "the condition")) ||
                      failed(assumeNumber(ctx, condition, 1, "condition of the loop"))))
      return failure();
    SmallVector<Value> inputs{ctx.scalarInt(turns, ctx.b.getI64Type()), ctx.scalarInt(1, ctx.b.getI1Type())};
    inputs.append(carried.begin(), carried.end());
    auto results = ctx.inlineGraph(body, inputs);
    if (failed(results))
      return failure();
    condition = results->front();
    carried.assign(results->begin() + 1, results->end());
    if (!NodeContext::isList(carried[place]) || count() <= before || count() > *told)
      return ctx.error("--elements says " + Twine(*told) + " elements; a turn of the loop goes from " + Twine(before) +
                       " to " + (NodeContext::isList(carried[place]) ? Twine(count()) : Twine("a tensor")));
  }
  return success();
}

LogicalResult ToldLoop::checkTurns() {
  for (auto [i, value] : llvm::enumerate(carried))
    ctx.output(i, value);
  if (hasTrips())
    return assumeNumber(ctx, Expr(ctx, ctx.cast(ctx.input(0), ctx.b.getI64Type())).max(0.0), turns, "trip count");
  if (!condition)
    condition = ctx.scalarInt(1, ctx.b.getI1Type());
  return failed(ctx.checkTensor(condition, "the condition"))
             ? failure()
             : assumeNumber(ctx, condition, 0, "condition behind the last turn");
}

} // namespace

LogicalResult importToldLoop(NodeContext &ctx, const ::onnx::GraphProto &body) { return ToldLoop(ctx, body).import(); }

} // namespace weft::onnx
