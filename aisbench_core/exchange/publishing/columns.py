"""What is published: columns of the leaderboard's rows and of runs, by a list of those that are allowed."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.formats import nodes_and_cards
from aisbench_core.base.messages import Message, in_chinese, label_in_chinese
from aisbench_core.exchange.publishing.words import WORDS, translate_word
from aisbench_core.model import Origin
from aisbench_core.model.columns import COUNT, FRACTION, UTC, Column, Kind, by_exported, list_medians
from aisbench_core.warehouse.exporting.columns import SheetColumn
from aisbench_core.warehouse.exporting.runs import RUNS
from aisbench_core.warehouse.values.boards import ASPECTS, BoardRow, abbreviate_value
from aisbench_core.warehouse.values.runs import TargetOutcome

# Parameters that distinguish benchmarks, which are no column of exports.
PARAMETERS = "parameters"

# Neither people nor texts that they wrote; no addresses, places or prices of the laboratory.
DEFAULT_COLUMNS = (
    *("run_id", "created_at_utc", "model_name", "framework_version", "flavor", "node_count", "cards_per_node"),
    *("throughput_cluster", "throughput_unit", "throughput_per_card", "rank_cv_pct", "accuracy", "converged"),
    *("platform_duration_s", "average_power_w", "validity", "origin", "workload", "framework", "accelerator"),
    *("dataset_name", "primary_metric", "ruleset_id", "record_sha256", "code_sha256", "dataset_sha256", PARAMETERS),
)

# They are of one file, not of a run: they would differ each time.
_OF_A_FILE = ("schema_version", "exported_at_utc", "report_id", "audit_head")

_SHEET: Mapping[str, SheetColumn] = {column.name: column for column in RUNS.columns if column.name not in _OF_A_FILE}

ALLOWABLE = (*_SHEET, PARAMETERS)


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """A column: its name in files, its label in English and Chinese, and its unit."""

    name: str
    kind: Kind
    label: tuple[str, str]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class RowColumn(PublishedColumn):
    """A column of the leaderboard. `cell`: a text that has a translation is a pair, English first. `allowed_by`: the
    column of exports that must be allowed; empty: a statistic. `is_shown`: in the table, too, not in the file alone."""

    cell: Callable[[BoardRow], object] = repr
    allowed_by: str = ""
    is_shown: bool = True


def parse_columns(text: str) -> tuple[str, ...]:
    """The names of a list with commas; one that begins with `+` is added to the default. Raises SpecError."""
    names = [name.strip() for name in text.removeprefix("+").split(",") if name.strip()]
    problem = Message("is no column of an export of runs; allowed: {allowed}", allowed=", ".join(ALLOWABLE))
    if problems := [Problem("columns", problem, name) for name in names if name not in ALLOWABLE]:
        raise SpecError(Message("publish"), problems)
    return tuple(dict.fromkeys([*(DEFAULT_COLUMNS if text.startswith("+") or not names else ()), *names]))


def choose_run_columns(allowed: Iterable[str]) -> tuple[SheetColumn, ...]:
    """The columns of runs, in the order of the list."""
    return tuple(_SHEET[name] for name in allowed if name in _SHEET)


def describe_run_column(column: SheetColumn) -> PublishedColumn:
    """How a column of runs is shown."""
    own = translate_word(column.name) if column.name in WORDS else None
    label = own or _translate_label(by_exported()[column.name])
    return PublishedColumn(column.name, column.kind, label, _show_unit(column.unit))


def choose_row_columns(allowed: Sequence[str]) -> tuple[RowColumn, ...]:
    """The columns of the leaderboard, in its order."""
    columns = [*_ROW_COLUMNS, _make_column("differs", partial(_name_differences, "image" in allowed)), *_LAST_COLUMNS]
    return tuple(each for each in columns if not each.allowed_by or each.allowed_by in allowed)


def _translate_label(column: Column) -> tuple[str, str]:
    english = column.label or column.name
    return english, label_in_chinese(f"column.{column.name}", english)


def _show_unit(unit: str) -> str:
    return "" if unit in (COUNT, FRACTION, UTC) else unit


def _make_column(
    name: str, cell: Callable[[BoardRow], object], allowed_by: str = "", kind: Kind = Kind.TEXT
) -> RowColumn:
    return RowColumn(name, kind, translate_word(name), cell=cell, allowed_by=allowed_by)


def _make_median(column: Column) -> RowColumn:
    exported = (column.exported.name if column.exported else "") or column.name
    cell, unit = partial(_get_field, column.name), _show_unit(column.unit)
    return RowColumn(column.name, Kind.NUMBER, _translate_label(column), unit, cell=cell, allowed_by=exported)


def _get_field(name: str, row: BoardRow) -> object:
    return getattr(row, name)


def _name_version(row: BoardRow) -> str:
    return f"{row.framework} {row.framework_version}".strip()


def _to_percent(row: BoardRow) -> float | None:
    return None if row.cv is None else row.cv * 100


def _count_others(row: BoardRow) -> int:
    return row.invalid + row.incomplete + row.set_aside


def _name_differences(with_image: bool, row: BoardRow) -> str:
    """What distinguishes the row from those that look the same; of an image, whose address may be private, a hash."""
    parts = []
    for name in filter(None, row.differs_in.split(";")):
        value = str(getattr(row, ASPECTS[name]))
        hidden = name == "image" and value and not with_image
        parts.append(f"{name}={abbreviate_value(hashlib.sha256(value.encode()).hexdigest() if hidden else value)}")
    return ", ".join(parts)


def describe_row(row: BoardRow) -> tuple[str, str]:
    """What must not be overlooked beside the numbers of a row, in English and Chinese; empty where there is nothing."""
    keys = {
        "unconfirmed": row.rank and not row.is_confirmed,
        "claimed": row.origin is Origin.IMPORTED,
        "missed": row.target_outcome is TargetOutcome.MISSED,
        "partly_missed": row.target_outcome is TargetOutcome.PARTLY_MISSED,
        "scattered": row.is_scattered,
        "synthetic": row.synthetic_data,
    }
    words = [translate_word(key) for key, holds in keys.items() if holds]
    words += [(str(row.mixed), in_chinese(row.mixed))] if row.mixed else []
    return "; ".join(english for english, _ in words), "；".join(chinese for _, chinese in words)


_ROW_COLUMNS = (
    _make_column("rank", lambda row: row.rank),
    _make_column("version", _name_version, "framework_version"),
    _make_column("hardware", lambda row: row.flavor or row.accelerator, "flavor"),
    _make_column("size", lambda row: nodes_and_cards(row.node_count, row.cards_per_node), "node_count"),
    _make_column("median", partial(_get_field, "throughput"), kind=Kind.NUMBER),
    _make_column("low", partial(_get_field, "ci_low"), kind=Kind.NUMBER),
    _make_column("high", partial(_get_field, "ci_high"), kind=Kind.NUMBER),
    _make_column("per_card", partial(_get_field, "per_card"), kind=Kind.NUMBER),
    _make_column("runs", partial(_get_field, "runs"), kind=Kind.INTEGER),
    _make_column("not_counted", _count_others, kind=Kind.INTEGER),
    _make_column("cv", _to_percent, kind=Kind.NUMBER),
    _make_column("accuracy", partial(_get_field, "accuracy"), "accuracy", Kind.NUMBER),
    *map(_make_median, list_medians()),
)

_LAST_COLUMNS = (
    _make_column("note", describe_row),
    _make_column("newest", partial(_get_field, "latest_at"), "created_at_utc", Kind.TIME),
    # In the file alone: the table says them above the rows, or in other words.
    *(
        RowColumn(name, kind, (name, name), cell=partial(_get_field, name), allowed_by=allowed_by, is_shown=False)
        for kind, names in (
            (
                Kind.TEXT,
                {
                    **{"workload": "workload", "title": "workload", "model": "model_name", "dataset": "dataset_name"},
                    **{"accelerator": "accelerator", "throughput_unit": "", "throughput_definition": "", "origin": ""},
                    **{"code_sha256": "code_sha256", "dataset_sha256": "dataset_sha256", "fingerprint": ""},
                    **{"primary_metric": "", "not_known": ""},
                },
            ),
            (
                Kind.INTEGER,
                {
                    **{"node_count": "node_count", "cards_per_node": "cards_per_node", "rank_from": "", "rank_to": ""},
                    **dict.fromkeys(("invalid", "incomplete", "set_aside", "reached", "missed"), ""),
                },
            ),
            (Kind.FLAG, {"is_confirmed": "", "synthetic_data": ""}),
        )
        for name, allowed_by in names.items()
    ),
)
