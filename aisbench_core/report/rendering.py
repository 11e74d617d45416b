"""The report as HTML, from the templates in this folder."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from aisbench_core.formats import MISSING, clipped, decimal, number, percent
from aisbench_core.report import charts, view, words

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def render(report: view.ReportView, language: words.ReportLanguage) -> str:
    """One self-contained page: no script, nothing to load."""
    template = environment().get_template("report.html.jinja")
    page = template.render(report=report, language=language.value)
    # Characters that command terminals or reorder text become visible. Done here once, so that no value is missed;
    # templates have none of them.
    return "\n".join(line if line.isprintable() else _printable(line) for line in page.split("\n"))


@cache
def environment() -> "Environment":
    """Templates that escape every value, and raise UndefinedError on an unknown name."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # takes 40 ms, and most commands need no report

    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    filters = (clipped, decimal, number, percent, view.software, view.hardware, view.size, view.group_title)
    jinja.filters |= {function.__name__: function for function in filters}
    jinja.filters["utc"] = "{:%Y-%m-%d %H:%M:%S}".format
    jinja.globals |= {function.__name__: function for function in (words.label, words.field_label, words.sentence)}
    jinja.globals |= {"plain": words.plain, "MISSING": MISSING, "WIDTH": charts.WIDTH}
    return jinja


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in line)
