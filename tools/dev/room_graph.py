"""Which folder includes which: the graph of the rooms, and its cycles.

A folder with sources is a room; a room's folders are its sub-rooms; a folder without sources of its own (lib/Dialect) is a shelf. A public
header belongs to the folder that implements it: where a source of its name includes it, else the folder of its name, else that of its path.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import collections
import pathlib
import re
from typing import Iterator

# Where sources are, and the public headers of each.
SOURCES = {"lib": "include/weft", "kernels-runtime/src": "kernels-runtime/include/weft", "tools": ""}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
Path = pathlib.PurePosixPath
Edge = tuple[str, int, str]  # File, line, what it includes.
Graph = dict[Path, dict[Path, Edge]]


class Tree:
    """The C++ files below `root`, each in its folder."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.folder: dict[Path, Path] = {}
        for sources, headers in SOURCES.items():
            files = [Path(p.relative_to(root)) for p in (root / sources).rglob("*") if p.suffix in (".h", ".cpp")]
            self.folder.update({path: path.parent for path in files})
            public = [Path(p.relative_to(root)) for p in (root / headers).rglob("*.h")] if headers else []
            folders = {path.parent for path in files}
            implementers = [path for path in files if path.suffix == ".cpp"]
            for path in public:
                name = f'#include "{path.relative_to(Path(headers).parent)}"'
                homes = {source.parent for source in implementers if source.stem == path.stem and name in (root / source).read_text(errors="replace")}
                self.folder[path] = self._home(path, Path(sources) / path.parent.relative_to(headers), Path(headers), homes, folders)
        self.roomy = set(self.folder.values())
        self.named = collections.defaultdict(set)  # Build files let a tool include another one's headers by their names.
        for path in self.folder:
            self.named[path.parts[0], path.name].add(path)

    @staticmethod
    def _home(path: Path, mirror: Path, headers: Path, homes: set[Path], folders: set[Path]) -> Path:
        below = [home for home in homes if mirror in (home, *home.parents)]
        if len(below) == 1 and path.parent != headers:
            return below[0]
        if mirror / path.stem in folders:
            return mirror / path.stem
        return mirror if path.parent != headers else headers

    def resolve(self, path: Path, name: str) -> Path | None:
        """What `#include "name"` in `path` means, if it is a file of the tree."""
        places = [path.parent / name, *(Path(headers).parent / name for headers in SOURCES.values() if headers),
                  *(parent / name for parent in path.parents), *(Path(sources) / name for sources in SOURCES)]
        for place in places:
            parts: list[str] = []
            for part in place.parts:
                if part == ".." and parts:
                    parts.pop()
                else:
                    parts.append(part)
            if Path(*parts) in self.folder:
                return Path(*parts)
        named = self.named[path.parts[0], name]
        return next(iter(named)) if len(named) == 1 else None

    def includes(self) -> Iterator[tuple[Path, Path, Edge]]:
        """Folder, included folder and the place, for every include that leaves its folder."""
        for path in sorted(self.folder):
            text = (self.root / path).read_text(errors="replace")
            for match in INCLUDE.finditer(text):
                target = self.resolve(path, match[1])
                if target and self.folder[target] != self.folder[path]:
                    yield self.folder[path], self.folder[target], (str(path), text.count("\n", 0, match.start(1)) + 1, match[1])

    def room(self, folder: Path) -> Path:
        """The outermost folder around `folder` that is no shelf."""
        return next(place for place in (*reversed(folder.parents), folder) if place in self.roomy)


def draw(tree: Tree) -> tuple[Graph, Graph]:
    """The graph of all folders, and that of rooms as wholes."""
    folders: Graph = collections.defaultdict(dict)
    rooms: Graph = collections.defaultdict(dict)
    for source, target, edge in tree.includes():
        folders[source].setdefault(target, edge)
        if tree.room(source) != tree.room(target):
            rooms[tree.room(source)].setdefault(tree.room(target), edge)
    return folders, rooms


def find_cycles(graph: Graph) -> list[list[Path]]:
    """A shortest cycle through each folder that is in one, each cycle once, the shortest first."""
    found: dict[frozenset[Path], list[Path]] = {}
    for start in sorted(graph):
        paths = collections.deque([[start]])
        seen = set()
        while paths:
            path = paths.popleft()
            if start in graph.get(path[-1], {}):
                found.setdefault(frozenset(path), path)
                break
            for target in sorted(graph.get(path[-1], {})):
                if target not in seen:
                    seen.add(target)
                    paths.append([*path, target])
    return sorted(found.values(), key=lambda path: (len(path), path))


def find_breaches(root: pathlib.Path) -> list[str]:
    """A line for every edge of a cycle, at its first include."""
    lines = {}
    for graph in draw(Tree(root)):
        for cycle in find_cycles(graph):
            for source, target in zip(cycle, [*cycle[1:], cycle[0]]):
                file, line, name = graph[source][target]
                text = " -> ".join(str(folder) for folder in (*cycle, cycle[0]))
                lines.setdefault((file, line), f"{file}:{line}: {name}: expected rooms without cycles, got {text}; move what both need below them")
    return list(lines.values())
