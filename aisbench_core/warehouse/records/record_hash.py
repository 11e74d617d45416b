"""Computes the hash of a record from its stored cells: that of the recording, or another one if a cell was changed.

`rows.py` hashes the cells of run, result, cards and metrics, what people stated of the system, and the launch record.
Nearly all of that is stored as it is; the note and the statements are separated again from what they were merged with.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from aisbench_core.model import TESTER_FIELDS, Annotations, Origin, RunSpec
from aisbench_core.model.columns import RUNS, stored_in
from aisbench_core.model.system import known_from_job
from aisbench_core.warehouse.measures.fingerprint import first_fingerprint_of
from aisbench_core.warehouse.records.annotations import imported_note
from aisbench_core.warehouse.records.hashed_cells import hashed_metrics, select_hashed, sha256_of
from aisbench_core.warehouse.validity.evaluation import Evaluation

_NOT_HASHED = {
    "record_sha256",
    *(column.stored_name for column in stored_in(RUNS) if column.stored and not column.stored.hashed),
}

_NOT_MEASURED = frozenset({*Evaluation._fields, "problems_data"})

Cells = Mapping[str, Any]


def iter_hashes(
    run: Cells,
    result: Cells,
    cards: Sequence[Sequence[Any]],
    metrics: Sequence[Sequence[Any]],
    annotations: Annotations,
    select: Callable[[Cells], Cells] = select_hashed,
) -> Iterator[str]:
    """The hashes that a record with these cells can have: several where order or statements are lost.

    `select`: the cells that are hashed."""
    note = imported_note(run["note"] or "", annotations.note)
    noted = {**run, "tags": "[]", "note": note}
    of_run = {name: value for name, value in select(noted).items() if name not in _NOT_HASHED}
    measured = {name: value for name, value in select(result).items() if name not in _NOT_MEASURED}
    launch = [run["launch"]] if run["launch"] else []
    stored = [list(card) for card in cards]
    in_order = sorted(stored, key=lambda card: (card[1], card[2]))
    speed = read_json(run["speed_parameters"]) if run["speed_parameters"] != "null" else None
    first = {**of_run, "fingerprint": first_fingerprint_of(run, speed)}
    # That of an imported run may be the one that its own console computed.
    runs = [first, of_run] if run["origin"] == Origin.IMPORTED else [first]
    orders = [stored, in_order] if in_order != stored else [stored]
    for stated, cells, ordered in product(_iter_statements(run), runs, orders):
        yield sha256_of([cells, measured, ordered, *hashed_metrics(metrics), *stated, *launch])


def _iter_statements(run: Cells) -> Iterator[list[dict[str, Any]]]:
    """What people may have stated of system and tester; what the job says as well may have been stated or not."""
    if run["system"] is None:
        yield []
        return
    system, tester, from_job = (read_json(run[name]) for name in ("system", "tester", "system_from_job"))
    job = _job_facts(
        run["spec"],
        run["workload"],
        run["framework"],
        run["model"],
        run["accelerator"],
        run["origin"] == Origin.IMPORTED,
    )
    certain = {name: value for name, value in system.items() if name not in from_job}
    certain |= {name: value for name, value in tester.items() if job.get(name) != value}
    uncertain = [name for name in tester if job.get(name) == tester[name]]
    for count in range(len(uncertain) + 1):
        for names in combinations(uncertain, count):
            stated = certain | {name: tester[name] for name in names}
            yield [stated] if stated else []


@lru_cache(maxsize=8192)
def read_json(text: str | None) -> Any:
    """The value; an empty object if it is no JSON, as in a changed cell. Cached: most runs repeat others' texts."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}


@lru_cache(maxsize=4096)
def _job_facts(
    spec: str, workload: str, framework: str, model: str, accelerator: str, imported: bool
) -> Mapping[str, object]:
    stored = read_json(spec)
    try:
        parsed = RunSpec.model_validate({"workload": workload, **stored})
    except (ValueError, TypeError):
        return {}
    values = known_from_job(parsed, framework, model, accelerator, tuple(stored) if imported else None).values
    return {name: value for name, value in values.items() if name in TESTER_FIELDS}
