"""What the code base looks like in figures: `python -m tests.code_figures` prints them.

Names with two meanings, folders in which nobody finds anything.
`tests/unit/test_code_figures.py` holds the limits."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.import_graph import folder_circles, import_depth
from tests.source_tree import HOME, PRODUCT, SANDBOX, files_of, nodes_of, path_of, product, tree_of

ATTRIBUTES = {"property", "cached_property", "overload", "setter"}
"""Decorators of what is named like a value, or named twice."""

PARTICIPLE = re.compile(
    r"([a-z]*(?<!e)ed|[a-z]+ing|shown|found|known|held|kept|sent|taken|given|written|drawn|seen|built|chosen|left|made)"
)


def classes_with_two_meanings() -> Mapping[str, list[str]]:
    """Class names that stand for more than one class, with the modules that define one."""
    modules: dict[str, list[str]] = defaultdict(list)
    for file in product():
        for node in nodes_of(file, ast.ClassDef):
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


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(*, of_modules: bool = False) -> Iterator[tuple[Path, Function, str]]:
    """Every function and method, or only those of modules, with its name without the underscores around it."""
    for file in product():
        nodes = tree_of(file).body if of_modules else [*nodes_of(file, ast.FunctionDef, ast.AsyncFunctionDef)]
        for node in nodes:
            if isinstance(node, Function) and not node.name.startswith("__"):
                decorators = {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list}
                if not decorators & ATTRIBUTES:
                    yield file, node, node.name.strip("_")


def names_beside_each_other() -> list[str]:
    """What lies flat in the core: its folders, and its modules that are in none."""
    return sorted(
        path.name for path in (HOME / PRODUCT).iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    )


def words_of_docs() -> int:
    """Words of README, docs and the other pages for readers, as `wc -w` counts them."""
    return sum(len(file.read_text("utf-8").split()) for file in [*HOME.glob("*.md"), *(HOME / "docs").glob("*.md")])


def main() -> None:
    """Print the figures, a line each."""
    folder, modules = modules_by_folder().most_common(1)[0]
    names, circles = [name for _, _, name in functions()], folder_circles()
    one_word = [name for name in names if "_" not in name]
    participles = [name for name in one_word if PARTICIPLE.fullmatch(name)]
    olympic = [file for file in product() if "olympic_mean" in file.read_text("utf-8")]
    print(f"circles between folders: {len(circles)}, of {sum(map(len, circles))} parts")
    print(f"modules in the longest chain of imports: {import_depth()}")
    print(f"functions of one word: {len(one_word) / len(names):.0%} of {len(names):,}")
    print(f"functions named by a participle: {len(participles) / len(names):.1%}")
    print(f"names beside each other in {PRODUCT}: {len(names_beside_each_other())}")
    print(f"files with olympic_mean: {len(olympic)}")
    print(f"words of docs: {words_of_docs():,}")
    print(f"class names with two meanings: {len(classes_with_two_meanings())}")
    print(f"public functions of pages with two meanings: {len(page_functions_with_two_meanings())}")
    print(f"modules in the largest folder: {modules} ({folder})")
    print(f"lines of the product without the sandbox: {product_lines():,}")


if __name__ == "__main__":
    main()
