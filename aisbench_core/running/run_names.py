"""Names of runs for people: the one that somebody gave a run, otherwise what it is and what it sets differently."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aisbench_core.base import formats
from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import Run, RunSpec, Scalar
from aisbench_core.model.annotation import MAX_NAME
from aisbench_core.running.annotations import AnnotationService

MAX_PARAMETERS = 2
"""Of more parameters that differ, a name says how many there are."""


@dataclass(frozen=True, slots=True)
class RunNames:
    """Names runs. Threads may share it."""

    workloads: Workloads
    annotations: AnnotationService

    def of(self, runs: Sequence[Run]) -> Mapping[str, str]:
        """Names by run id."""
        given = self.annotations.names(runs)
        return {run.run_id: given[run.run_id] or default_name(run.spec, self._get_defaults(run.spec)) for run in runs}

    def _get_defaults(self, spec: RunSpec) -> Mapping[str, Scalar]:
        with suppress(AisbenchError):  # the workload, or its version, is not installed any more
            return self.workloads.fill_spec(spec.model_copy(update={"parameters": {}})).parameters
        return spec.parameters


def default_name(spec: RunSpec, defaults: Mapping[str, Scalar]) -> str:
    """One like `resnet50 r2.1 8 × 8 batch_size=256`: with the parameters that are not as the workload has them."""
    size = formats.nodes_and_cards(spec.node_count, spec.cards_per_node)
    changed = [f"{name}={value}" for name, value in spec.parameters.items() if defaults.get(name) != value]
    more = (f"+{len(changed) - MAX_PARAMETERS}",) if len(changed) > MAX_PARAMETERS else ()
    parts = (spec.name or spec.workload, spec.framework_version, size, *changed[:MAX_PARAMETERS], *more)
    return formats.clip_text(" ".join(filter(None, parts)), MAX_NAME)
