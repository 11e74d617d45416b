"""Reads what two tools write of inference: AISBench/benchmark 3 (a JSON and a CSV file beside it) and ais_bench for OM.

AISBench/benchmark writes `performances/<model>/<dataset>.json` with the figures of the whole benchmark, and beside it a
CSV file with those of requests; a cell is a number with its unit. ais_bench writes `<name>_summary.json`, of which
`args` is its command line.
"""

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message
from aisbench_core.exchange.readers.archives import Files, Opened, Skipped, TooMuchError
from aisbench_core.exchange.readers.names import is_archive, last_part
from aisbench_core.exchange.readers.results import Unread
from aisbench_core.warehouse.values.inference import InferenceResult, InferenceTool, InferenceUnit

MOST_BYTES = 16 * 1024**2
STABLE, TOTAL = "stable", "total"

_CSV_HEAD = b"Performance Parameters,Stage,"
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?: (?:ms|token/s|req/s))?", re.I)
_COLUMNS = {"Median": "p50", "P90": "p90", "P99": "p99"}
_LATENCIES = {"E2EL": "latency", "TTFT": "ttft", "TPOT": "tpot"}
_KEPT = frozenset(InferenceResult.__dataclass_fields__)

NO_JSON = Message("the .json file of the same name is missing: only it has the throughput")
NOTHING = Message("it is no result of AISBench/benchmark or ais_bench")

Numbers = Mapping[str, Mapping[str, float]]
"""Numbers by stage and name."""


def is_inference(file: Opened) -> bool:
    """Whether a file is of one of the tools, by its first bytes."""
    head = file.head.removeprefix(codecs.BOM_UTF8)
    is_summary = b'"filesinfo"' in head and last_part(file.name).endswith(("_summary.json", "_sumary.json"))
    return head.startswith(_CSV_HEAD) or is_summary or (b'"Benchmark Duration"' in head and b"Throughput" in head)


def is_wanted(name: str) -> bool:
    """Whether to open the file if it is one of many."""
    return is_archive(name) or name.endswith((".json", ".csv"))


def read_results(files: Files) -> Iterator[InferenceResult | Unread]:
    """Every result in the files, and those of the tools' files that cannot be read."""
    services: dict[str, tuple[str, Numbers]] = {}
    tables: dict[str, Numbers] = {}
    for file in files:
        if isinstance(file, Skipped):
            continue
        if isinstance(file, Unread):
            yield file
            continue
        try:
            content = file.whole(MOST_BYTES)
            stem = str(PurePosixPath(file.name.replace("!", "/")).with_suffix(""))
            if content is None:
                yield Unread(file.name, Message("it is larger than {number} MiB", number=MOST_BYTES // 1024**2))
            elif content.removeprefix(codecs.BOM_UTF8).startswith(_CSV_HEAD):
                tables[stem] = _read_table(content)
            elif summary := _read_summary(content, file.name):
                yield summary
            elif numbers := _read_common(content):
                services[stem] = (file.name, numbers)
            else:
                yield Unread(file.name, NOTHING, is_foreign=True)
        except (ResultError, TooMuchError) as error:
            yield Unread(file.name, error.message if isinstance(error, ResultError) else error.sentence)
    yield from (_make_service(stem, *found, tables.pop(stem, {})) for stem, found in services.items())
    yield from (Unread(f"{stem}.csv", NO_JSON) for stem in tables)


def _make_service(stem: str, source: str, common: Numbers, table: Numbers) -> InferenceResult:
    stage = STABLE if STABLE in common else TOTAL
    path = PurePosixPath(stem)
    numbers = common.get(stage, {})
    latencies = table.get(stage, {})
    duration = numbers.get("Benchmark Duration")
    return InferenceResult(
        tool=InferenceTool.SERVICE,
        unit=InferenceUnit.TOKENS,
        source=source,
        model=path.parent.name if path.parent.parent.name == "performances" else "",
        dataset=path.name,
        stage=stage,
        concurrency=_to_count(numbers.get("Max Concurrency")),
        requests=_to_count(numbers.get("Total Requests")),
        failed=_to_count(numbers.get("Failed Requests")),
        duration_s=None if duration is None else duration / 1000,
        throughput=numbers.get("Output Token Throughput"),
        requests_per_s=numbers.get("Request Throughput"),
        **{name: value for name, value in latencies.items() if name in _KEPT},  # type: ignore[arg-type]  # floats only
    )


def _read_common(content: bytes) -> Numbers | None:
    """The numbers of the whole benchmark, by stage and name; None for another file."""
    found = _load_object(content)
    if not isinstance(found.get("Benchmark Duration"), dict):
        return None
    stages: dict[str, dict[str, float]] = {}
    for name, by_stage in found.items():
        for stage, cell in by_stage.items() if isinstance(by_stage, dict) else ():
            if (value := _to_number(cell)) is not None:
                stages.setdefault(stage, {})[name] = value
    return stages


def _read_table(content: bytes) -> Numbers:
    """Percentiles in milliseconds, by stage and field."""
    stages: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO(content.decode("utf-8-sig", errors="replace"))):
        field = _LATENCIES.get(row["Performance Parameters"] or "")
        for column, suffix in _COLUMNS.items() if field else ():
            if (value := _to_number(row.get(column))) is not None:
                stages.setdefault(row["Stage"] or "", {})[f"{field}_{suffix}_ms"] = value
    return stages


def _read_summary(content: bytes, name: str) -> InferenceResult | None:
    """What ais_bench measured of an offline model; None for another file."""
    found = _load_object(content)
    times = found.get("NPU_compute_time")
    if not isinstance(times, dict):
        return None
    arguments = _read_arguments(found.get("args"))
    batch = arguments.get("batchsize", "")
    return InferenceResult(
        tool=InferenceTool.OFFLINE,
        unit=InferenceUnit.SAMPLES,
        source=name,
        model=PurePosixPath(arguments.get("om_model") or arguments.get("model", "")).stem,
        batch=int(batch) if batch.isdecimal() and len(batch) < 10 and int(batch) else None,
        throughput=_to_number(found.get("throughput")) or None,  # it writes 0 where nothing ran
        latency_p50_ms=_to_number(times.get("median")),
        latency_p99_ms=_to_number(times.get("percentile(99%)")),
    )


def _read_arguments(found: object) -> dict[str, str]:
    """Options of a command line by name, written `--batchsize 8` or `--batchsize=8`."""
    words = [str(word) for word in found] if isinstance(found, list) else []
    named: dict[str, str] = {}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("-"):
            name, has_value, value = word.lstrip("-").partition("=")
            named[name.replace("-", "_")] = value if has_value else following
    return named


def _load_object(content: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _to_number(cell: object) -> float | None:
    """A finite number that is not negative, of a cell with its unit; else None."""
    if isinstance(cell, bool):
        return None
    if isinstance(cell, str):
        match = _NUMBER.fullmatch(cell.strip()[:60])
        cell = float(match[1]) if match else None
    try:
        value = float(cell) if isinstance(cell, int | float) else None
    except OverflowError:
        return None
    return value if value is not None and math.isfinite(value) and value >= 0 else None


def _to_count(value: float | None) -> int | None:
    return int(value) if value is not None and value == int(value) else None


def list_read(found: Iterator[InferenceResult | Unread]) -> tuple[Sequence[InferenceResult], Sequence[Unread]]:
    """The results, and the files that cannot be read; foreign ones only if there is nothing else."""
    every = list(found)
    results = [one for one in every if isinstance(one, InferenceResult)]
    unread = [one for one in every if isinstance(one, Unread)]
    return results, [one for one in unread if not (results and one.is_foreign)]
