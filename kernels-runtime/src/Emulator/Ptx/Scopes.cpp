// What names mean while a module is parsed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each name heads a list of its bindings, innermost first; a scope knows its bindings and takes them off when it
// closes.
#include "Emulator/Ptx/Scopes.h"

namespace weft::emu::ptx {

NameId Scopes::intern(std::string_view word) {
  auto [place, isNew] = ids.try_emplace(word, NameId(names.size()));
  if (isNew) {
    names.add(word);
    heads.emplace_back();
  }
  return place->second;
}

void Scopes::push(uint32_t &head, NameId name, const Entity &entity, uint32_t depth) {
  bindings.push_back({entity, depth, head, name});
  head = uint32_t(bindings.size() - 1);
  scopes[depth - 1].bindings.push_back(head);
}

void Scopes::close() {
  Scope &scope = scopes.back();
  for (size_t i = scope.bindings.size(); i-- > 0;) {
    const Binding &binding = bindings[scope.bindings[i]];
    Heads &head = heads[binding.name];
    (binding.entity.kind == Entity::RegisterRange ? head.range : head.exact) = binding.hidden;
  }
  innerRangeScopes -= scope.hasRanges && scopes.size() > 2;
  scopes.pop_back();
  if (scopes.size() == 1) { // back in the module: drop the function's bindings
    size_t kept = scopes[0].bindings.empty() ? 0 : scopes[0].bindings.back() + 1;
    bindings.resize(kept);
  }
}

bool Scopes::declare(NameId name, const Entity &entity, Entity &previous) {
  if (const Entity *taken = findInnermost(name)) {
    previous = *taken;
    return false;
  }
  push(heads[name].exact, name, entity, uint32_t(depth()));
  return true;
}

bool Scopes::declareRange(NameId prefix, const Entity &range, Entity &previous) {
  uint32_t head = heads[prefix].range;
  if (head != kNone && bindings[head].depth == depth()) {
    previous = bindings[head].entity;
    return false;
  }
  push(heads[prefix].range, prefix, range, uint32_t(depth()));
  innerRangeScopes += !scopes.back().hasRanges && scopes.size() > 2;
  scopes.back().hasRanges = true;
  return true;
}

/// The innermost range of which `word` is a member: its prefix and a number without leading zeros.
uint32_t Scopes::findRange(std::string_view word) const {
  uint32_t best = kNone;
  uint64_t number = 0, power = 1;
  for (size_t digits = 1; digits <= 10 && digits < word.size(); ++digits, power *= 10) {
    char c = word[word.size() - digits];
    if (c < '0' || c > '9')
      break;
    number += power * unsigned(c - '0');
    if (c == '0' && digits > 1)
      continue;
    auto place = ids.find(word.substr(0, word.size() - digits));
    if (place == ids.end())
      continue;
    for (uint32_t range = heads[place->second].range; range != kNone; range = bindings[range].hidden)
      if (number < bindings[range].entity.index) {
        if (best == kNone || bindings[range].depth > bindings[best].depth)
          best = range;
        break;
      }
  }
  return best;
}

const Entity *Scopes::find(NameId name, std::string_view word) {
  uint32_t exact = heads[name].exact;
  if (exact != kNone && innerRangeScopes == 0 && bindings[exact].depth > 1)
    return &bindings[exact].entity;
  uint32_t range = findRange(word);
  if (range != kNone && (exact == kNone || bindings[range].depth > bindings[exact].depth)) {
    foundDepth = bindings[range].depth;
    return &bindings[range].entity;
  }
  return exact == kNone ? nullptr : &bindings[exact].entity;
}

void Scopes::materialise(NameId name, const Entity &entity) { push(heads[name].exact, name, entity, foundDepth); }

const Entity *Scopes::findInnermost(NameId name) const {
  uint32_t head = heads[name].exact;
  return head != kNone && bindings[head].depth == depth() ? &bindings[head].entity : nullptr;
}

const Entity *Scopes::findExact(NameId name) const {
  uint32_t head = heads[name].exact;
  return head == kNone ? nullptr : &bindings[head].entity;
}

} // namespace weft::emu::ptx
