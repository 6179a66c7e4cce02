"""Finds function bodies in C++ text by their braces: enough to measure lengths, without a compiler."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import re

_LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)

_CONTROL = {"if", "for", "while", "switch", "catch", "else", "do", "return", "namespace", "class", "struct", "enum", "union", "extern"}
_QUALIFIER = re.compile(r"(?:\b(?:const|noexcept|override|final|mutable|volatile|try)|&)$")
_NAME = re.compile(r"(operator\s*[^\s\w]{1,3}|operator\s+[\w:]+|~?[\w:]+)$")


@dataclasses.dataclass
class Function:
    name: str
    first: int  # line of the signature's start, from 1
    last: int  # line of the closing brace

    @property
    def lines(self) -> int:
        return self.last - self.first + 1


def blank(text: str) -> str:
    """The text with comments and literals replaced by blanks; line breaks stay."""
    return _LITERALS.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def _unqualified(head: str) -> str:
    """Without a trailing return type and what may follow a parameter list."""
    trailing = re.search(r"\)[\s\w&]*\s->", head)
    head = (head[:trailing.end() - 2] if trailing else head).rstrip()
    while (match := _QUALIFIER.search(head)):
        head = head[:match.start()].rstrip()
    return head


def _before_group(text: str) -> str | None:
    """The text before the bracket group that ends it, or None when it does not end with a closed group."""
    if not text or text[-1] not in ")}":
        return None
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] in ")}") - (text[place] in "({")
        if depth == 0:
            return text[:place].rstrip()
    return None


def _initializer_list(text: str) -> str | None:
    """For text up to a member's name in a constructor's initializer list: what stands before the list's colon, or None."""
    while (name := re.search(r"[\w:]*\w>?$", text)):
        text = re.sub(r"<[^<>]*$", "", text[:name.start()]).rstrip()
        if text.endswith(":") and not text.endswith("::"):
            return text[:-1].rstrip()
        if not text.endswith(","):
            return None
        text = _before_group(text[:-1].rstrip()) or ""
    return None


def _signature(head: str) -> str | None:
    """The function's name when `head`, the text before an opening brace, is a function's signature."""
    head = _unqualified(re.sub(r"^[ \t]*#[^\n]*", "", head, flags=re.M).strip())
    before = _before_group(head)
    if before is None:
        return None
    outer = _initializer_list(before)
    if outer is not None:
        before = _before_group(_unqualified(outer)) or ""
    name = _NAME.search(before)
    if not name or name[1] in _CONTROL:
        return None
    return name[1]


def _member_initializer(head: str) -> bool:
    """Whether a brace after `head` initializes a member in a constructor's list: `: a(1), b`."""
    head = head.strip()
    if not head or not (head[-1].isalnum() or head[-1] in "_>"):
        return False
    outer = _initializer_list(head)
    return outer is not None and _unqualified(outer).endswith(")")


def functions(text: str) -> list[Function]:
    """Outermost functions of a file: lambdas and local classes count as lines of the function around them."""
    code = blank(text)
    found: list[Function] = []
    depth, start, inside = 0, 0, None  # inside: (name, first line, depth of its body)
    initializer = 0  # depth of braces inside an initializer list
    for place, char in enumerate(code):
        if char == "{" and inside is None and (initializer or _member_initializer(code[start:place])):
            initializer += 1
        elif char == "}" and initializer:
            initializer -= 1
        elif char == "{":
            if inside is None:
                name = _signature(code[start:place])
                if name:
                    lead = len(code[start:place]) - len(code[start:place].lstrip())
                    inside = (name, code.count("\n", 0, start + lead) + 1, depth)
            depth += 1
            start = place + 1
        elif char == "}":
            depth -= 1
            start = place + 1
            if inside and depth == inside[2]:
                found.append(Function(inside[0], inside[1], code.count("\n", 0, place) + 1))
                inside = None
        elif char == ";":
            start = place + 1
    return found
