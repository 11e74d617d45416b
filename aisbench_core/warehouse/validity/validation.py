"""Evaluation of stored runs by another ruleset: as an answer, for the duration of a query, or to be stored."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.queries.filters import build_parameters, choose_runs_sql
from aisbench_core.warehouse.queries.group_statistics import mark_due_by_id, settle_groups
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.validity.evaluation import Evaluation, Evaluator, stored_checks, without_data
from aisbench_core.warehouse.validity.facts import stored_facts
from aisbench_core.warehouse.values.runs import BoardQuery, Check, Validity

_COLUMNS = Evaluation._fields
# Runs that are updated in one transaction, after which other processes get their turn.
CHUNK = 5000


@dataclass(frozen=True, slots=True)
class RunEvaluation:
    """The evaluation of one run, and the validity and ruleset that are stored. `is_stored`: both say the same."""

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
class RunVerdicts:
    """What is stored of a run's validity, and what its ruleset gives; equal if only checks differ."""

    run_id: str
    stored: str
    computed: str


@dataclass(frozen=True, slots=True)
class Validation:
    """The evaluations of a query's runs by one ruleset, in the order of their launch."""

    ruleset_id: str
    ruleset_sha256: str
    rehearsal: bool
    runs: tuple[RunEvaluation, ...]

    @property
    def statement(self) -> str:
        """What the audit says of it: the hash of the rules, and one over a line for each run."""
        lines = (f"{run.run_id} {run.validity} {run.failed_checks} {run.warned_checks}\n" for run in self.runs)
        verdicts = hashlib.sha256("".join(lines).encode()).hexdigest()
        return f"rules {self.ruleset_sha256}, {len(self.runs)} verdicts {verdicts}"

    @property
    def counts(self) -> Mapping[Validity, int]:
        """The number of runs of each validity."""
        counts = Counter(run.validity for run in self.runs)
        return {validity: counts[validity] for validity in Validity}

    @property
    def by_rule(self) -> Mapping[str, tuple[int, int]]:
        """The numbers of runs that failed each rule, and that it warned about, by the rule's id."""
        failed, warned = Counter[str](), Counter[str]()
        for run in self.runs:
            failed.update(filter(None, run.failed_checks.split(";")))
            warned.update(filter(None, run.warned_checks.split(";")))
        return {rule_id: (failed[rule_id], warned[rule_id]) for rule_id in sorted({*failed, *warned})}


def validate(cur: DuckDBPyConnection, query: BoardQuery, evaluator: Evaluator) -> Validation:
    """Evaluate every run that the query's filters choose, whatever its stored validity is."""
    filters = build_parameters(cur, query)
    cur.execute(f"select run_id from runs where {choose_runs_sql(query)} order by created_at, run_id", filters)
    run_ids = [run_id for (run_id,) in cur.fetchall()]
    stored = _read_stored(cur, run_ids)
    evaluations = dict(_iter_evaluations(cur, run_ids, evaluator))
    runs = tuple(
        RunEvaluation(
            *(run_id, Validity(new.validity), new.failed_checks, new.warned_checks),
            *(Validity(stored[run_id].validity), stored[run_id].ruleset_id),
            is_stored=_is_same(new, stored[run_id]),
            checks_json=new.checks,
        )
        for run_id in run_ids
        if (new := evaluations.get(run_id))
    )
    return Validation(evaluator.ruleset.id, evaluator.ruleset.sha256, bool(filters["rehearsal"]), runs)


def find_other_verdicts(cur: DuckDBPyConnection, run_ids: Sequence[str], evaluator: Evaluator) -> Iterator[RunVerdicts]:
    """Of these runs, those whose stored verdict is not what this ruleset gives."""
    stored = _read_stored(cur, run_ids)
    for run_id, new in _iter_evaluations(cur, run_ids, evaluator):
        if not _is_same(new, stored[run_id]):
            yield RunVerdicts(run_id, stored[run_id].validity, new.validity)


def store_evaluations(store: Store, run_ids: Sequence[str], evaluator: Evaluator) -> int:
    """Evaluate these runs and store what changed; returns how many runs changed. Can be repeated."""
    chunks = (run_ids[start : start + CHUNK] for start in range(0, len(run_ids), CHUNK))
    changed = sum(store.write(lambda cur, chunk=chunk: _replace_evaluations(cur, chunk, evaluator)) for chunk in chunks)  # type: ignore[misc]  # mypy cannot infer it
    store.write(settle_groups)
    return changed


