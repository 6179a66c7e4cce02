// Extraction where what several expressions share counts once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finding the cheapest program is NP-hard, so it is bounded: local search from the cheapest trees (by whole prices, and
// by prices divided among a class's readers) and from the program that was given, then branch and bound, which proves
// the result if its steps suffice. A branch costs what it chose and, of every class that it still needs, the cheapest
// node at least.
#include "weft/Dialect/TileGraph/Rewrite/EGraph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

namespace weft {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
/// Less is rounding.
constexpr double leastGain = 1e-9;
constexpr unsigned maxRounds = 16;

class SharedExtractor {
public:
  using Id = EGraph::Id;
  using Node = EGraph::Node;
  using Cost = llvm::function_ref<double(Id, const Node &)>;
  using Choice = std::vector<const Node *>;

  SharedExtractor(const EGraph &graph, llvm::ArrayRef<Id> given, Cost cost) : graph(graph) {
    for (Id root : given)
      if (Id id = graph.find(root); !llvm::is_contained(roots, id))
        roots.push_back(id);
    ids = graph.allClasses();
    size = ids.empty() ? 0 : ids.back() + 1;
    least.assign(size, infinite);
    readers.assign(size, 0);
    for (Id id : ids)
      for (const Node &node : graph.nodes(id)) {
        double own = prices[&node] = cost(id, node);
        least[id] = std::min(least[id], own);
        for (Id child : node.children)
          ++readers[graph.find(child)];
      }
    for (Id root : roots)
      ++readers[root];
  }

  SharedExtraction run(size_t steps, llvm::ArrayRef<const Node *> given) {
    for (bool divides : {false, true})
      improve(findTrees(divides));
    Choice start = findTrees(/*divides=*/false);
    for (size_t id = 0; id < std::min(size, given.size()); ++id)
      start[id] = given[id] ? given[id] : start[id];
    if (!given.empty())
      improve(std::move(start));
    stepsLeft = steps;
    if (best.cost < infinite)
      search();
    best.isCheapest = stepsLeft > 0;
    return std::move(best);
  }

private:
  double priceOf(const Node *node) const { return prices.lookup(node); }

  /// The price of what the roots need, each class once; infinite if it needs itself. `order` gets these classes.
  double price(const Choice &choice, std::vector<Id> *order = nullptr) const {
    enum : uint8_t { New, Open, Done };
    std::vector<uint8_t> states(size, New);
    std::vector<std::pair<Id, size_t>> stack;
    double sum = 0;
    for (Id root : roots) {
      if (states[root] == New)
        stack.push_back({root, 0});
      while (!stack.empty()) {
        auto &[id, next] = stack.back();
        const Node *node = choice[id];
        if (!node)
          return infinite;
        if (next == 0)
          states[id] = Open;
        if (next == node->children.size()) {
          states[id] = Done;
          sum += priceOf(node);
          if (order)
            order->push_back(id);
          stack.pop_back();
          continue;
        }
        Id child = graph.find(node->children[next++]);
        if (states[child] == Open)
          return infinite;
        if (states[child] == New)
          stack.push_back({child, 0});
      }
    }
    return sum;
  }

  void keep(const Choice &choice, double cost) {
    if (cost < best.cost * (1 - leastGain) || (best.best.empty() && cost <= best.cost)) {
      best.best = choice;
      best.cost = cost;
    }
  }

  /// The cheapest node of each class by trees.
  Choice findTrees(bool divides) const {
    Choice choice = extract(graph, [&](Id id, const Node &node) {
                      return priceOf(&node) / (divides ? std::max(readers[id], 1.0) : 1.0);
                    }).best;
    choice.resize(size, nullptr);
    return choice;
  }

  /// One class's node after the other for another one, while that pays.
  void improve(Choice choice) {
    std::vector<Id> needed;
    double cost = price(choice, &needed);
    for (unsigned round = 0; round < maxRounds && cost < infinite; ++round) {
      double before = cost;
      for (Id id : needed)
        for (const Node &node : graph.nodes(id)) {
          const Node *old = std::exchange(choice[id], &node);
          double now = &node == old ? infinite : price(choice);
          if (now < cost * (1 - leastGain))
            cost = now;
          else
            choice[id] = old;
        }
      needed.clear();
      (void)price(choice, &needed);
      if (cost == before)
        break;
    }
    keep(choice, cost);
  }

