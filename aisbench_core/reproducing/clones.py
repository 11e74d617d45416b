"""The spec of a run, from the ledger or the warehouse, and specs cloned from it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aisbench_core.authoring.workloads import Workloads
from aisbench_core.documents import parse
from aisbench_core.errors import AisbenchError, RunNotFound
from aisbench_core.messages import Message
from aisbench_core.model import Origin, RunSpec
from aisbench_core.reproducing.values import Original
from aisbench_core.running.ledger import Ledger
from aisbench_core.warehouse import Warehouse


class Clones:
    """Clones specs of runs. Threads may share it."""

    def __init__(self, ledger: Ledger, warehouse: Warehouse, workloads: Workloads) -> None:
        self._ledger = ledger
        self._warehouse = warehouse
        self._workloads = workloads

    def original(self, run_id: str) -> Original:
        """A run's spec. Raises RunNotFound, and SpecError when a newer version wrote it."""
        try:
            run = self._ledger.get(run_id)
        except RunNotFound:
            return self._recorded(run_id)
        return Original(run.run_id, run.spec, run.profile)

    def spec(self, original: Original) -> RunSpec:
        """A spec equal to the original's; fields that an imported run does not have keep their defaults.

        The workload's own code may have another path on this machine: the spec then names the one here."""
        if original.known is not None:
            answers = original.spec.model_dump(include=set(original.known))
            return parse(
                RunSpec,
                {"workload": original.spec.workload, **answers},
                Message("run {run_id}", run_id=original.run_id),
            )
        spec = original.spec
        if self._is_own_code(spec) and not Path(spec.code_dir).is_dir():
            return spec.model_copy(update={"code_dir": ""})
        return spec

    def _is_own_code(self, spec: RunSpec) -> bool:
        try:
            workload = self._workloads.get(spec.workload)
        except AisbenchError:  # the workload is not installed here
            return False
        return workload.ships_code and Path(spec.code_dir).parts[-2:] == workload.code_dir.parts[-2:]

    def _recorded(self, run_id: str) -> Original:
        """A run that only the warehouse has: imported, of another machine, or older than this ledger."""
        row, requested = self._warehouse.run(run_id), self._warehouse.spec_of(run_id)
        if row is None or requested is None:
            raise RunNotFound(
                Message("there is no run {run_id!r}", run_id=run_id),
                Message("`aisbench runs` and `aisbench leaderboard` list them"),
            )
        answers: Mapping[str, Any] = {"workload": row.workload, **requested.spec}
        spec = parse(RunSpec, answers, Message("the spec of run {run_id}", run_id=run_id))
        return Original(run_id, spec, row.profile, frozenset(requested.spec) if row.origin is Origin.IMPORTED else None)
