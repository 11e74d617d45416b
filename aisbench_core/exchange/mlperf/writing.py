"""Writes a run as an MLPerf training log: its own `:::MLLOG` lines if it printed some, or else what is known of it.

Parameters become lines of their names, so that those which MLPerf demands (`micro_batch_size` …) count."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.progress.points import read_points
from aisbench_core.domain.results.record import read_record
from aisbench_core.exchange.readers.lines import decode_line, iter_windows, line_at
from aisbench_core.exchange.readers.mllog import DESCRIBED, MARK, REHEARSAL
from aisbench_core.model import CollectedResult, RunRecord, RunState
from aisbench_core.running.systems.systems import Systems
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.run_folders.run_paths import RunFolder

_KINDS = {"start": "INTERVAL_START", "stop": "INTERVAL_END"}


@dataclass(frozen=True, slots=True)
class MlperfExport:
    """Writes logs of recorded runs."""

    folders: RunFolders
    systems: Systems

    def write(self, run_id: str) -> str:
        """The log of a run. Raises RunNotFound, SpecError if it has no result, ResultError if its folder is damaged."""
        folder = self.folders.read(run_id, FolderPart.RECORD, FolderPart.LOGS)
        record = read_record(folder.record, folder.metrics, folder.events)
        if record.result is None:
            raise _make_refusal(run_id, Message("has no result: name a run that has completed"))
        described = self.systems.of(run_id).merged.values
        own = _find_lines(folder, record)
        said = {json.loads(line.removeprefix(MARK))["key"] for line in own}
        at = record.run.started_at or record.run.created_at
        head = [
            _build_line(at, key, value)
            for key, value in _describe_run(record, described).items()
            if key not in said and value not in ("", None)
        ]
        return "".join(f"{line}\n" for line in (*head, *(own or _build_lines(record, record.result, folder))))


def _describe_run(record: RunRecord, described: Mapping[str, str | int]) -> Mapping[str, object]:
    system: dict[str, object] = {key: described.get(field, "") for key, field in DESCRIBED.items()}
    system["submission_division"] = described.get("division") or described.get("test_division") or ""
    rehearsal = {REHEARSAL: True} if record.rehearsal else {}
    return {**rehearsal, "submission_benchmark": record.workload.model, **system, **record.run.spec.parameters}


def _find_lines(folder: RunFolder, record: RunRecord) -> list[str]:
    """Those of the first node that printed some, or that it was imported from."""
    texts = [record.result.raw.splitlines() if record.result else []]
    texts += [list(_iter_marked(folder, node)) for node in range(record.run.spec.node_count)]
    for text in texts:
        if lines := [line for line in text if line.startswith(MARK) and _is_whole(line)]:
            return lines
    return []


def _iter_marked(folder: RunFolder, node: int) -> Iterator[str]:
    if not folder.log(node).exists():
        return
    with folder.log(node).open("rb") as log:
        for window in iter_windows(log):
            at = window.find(MARK.encode())
            while at >= 0:
                line, after = line_at(window, at)
                yield decode_line(line).strip()
                at = window.find(MARK.encode(), after)


def _is_whole(line: str) -> bool:
    try:
        return isinstance(json.loads(line.removeprefix(MARK))["key"], str)
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _build_lines(record: RunRecord, result: CollectedResult, folder: RunFolder) -> Iterator[str]:
    """What a record says: initialisation, one block for the whole training, its last accuracy, and how it ended."""
    info, run = result.info, record.run
    start = info.proc_start_time or run.started_at
    stop = info.proc_end_time or run.ended_at
    if start is None or stop is None or stop < start:
        raise _make_refusal(run.run_id, Message("does not say when its training began and ended"))
    # The console's clock may be ahead of the platform's.
    yield _build_line(min(info.prepare_start_time or run.created_at, start), "init_start")
    yield _build_line(start, "init_stop")
    yield _build_line(start, "run_start")
    done = _count_done(record, folder)
    yield _build_line(start, "block_start", **{name: 0 if name == "samples_count" else value for name, value in done})
    if info.throughput_ratio is not None:
        yield _build_line(stop, "tracked_stats", {"throughput": info.throughput_ratio})
    yield _build_line(stop, "block_stop", **dict(done))
    if info.accuracy is not None:
        yield _build_line(stop, "eval_accuracy", info.accuracy, **dict(done))
    target = record.workload.accuracy_target
    reached = target is None or (info.accuracy is not None and info.accuracy >= target)
    status = "success" if reached and run.state is RunState.COMPLETED else "aborted"
    yield _build_line(stop, "run_stop", status=status)


def _make_refusal(run_id: str, why: Message) -> SpecError:
    return SpecError(Message("MLPerf log"), [Problem("run", why, run_id)])


def _count_done(record: RunRecord, folder: RunFolder) -> list[tuple[str, int]]:
    """The samples that it trained, by its last step and batch, and its epochs, where they are known."""
    points, batch = read_points(folder.progress), record.run.spec.parameters.get("global_batch_size")
    step, epochs = (points[-1].step, points[-1].epochs) if points else (None, None)
    done = [("samples_count", step * batch)] if step is not None and isinstance(batch, int) else []
    return done + ([("first_epoch_num", 1), ("epoch_count", epochs), ("epoch_num", epochs)] if epochs else [])


def _build_line(at: datetime, key: str, value: object = None, **metadata: object) -> str:
    kind = _KINDS.get(key.rpartition("_")[2], "POINT_IN_TIME")
    place = {"file": "aisbench", "lineno": 0, **metadata}
    time = round(at.timestamp() * 1000)
    entry = {"namespace": "", "time_ms": time, "event_type": kind, "key": key, "value": value, "metadata": place}
    return f"{MARK}{json.dumps(entry, ensure_ascii=False)}"
