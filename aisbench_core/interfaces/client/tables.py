"""The warehouse of a server, for `aisbench_core.open_warehouse("https://…")`: what its API reads, as Arrow."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from aisbench_core.base.errors import AisbenchError, Problem, QueryError, RunNotFound, SpecError
from aisbench_core.base.messages import Message, message_of
from aisbench_core.interfaces.client.client import Client
from aisbench_core.interfaces.client.connection import ApiProblem, part_of, with_query

if TYPE_CHECKING:
    import pyarrow as arrow

# What a reader of this machine raises as an error of its own.
_KINDS: Mapping[str, type[AisbenchError]] = {"run-not-found": RunNotFound, "query-error": QueryError}
_QUERY = Message("the query")


class SqlQuery(Protocol):
    """SQL, the values of its `?` or `$name`, and its time limit."""

    @property
    def sql(self) -> str:
        """One SELECT."""

    @property
    def values(self) -> Sequence[object] | Mapping[str, object]:
        """By position or by name."""

    @property
    def seconds(self) -> float:
        """The time limit."""


class ServerTables:
    """A warehouse that a server reads. Every method raises ApiProblem, or what a warehouse here would raise."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def close(self) -> None:
        """Nothing is open between two answers."""

    def sql(self, query: SqlQuery) -> "AbstractContextManager[arrow.RecordBatchReader]":
        """The answer to one SELECT."""
        values = query.values
        plain = (
            {name: _to_plain(value) for name, value in values.items()}
            if isinstance(values, Mapping)
            else [*map(_to_plain, values)]
        )
        return self._open_reader("sql", body={"query": query.sql, "values": plain, "seconds": query.seconds})

    def views(self) -> "AbstractContextManager[arrow.RecordBatchReader]":
        """Every column of every view of the server."""
        return self._open_reader("views")

    def regions(self) -> "AbstractContextManager[arrow.RecordBatchReader]":
        """The regions with runs."""
        return self._open_reader("regions")

    def runs(self, filters: Mapping[str, Any]) -> "AbstractContextManager[arrow.RecordBatchReader]":
        """Runs with the columns of `v_runs`."""
        return self._open_reader(with_query("runs", filters))

    def leaderboard(self, filters: Mapping[str, Any]) -> "AbstractContextManager[arrow.RecordBatchReader]":
        """The leaderboard with the columns of `v_groups`."""
        return self._open_reader(with_query("leaderboard", filters))

    def scaling(self, run_id: str) -> "AbstractContextManager[arrow.RecordBatchReader]":
        """Node counts of what is otherwise equal to a run."""
        return self._open_reader(f"scaling/{part_of(run_id)}")

    def history(self, run_id: str, *, include_invalid: bool) -> "AbstractContextManager[arrow.RecordBatchReader]":
        """Runs of a run's benchmark configuration on its hardware."""
        return self._open_reader(with_query(f"history/{part_of(run_id)}", {"include_invalid": include_invalid}))

    @contextmanager
    def _open_reader(self, path: str, body: object = None) -> "Iterator[arrow.RecordBatchReader]":
        try:
            with self._client.batches(f"/warehouse/{path}", body) as reader:
                yield reader
        except ApiProblem as problem:
            if kind := _KINDS.get(problem.code):
                raise kind(message_of(problem.message)) from problem
            raise


def _to_plain(value: object) -> object:
    """A value as JSON has it; times and decimals as text, which comparisons convert."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, date | Decimal):  # a datetime is a date, too
        return str(value)
    if isinstance(value, list | tuple):
        return [*map(_to_plain, value)]
    wrong = Message("must be text, a number, a time, or a list of them")
    raise SpecError(_QUERY, [Problem("values", wrong, repr(value)[:80])])
