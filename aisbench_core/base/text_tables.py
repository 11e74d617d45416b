"""Tables for papers and pages: the same cells in Markdown, or in LaTeX that needs no package."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from aisbench_core.base.formats import MINUS


class TextTableFormat(StrEnum):
    """The markup of a table."""

    MARKDOWN = "markdown"
    LATEX = "latex"


@dataclass(frozen=True, slots=True)
class TextColumn:
    """The head of a column, with its unit; numbers stand to the right."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class TextTable:
    """What a table is about, its heads, and its rows of texts."""

    caption: str
    columns: Sequence[TextColumn]
    rows: Sequence[Sequence[str]]


def format_text_table(table: TextTable, form: TextTableFormat) -> str:
    """The table as text that ends with a line break."""
    return _format_markdown(table) if form is TextTableFormat.MARKDOWN else _format_latex(table)


def _format_markdown(table: TextTable) -> str:
    lines = [
        [escape_markdown_cell(column.title) for column in table.columns],
        ["---:" if column.is_number else "---" for column in table.columns],
        *([escape_markdown_cell(cell) for cell in row] for row in table.rows),
    ]
    caption = f"{escape_markdown_cell(table.caption)}\n\n" if table.caption else ""
    return caption + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _format_latex(table: TextTable) -> str:
    kinds = "".join("r" if column.is_number else "l" for column in table.columns)
    head, *rows = (
        " & ".join(map(escape_latex, cells)) + r" \\"
        for cells in ([column.title for column in table.columns], *table.rows)
    )
    return "\n".join([
        r"\begin{table}",
        r"\centering",
        *([rf"\caption{{{escape_latex(table.caption)}}}"] if table.caption else ()),
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\hline", head, r"\hline", *rows, r"\hline",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ])  # fmt: skip


_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#$&!])")


def escape_markdown_cell(text: str) -> str:
    """The text in a cell of a Markdown table, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


_LATEX = str.maketrans(
    {
        **{letter: f"\\{letter}" for letter in "_&%#${}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        MINUS: "$-$",
        "–": "--",
        "…": r"\ldots{}",
        "×": r"$\times$",
        "±": r"$\pm$",
        "≠": r"$\neq$",
        "²": r"\textsuperscript{2}",
        "·": r"\textperiodcentered{}",
    }
)


def escape_latex(text: str) -> str:
    """The text for LaTeX, on one line; letters of other scripts need XeLaTeX or LuaLaTeX."""
    return " ".join(text.split()).translate(_LATEX)
