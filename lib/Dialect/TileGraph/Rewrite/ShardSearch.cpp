// The search of ShardSearch.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ShardSearch.h"
#include "ShardNodes.h"
#include "ShardProgram.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"
#include "llvm/ADT/Hashing.h"
#include <map>
#include <unordered_map>

using namespace mlir;

namespace weft::tg {

namespace {

/// Weights that a rank holds, where these come first, and seconds.
struct Price {
  double weights = 0, seconds = 0;
  bool operator<(const Price &other) const {
    return std::pair(weights, seconds) < std::pair(other.weights, other.seconds);
  }
  Price operator+(const Price &other) const { return {weights + other.weights, seconds + other.seconds}; }
};

/// How a value lies: as it was made, and in which other shares it is there.
using Form = uint64_t;
constexpr Form kChosen = 0xff, kPartial = 0xf0, kFree = 0xef;

Form baseOf(Form form) { return form & 0xff; }
Form codeOf(Share share) { return Form(share.dim + 1); }
Share shareOf(Form base) { return base <= Form(mostSplitDims) ? Share{int64_t(base) - 1} : Share(); }
bool has(Form form, Share share) { return baseOf(form) == codeOf(share) || (form >> (8 + codeOf(share)) & 1); }
Form with(Form form, Share share) { return form | Form(1) << (8 + codeOf(share)); }

using State = SmallVector<Form, 16>; ///< By slots.
struct StateHash {
  size_t operator()(const State &state) const { return llvm::hash_combine_range(state.begin(), state.end()); }
};

/// 0: whole; 1: what it has of a sum; 2 + i: by split i.
using Choice = unsigned;
constexpr Choice kWhole = 0, kSum = 1, kFirstSplit = 2;

struct Edge {
  unsigned from, to;
  Choice choice;
  Price price;
};

class Search {
public:
  Search(const LayoutProblem &problem, const ShardGraph &graph, double secondsPerWeightByte)
      : problem(problem), graph(graph), secondsPerWeightByte(secondsPerWeightByte) {}

  Layout run();

private:
  static constexpr size_t mostStates = 128;

  void assignSlots();
  Form getFirst(const ShardValue &value) const;
  Price getWeight(double bytes) const;
  double convert(double bytes, Form base, Share wanted) const;
  Price read(State &state, unsigned number, Share wanted) const;
  double readAgain(const State &state, const ShardNode &node, size_t operand, Share wanted) const;
  bool mayChoose(const State &state, const ShardNode &node, Choice choice) const;
  Price work(const ShardNode &node, const Split *split) const;
  void enter(State &state, size_t place) const;
  Price apply(State &state, size_t place, Choice choice) const;
  Price giveBack(State &state, const ShardValue &value, size_t slot) const;
  void step(size_t place, std::vector<std::pair<State, Price>> &states);
  Layout trace(const std::vector<std::pair<State, Price>> &states);
  void findOthers(Layout &layout, ArrayRef<Price> ends, Price best) const;
  void replay(Layout &layout, ArrayRef<Choice> choices) const;
  std::string name(const ShardNode &node, Choice choice) const;

