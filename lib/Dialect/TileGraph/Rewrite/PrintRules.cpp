// --weft-print-rules: the registry of rules as a page and as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Pass/Pass.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Dialect/TileGraph/Rewrite/Rules.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_PRINTRULES
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

void printPage(llvm::raw_ostream &os) {
  os << "# Rewrite rules\n\n"
        "What `--weft-rewrite` may do. A rule fires where its pattern matches, its guards hold, the licence allows its "
        "contract (on\n"
        "integers, modulo 2^n, reassociating rules are exact) and what dies costs more than what is added. Rules of "
        "the families "
        "`identities` and\n"
        "`views` (in `--weft-simplify`) and `movements` (in `--weft-move-views`) are canonical: they are applied "
        "wherever they "
        "match. Gains are for `A`, `B`, `C` of m x n\n"
        "and m row results unless a row says otherwise; what a match gains is computed for its shapes and printed in "
        "its remark.\n";
  llvm::MapVector<llvm::StringRef, std::vector<const Rule *>> families;
  for (const Rule &rule : getRules())
    families[rule.family].push_back(&rule);
  for (auto &[family, rules] : families) {
    os << "\n## " << family
       << "\n\n| rule | before | after | property | contract | guards | FLOPs |\n|---|---|---|---|---|---|---|\n";
    for (const Rule *rule : rules)
      os << "| " << rule->name << " | `" << rule->before << "` | "
         << (rule->build ? rule->after : "`" + rule->after + "`") << " | " << stringify(rule->property) << " | "
         << stringify(rule->contract) << " | " << llvm::join(getGuards(*rule), ", ") << " | " << rule->gain << " |\n";
  }
}

void printJson(llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.array([&] {
    for (const Rule &rule : getRules())
      json.object([&] {
        json.attribute("name", rule.name);
        json.attribute("family", rule.family);
        json.attribute("before", rule.before);
        json.attribute("after", rule.after);
        json.attribute("gain", rule.gain);
        json.attribute("isCode", bool(rule.build));
        json.attribute("isCanonical", rule.isCanonical);
        json.attribute("property", stringify(rule.property));
        json.attribute("contract", stringify(rule.contract));
        json.attributeArray("guards", [&] {
          for (const std::string &guard : getGuards(rule))
            json.value(guard);
        });
      });
  });
  os << "\n";
}

struct PrintRules : impl::PrintRulesBase<PrintRules> {
  using PrintRulesBase::PrintRulesBase;
  void runOnOperation() override { json ? printJson(llvm::outs()) : printPage(llvm::outs()); }
};

} // namespace
} // namespace weft::tg
