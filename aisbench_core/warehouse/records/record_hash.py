"""The hash of a record, from the cells that are stored of it: as it was when the run was recorded, or another one.

`rows.py` hashes the cells of run, result and cards, what people stated of the system, and what was noted at launch.
Nearly all of that is stored as it is; the note and what was stated are taken out of what they were put together with.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

from aisbench_core.model import TESTER_FIELDS, Origin, Remarks, RunSpec
from aisbench_core.model.columns import RUNS, stored_in
from aisbench_core.model.system import known_from_job
from aisbench_core.warehouse.records.annotations import imported_note
from aisbench_core.warehouse.records.rows import hashed, sha256_of
from aisbench_core.warehouse.store.claims import as_recorded
from aisbench_core.warehouse.validity.judging import Verdict

_NOT_HASHED = frozenset(
    {"record_sha256", *(each.stored_name for each in stored_in(RUNS) if each.stored and each.stored.since > 1)}
)
"""What came after the hash follows from what it covers, or is covered by itself."""

_NOT_MEASURED = frozenset({*Verdict._fields, "problems_data"})

Cells = Mapping[str, Any]


def hashes(run: Cells, result: Cells, cards: Sequence[Sequence[Any]], remarks: Remarks) -> Iterator[str]:
    """The hashes that a record with these cells can have: more than one where its order or words are not known."""
    run = as_recorded(run)
    asked = {name: value for name, value in run.items() if name not in _NOT_HASHED}
    asked |= {"tags": "[]", "note": imported_note(run["note"] or "", remarks.note)}
    measured = {name: value for name, value in hashed(result).items() if name not in _NOT_MEASURED}
    launch = [run["launch"]] if run["launch"] else []
    stored = [list(card) for card in cards]
    in_order = sorted(stored, key=lambda card: (card[1], card[2]))
    for stated in _stated(run):
        yield sha256_of([asked, measured, stored, *stated, *launch])
        if in_order != stored:
            yield sha256_of([asked, measured, in_order, *stated, *launch])


def _stated(run: Cells) -> Iterator[list[dict[str, Any]]]:
    """What people stated of system and tester; where it is what the job says too, nobody knows whether they did."""
    if run["system"] is None:
        yield []
        return
    system, tester, from_job = (_read(run[name]) for name in ("system", "tester", "system_from_job"))
    known = _tester_facts(run)
    said = {name: value for name, value in system.items() if name not in from_job}
    said |= {name: value for name, value in tester.items() if known.get(name) != value}
    doubtful = [name for name in tester if known.get(name) == tester[name]]
    for count in range(len(doubtful) + 1):
        for names in combinations(doubtful, count):
            whole = said | {name: tester[name] for name in names}
            yield [whole] if whole else []


@lru_cache(maxsize=8192)
def _read(text: str | None) -> Any:
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}


def _tester_facts(run: Cells) -> Mapping[str, object]:
    imported = run["origin"] == Origin.IMPORTED
    values = _job_facts(run["spec"], run["workload"], run["framework"], run["model"], run["accelerator"], imported)
    return {name: value for name, value in values.items() if name in TESTER_FIELDS}


@lru_cache(maxsize=4096)
def _job_facts(
    spec: str, workload: str, framework: str, model: str, accelerator: str, imported: bool
) -> Mapping[str, object]:
    given = _read(spec)
    try:
        read = RunSpec.model_validate({"workload": workload, **given})
    except (ValueError, TypeError):
        return {}
    return known_from_job(read, framework, model, accelerator, tuple(given) if imported else None).values