  const LayoutProblem &problem;
  const ShardGraph &graph;
  double secondsPerWeightByte;
  std::vector<int> slots;                  ///< By values; -1: not tracked, or never read.
  std::vector<SmallVector<unsigned>> dead; ///< By nodes: values that nobody reads behind it.
  size_t numSlots = 0;
  std::vector<std::vector<Edge>> edges; ///< By nodes.
  bool isExact = true;
};

} // namespace

//===--- Values ---===//

Form Search::getFirst(const ShardValue &value) const {
  if (value.isFree)
    return kFree;
  return value.isChosen ? kChosen : codeOf(Share{value.wanted});
}

/// A slot is another value's once nobody reads the first.
void Search::assignSlots() {
  slots.assign(graph.values.size(), -1);
  dead.resize(graph.nodes.size());
  SmallVector<int> unused;
  auto assign = [&](unsigned value) {
    if (slots[value] >= 0 || !graph.values[value].isTracked)
      return;
    slots[value] = unused.empty() ? int(numSlots++) : unused.pop_back_val();
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const ShardNode &node = graph.nodes[i];
    for (unsigned operand : node.operands)
      assign(operand);
    for (unsigned result : node.results)
      assign(result);
    auto end = [&](unsigned value) {
      if (slots[value] >= 0 && graph.values[value].lastRead <= int(i) && !llvm::is_contained(dead[i], value))
        dead[i].push_back(value);
    };
    llvm::for_each(node.operands, end);
    llvm::for_each(node.results, end);
    for (unsigned value : dead[i])
      unused.push_back(slots[value]);
  }
}

Price Search::getWeight(double bytes) const {
  return {problem.followsRequests ? bytes : 0, bytes * secondsPerWeightByte};
}

/// Seconds until a value that lies as `base` says is there as `wanted`.
double Search::convert(double bytes, Form base, Share wanted) const {
  const LayoutRates &rates = problem.rates;
  auto ranks = double(problem.ranks);
  double others = (ranks - 1) / ranks, part = bytes / ranks;
  if (base >= kPartial)
    return wanted.isSplit() ? rates.exchange(bytes * others, bytes + part)
                            : rates.exchange(2 * bytes * others, 2 * bytes);
  if (!shareOf(base).isSplit())
    return rates.kernelSeconds + 2 * part / rates.bytes;
  return wanted.isSplit() ? rates.exchange(part * others, 2 * part) : rates.exchange(bytes * others, bytes + part);
}

/// What it takes to have the value so; it is there from then on.
Price Search::read(State &state, unsigned number, Share wanted) const {
  const ShardValue &value = graph.values[number];
  double part = value.bytes / (wanted.isSplit() ? double(problem.ranks) : 1);
  if (!value.isTracked)
    return getWeight(part);
  Form &form = state[slots[number]];
  if (baseOf(form) == kChosen) {
    form = codeOf(wanted);
    return {};
  }
  if (has(form, wanted))
    return {};
  Form base = baseOf(form);
  form = with(form, wanted);
  return base == kFree ? getWeight(part) : Price{0, convert(value.bytes, base, wanted)};
}

/// Seconds for what fusion would have kept from memory, had it not gone over the links or been cut.
double Search::readAgain(const State &state, const ShardNode &node, size_t operand, Share wanted) const {
  const ShardValue &value = graph.values[node.operands[operand]];
  if (node.isView || node.isWhole || value.isFree || node.operandBytes[operand] > 0 ||
      baseOf(state[slots[node.operands[operand]]]) == codeOf(wanted))
    return 0;
  return value.bytes / (wanted.isSplit() ? double(problem.ranks) : 1) / problem.rates.bytes;
}

//===--- Choices ---===//

bool Search::mayChoose(const State &state, const ShardNode &node, Choice choice) const {
  auto formOf = [&](unsigned operand) {
    return graph.values[operand].isTracked ? baseOf(state[slots[operand]]) : Form(kFree);
  };
  if (choice == kWhole)
    return !node.wanted;
  if (choice == kSum)
    return node.isSum && llvm::all_of(node.operands, [&](unsigned operand) {
             return formOf(operand) == (kPartial | Form(Monoid::Add));
           });
  if (node.wanted || node.mayBegin)
    return true;
  for (auto [operand, share] : llvm::zip(node.operands, node.splits[choice - kFirstSplit].operands)) {
    Form base = formOf(operand);
    if (!share.isSplit() || base == kFree)
      continue;
    if (base == codeOf(share) || (!problem.followsRequests && base >= kPartial))
      return true;
  }
  return false;
}

/// Of one rank.
Price Search::work(const ShardNode &node, const Split *split) const {
  auto part = [&](double bytes, Share share) { return share.isSplit() ? bytes / double(problem.ranks) : bytes; };
  if (node.isWhole)
    return {};
  double bytes = part(node.resultBytes, split ? split->results.front() : Share());
  for (auto [i, moved] : llvm::enumerate(node.operandBytes))
    bytes += part(moved, split ? split->operands[i] : Share());
  double arithmetic = node.arithmetic / (split ? double(problem.ranks) : 1);
  return {0, std::max(bytes / problem.rates.bytes, arithmetic)};
}

/// A result of the program has the share that is asked for, or that of the argument which it goes on from.
Price Search::giveBack(State &state, const ShardValue &value, size_t slot) const {
  Price price;
  for (unsigned place : value.returned) {
    int argument = graph.continued[place];
    Share wanted{problem.wantedOfReturned[place].value_or(-1)};
    if (!problem.wantedOfReturned[place] && argument >= 0)
      wanted = shareOf(baseOf(state[slots[argument]]));
    if (has(state[slot], wanted))
      continue;
    price = price + Price{0, convert(value.bytes, baseOf(state[slot]), wanted)};
    state[slot] = with(state[slot], wanted);
  }
  return price;
}

/// What the program begins with is there where it is read first.
void Search::enter(State &state, size_t place) const {
  for (unsigned operand : graph.nodes[place].operands)
    if (const ShardValue &value = graph.values[operand];
        slots[operand] >= 0 && value.isGiven && value.firstRead == int(place))
      state[slots[operand]] = getFirst(value);
}

Price Search::apply(State &state, size_t place, Choice choice) const {
  const ShardNode &node = graph.nodes[place];
  const Split *split = choice >= kFirstSplit ? &node.splits[choice - kFirstSplit] : nullptr;
  Price price = work(node, split);
  if (choice != kSum)
    for (auto [i, operand] : llvm::enumerate(node.operands)) {
      Share wanted = split ? split->operands[i] : Share();
      price = price + read(state, operand, wanted);
      price.seconds += readAgain(state, node, i, wanted);
    }
  for (unsigned result : node.results) {
    Form form = choice == kSum ? kPartial | Form(Monoid::Add) : codeOf(split ? split->results.front() : Share());
    if (split && split->combiner)
      form = kPartial | Form(*split->combiner);
    state[slots[result]] = form;
    price = price + giveBack(state, graph.values[result], slots[result]);
  }
  for (unsigned value : dead[place])
    state[slots[value]] = 0;
  return price;
}

//===--- States ---===//

void Search::step(size_t place, std::vector<std::pair<State, Price>> &states) {
  const ShardNode &node = graph.nodes[place];
  std::vector<std::pair<State, Price>> next;
  std::unordered_map<State, unsigned, StateHash> known;
  std::vector<Edge> &made = edges[place];
  for (auto [from, entry] : llvm::enumerate(states)) {
    enter(entry.first, place);
    for (Choice choice = kWhole; choice < kFirstSplit + node.splits.size(); ++choice) {
      if (!mayChoose(entry.first, node, choice))
        continue;
      State state = entry.first;
      Price price = apply(state, place, choice), total = entry.second + price;
      auto [to, isNew] = known.try_emplace(state, next.size());
      if (isNew)
        next.emplace_back(state, total);
      else if (total < next[to->second].second)
        next[to->second].second = total;
      made.push_back({unsigned(from), to->second, choice, price});
    }
  }
  std::vector<unsigned> order(next.size());
  for (auto [i, at] : llvm::enumerate(order))
    at = unsigned(i);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) { return next[a].second < next[b].second; });
  isExact &= order.size() <= mostStates;
  order.resize(std::min(order.size(), mostStates));
  std::vector<int> kept(next.size(), -1);
  states.clear();
  for (unsigned at : order) {
    kept[at] = int(states.size());
    states.push_back(std::move(next[at]));
  }
  llvm::erase_if(made, [&](Edge &edge) { return kept[edge.to] < 0; });
  for (Edge &edge : made)
    edge.to = unsigned(kept[edge.to]);
}

