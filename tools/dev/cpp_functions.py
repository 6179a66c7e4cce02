"""Finds function bodies in C++ text by their braces: enough to measure lengths, without a compiler."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import re

_LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)

# What may stand between a parameter list and the body.
_TAIL = re.compile(r"\)\s*(?:const|noexcept(?:\([^)]*\))?|override|final|&&?|mutable|->\s*[\w:<>,&*\s]+|\s+)*$")
# `member{` in a constructor's initializer list: these braces are not a body.
_MEMBER_INIT = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:).*?[\w>]$|\)\s*(?:noexcept\s*)?:(?!:)\s*[\w:<>]+$", re.S)
_CONTROL = re.compile(r"\b(if|for|while|switch|catch|else|do|namespace|class|struct|enum|union|extern)\b")


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


def _signature(head: str) -> str | None:
    """The function's name when `head`, the text before an opening brace, is a function's signature."""
    head = re.sub(r"^\s*#[^\n]*(?:\\\n[^\n]*)*", "", head, flags=re.M).strip()
    constructor = re.match(r"(.*?\))\s*(?:noexcept\s*)?:\s*[\w:<>]+\s*[({].*[)}]$", head, re.S)
    if constructor and "?" not in head:
        head = constructor[1]
    if not _TAIL.search(head) or "(" not in head:
        return None
    before = head[:head.index("(")].rstrip()
    name = re.search(r"(operator\s*\S+|~?[\w:]+(?:<[^<>]*>)?)$", before)
    if not name or _CONTROL.fullmatch(name[1]) or head.startswith(("=", "return")):
        return None
    return name[1]


def functions(text: str) -> list[Function]:
    """Outermost functions of a file: lambdas and local classes count as lines of the function around them."""
    code = blank(text)
    found: list[Function] = []
    depth, start, inside = 0, 0, None  # inside: (name, first line, depth of its body)
    initializer = 0  # depth of braces inside an initializer list
    for place, char in enumerate(code):
        if char == "{" and inside is None and (initializer or _MEMBER_INIT.search(code[start:place].rstrip())):
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
