"""The speeds that suites refer to, from the runs of the warehouse."""

from typing import NoReturn

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.acceptance.decision_rule import FIRST_LOOK, ReferenceSpeed
from aisbench_core.domain.acceptance.suite import Reference
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import Validity


def find_speed(warehouse: Warehouse, reference: Reference, nodes: int) -> ReferenceSpeed:
    """The stated value, or that of the valid runs of a configuration. Raises SpecError if they are too few."""
    if reference.value is not None:
        return ReferenceSpeed(reference.value, reference.uncertainty)
    run_id = reference.bundles or reference.configuration
    row = warehouse.board.find_row(run_id)
    if row is None:
        _refuse_reference(run_id, Message("no such run in the warehouse"))
    found = row.row.node_count
    if found != nodes:
        _refuse_reference(
            run_id, Message("it ran on {found} nodes; the step runs on {nodes}", found=found, nodes=nodes)
        )
    # What was imported is at most claimed, whoever signed it.
    runs = [run for run in row.runs if (run.verified_by if reference.bundles else run.validity is Validity.VALID)]
    values = [run.throughput for run in runs if run.validity.counts and run.throughput]
    if len(values) < FIRST_LOOK:
        problem = Message(
            "its configuration has {count} valid runs, and their spread is known from {least}",
            count=len(values),
            least=FIRST_LOOK,
        )
        _refuse_reference(run_id, problem)
    return ReferenceSpeed.from_runs(values)


def _refuse_reference(run_id: str, problem: Message) -> NoReturn:
    raise SpecError(Message("the reference {run_id}", run_id=run_id), [Problem("reference", problem)])