std::string Search::name(const ShardNode &node, Choice choice) const {
  if (choice == kWhole)
    return "whole";
  if (choice == kSum)
    return "what each rank has of the sum";
  const Split &split = node.splits[choice - kFirstSplit];
  return split.rows ? "rows" : "d" + std::to_string(split.dim);
}

/// What the choices mean for the program.
void Search::replay(Layout &layout, ArrayRef<Choice> choices) const {
  layout.returned.resize(problem.wantedOfReturned.size());
  for (auto [i, wanted] : llvm::enumerate(problem.wantedOfReturned))
    layout.returned[i] = Share{wanted.value_or(-1)};
  for (const ShardValue &value : graph.values)
    if (isa<BlockArgument>(value.value) && value.wanted >= 0)
      layout.arguments[value.value] = value.wanted;
  llvm::DenseSet<std::pair<unsigned, int64_t>> held; ///< Weights in their shares.
  for (auto [place, node] : llvm::enumerate(graph.nodes)) {
    Choice choice = choices[place];
    Decision &decision = layout.decisions[node.op];
    decision.kind = choice == kWhole ? Decision::Kind::Whole
                    : choice == kSum ? Decision::Kind::Sum
                                     : Decision::Kind::Part;
    if (choice >= kFirstSplit)
      decision.split = node.splits[choice - kFirstSplit];
    decision.refusals = node.refusals;
    for (auto [i, operand] : llvm::enumerate(node.operands)) {
      const ShardValue &value = graph.values[operand];
      Share share = choice >= kFirstSplit ? decision.split.operands[i] : Share();
      if (value.isFree && held.insert({operand, share.dim}).second)
        layout.weightBytes += value.bytes / (share.isSplit() ? double(problem.ranks) : 1);
      if (value.isFree && value.firstRead == int(place))
        layout.wholeWeightBytes += value.bytes;
      bool isFirst =
          value.firstRead == int(place) && !llvm::is_contained(ArrayRef(node.operands).take_front(i), operand);
      if (value.isChosen && share.isSplit() && isFirst)
        layout.arguments[value.value] = share.dim;
    }
  }
  for (auto [i, argument] : llvm::enumerate(graph.continued))
    if (argument >= 0 && !problem.wantedOfReturned[i])
      if (auto found = layout.arguments.find(graph.values[argument].value); found != layout.arguments.end())
        layout.returned[i] = Share{found->second};
}

