"""Identities of imported results, so that nothing is stored twice."""

import hashlib
from collections.abc import Iterable, Mapping

from aisbench_core.model import RankResult
from aisbench_core.model.spec import canonical_json


def identities(values: Mapping[str, object], job: str) -> tuple[str, str]:
    """SHA-256 (hex) of the values with their job, and of the values alone."""
    return _sha256({"job": job, "values": values}), _sha256({"values": values})


def rank_values(ranks: Iterable[RankResult], accuracy: float | None) -> dict[str, object]:
    """The values to identify a run whose ranks are all known: equal for its log and its output directory."""
    return {"accuracy": accuracy, "ranks": sorted([rank.server, rank.rank, rank.throughput] for rank in ranks)}


def _sha256(value: Mapping[str, object]) -> str:
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
