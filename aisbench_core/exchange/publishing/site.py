"""The files of a published leaderboard: a page in each language, its tables page by page, Parquet, evidence."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from aisbench_core.exchange.publishing import columns as published
from aisbench_core.exchange.publishing.columns import PublishedColumn
from aisbench_core.exchange.publishing.tables import PagedTable, ParquetTable, iterate_lines
from aisbench_core.exchange.publishing.words import WORDS, translate_word
from aisbench_core.model.columns import Kind
from aisbench_core.warehouse.exporting.publication import BUNDLE, ROW_NUMBER, Publication
from aisbench_core.warehouse.values.boards import BoardRow

TEMPLATES = Path(__file__).parent / "templates"
PAGES = ("index.html", "zh.html")
"""The page in English, and in Chinese."""

# Digits of a number: threads add up floats in any order, so that the last ones of two sums of the same runs differ.
DIGITS = 12


class StaticSite:
    """The files of a leaderboard that is being published."""

    def __init__(
        self, folder: Path, publication: Publication, allowed: Sequence[str], bundles: Sequence[str], page_rows: int
    ) -> None:
        self._folder, self._publication, self._allowed, self._bundles = folder, publication, allowed, bundles
        self._page_rows = page_rows
        self.rows, self.runs = PagedTable(folder, "rows", page_rows), PagedTable(folder, "runs", page_rows)
        self._row_columns = published.choose_row_columns(allowed)
        self._run_columns = (*published.choose_run_columns(allowed), *([BUNDLE] if bundles else ()))
        self._linked: set[str] = set()
        self._groups: list[tuple[int, int]] = []

    def write_rows(self) -> None:
        """Write the rows; each says which of the published runs are its own."""
        distinctions = self._publication.list_distinctions() if published.PARAMETERS in self._allowed else {}
        first = 0
        with ParquetTable(self._folder / "leaderboard.parquet", [_ROW, *self._row_columns]) as file:
            waiting: list[Mapping[str, object]] = []
            for grouped in self._publication.iterate_rows():
                row = grouped.row
                cells = {each.name: _round_number(each.cell(row)) for each in self._row_columns}
                shown = [_to_json(cells[each.name]) for each in self._row_columns if each.is_shown]
                line = json.dumps([grouped.benchmark, first, row.runs, *shown], ensure_ascii=False)
                self.rows.add(line, (grouped.benchmark, self._name_benchmark(row, distinctions)))
                waiting.append({"row": self.rows.total, **{name: _get_english(cell) for name, cell in cells.items()}})
                first += row.runs
                self._groups.append((grouped.group_id, row.runs))
                if len(waiting) == self._page_rows:
                    file.add_rows(waiting)
                    waiting = []
            file.add_rows(waiting)
        self.rows.end_page()

    def write_runs(self, most: int) -> None:
        """Write the runs that count, in the order of the rows, and of each the newest first."""
        described = [published.describe_run_column(column) for column in (*self._run_columns, ROW_NUMBER)]
        with ParquetTable(self._folder / "runs.parquet", described) as file:
            for first, groups in self._split_groups(most):
                for batch in self._publication.iterate_runs(self._run_columns, groups, first, self._bundles):
                    file.add_batch(batch)
                    for line in iterate_lines(batch):
                        self.runs.add(line)
                    if self._bundles:
                        self._linked.update(filter(None, batch.column(BUNDLE.name).to_pylist()))
        self.runs.end_page()

    def copy_bundles(self, bundles: Path) -> int:
        """Copy the evidence of the runs that are published; returns how many files."""
        for name in sorted(self._linked):
            (self._folder / "bundles").mkdir(exist_ok=True)
            shutil.copyfile(bundles / f"{name}.zip", self._folder / "bundles" / f"{name}.zip")
        return len(self._linked)

    def write_pages(self, at: datetime, head: str) -> None:
        """Write the page of each language, and the script and the style that they share."""
        for name in ("leaderboard.js", "leaderboard.css"):
            shutil.copyfile(TEMPLATES / name, self._folder / name)
        for index, name in enumerate(PAGES):
            words = {key: translate_word(key)[index] for key in WORDS}
            words["published"] = words["published"].format(
                at=f"{at.astimezone(UTC):%Y-%m-%d %H:%M}", version=version("aisbench-console")
            )
            words["head"] = words["head"].format(head=head) if head else ""
            site = {
                "language": ("en", "zh")[index],
                "words": words,
                "pageRows": self._page_rows,
                "tables": self._describe(index),
            }
            page = _load_template().render(site=site, words=words, language=("en", "zh-CN")[index], index=index)
            (self._folder / name).write_text(page, "utf-8")

    def _describe(self, language: int) -> dict[str, Any]:
        shown = [each for each in self._row_columns if each.is_shown]
        of_runs = [published.describe_run_column(column) for column in self._run_columns]
        return {
            "rows": {"total": self.rows.total, "columns": [_describe_column(each, language) for each in shown]},
            "runs": {"total": self.runs.total, "columns": [_describe_column(each, language) for each in of_runs]},
        }

    def _split_groups(self, most: int) -> Iterator[tuple[int, list[int]]]:
        """The number of the first row of each part, and the part's groups."""
        part: list[int] = []
        first, runs = 1, 0
        for number, (group, count) in enumerate(self._groups, start=1):
            if part and runs + count > most:
                yield first, part
                part, first, runs = [], number, 0
            part.append(group)
            runs += count
        if part:
            yield first, part

    def _name_benchmark(self, row: BoardRow, distinctions: Mapping[str, str]) -> tuple[str, ...]:
        """What the heading above a benchmark's rows says: its name, and what is measured."""
        allowed = {
            "workload": row.title or row.workload, "model_name": row.model, "dataset_name": row.dataset,
            published.PARAMETERS: distinctions.get(row.fingerprint, ""),
        }  # fmt: skip
        name = [text for key, text in allowed.items() if key in self._allowed and text]
        measured = f"{row.primary_metric} ({row.throughput_unit})" if row.primary_metric else row.throughput_unit
        return " · ".join(name) or row.fingerprint[:12], measured


_ROW = PublishedColumn("row", Kind.INTEGER, translate_word("leaderboard_row"))


def _describe_column(column: PublishedColumn, language: int) -> dict[str, str]:
    unit = {} if column.unit in ("", "throughput_unit", "currency") else {"unit": column.unit}
    return {"name": column.name, "kind": column.kind.value, "label": column.label[language], **unit}


def _round_number(cell: object) -> object:
    return float(f"{cell:.{DIGITS}g}") if isinstance(cell, float) else cell


def _to_json(cell: object) -> object:
    return f"{cell.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if isinstance(cell, datetime) else cell


def _get_english(cell: object) -> object:
    return cell[0] if isinstance(cell, tuple) else cell


def _load_template() -> Template:
    """The page, in which every value is escaped."""
    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    return jinja.get_template("leaderboard.html.jinja")
