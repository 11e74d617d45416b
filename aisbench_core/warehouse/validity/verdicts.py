"""Judging stored runs again: all of a query at once, as an answer, for one question, or to be kept."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.answers.filters import CHOSEN, parameters
from aisbench_core.warehouse.answers.group_statistics import mark_of_runs, settle
from aisbench_core.warehouse.records.facts import stored_facts
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.validity.judging import Judge, Verdict, stored_checks, without_data
from aisbench_core.warehouse.values import BoardQuery, Check, Validity

_COLUMNS = Verdict._fields
CHUNK = 5000
"""Runs whose verdicts are stored in one transaction: others want their turn."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one stored run, and the one that is stored, by which ruleset it was."""

    run_id: str
    validity: Validity
    failed_checks: str
    warned_checks: str
    stored_validity: Validity
    stored_ruleset_id: str
    is_stored: bool
    checks_json: str

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every check with what it expects and found."""
        return stored_checks(self.checks_json)


@dataclass(frozen=True, slots=True)
class Validation:
    """What a ruleset says of the runs of a query, in the order of their launch."""

    ruleset_id: str
    ruleset_sha256: str
    rehearsal: bool
    runs: tuple[Judged, ...]

    @property
    def counts(self) -> Mapping[Validity, int]:
        """How many runs are worth what."""
        found = Counter(run.validity for run in self.runs)
        return {validity: found[validity] for validity in Validity}

    @property
    def by_rule(self) -> Mapping[str, tuple[int, int]]:
        """How many runs each rule failed, and how many it warned about, by the rule's id."""
        failed, warned = Counter[str](), Counter[str]()
        for run in self.runs:
            failed.update(filter(None, run.failed_checks.split(";")))
            warned.update(filter(None, run.warned_checks.split(";")))
        return {rule_id: (failed[rule_id], warned[rule_id]) for rule_id in sorted({*failed, *warned})}


def validate(cur: DuckDBPyConnection, query: BoardQuery, judge: Judge) -> Validation:
    """The verdict on every run of the query's filters, whatever it was worth so far."""
    chosen = parameters(cur, query)
    cur.execute(f"select run_id from runs where {CHOSEN} order by created_at, run_id", chosen)
    run_ids = [run_id for (run_id,) in cur.fetchall()]
    stored = _stored(cur, run_ids)
    found = dict(_judged(cur, run_ids, judge))
    runs = tuple(_told(run_id, found[run_id], stored[run_id]) for run_id in run_ids if run_id in found)
    return Validation(judge.ruleset.id, judge.ruleset.sha256, bool(chosen["rehearsal"]), runs)


def keep(store: Connection | Lake, run_ids: Sequence[str], judge: Judge) -> int:
    """Keep the verdicts on these runs as theirs; returns how many were others before. Can be repeated."""
    chunks = (run_ids[start : start + CHUNK] for start in range(0, len(run_ids), CHUNK))
    changed = sum(store.write(lambda cur, chunk=chunk: _replace(cur, chunk, judge)) for chunk in chunks)  # type: ignore[misc]  # mypy cannot infer it
    store.write(settle)
    return changed


def lay_over(cur: DuckDBPyConnection, query: BoardQuery, judge: Judge) -> None:
    """From now on this cursor sees the runs of the query with the verdicts of another ruleset, until it is closed."""
    if not _others_decided(cur, query, judge):
        return
    cur.execute(f"select run_id from runs where {CHOSEN}", parameters(cur, query))
    found = list(_judged(cur, [run_id for (run_id,) in cur.fetchall()], judge))
    [(database,)] = cur.execute("select current_database()").fetchall()
    cur.execute(f"create temp table judged as {_UNNESTED}", _listed(found))
    laid = ", ".join(f"coalesce(judged.{name}, stored.{name}) as {name}" for name in _COLUMNS)
    cur.execute(
        f"""create temp view results as select * replace ({laid}), stored.rowid as rowid
        from {database}.main.results stored left join judged using (run_id)"""
    )
    # What was kept of these groups does not hold under these verdicts.
    cur.execute(
        f"""create temp table standings_due as
        select group_id from {database}.main.standings_due
        union select group_id from {database}.main.runs join judged using (run_id)"""
    )


def _others_decided(cur: DuckDBPyConnection, query: BoardQuery, judge: Judge) -> bool:
    """Whether a stored verdict comes from another ruleset, or from another text of this one."""
    cur.execute(
        f"""select 1 from runs join results using (run_id)
        where {CHOSEN} and (ruleset_id <> $ruleset_id or ruleset_sha256 <> $sha256) limit 1""",
        {**parameters(cur, query), "ruleset_id": judge.ruleset.id, "sha256": judge.ruleset.sha256},
    )
    return bool(cur.fetchall())


def _judged(cur: DuckDBPyConnection, run_ids: Sequence[str], judge: Judge) -> Iterator[tuple[str, Verdict]]:
    for facts in stored_facts(cur, run_ids, judge.straggler_share):
        yield facts.run_id, judge.verdict(facts)


def _stored(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, Verdict]:
    cur.execute(
        f"""select run_id, {", ".join(_COLUMNS)} from results
        join (select unnest(?::VARCHAR[]) as run_id) using (run_id)""",
        [list(run_ids)],
    )
    return {run_id: Verdict._make(rest) for run_id, *rest in cur.fetchall()}


def _told(run_id: str, found: Verdict, stored: Verdict) -> Judged:
    return Judged(
        run_id,
        Validity(found.validity),
        found.failed_checks,
        found.warned_checks,
        Validity(stored.validity),
        stored.ruleset_id,
        _is_same(found, stored),
        found.checks,
    )


_UNNESTED = "select unnest($run_id::VARCHAR[]) as run_id, " + ", ".join(
    f"unnest(${name}::VARCHAR[]) as {name}" for name in _COLUMNS
)


def _listed(found: Sequence[tuple[str, Verdict]]) -> dict[str, list[str]]:
    columns = {name: [getattr(verdict, name) for _, verdict in found] for name in _COLUMNS}
    return {"run_id": [run_id for run_id, _ in found], **columns}


def _replace(cur: DuckDBPyConnection, run_ids: Sequence[str], judge: Judge) -> int:
    stored = _stored(cur, run_ids)
    found = [(run_id, verdict) for run_id, verdict in _judged(cur, run_ids, judge) if stored[run_id] != verdict]
    if found:
        changes = ", ".join(f"{name} = judged.{name}" for name in _COLUMNS)
        cur.execute(
            f"update results set {changes} from ({_UNNESTED}) judged where results.run_id = judged.run_id",
            _listed(found),
        )
        mark_of_runs(cur, [run_id for run_id, _ in found])
    return sum(not _is_same(verdict, stored[run_id]) for run_id, verdict in found)


def _is_same(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts say the same, also where one of them does not know its values."""
    if one == other or one._replace(checks="") != other._replace(checks=""):
        return one == other
    return without_data(one.checks) == without_data(other.checks)