  //===--- Branch and bound ---===//

  /// The class to choose for, and what was chosen for it so far.
  struct Branch {
    std::vector<const Node *> nodes; ///< The cheapest first.
    size_t next = 0, opened = 0;     ///< The next node to try; classes that the last one opened.
  };

  void search() {
    chosen.assign(size, nullptr);
    isOpen.assign(size, false);
    for (Id root : roots)
      open(root);
    std::vector<Branch> branches;
    if (!order.empty())
      branches.push_back(branchOf(order.front()));
    while (!branches.empty() && stepsLeft > 0) {
      Branch &branch = branches.back();
      Id id = order[branches.size() - 1];
      if (chosen[id])
        takeBack(id, branch);
      if (branch.next == branch.nodes.size()) {
        branches.pop_back();
        continue;
      }
      --stepsLeft;
      const Node *node = branch.nodes[branch.next++];
      if (bound - least[id] + priceOf(node) >= best.cost * (1 - leastGain) || reaches(node, id))
        continue;
      choose(id, node, branch);
      if (bound >= best.cost * (1 - leastGain))
        continue;
      if (branches.size() == order.size())
        keep(chosen, price(chosen));
      else
        branches.push_back(branchOf(order[branches.size()]));
    }
  }

  Branch branchOf(Id id) const {
    Branch branch;
    for (const Node &node : graph.nodes(id))
      branch.nodes.push_back(&node);
    llvm::sort(branch.nodes, [&](const Node *a, const Node *b) { // In the class's order where prices are equal.
      return std::pair(priceOf(a), a) < std::pair(priceOf(b), b);
    });
    return branch;
  }

  void open(Id id) {
    if (isOpen[id])
      return;
    isOpen[id] = true;
    order.push_back(id);
    bound += least[id];
  }

  void choose(Id id, const Node *node, Branch &branch) {
    chosen[id] = node;
    bound += priceOf(node) - least[id];
    size_t before = order.size();
    for (Id child : node->children)
      open(graph.find(child));
    branch.opened = order.size() - before;
  }

  void takeBack(Id id, Branch &branch) {
    for (; branch.opened > 0; --branch.opened) {
      bound -= least[order.back()];
      isOpen[order.back()] = false;
      order.pop_back();
    }
    bound -= priceOf(chosen[id]) - least[id];
    chosen[id] = nullptr;
  }

  /// Whether what was chosen leads from `node` to class `to`.
  bool reaches(const Node *node, Id to) const {
    std::vector<const Node *> work{node};
    std::vector<bool> seen(size, false);
    while (!work.empty()) {
      const Node *from = work.back();
      work.pop_back();
      for (Id each : from->children) {
        Id child = graph.find(each);
        if (child == to)
          return true;
        if (!seen[child] && chosen[child])
          work.push_back(chosen[child]);
        seen[child] = true;
      }
    }
    return false;
  }

  const EGraph &graph;
  std::vector<Id> roots, ids;
  size_t size = 0;
  llvm::DenseMap<const Node *, double> prices;
  std::vector<double> least, readers; ///< By class: its cheapest node's price; nodes and roots that read it.
  SharedExtraction best;

  Choice chosen;
  std::vector<bool> isOpen;
  std::vector<Id> order; ///< Classes that are needed: those chosen for, then the others.
  double bound = 0;
  size_t stepsLeft = 0;
};

} // namespace

SharedExtraction extractShared(const EGraph &graph, llvm::ArrayRef<EGraph::Id> roots,
                               llvm::function_ref<double(EGraph::Id, const EGraph::Node &)> cost, size_t steps,
                               llvm::ArrayRef<const EGraph::Node *> given) {
  return SharedExtractor(graph, roots, cost).run(steps, given);
}

} // namespace weft
