"""The project's own source as its tests look at it: which files there are, and what a module says."""

import ast
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

HOME = Path(__file__).parents[1]
PRODUCT = "aisbench_core"
SANDBOX = "aisbench_sandbox"
Node = TypeVar("Node", bound=ast.AST)


@cache
def product() -> tuple[Path, ...]:
    """Every module that is shipped, but for the workloads, which are the cloud's."""
    return tuple(file for part in ("app.py", "pages", PRODUCT, SANDBOX) for file in files_of(part))


def all_python() -> list[Path]:
    """Every module: of the product, of its tests and of the workloads."""
    return [*product(), *files_of("tests"), *files_of("workloads")]


def files_of(part: str) -> list[Path]:
    """The modules of a part, which is a module or a folder, written as its path."""
    place = HOME / part
    return [place] if place.suffix == ".py" else sorted(place.rglob("*.py"))


def tracked() -> list[Path]:
    """Every file under version control, and every new one that is not ignored."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=True).stdout.split("\0")
    return [HOME / name for name in names if name and (HOME / name).is_file()]


def lines_of(file: Path) -> list[str]:
    """A text file line by line; nothing for other files."""
    try:
        return file.read_text("utf-8").splitlines()
    except UnicodeDecodeError:  # a picture, or packed data
        return []


@cache
def path_of(file: Path) -> str:
    """Where a file lies below the project's folder, with `/`."""
    return file.relative_to(HOME).as_posix()


def lies_in(file: Path, places: Collection[str]) -> bool:
    """Whether a file is one of these, or in one of these folders."""
    return any(path_of(file) == place or path_of(file).startswith(f"{place}/") for place in places)


def is_inside(module: str, places: Collection[str]) -> bool:
    """Whether a module is one of these, or part of one of these packages."""
    return any(module == place or module.startswith(f"{place}.") for place in places)


@cache
def tree_of(file: Path) -> ast.Module:
    """What a module says, parsed; nothing is run."""
    return ast.parse(file.read_text("utf-8"))


@cache
def _nodes_by_kind(file: Path) -> Mapping[type[ast.AST], Sequence[Any]]:
    """Every node of a module; many tests look at them, and walking costs more than reading."""
    nodes: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
    for node in ast.walk(tree_of(file)):
        nodes[type(node)].append(node)
    return nodes


def nodes_of(file: Path, *kinds: type[Node]) -> Iterator[Node]:
    """The nodes of these kinds in a module, kind by kind; those of one kind from the outside to the inside."""
    nodes = _nodes_by_kind(file)
    for kind in kinds:
        yield from nodes.get(kind, ())


@cache
def imports(file: Path) -> frozenset[str]:
    """Every module that a file imports, anywhere in it; `from a import b` counts as a.b where that is a module."""
    return frozenset(name for node in nodes_of(file, ast.Import, ast.ImportFrom) for name in _imported(node))


def _imported(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are written in full"
        module = node.module or ""
        inner = [f"{module}.{alias.name}" for alias in node.names if _is_module(f"{module}.{alias.name}")]
        yield from inner
        if len(inner) < len(node.names):
            yield module


def _is_module(name: str) -> bool:
    place = HOME / name.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").is_file()


def texts_of(file: Path) -> Iterator[str]:
    """Every string of a file but the docstrings: those are for people."""
    said = {id(node.value) for node in nodes_of(file, ast.Expr)}
    for node in nodes_of(file, ast.Constant):
        if isinstance(node.value, str) and id(node) not in said:
            yield node.value


def reads_environment(file: Path) -> bool:
    """Whether a module reaches for the environment through `os`."""
    names = {"environ", "environb", "getenv", "putenv"}
    return any(
        node.module == "os" and any(alias.name in names for alias in node.names)
        for node in nodes_of(file, ast.ImportFrom)
    ) or any(
        isinstance(node.value, ast.Name) and node.value.id == "os" and node.attr in names
        for node in nodes_of(file, ast.Attribute)
    )


def conditions(file: Path) -> Iterator[ast.expr]:
    """What a module decides by: every `if`, `while` and `match`."""
    yield from (node.test for node in nodes_of(file, ast.If))
    yield from (node.test for node in nodes_of(file, ast.IfExp))
    yield from (node.test for node in nodes_of(file, ast.While))
    yield from (condition for node in nodes_of(file, ast.comprehension) for condition in node.ifs)
    yield from (node.subject for node in nodes_of(file, ast.Match))
