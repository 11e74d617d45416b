"""What a run was asked for, whoever knows it: the ledger, or the warehouse; and specs that are made of it."""

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
    """Specs that are made of runs. Threads may share it."""

    def __init__(self, ledger: Ledger, warehouse: Warehouse, workloads: Workloads) -> None:
        self._ledger = ledger
        self._warehouse = warehouse
        self._workloads = workloads

    def original(self, run_id: str) -> Original:
        """What a run was asked for. Raises RunNotFound, and SpecError when a newer version wrote its spec."""
        try:
            run = self._ledger.get(run_id)
        except RunNotFound:
            return self._recorded(run_id)
        return Original(run.run_id, run.spec, run.profile)

    def spec(self, original: Original) -> RunSpec:
        """A spec that asks for the same again; what an imported run does not tell is left open.

        The workload's own code may lie elsewhere on this machine: the spec then means the one that lies here."""
        if original.known is not None:
            answers = original.spec.model_dump(include=set(original.known))
            return parse(RunSpec, {"workload": original.spec.workload, **answers}, f"run {original.run_id}")
        spec = original.spec
        if self._is_own_code(spec) and not Path(spec.code_dir).is_dir():
            return spec.model_copy(update={"code_dir": ""})
        return spec

    def _is_own_code(self, spec: RunSpec) -> bool:
        try:
            workload = self._workloads.get(spec.workload)
        except AisbenchError:  # it is not here
            return False
        return workload.ships_code and Path(spec.code_dir).parts[-2:] == workload.code_dir.parts[-2:]

    def _recorded(self, run_id: str) -> Original:
        """A run that only the warehouse knows: imported, of another machine, or older than this ledger."""
        row, asked = self._warehouse.run(run_id), self._warehouse.asked(run_id)
        if row is None or asked is None:
            raise RunNotFound(
                Message("there is no run {run_id!r}", run_id=run_id),
                Message("`aisbench runs` and `aisbench leaderboard` list them"),
            )
        answers: Mapping[str, Any] = {"workload": row.workload, **asked.spec}
        spec = parse(RunSpec, answers, f"the spec of run {run_id}")
        return Original(run_id, spec, row.profile, frozenset(asked.spec) if row.origin is Origin.IMPORTED else None)
