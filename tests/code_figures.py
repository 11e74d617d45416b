"""What the code base looks like in figures: `python -m tests.code_figures` prints them.

Names that say nothing, names with two meanings, folders in which nobody finds anything.
`tests/unit/test_code_figures.py` holds the limits."""

import ast
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.source_tree import SANDBOX, files_of, nodes_of, path_of, product, tree_of

VAGUE = frozenset(
    "apart asked each found given kept known look others place said seen taken told what worth".split()  # noqa: SIM905
)
"""Words that say nothing about a value: it was found, or told, but what is it?"""


def bound_names(files: Iterable[Path]) -> Iterator[str]:
    """Every name that is given: functions, classes, arguments, variables and aliases, as often as it is given."""
    for file in files:
        for node in nodes_of(file):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield node.name
            elif isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.alias) and node.asname:
                yield node.asname


def vague_share() -> float:
    """Which part of all bound names is one of the vague words; 0 to 1."""
    names = Counter(bound_names(product()))
    return sum(names[word] for word in VAGUE) / names.total()


def classes_with_two_meanings() -> Mapping[str, list[str]]:
    """Class names that stand for more than one class, with the modules that define one."""
    modules: dict[str, list[str]] = defaultdict(list)
    for file in product():
        for node in nodes_of(file):
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(path_of(file))
    return {name: places for name, places in sorted(modules.items()) if len(places) > 1}


def page_functions_with_two_meanings() -> Mapping[str, list[str]]:
    """Public functions of pages whose name is defined in more than one module."""
    modules: dict[str, list[str]] = defaultdict(list)
    for file in files_of("pages/_ui"):
        for node in tree_of(file).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                modules[node.name].append(path_of(file))
    return {name: places for name, places in sorted(modules.items()) if len(places) > 1}


def modules_by_folder() -> Counter[str]:
    """How many modules lie side by side in each folder."""
    return Counter(path_of(file.parent) for file in product())


def product_lines() -> int:
    """Lines of the product without the sandbox."""
    return sum(len(file.read_text("utf-8").splitlines()) for file in product() if SANDBOX not in file.parts)


def comments_per_100_lines() -> float:
    """Comments of the product, of one or several lines, for each 100 lines of it."""
    lines = comments = 0
    for file in product():
        with file.open("rb") as source:
            comments += sum(token.type == tokenize.COMMENT for token in tokenize.tokenize(source.readline))
        lines += len(file.read_text("utf-8").splitlines())
    return 100 * comments / lines


def main() -> None:
    """Print the figures, a line each."""
    folder, modules = modules_by_folder().most_common(1)[0]
    print(f"names that are one of {len(VAGUE)} vague words: {100 * vague_share():.1f} %")
    print(f"class names with two meanings: {len(classes_with_two_meanings())}")
    print(f"public functions of pages with two meanings: {len(page_functions_with_two_meanings())}")
    print(f"modules in the largest folder: {modules} ({folder})")
    print(f"lines of the product without the sandbox: {product_lines():,}")
    print(f"comments per 100 lines: {comments_per_100_lines():.1f}")


if __name__ == "__main__":
    main()
