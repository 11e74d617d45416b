"""Reads MLPerf's training logs: a run from the first `:::MLLOG` line to its run_stop is one result.

In the folder of a submission, `results/SYSTEM/BENCHMARK/result_N.txt` is of the system in `systems/SYSTEM.json`."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.config_file import MOST_BYTES, ConfigFile
from aisbench_core.domain.results.record import SYSTEM_FILE
from aisbench_core.exchange.readers.archives import Opened
from aisbench_core.exchange.readers.log_run import MOST_RAW
from aisbench_core.exchange.readers.results import ParsedResult, Results, compute_identities
from aisbench_core.exchange.upstream.configs.contents import FRAMEWORKS
from aisbench_core.model import Mode, TrainResultInfo, stated_of
from aisbench_core.running.systems.reading import read_fields

MARK = ":::MLLOG "

BY_BLOCKS = Message("throughput: the samples of its MLLOG blocks or epochs by their time")

# What MLPerf makes every log say since 6.1, and what decides the speed besides.
PARAMETERS = (
    *("lowest_numerical_precision_in_linear", "lowest_numerical_precision_in_attn"),
    *("lowest_numerical_precision_in_comm", "tensor_parallelism", "pipeline_parallelism", "context_parallelism"),
    *("expert_parallelism", "micro_batch_size", "config_filename"),
    *("global_batch_size", "gradient_accumulation_steps", "max_sequence_length"),
)
# A line's key, and the field of the system description that it states.
DESCRIBED = {
    "submission_org": "submitter",
    "submission_division": "division",
    "submission_platform": "system_name",
    "submission_status": "status",
}
# A line of a log that says true for it is of a console's rehearsal.
REHEARSAL = "aisbench_rehearsal"
ACCURACY = "eval_accuracy"
_LARGEST = 1e30  # no time, count or rate is larger
_MOST_REFUSED = 20
_BEGINNINGS = frozenset({"submission_benchmark", "cache_clear", "init_start", "run_start"})
_RESULT = re.compile(r"(?P<root>.*?)results/(?P<system>[^/]+)/[^/]+/[^/]+\.(?:txt|log|out)")
_SYSTEM = re.compile(r"(?P<root>.*?)systems/(?P<system>[^/]+)\.json")
_FRAMEWORK = re.compile(r"([A-Za-z]+)[ -]v?(\d[\w.+]*)")


@dataclass(slots=True)
class _Run:
    """One run, line by line. `spans`: of blocks and epochs their epochs or samples, and milliseconds."""

    namespace: str = ""
    values: dict[str, str | int | float] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    status: str = ""
    spans: dict[str, list[tuple[float | None, float | None, float]]] = field(
        default_factory=lambda: {"block": [], "epoch": []}
    )
    begun: dict[str, tuple[float, Mapping[str, Any]]] = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # keys, and what they say in place of a number
    lines: list[str] = field(default_factory=list)
    raw_size: int = 0

    def add(self, text: str, entry: Mapping[str, Any]) -> None:
        """A line of it. Raises KeyError and others where that is damaged."""
        key = str(entry["key"])
        try:
            self._add_entry(key, entry, _to_number(entry["time_ms"]))
        except ValueError as error:
            if len(self.refused) < _MOST_REFUSED:
                self.refused.setdefault(key[:80], str(error))
        self.namespace = self.namespace or str(entry.get("namespace") or "")
        self.raw_size += len(text)
        if self.raw_size < MOST_RAW:
            self.lines.append(text)

    def _add_entry(self, key: str, entry: Mapping[str, Any], at: float) -> None:
        value, metadata = entry.get("value"), entry.get("metadata") or {}
        kind, _, edge = key.rpartition("_")
        if key == "run_stop":
            self.times[key], self.status = at, str(metadata.get("status", ""))
        elif edge in ("start", "stop") and kind in ("init", "run"):
            self.times.setdefault(key, at)
        elif edge == "start" and kind in self.spans:
            self.begun[kind] = at, metadata
        elif edge == "stop" and kind in self.begun:
            self._add_span(kind, at, metadata)
        elif key == "tracked_stats" and isinstance(value, Mapping) and "throughput" in value:
            self.rates.append(_to_number(value["throughput"]))
        elif isinstance(value, str | int | float):
            if not isinstance(value, str | bool) or key == ACCURACY:
                _to_number(value)
            self.values[key] = value

    def _add_span(self, kind: str, at: float, metadata: Mapping[str, Any]) -> None:
        since, before = self.begun.pop(kind)
        start, stop = before.get("samples_count"), metadata.get("samples_count")
        samples = _to_number(stop) - _to_number(start) if start is not None and stop is not None else None
        epochs = before.get("epoch_count", 1 if kind == "epoch" else None)
        self.spans[kind].append((None if epochs is None else _to_number(epochs), samples, at - since))

    def measure_throughput(self) -> float | None:
        """The mean that it says, or samples a second of its blocks, or else of its epochs; None if one has no count."""
        if self.rates and min(self.rates) > 0:
            return fmean(self.rates)
        spans, each = self.spans["block"] or self.spans["epoch"], self.values.get("train_samples")
        samples = seconds = 0.0
        for epochs, counted, milliseconds in spans:
            if counted is None and (epochs is None or not isinstance(each, int | float)):
                return None
            samples += counted if counted is not None else (epochs or 0) * float(each or 0)
            seconds += milliseconds / 1000
        return samples / seconds if samples > 0 and seconds >= 0.001 else None

    def time(self, key: str) -> datetime | None:
        """When a line of this key was written."""
        with suppress(KeyError, ValueError, OverflowError, OSError):
            return datetime.fromtimestamp(self.times[key] / 1000, UTC)
        return None


class MlperfLog:
    """The runs in one log. A run that the next one follows has ended."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._run = _Run()
        self._count = 0

    def read(self, line: str) -> Results:
        """Read a line that has MARK; yields the result that it completes."""
        text = line[line.index(MARK) :].strip()
        with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            entry, _ = json.JSONDecoder().raw_decode(text[len(MARK) :])
            if "run_stop" in self._run.times and entry["key"] in _BEGINNINGS:
                yield from self.end()
            self._run.add(text, entry)

    @property
    def has_begun(self) -> bool:
        """Whether there was such a line."""
        return bool(self._count or self._run.lines)

    def end(self) -> Results:
        """Yields the result of the last run, if it began."""
        run, self._run = self._run, _Run()
        if "run_start" in run.times:
            self._count += 1
            yield _build_result(run, self._source, self._count)


