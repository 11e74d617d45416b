"""What of somebody else's manual is here, and where: tables in YAML, of which documents show a part."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from aisbench_core.config.settings import HOME

LIST = "<!-- what differs -->\n\n"
REPEATED = ("as for ", "the same: ", "the rows below")
"""How rows begin that say nothing but what the row above or below says."""
HEAD = "| in the manual | here | where, or why |\n|---|---|---|\n"


@dataclass(frozen=True)
class Row:
    """What a manual names, what is said of it, and where it is here, or why not."""

    named: str
    said: str
    where: str


@dataclass(frozen=True)
class Coverage:
    """The tables of one manual by section."""

    title: str
    file: str

    @property
    def whole_page(self) -> Path:
        """Where `make docs` writes all rows; not kept."""
        return HOME / "build" / self.file.replace(".yaml", ".md")

    def sections(self) -> dict[str, list[Row]]:
        """The rows of each section."""
        stored = yaml.safe_load(Path(__file__).with_name(self.file).read_text("utf-8"))
        return {name: [Row(*map(str, row)) for row in rows] for name, rows in stored.items()}

    def rows(self) -> list[Row]:
        """The rows of all sections, in their order."""
        return [row for rows in self.sections().values() for row in rows]

    def whole(self) -> str:
        """All rows as Markdown; links are those of the document in docs/."""
        return f"# {self.title}\n" + "".join(
            f"\n## {name}\n\n{HEAD}{''.join(_lines(rows))}" for name, rows in self.sections().items()
        )

    def page_with_exceptions(self, document: Path) -> str:
        """The document with its list of whatever is not simply there."""
        before, found, after = document.read_text("utf-8").partition(LIST)
        assert found
        differing = [row for row in self.rows() if row.said != "yes" and not row.where.startswith(REPEATED)]
        items = "".join(f"* {row.named}, {row.said}: {row.where}\n" for row in differing)
        return before + LIST + items + re.sub(r"\A([*|].*\n)*", "", after)


def _lines(rows: list[Row]) -> Iterator[str]:
    yield from (f"| {row.named} | {row.said} | {row.where} |\n" for row in rows)