/// By the cheapest ends of all states, backwards: the best layout with each other choice of an op.
void Search::findOthers(Layout &layout, ArrayRef<Price> ends, Price best) const {
  constexpr double none = std::numeric_limits<double>::infinity();
  std::vector<Price> rest(ends.begin(), ends.end());
  // The prices of states from the start on, forwards again.
  std::vector<std::vector<Price>> starts = {{Price()}};
  for (const std::vector<Edge> &made : edges) {
    unsigned count = 0;
    for (const Edge &edge : made)
      count = std::max(count, edge.to + 1);
    std::vector<Price> next(count, Price{none, none});
    for (const Edge &edge : made)
      next[edge.to] = std::min(next[edge.to], starts.back()[edge.from] + edge.price);
    starts.push_back(std::move(next));
  }
  for (size_t place = graph.nodes.size(); place-- > 0;) {
    const ShardNode &node = graph.nodes[place];
    std::vector<Price> before(starts[place].size(), Price{none, none});
    std::map<Choice, Price> through;
    for (const Edge &edge : edges[place]) {
      Price from = edge.price + rest[edge.to], total = starts[place][edge.from] + from;
      before[edge.from] = std::min(before[edge.from], from);
      auto [known, isNew] = through.try_emplace(edge.choice, total);
      known->second = std::min(known->second, total);
    }
    Decision &decision = layout.decisions[node.op];
    decision.hadChoice = through.size() > 1;
    Choice taken = decision.kind == Decision::Kind::Whole ? kWhole : kSum;
    for (auto [i, split] : llvm::enumerate(node.splits))
      if (decision.kind == Decision::Kind::Part && split.dim == decision.split.dim)
        taken = kFirstSplit + Choice(i);
    for (auto [choice, total] : through)
      if (choice != taken)
        decision.others.emplace_back(name(node, choice), total.seconds - best.seconds);
    rest = std::move(before);
  }
}

Layout Search::trace(const std::vector<std::pair<State, Price>> &states) {
  size_t best = 0;
  std::vector<Price> ends(states.size());
  for (size_t i = 1; i < states.size(); ++i)
    best = states[i].second < states[best].second ? i : best;
  // Backwards along the edges that were the cheapest.
  std::vector<std::vector<std::pair<Price, const Edge *>>> ways(edges.size() + 1);
  ways[0] = {{Price(), nullptr}};
  for (auto [place, made] : llvm::enumerate(edges))
    for (const Edge &edge : made) {
      auto &next = ways[place + 1];
      next.resize(std::max<size_t>(next.size(), edge.to + 1));
      Price total = ways[place][edge.from].first + edge.price;
      if (!next[edge.to].second || total < next[edge.to].first)
        next[edge.to] = {total, &edge};
    }
  std::vector<Choice> choices(edges.size());
  unsigned at = unsigned(best);
  for (size_t place = edges.size(); place-- > 0;) {
    const Edge *edge = ways[place + 1][at].second;
    choices[place] = edge->choice;
    at = edge->from;
  }
  Layout layout;
  layout.seconds = states[best].second.seconds;
  layout.isExact = isExact;
  replay(layout, choices);
  findOthers(layout, ends, states[best].second);
  layout.seconds -= layout.weightBytes * secondsPerWeightByte;
  for (const ShardNode &node : graph.nodes)
    layout.wholeSeconds += work(node, nullptr).seconds;
  return layout;
}

Layout Search::run() {
  assignSlots();
  edges.resize(graph.nodes.size());
  State first(numSlots, 0);
  std::vector<std::pair<State, Price>> states = {{std::move(first), Price()}};
  for (size_t place = 0; place < graph.nodes.size(); ++place)
    step(place, states);
  return trace(states);
}

FailureOr<Layout> findLayout(const LayoutProblem &problem) {
  ShardGraph graph(problem);
  for (const ShardNode &node : graph.nodes)
    if (node.wanted && node.splits.empty())
      return emitError(node.op->getLoc())
             << "shard: `" << findNodeName(node.op->getLoc()) << "`: '" << node.op->getName().getStringRef()
             << "' cannot make parts of dimension " << *node.wanted << ": "
             << (node.refusals.empty() ? "no dimension of its domain runs along it" : node.refusals.c_str());
  Layout layout = Search(problem, graph, 0).run();
  // Weights that do not fit have a price, as small a one as makes them fit.
  double price = 1 / problem.rates.bytes;
  for (int i = 0; i < 8 && problem.rates.capacity > 0 && layout.weightBytes > problem.rates.capacity; ++i, price *= 8)
    layout = Search(problem, graph, price).run();
  return layout;
}

} // namespace weft::tg
