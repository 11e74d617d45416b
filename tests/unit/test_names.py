"""Names by grammar: a function is a verb and an object, which is its module where that is called by name."""

import ast
from collections.abc import Iterator, Mapping

from tests.code_figures import PARTICIPLE, functions
from tests.source_tree import all_python, nodes_of, path_of

ONE_WORD: Mapping[str, str] = {
    "core": "the pages' door to everything, read like `st.session_state`",
    "actor": "who uses the page, read like `st.session_state`",
    "command": "a decorator says what a function becomes",
    "rule": "a decorator says what a function becomes",
    "permitted": "a decorator says what a function becomes",
}
"""Functions of one word that are imported by name, with the reason."""

NOUNS: Mapping[str, str] = {
    "scaling": "throughput over node counts; the clients' methods are called like what they read",
    "spending": "what runs cost; likewise",
    "training": "what a job does; likewise",
    "permitted": ONE_WORD["permitted"],
}
"""What looks like a participle and is none, or is one for a reason."""

IMITATED = "aisbench_sandbox/modules/"
"""Packages of the cloud that the sandbox stands in for: their names are not ours."""


def test_a_function_is_not_named_by_a_bare_participle() -> None:
    assert {path: name for path, name in _participles() if name not in NOUNS} == {}


def test_a_function_of_one_word_is_called_through_its_module() -> None:
    assert {path: name for path, name in _single_words() if name not in ONE_WORD} == {}


def test_every_exception_is_still_needed() -> None:
    assert {name for _, name in _single_words()} == {*ONE_WORD}
    assert {name for _, name in _participles()} == {*NOUNS}


def _participles() -> Iterator[tuple[str, str]]:
    """Where a function, method or inner function is named by nothing but a participle."""
    for file, node, name in functions():
        if PARTICIPLE.fullmatch(name) and not _is_command(node):
            yield f"{path_of(file)}:{node.lineno}", name


def _single_words() -> Iterator[tuple[str, str]]:
    """Where a function of a module is one word, and is called without its module: it is private, or imported by name.

    The function of a command is called like the command."""
    imported = {
        (f"{(node.module or '').replace('.', '/')}", alias.name)
        for file in all_python()
        for node in nodes_of(file, ast.ImportFrom)
        for alias in node.names
    }
    for file, node, name in functions(of_modules=True):
        module = path_of(file).removesuffix(".py").removesuffix("/__init__")
        is_alone = node.name.startswith("_") or (module, node.name) in imported
        if is_alone and "_" not in name and not _is_command(node) and not module.startswith(IMITATED):
            yield f"{path_of(file)}:{node.lineno}", name


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list}
    return bool(names & {"command", "group"})
