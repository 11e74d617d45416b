"""Which part of the product imports which: circles between folders, and how long a chain of imports gets."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import PurePosixPath

from tests.source_tree import imports, path_of, product

Arrows = Mapping[str, set[str]]


@cache
def module_arrows() -> Arrows:
    """Every module of the product with those that it imports, anywhere in it, by dotted names."""
    names = {_name_of(path_of(file)): file for file in product()}
    return {
        name: {found for each in imports(file) if (found := each) in names and found != name}
        for name, file in names.items()
    }


def folder_circles() -> list[list[str]]:
    """At every level, the folders and modules side by side that import each other, in a circle of any length."""
    siblings: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, imported in module_arrows().items():
        for other in imported:
            parent, own, its = _fork(module, other)
            if own and its:
                siblings[parent][own].add(its)
    return [
        [f"{parent}.{part}".strip(".") for part in sorted(circle)]
        for parent, arrows in sorted(siblings.items())
        for circle in _circles(arrows)
        if len(circle) > 1
    ]


def import_depth() -> int:
    """How many modules the longest chain of imports has; those of a circle count as one."""
    arrows = module_arrows()
    circle_of = {name: number for number, circle in enumerate(_circles(arrows)) for name in circle}
    below: dict[int, set[int]] = defaultdict(set)
    for module, imported in arrows.items():
        below[circle_of[module]] |= {circle_of[other] for other in imported} - {circle_of[module]}
    depth: dict[int, int] = {}
    for number in TopologicalSorter(below).static_order():  # what is imported comes first
        depth[number] = 1 + max((depth[each] for each in below[number]), default=0)
    return max(depth.values())


def _name_of(path: str) -> str:
    return ".".join(PurePosixPath(path.removesuffix("/__init__.py")).with_suffix("").parts)


def _fork(module: str, other: str) -> tuple[str, str, str]:
    """The folder that two modules share, and what lies in it of each; "" of one that is the folder's own module."""
    one, two = module.split("."), other.split(".")
    shared = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return ".".join(one[:shared]), "".join(one[shared : shared + 1]), "".join(two[shared : shared + 1])


def _circles(arrows: Arrows) -> list[list[str]]:
    """All names, put together with those that they reach and that reach them."""
    reached = {name: _reached(name, arrows) for name in arrows}
    circles: dict[str, list[str]] = {}
    for name in arrows:
        if name not in circles:
            circle = [name, *(other for other in reached[name] - {name} if name in reached.get(other, ()))]
            circles |= dict.fromkeys(circle, circle)
    return list({id(circle): circle for circle in circles.values()}.values())


def _reached(start: str, arrows: Arrows) -> set[str]:
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        new = arrows.get(ahead.pop(), set()) - reached
        reached |= new
        ahead += new
    return reached
