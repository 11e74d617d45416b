"""What the core raises and finds is a Message, so that there is Chinese of it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from aisbench_core.base import errors
from tests.source_tree import nodes_of

CORE = Path(errors.__file__).parent
TEXTS_OF = {"Problem": slice(1, 2), "Violation": slice(2)}
"""Where these have their texts; errors have a message and a hint."""

ERRORS = {
    node.name
    for node in ast.walk(ast.parse(Path(errors.__file__).read_text("utf-8")))
    if isinstance(node, ast.ClassDef)
}


def has_text(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return has_text(node.body) or has_text(node.orelse)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and bool(node.value))


def plain_texts(file: Path) -> Iterator[str]:
    """What errors, problems and violations say and advise without being a Message: no language but English has it."""
    for node in nodes_of(file, ast.Call):
        name = getattr(node.func, "id", "")
        if name in {*ERRORS, *TEXTS_OF}:
            yield from (ast.unparse(each) for each in node.args[TEXTS_OF.get(name, slice(2))] if has_text(each))


def test_no_error_or_finding_has_a_text_without_a_translation() -> None:
    plain = {str(file): texts for file in CORE.rglob("*.py") if (texts := list(plain_texts(file)))}

    assert plain == {}
