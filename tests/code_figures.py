"""What the code base looks like in figures: `python -m tests.code_figures` prints them.

Names with two meanings, folders in which nobody finds anything.
`tests/unit/test_code_figures.py` holds the limits."""

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping

from tests.source_tree import SANDBOX, files_of, nodes_of, path_of, product, tree_of


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


def main() -> None:
    """Print the figures, a line each."""
    folder, modules = modules_by_folder().most_common(1)[0]
    print(f"class names with two meanings: {len(classes_with_two_meanings())}")
    print(f"public functions of pages with two meanings: {len(page_functions_with_two_meanings())}")
    print(f"modules in the largest folder: {modules} ({folder})")
    print(f"lines of the product without the sandbox: {product_lines():,}")


if __name__ == "__main__":
    main()
