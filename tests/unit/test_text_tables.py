"""Tables in Markdown and LaTeX: what a text may hold is escaped."""

import pytest

from aisbench_core.base.text_tables import TextColumn, TextTable, TextTableFormat, escape_latex, format_text_table

TABLE = TextTable("Runs of a_b: 100 %", [TextColumn("Run"), TextColumn("Throughput (samples/s)", True)], [["x|y", "1"]])


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b & c", r"a\_b \& c"),
        ("5 % of #1 for $3", r"5 \% of \#1 for \$3"),
        ("{x}", r"\{x\}"),
        ("~/x^2", r"\textasciitilde{}/x\textasciicircum{}2"),
        ("C:\\new", r"C:\textbackslash{}new"),
        ("a\nb", "a b"),
        ("−3 – …", r"$-$3 -- \ldots{}"),
        ("基线", "基线"),
    ],
)
def test_what_latex_would_take_for_a_command_is_escaped(text: str, escaped: str) -> None:
    assert escape_latex(text) == escaped


def test_a_table_in_latex_has_its_caption_and_numbers_to_the_right() -> None:
    assert format_text_table(TABLE, TextTableFormat.LATEX) == (
        "\\begin{table}\n\\centering\n\\caption{Runs of a\\_b: 100 \\%}\n\\begin{tabular}{lr}\n\\hline\n"
        "Run & Throughput (samples/s) \\\\\n\\hline\nx\\textbar{}y & 1 \\\\\n\\hline\n\\end{tabular}\n\\end{table}\n"
    )


def test_no_picture_or_link_arises_in_markdown() -> None:
    table = TextTable("", [TextColumn("Note")], [["![x](javascript:y)"]])

    assert r"| \!\[x\](javascript:y) |" in format_text_table(table, TextTableFormat.MARKDOWN)


def test_a_table_in_markdown_stays_one_line_a_row() -> None:
    assert format_text_table(TABLE, TextTableFormat.MARKDOWN) == (
        "Runs of a\\_b: 100 %\n\n| Run | Throughput (samples/s) |\n| --- | ---: |\n| x\\|y | 1 |\n"
    )
