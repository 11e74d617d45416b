"""Command lines in documents parse; paths below `data/` and parameters of addresses are those of the program."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from aisbench_core.interfaces.cli import main
from tests.source_tree import HOME, path_of, product

DATA_README = HOME / "data" / "README.md"
PAGES = [
    *(HOME / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((HOME / "docs").glob("*.md")),
    *sorted((HOME / "workloads").glob("*/README.md")),
    HOME / "pages" / "_ui" / "texts" / "en.yaml",
    HOME / "aisbench_core" / "base" / "messages" / "zh.po",
]
COMMAND = re.compile(r"^(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?aisbench(?: |$)")
OPTION = re.compile(r"-[a-zA-Z]|--[a-z][a-z-]*")


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_every_command_line_in_a_block_parses(page: Path) -> None:
    wrong = {line: problem for line in _block_lines(page.read_text("utf-8")) if (problem := _problem(line))}

    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_every_command_in_a_sentence_has_these_options(page: Path) -> None:
    wrong = {line: unknown for line in _inline(page.read_text("utf-8")) if (unknown := _unknown_words(line))}

    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_every_path_below_data_is_one_that_the_readme_of_the_folder_lists(page: Path) -> None:
    named = set(re.findall(r"(?<![\w/.])data/([\w-]+(?:\.\w+)*)", page.read_text("utf-8")))

    assert named - _listed_in_data() - {"README.md"} == set()


def test_the_readme_of_the_data_folder_lists_what_the_program_puts_there() -> None:
    source = "".join(file.read_text("utf-8") for file in product())

    assert set(re.findall(r'data_dir / "([\w.-]+)"', source)) <= _listed_in_data()
    assert {name for name in _listed_in_data() if f'"{name}"' not in source} == set()


def test_every_parameter_of_a_pages_address_is_documented() -> None:
    source = "".join(file.read_text("utf-8") for file in (HOME / "pages").rglob("*.py"))
    widgets = r"choose_option\(\s*[a-z.]+,|(?:choose_options|input_text|input_switch|input_number|Pages)\("
    read = re.findall(rf'url\.(?:{widgets})\s*"([a-z_]+)"', source)
    documented = (HOME / "docs" / "console.md").read_text("utf-8")

    assert len(set(read)) > 20
    assert [name for name in sorted(set(read)) if not re.search(rf"`{name}(=\w+)?`", documented)] == []


def _listed_in_data() -> set[str]:
    rows = re.findall(r"^\| `([\w.-]+)", DATA_README.read_text("utf-8"), re.M)
    return set(rows)


def _block_lines(text: str) -> Iterator[str]:
    """The command lines of a page's blocks; a line that ends in a backslash goes on in the next."""
    for block in re.findall(r"^[ ]*```sh\n(.*?)^[ ]*```", text, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if COMMAND.match(line.strip()):
                yield line.strip()


def _inline(text: str) -> list[str]:
    return [each for each in re.findall(r"`([^`\n]+)`", text) if COMMAND.match(each)]


def _problem(line: str) -> str | None:
    """What is wrong with a command line as a shell would give it to us."""
    command, arguments = _command(_words(line))
    root = click.Context(main, **main.context_settings)
    context = click.Context(command, parent=root, **command.context_settings)
    try:
        given, left, _ = command.make_parser(context).parse_args(arguments)
        for parameter in command.params:
            _check_value(parameter, given.get(parameter.name or ""), context)
    except click.UsageError as error:
        return error.format_message()
    if isinstance(command, click.Group):
        return f"{command.name} needs a command" if not arguments else f"no command {left or arguments}"
    return f"left over: {left}" if left else None


def _check_value(parameter: click.Parameter, value: object, context: click.Context) -> None:
    """Choices and ranges are held; files need not be there."""
    if parameter.required and value in (None, ()):
        raise click.MissingParameter(ctx=context, param=parameter)
    if isinstance(parameter.type, click.Choice | click.IntRange | click.FloatRange) and isinstance(value, str | list):
        for each in value if isinstance(value, list) else [value]:
            parameter.type(each, parameter, context)


def _unknown_words(line: str) -> list[str]:
    """Commands and options of a sentence, in which values may be names of what is meant."""
    words = [word for word in line.replace("|", " ").split() if "=" not in word[:12] or word.startswith("--")]
    command, rest = _command(words[1:] if not COMMAND.match(f"{words[0]} ") else words)
    known = {name for parameter in command.params for name in parameter.opts} | {"--help", "-h"}
    options = [word.split("=")[0] for word in rest]
    unknown = [word for word in options if OPTION.fullmatch(word) and word not in known]
    return (
        [*unknown, *rest[:1]] if isinstance(command, click.Group) and rest and not rest[0].startswith("-") else unknown
    )


def _command(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the words begin with, and what follows."""
    while words and not words[0].endswith("aisbench"):
        words = words[1:]
    found: click.Command = main
    words = words[1:]
    while isinstance(found, click.Group) and words and (inner := found.get_command(click.Context(found), words[0])):
        found, words = inner, words[1:]
    return found, words


def _words(line: str) -> list[str]:
    """What the shell gives to the program: without comments, redirections and what a pipe leads to."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>&;")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words = []
    for word in lexer:
        if set(word) <= set("|<>&;"):
            break
        words.append(word)
    return words
