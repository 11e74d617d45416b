"""Reads what frameworks print of a training as one result: the first steps, in which they compile, do not count."""

import hashlib
import io
from dataclasses import asdict

from aisbench_core.base.messages import Message
from aisbench_core.domain.progress.logged import LoggedTraining, LogMeasures
from aisbench_core.domain.progress.patterns import ProgressPatterns
from aisbench_core.domain.progress.tracking import Tracker
from aisbench_core.domain.results.log_results import list_log_metrics
from aisbench_core.exchange.readers.names import job_of_log
from aisbench_core.exchange.readers.results import ParsedResult, compute_identities
from aisbench_core.model import RunSpec, TrainResultInfo
from aisbench_core.model.spec import canonical_json

_FIRST_STEPS = (11, 2, 1)
"""From which step on it is measured: the first of these after which there is something to measure."""

MOST_BYTES, MOST_BEFORE = 8 * 1024 * 1024, 512 * 1024
"""Of a log that are read, and before the first step. The result names the steps that it is of."""

_UNITS = {"tokens_per_s": "tokens/s", "samples_per_s": "samples/s"}


class FrameworkLog:
    """One log, part by part."""

    def __init__(self) -> None:
        self._patterns = ProgressPatterns()
        self._bytes = 0
        self._content = hashlib.sha256()
        self._training = LoggedTraining(Tracker(RunSpec(workload="unknown", node_count=1, cards_per_node=1)))

    def add(self, lines: bytes) -> None:
        """What the next lines say."""
        room = (MOST_BYTES if self._training.positions else MOST_BEFORE) - self._bytes
        if room > 0:
            self._training.add(self._patterns.readings(lines[:room]))
        self._bytes += len(lines)
        for line in io.BytesIO(lines):  # pieces of a line between carriage returns may be millions
            self._content.update(line.rstrip() + b"\n")

    def build_result(self, source: str) -> ParsedResult | None:
        """The result, if the log says how many tokens or samples are trained in a second."""
        for measures in map(self._training.measure, _FIRST_STEPS):
            rate = next((name for name in _UNITS if measures and getattr(measures, name)), "")
            if measures and rate:
                return self._describe(source, measures, rate)
        return None

    def _describe(self, source: str, measures: LogMeasures, rate: str) -> ParsedResult:
        style = max(self._training.positions, key=lambda name: self._training.positions[name])
        job_id, job_name = job_of_log(source) or ("", "")
        values = {"style": style, "lines": self._training.positions.total(), **asdict(measures)}
        # By its text, not by what is read from it: the next version of a style may read more.
        identity, values_identity = compute_identities({"log_sha256": self._content.hexdigest()}, job_id)
        return ParsedResult(
            source=source,
            number=1,
            identity=identity,
            values_identity=values_identity,
            earlier_identity=compute_identities({"log": values}, "")[1],
            raw=canonical_json(values),
            info=TrainResultInfo(throughput_ratio=getattr(measures, rate)),
            job_id=job_id,
            job_name=job_name,
            throughput_unit=_UNITS[rate],
            is_per_card=rate in self._training.of_cards,
            metrics=tuple(metric for metric in list_log_metrics(measures) if metric.name not in _UNITS),
            remarks=(
                Message(
                    "what {style} printed of the steps {first} to {last}",
                    style=style,
                    first=measures.first,
                    last=measures.last,
                ),
            ),
        )
