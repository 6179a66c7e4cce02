// Special registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of special registers and how they are read, and the small functions of Ast.h.
#include "Emulator/Ptx/ParserImpl.h"

namespace weft::emu::ptx {

using bundle::quote;

namespace {

struct SpecialInfo {
  std::string_view word;
  uint8_t bits;
  bool isVector = false;
  bool isNumbered = false;
};

/// In the order of the enumeration.
constexpr SpecialInfo kSpecials[] = {{"%tid", 32, true},
                                     {"%ntid", 32, true},
                                     {"%ctaid", 32, true},
                                     {"%nctaid", 32, true},
                                     {"%clusterid", 32, true},
                                     {"%nclusterid", 32, true},
                                     {"%cluster_ctaid", 32, true},
                                     {"%cluster_nctaid", 32, true},
                                     {"%cluster_ctarank", 32},
                                     {"%cluster_nctarank", 32},
                                     {"%is_explicit_cluster", 1},
                                     {"%laneid", 32},
                                     {"%warpid", 32},
                                     {"%nwarpid", 32},
                                     {"%smid", 32},
                                     {"%nsmid", 32},
                                     {"%gridid", 64},
                                     {"%lanemask_eq", 32},
                                     {"%lanemask_le", 32},
                                     {"%lanemask_lt", 32},
                                     {"%lanemask_ge", 32},
                                     {"%lanemask_gt", 32},
                                     {"%clock", 32},
                                     {"%clock_hi", 32},
                                     {"%clock64", 64},
                                     {"%globaltimer", 64},
                                     {"%globaltimer_lo", 32},
                                     {"%globaltimer_hi", 32},
                                     {"%total_smem_size", 32},
                                     {"%aggr_smem_size", 32},
                                     {"%dynamic_smem_size", 32},
                                     {"%reserved_smem_offset_", 32},
                                     {"%current_graph_exec", 64},
                                     {"%envreg", 32, false, true},
                                     {"%pm", 32, false, true}};
static_assert(sizeof(kSpecials) / sizeof(kSpecials[0]) == size_t(Special::Pm) + 1);

} // namespace

std::string_view name(Special special) { return kSpecials[size_t(special)].word; }
unsigned bitWidth(Special special) { return kSpecials[size_t(special)].bits; }
bool isVector(Special special) { return kSpecials[size_t(special)].isVector; }

std::string_view name(Space space) {
  static constexpr std::string_view words[] = {"reg", "param", "local", "shared", "global", "const"};
  return words[size_t(space)];
}

/// begin, end, cap, 0, 1: from 0 on.
static int reservedIndex(std::string_view rest) {
  static constexpr std::string_view words[] = {"begin", "end", "cap", "0", "1"};
  for (int i = 0; i < 5; ++i)
    if (rest == words[i])
      return i;
  return -1;
}

/// The number that ends the word, up to 31; %pm3_64 has 64 added. -1 when there is none.
static int trailingNumber(std::string_view rest, bool allowWide) {
  int wide = 0;
  if (allowWide && rest.size() > 3 && rest.substr(rest.size() - 3) == "_64") {
    rest.remove_suffix(3);
    wide = 64;
  }
  if (rest.empty() || rest.size() > 2 || (rest.size() == 2 && rest[0] == '0'))
    return -1;
  int number = 0;
  for (char c : rest) {
    if (c < '0' || c > '9')
      return -1;
    number = number * 10 + (c - '0');
  }
  return number > (allowWide ? 7 : 31) ? -1 : number + wide;
}

static bool findSpecial(std::string_view word, Special &special, int64_t &value) {
  for (size_t i = 0; i <= size_t(Special::Pm); ++i) {
    std::string_view name = kSpecials[i].word;
    bool hasTail = kSpecials[i].isNumbered || Special(i) == Special::ReservedSmemOffset;
    if (word.substr(0, name.size()) != name || (!hasTail && word.size() != name.size()))
      continue;
    std::string_view rest = word.substr(name.size());
    int number = !hasTail                  ? 0
                 : kSpecials[i].isNumbered ? trailingNumber(rest, Special(i) == Special::Pm)
                                           : reservedIndex(rest);
    if (number < 0)
      continue;
    special = Special(i);
    value = number;
    return true;
  }
  return false;
}

bool Parser::parseSpecial(const Token &word, Operand &operand) {
  operand.kind = OperandKind::Special;
  if (!findSpecial(word.text, operand.special, operand.value))
    return fail(word.location, "register " + quote(word.text) + " is not declared");
  if (!isVector(operand.special)) {
    if (token.kind == TokenKind::Word)
      return fail(token.location, quote(word.text) + " has no components, got " + describe(token));
    return false;
  }
  if (token.kind != TokenKind::Word)
    return unsupported(word.location, "vector " + quote(word.text) + " as an operand is not supported: expected " +
                                          std::string(word.text) + ".x, .y or .z");
  return parseComponent(4, operand.component);
}

uint32_t Module::findFunction(std::string_view name) const {
  for (size_t i = 0; i < functions.size(); ++i)
    if (names[functions[i].name] == name)
      return uint32_t(i);
  return kNone;
}

uint32_t Module::findVariable(std::string_view name) const {
  for (size_t i = 0; i < variables.size(); ++i)
    if (names[variables[i].name] == name)
      return uint32_t(i);
  return kNone;
}

} // namespace weft::emu::ptx
