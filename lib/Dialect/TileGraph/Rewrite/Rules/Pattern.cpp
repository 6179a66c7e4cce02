// Parser of the rules' S-expressions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Pattern.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

namespace weft::tg {
namespace {

class Parser {
public:
  explicit Parser(llvm::StringRef text) : whole(text), rest(text) {}

  Pattern parseAll() {
    Pattern pattern = parse();
    if (!rest.trim().empty())
      fail();
    return pattern;
  }

private:
  [[noreturn]] void fail() { llvm::report_fatal_error("rewrite rule: cannot parse `" + llvm::Twine(whole) + "`"); }

  llvm::StringRef word() {
    rest = rest.ltrim();
    llvm::StringRef found = rest.take_until([](char c) { return c == ' ' || c == '(' || c == ')'; });
    if (found.empty())
      fail();
    rest = rest.drop_front(found.size());
    return found;
  }

  Pattern parse() {
    Pattern pattern;
    rest = rest.ltrim();
    if (!rest.consume_front("(")) {
      llvm::StringRef atom = word();
      pattern.kind = atom.consume_front("?") ? Pattern::Kind::Variable
                     : atom == "count"       ? Pattern::Kind::Count
                                             : Pattern::Kind::Number;
      pattern.name = atom.str();
      if (pattern.kind == Pattern::Kind::Number && atom.getAsDouble(pattern.number))
        fail();
      return pattern;
    }
    pattern.name = word().str();
    for (rest = rest.ltrim(); !rest.consume_front(")"); rest = rest.ltrim()) {
      if (rest.empty())
        fail();
      if (rest.consume_front("..."))
        pattern.takesAny = true;
      else
        pattern.children.push_back(parse());
    }
    return pattern;
  }

  llvm::StringRef whole, rest;
};

} // namespace

Pattern parsePattern(llvm::StringRef text) { return Parser(text).parseAll(); }

} // namespace weft::tg
