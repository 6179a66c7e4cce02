// Rules on contractions of quantised values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_QUANTISEDRULES_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_QUANTISEDRULES_H

#include "weft/Dialect/TileGraph/Rewrite/Rules.h"

namespace weft::tg {

void addQuantisedRules(std::vector<Rule> &rules);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_QUANTISEDRULES_H
