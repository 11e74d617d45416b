"""Exports that people ask for: so many of a person at once, and so many runs in each."""

from collections.abc import Callable
from dataclasses import replace
from typing import IO

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.access.operations import Operations
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import Export, OnRows, ignore_rows


class Exports:
    """Writes exports within the limits of a person. Thread-safe."""

    def __init__(
        self, warehouse: Warehouse, operations: Operations, most_runs: int, audit_head: Callable[[], str]
    ) -> None:
        """`most_runs`: of one export; 0: no limit. `audit_head`: as in Export."""
        self._warehouse = warehouse
        self._operations = operations
        self._most_runs = most_runs
        self._audit_head = audit_head

    def write(
        self, request: Export, target: IO[bytes], who: str, on_rows: OnRows = ignore_rows, *, wait_seconds: float = 0.0
    ) -> int:
        """Write every run of the query; returns the number of rows. `wait_seconds`: for another one to end.

        Raises TooManyOperations, and SpecError if there are more runs than one export may hold, or than Excel can."""
        with self._operations.count_operation(who, wait_seconds):
            self.require_size(request)
            return self._warehouse.export(replace(request, audit_head=self._audit_head()), target, on_rows)

    def require_size(self, request: Export) -> None:
        """Raises SpecError if the query has more runs than one export may hold."""
        if self._most_runs and (count := self._warehouse.runs.count_rows(request.query)) > self._most_runs:
            limit = Message("an export holds as many as `export_most_runs` allows ({limit:,})", limit=self._most_runs)
            raise SpecError(
                Message("export"),
                [Problem("runs", limit, f"{count:,}")],
                Message("narrow the filter, or export in parts"),
            )