class Submissions:
    """The systems of submissions, and the results that wait for them: files come by name."""

    def __init__(self) -> None:
        self._systems: dict[tuple[str, str], Mapping[str, str | int]] = {}
        self._results: list[ParsedResult] = []

    def read(self, file: Opened) -> bool:
        """Read a system; False for any other file."""
        found = _SYSTEM.fullmatch(file.name)
        if found is None:
            return False
        with suppress(ConfigError):
            self._systems[found["root"], found["system"]] = _read_system(file.whole(MOST_BYTES) or b"")
        return True

    def hold(self, results: Results) -> Results:
        """The results, without those that wait."""
        for result in results:
            if isinstance(result, ParsedResult) and result.described and _RESULT.fullmatch(result.source):
                self._results.append(result)
            else:
                yield result

    def results(self) -> Results:
        """Those that waited, with their systems."""
        for result in self._results:
            found = _RESULT.fullmatch(result.source)
            system = self._systems.get((found["root"], found["system"])) if found else None
            yield _add_system(result, system) if system else result


def _build_result(run: _Run, source: str, number: int) -> ParsedResult:
    accuracy = run.values.get(ACCURACY)
    is_share = isinstance(accuracy, int | float) and 0 <= accuracy <= 1
    values = {**run.values, **run.times, "status": run.status}
    identity, values_identity = compute_identities({"mllog": values}, "")
    throughput, start, stop = run.measure_throughput(), run.time("run_start"), run.time("run_stop")
    if start and stop and stop < start:
        stop = None
    succeeded = run.status == "success" and start is not None and stop is not None
    return ParsedResult(
        source=source,
        number=number,
        identity=identity,
        values_identity=values_identity,
        raw="\n".join(run.lines),
        info=TrainResultInfo(
            accuracy=float(accuracy) if accuracy is not None and is_share else None,
            throughput_ratio=throughput,
            prepare_start_time=run.time("init_start"),
            prepare_end_time=run.time("init_stop"),
            proc_start_time=start,
            proc_end_time=stop,
        ),
        model=str(run.values.get("submission_benchmark", "")),
        framework=FRAMEWORKS.get(run.namespace.lower(), ""),
        mode=Mode.CLUSTER,
        accelerator=str(run.values.get("submission_platform", "")),
        throughput_unit="samples/s",
        started_at=start,
        ended_at=stop,
        parameters={name: run.values[name] for name in PARAMETERS if name in run.values},
        described=stated_of(dict(_iterate_described(run))),
        target_s=(stop - start).total_seconds() if succeeded and start and stop else None,
        problems=tuple(_find_problems(run)),
        remarks=tuple(_find_remarks(run, throughput, is_share)),
        rehearsal=run.values.get(REHEARSAL) is True,
    )