def overlay(cur: DuckDBPyConnection, query: BoardQuery, evaluator: Evaluator) -> None:
    """Show the runs of the query to this cursor, until it is closed, as the evaluator's ruleset evaluates them."""
    if not _is_stored_by_others(cur, query, evaluator):
        return
    cur.execute(f"select run_id from runs where {choose_runs_sql(query)}", build_parameters(cur, query))
    evaluations = list(_iter_evaluations(cur, [run_id for (run_id,) in cur.fetchall()], evaluator))
    [(database,)] = cur.execute("select current_database()").fetchall()
    # Temporary names hide those of the database, so that every query works as it is.
    cur.execute(f"create temp table evaluated as {_UNNESTED}", _build_columns(evaluations))
    cells = ", ".join(f"coalesce(evaluated.{name}, stored.{name}) as {name}" for name in _COLUMNS)
    cur.execute(
        f"""create temp view results as select * replace ({cells}), stored.rowid as rowid
        from {database}.main.results stored left join evaluated using (run_id)"""
    )
    # The stored statistics of these groups are of the stored validity.
    cur.execute(
        f"""create temp table group_statistics_due as
        select group_id from {database}.main.group_statistics_due
        union select group_id from {database}.main.runs join evaluated using (run_id)"""
    )


def _is_stored_by_others(cur: DuckDBPyConnection, query: BoardQuery, evaluator: Evaluator) -> bool:
    """Whether any of the runs was evaluated by another ruleset, or by another edition of this one."""
    cur.execute(
        f"""select 1 from runs join results using (run_id)
        where {choose_runs_sql(query)} and (ruleset_id <> $ruleset_id or ruleset_sha256 <> $sha256) limit 1""",
        {**build_parameters(cur, query), "ruleset_id": evaluator.ruleset.id, "sha256": evaluator.ruleset.sha256},
    )
    return bool(cur.fetchall())


def _iter_evaluations(
    cur: DuckDBPyConnection, run_ids: Sequence[str], evaluator: Evaluator
) -> Iterator[tuple[str, Evaluation]]:
    for facts in stored_facts(cur, run_ids, evaluator.straggler_share):
        yield facts.run_id, evaluator.evaluate(facts)


def _read_stored(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, Evaluation]:
    cur.execute(
        f"""select run_id, {", ".join(_COLUMNS)} from results
        join (select unnest(?::VARCHAR[]) as run_id) using (run_id)""",
        [list(run_ids)],
    )
    return {run_id: Evaluation._make(rest) for run_id, *rest in cur.fetchall()}


_UNNESTED = "select unnest($run_id::VARCHAR[]) as run_id, " + ", ".join(
    f"unnest(${name}::VARCHAR[]) as {name}" for name in _COLUMNS
)


def _build_columns(evaluations: Sequence[tuple[str, Evaluation]]) -> dict[str, list[str]]:
    columns = {name: [getattr(evaluation, name) for _, evaluation in evaluations] for name in _COLUMNS}
    return {"run_id": [run_id for run_id, _ in evaluations], **columns}


def _replace_evaluations(cur: DuckDBPyConnection, run_ids: Sequence[str], evaluator: Evaluator) -> int:
    stored = _read_stored(cur, run_ids)
    changed = [(run_id, new) for run_id, new in _iter_evaluations(cur, run_ids, evaluator) if stored[run_id] != new]
    if changed:
        import pyarrow as pa  # takes 100 ms, which only those wait for who need it

        cells = ", ".join(f"{name} = evaluated.{name}" for name in _COLUMNS)
        # Lists as parameters become a value of DuckDB's for each cell, which takes longer than the update.
        cur.register("evaluated", pa.table(_build_columns(changed)))
        cur.execute(f"update results set {cells} from evaluated where results.run_id = evaluated.run_id")
        cur.unregister("evaluated")
        mark_due_by_id(cur, [run_id for run_id, _ in changed])
    return sum(not _is_same(new, stored[run_id]) for run_id, new in changed)


def _is_same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two evaluations say the same, even if one was stored without the data of its sentences."""
    if one == other or one._replace(checks="") != other._replace(checks=""):
        return one == other
    return without_data(one.checks) == without_data(other.checks)
