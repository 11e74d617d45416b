"""Names are words of the field: BANNED says what is none, and what to write instead."""

import ast
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache

from tests.source_tree import HOME, nodes_of, path_of, product

BANNED: Mapping[str, str] = {
    "told": "on_progress, progress, report; for text: message",
    "look looks": "client, poll, probe, CHECKS",
    "place places": "profile, path, prefix, location, row_id, index, page",
    "telling": "full_runs, reading",
    "taking taken": "merging, merge",
    "apart": "distinguishing, distinct",
    "asking asked": "queries, sql; planned, requested",
    "elsewhere": "remote, other_regions",
    "moving": "migrating",
    "lent": "borrowed, pooled",
    "desk": "service",
    "shelf": "store, registry",
    "workshop": "builder",
    "intake": "validation, importing",
    "keeping kept": "saving, saved, stored",
    "complaint complaints": "ValidationError, problem",
    "misfit": "Mismatch",
    "lacking": "MissingField, missing",
    "trouble troubles": "Fault, error",
    "promises": "guarantees, Contract",
    "speaker": "source, sender",
    "left_out": "excluded, Exclusion",
    "standing standings": "group_statistics, status",
    "question questions": "configuration, fingerprint group; for SQL: query",
    "remark remarks": "annotation, note, tag",
    "judge judged judgement judgements": "validate, checks, regression",
    "verdict verdicts": "validity, comparability, regression_verdict, outcome",
}
"""Words that are no name, and what to write instead. Bare `verdict` has four meanings; `regression_verdict` has one."""

ALONE = {"verdict", "verdicts"}
"""Banned as whole names only; every other word is banned as a part of a name, too."""

WORDS = {word: better for words, better in BANNED.items() for word in words.split()}

STORED: Mapping[str, str] = {
    "keep_remarks": "parameter of the option --keep-remarks",
    "look_seconds": "a key of aisbench.yaml, and AISBENCH_LOOK_SECONDS",
    "JobNameTaken": "says what happened: the cloud has a job of that name",
    "most_apart": "a key of rulesets",
    "aisbench_core/model/run.py: verdict": "a column of the ledger, and a key of record.json",
    "aisbench_core/model/result.py: told": "a key of record.json",
    "aisbench_core/model/result.py: remarks": "a key of record.json",
    "aisbench_sandbox/attempts.py: trouble": "a key of the sandbox's stored jobs",
}
"""Names that stay because files, addresses or other people's programs hold them, with the reason.

`path: name` stays in that module only."""

ALLOWED: Mapping[str, int] = {
    "aisbench_core/warehouse": 7,
    "pages/_ui": 5,
}
"""How many names a folder may still have; the numbers only go down."""


NAMING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.arg, ast.Name, ast.Attribute, ast.alias)
"""What gives a name."""


def names() -> Iterator[tuple[str, str]]:
    """Every name that the product gives, and where: modules, classes, functions, arguments, variables, attributes."""
    for file in product():
        yield file.stem, path_of(file)
        where = path_of(file)
        for node in nodes_of(file, *NAMING):
            name = _name(node)
            if name:
                yield name, f"{where}:{getattr(node, 'lineno', 0)}"


def stays(name: str, where: str) -> bool:
    """Whether STORED has this name, or this name in this module."""
    return name in STORED or f"{where.partition(':')[0]}: {name}" in STORED


def _name(node: ast.AST) -> str | None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr
    return node.asname if isinstance(node, ast.alias) else None


@cache
def banned_word(name: str) -> str | None:
    """The banned word in a name, whether it is written like_this, LIKE_THIS or LikeThis."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    parts = {*words, *("_".join(pair) for pair in itertools.pairwise(words))}
    return next((word for word in WORDS if (words == [word] if word in ALONE else word in parts)), None)


def test_a_banned_word_is_found_in_every_form() -> None:
    assert banned_word("_ToldRun") == "told"
    assert banned_word("ON_TOLD") == "told"
    assert banned_word("LeftOut") == "left_out"
    assert banned_word("replace") is None
    assert (banned_word("verdict"), banned_word("regression_verdict")) == ("verdict", None)


def test_no_name_is_a_banned_word() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for name, where in names():
        if (word := banned_word(name)) and not stays(name, where):
            found[folder_of(where)].append(f"{where}: {name} – write instead: {WORDS[word]}")
    too_many = {folder: lines for folder, lines in found.items() if len(lines) > ALLOWED.get(folder, 0)}

    assert too_many == {}, "\n".join(line for lines in too_many.values() for line in lines)


def test_every_exception_is_still_used() -> None:
    used = {form for name, where in names() for form in (name, f"{where.partition(':')[0]}: {name}")}
    assert {*STORED} - used == set()


def test_no_term_of_the_glossary_is_banned() -> None:
    rows = re.findall(r"^\* ([^(]+) \(", (HOME / "docs" / "glossary.md").read_text("utf-8"), re.M)
    terms = [term.strip().replace(" ", "_") for row in rows for term in row.split(",")]

    assert len(terms) > 30
    assert {term: word for term in terms if (word := banned_word(term))} == {}


def counts() -> Counter[str]:
    """How many banned names each folder has; for ALLOWED."""
    return Counter(folder_of(where) for name, where in names() if banned_word(name) and not stays(name, where))


def folder_of(where: str) -> str:
    """The folder of a name below the package, or the package."""
    return "/".join(where.split("/")[:-1][:2])