def _iterate_described(run: _Run) -> Iterator[tuple[str, str | int]]:
    said = {DESCRIBED[key]: value for key, value in run.values.items() if key in DESCRIBED}
    yield from _read_system(json.dumps(said).encode()).items()


def _read_system(content: bytes) -> Mapping[str, str | int]:
    """The fields of a system. MLPerf's divisions are the tester's: ours have rules of their own."""
    values = dict(read_fields([ConfigFile(SYSTEM_FILE, content)]).values)
    if division := values.pop("division", ""):
        values["test_division"] = division
    return values


def _find_remarks(run: _Run, throughput: float | None, is_share: bool) -> Iterator[Message]:
    if throughput is not None and not run.rates:
        yield BY_BLOCKS
    if ACCURACY in run.values and not is_share:
        yield Message("accuracy: empty, as eval_accuracy {found} is not from 0 to 1", found=run.values[ACCURACY])


def _find_problems(run: _Run) -> Iterator[Message]:
    for key, found in run.refused.items():
        yield Message("its line {key} is left out: {found} is not a possible number", key=key, found=found)
    if run.times.get("run_stop", _LARGEST) < run.times["run_start"]:
        yield Message("its run_stop is before its run_start")
    if "run_stop" not in run.times:
        yield Message("the MLLOG lines end before run_stop")
    elif run.status != "success":
        yield Message("its run_stop says {status}", status=run.status or Message("no status"))


def _add_system(result: ParsedResult, system: Mapping[str, str | int]) -> ParsedResult:
    """The result with what its system's file says, which wins."""
    own = result.described.values if result.described else {}
    framework = _FRAMEWORK.match(str(system.get("framework", "")))
    name = FRAMEWORKS.get(framework[1].lower(), framework[1]) if framework else ""
    return replace(
        result,
        described=stated_of({**own, **system}),
        framework=name or result.framework,
        framework_version=framework[2] if framework else "",
        accelerator=str(system.get("accelerator_model_name", "")) or result.accelerator,
        node_count=_to_count(system.get("number_of_nodes")),
        cards_per_node=_to_count(system.get("accelerators_per_node")),
    )


def _to_count(value: str | int | None) -> int | None:
    return int(value) if value is not None and str(value).isdigit() else None


def _to_number(value: object) -> float:
    """Raises ValueError, which says what was found in place of a number."""
    with suppress(ValueError, OverflowError):
        if isinstance(value, int | float | str) and not isinstance(value, bool) and abs(float(value)) <= _LARGEST:
            return float(value)
    raise ValueError(str(value)[:40])
