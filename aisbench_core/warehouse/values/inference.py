"""Results of inference, which are of another kind than runs: they are stored, ranked and shown apart from training."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import StrEnum
from itertools import groupby

from aisbench_core.model import canonical_json


class InferenceTool(StrEnum):
    """What measured: AISBench/benchmark asks a service for tokens, ais_bench runs an offline model (OM)."""

    SERVICE = "AISBench/benchmark"
    OFFLINE = "ais_bench (OM)"


class InferenceUnit(StrEnum):
    """Of a throughput: output tokens of a service, or samples of an offline model."""

    TOKENS = "tokens/s"
    SAMPLES = "samples/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceResult:
    """What a tool measured. None and empty text: nobody says. `model`, `precision`, `accelerator` and `cards` may be
    stated at the import.

    `stage`: of the benchmark of a service, `stable` where it was measured, else `total`."""

    tool: InferenceTool
    unit: InferenceUnit
    source: str
    model: str = ""
    dataset: str = ""
    precision: str = ""
    accelerator: str = ""
    cards: int | None = None
    """Cards that computed."""
    stage: str = ""
    batch: int | None = None
    """Batch size of an offline model."""
    concurrency: int | None = None
    """The most requests at a time."""
    requests: int | None = None
    """Requests that were sent."""
    failed: int | None = None
    """Requests without an answer."""
    duration_s: float | None = None
    """Of the benchmark, in seconds."""
    throughput: float | None = None
    """In `unit`."""
    requests_per_s: float | None = None
    """Answered requests per second."""
    latency_p50_ms: float | None = None
    """Median of a whole request, or of the computation of a batch, in milliseconds."""
    latency_p90_ms: float | None = None
    """The same, 90th percentile."""
    latency_p99_ms: float | None = None
    """The same, 99th percentile."""
    ttft_p50_ms: float | None = None
    """Median to the first token, in milliseconds."""
    ttft_p99_ms: float | None = None
    """The same, 99th percentile."""
    tpot_p50_ms: float | None = None
    """Median for each further token, in milliseconds."""
    tpot_p99_ms: float | None = None
    """The same, 99th percentile."""

    @property
    def result_id(self) -> str:
        """The same for the same values, whatever their file is called."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "source"}
        return f"i-{hashlib.sha256(canonical_json(values).encode()).hexdigest()[:12]}"

    @property
    def benchmark(self) -> tuple[str, str, str, str]:
        """What results have in common that are ranked together."""
        return (self.model, self.dataset, self.tool.value, self.unit.value)

    @property
    def is_ranked(self) -> bool:
        """Whether its throughput is that of all requests."""
        return bool(self.throughput) and not self.failed

    def state_missing(self, model: str, precision: str, accelerator: str, cards: int | None) -> "InferenceResult":
        """The same, completed with what its files do not contain."""
        return replace(
            self,
            model=self.model or model,
            precision=self.precision or precision,
            accelerator=self.accelerator or accelerator,
            cards=self.cards or cards,
        )


@dataclass(frozen=True, slots=True)
class StoredInference:
    """A stored result."""

    result_id: str
    stored_at: datetime
    stored_by: str
    rank: int | None
    """In its benchmark, from 1; None where requests failed or no throughput was measured."""
    result: InferenceResult


def rank_results(stored: Iterable[StoredInference]) -> Sequence[StoredInference]:
    """By benchmark, the highest throughput of each first; what is not ranked comes last."""

    def place(one: StoredInference) -> tuple[object, ...]:
        result = one.result
        return (*result.benchmark, not result.is_ranked, -(result.throughput or 0), one.stored_at, one.result_id)

    ordered: list[StoredInference] = []
    for _, of_benchmark in groupby(sorted(stored, key=place), key=lambda one: one.result.benchmark):
        ordered += [
            replace(one, rank=number if one.result.is_ranked else None) for number, one in enumerate(of_benchmark, 1)
        ]
    return ordered
