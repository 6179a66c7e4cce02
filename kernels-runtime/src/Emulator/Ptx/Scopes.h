// What names mean while a module is parsed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interned names and a stack of scopes: the module, a function, and blocks in it. A register range (%r<100>) is one
// entry; its members become entries of their own when they are first named.
#ifndef WEFT_EMULATOR_PTX_SCOPES_H
#define WEFT_EMULATOR_PTX_SCOPES_H

#include "Emulator/Ptx/Ast.h"

#include <unordered_map>

namespace weft::emu::ptx {

/// What a name stands for.
struct Entity {
  enum Kind : uint8_t { Symbol, Register, RegisterVector, RegisterRange };
  Kind kind = Symbol;
  SymbolKind symbol = SymbolKind::Variable;
  uint8_t width = 1; ///< Registers: of a vector, 2 or 4.
  Type type = Type::None;
  uint32_t index = 0; ///< Of the symbol, of the (first) register; members of a range.
  Location location;  ///< Of the declaration.

  bool isLabel() const { return kind == Symbol && symbol >= SymbolKind::Label; }
};

class Scopes {
public:
  explicit Scopes(NameTable &names) : names(names) { open(); }

  NameId intern(std::string_view word);

  void open() { scopes.emplace_back(); }
  /// Forgets the names of the innermost scope.
  void close();
  /// 1 in the module, 2 in a function.
  size_t depth() const { return scopes.size(); }

  /// Declares in the innermost scope. False if the name is taken in that scope (`previous` is by whom).
  bool declare(NameId name, const Entity &entity, Entity &previous);
  /// Likewise for a range; `members` may be anything.
  bool declareRange(NameId prefix, const Entity &range, Entity &previous);

  /// The innermost meaning of a name; null if it has none. A member of a range is returned with kind RegisterRange,
  /// for the caller to make a register and to tell with `materialise`.
  const Entity *find(NameId name, std::string_view word);
  /// From now on `name`, which was found to be a member of a range, is `entity`.
  void materialise(NameId name, const Entity &entity);
  /// The meaning of the name itself, declared in the innermost scope; null if it is not declared there.
  const Entity *findInnermost(NameId name) const;
  /// The meaning of the name itself in any open scope.
  const Entity *findExact(NameId name) const;

private:
  struct Binding {
    Entity entity;
    uint32_t depth = 0;
    uint32_t hidden = kNone; ///< The binding of the same name further out.
    NameId name = 0;
  };
  struct Scope {
    std::vector<uint32_t> bindings;
    bool hasRanges = false;
  };
  /// Heads of the lists of bindings of a name, as itself and as the prefix of a range.
  struct Heads {
    uint32_t exact = kNone;
    uint32_t range = kNone;
  };

  void push(uint32_t &head, NameId name, const Entity &entity, uint32_t depth);
  uint32_t findRange(std::string_view word) const;

  NameTable &names;
  std::unordered_map<std::string_view, NameId> ids; ///< Keys point into the text.
  std::vector<Heads> heads;                         ///< By name.
  std::vector<Binding> bindings;
  std::vector<Scope> scopes;
  uint32_t innerRangeScopes = 0; ///< Blocks inside a function that declare ranges.
  uint32_t foundDepth = 0;       ///< Of the range that `find` returned last.
};

} // namespace weft::emu::ptx

#endif // WEFT_EMULATOR_PTX_SCOPES_H
