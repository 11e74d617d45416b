"""What the hash of a record covers, and the hash."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime

Cells = Mapping[str, object]


def hashed_metrics(rows: Sequence[Sequence[object]]) -> list[list[list[object]]]:
    """What the hash covers of the metrics: nothing where there are none, as of runs before there were any."""
    return [sorted(([*row] for row in rows), key=lambda row: str(row[1]))] if rows else []


def select_hashed(cells: Cells) -> Cells:
    """What the hash covers of a run or a result: cells with a value, so that a new column changes no hash."""
    return {name: value for name, value in cells.items() if value not in (None, "")}


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=datetime.isoformat)


def sha256_of(cells: object) -> str:
    """SHA-256 (hex) over canonical JSON, with times in ISO 8601."""
    return hashlib.sha256(_ENCODER.encode(cells).encode()).hexdigest()
