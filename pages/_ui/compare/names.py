"""How compared runs are named: single runs by their ids, configurations by what distinguishes them."""

from collections import Counter
from collections.abc import Mapping

from aisbench_core.base.formats import clip_text, nodes_and_cards
from aisbench_core.model import Origin
from aisbench_core.warehouse.values.boards import describe_hardware
from aisbench_core.warehouse.values.compared import ComparedBy, Comparison
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.shell.tables import without_prefix
from pages._ui.shell.words import t

FEW_PARAMETERS = 2  # so many that differ are part of a name


def names_of(comparison: Comparison) -> Mapping[str, str]:
    """A name for each compared side by its run id; configurations that look alike are also named by the run."""
    if comparison.by is ComparedBy.RUNS:
        return {run.run_id: run.run_id for run in comparison.runs}
    names = name_groups(comparison)
    alike = Counter(names.values())
    return {run_id: name if alike[name] == 1 else _add_run(name, run_id) for run_id, name in names.items()}


def name_groups(comparison: Comparison) -> Mapping[str, str]:
    """A name for each run's configuration by the run's id; runs of one configuration share it."""
    flavors = without_prefix([describe_hardware(run) for run in comparison.runs])
    described = [_list_parts(run, flavor) for run, flavor in zip(comparison.runs, flavors, strict=True)]
    parts = [(*own, *set_) for own, set_ in zip(described, _list_parameters(comparison), strict=True)]
    differing = [len(set(values)) > 1 for values in zip(*parts, strict=True)]
    names = [
        " · ".join(part for part, differs in zip(own, differing, strict=True) if differs and part) for own in parts
    ]
    members = [tuple(dot.run_id for dot in peers.dots) for peers in comparison.peers]
    groups = Counter(name for name, _ in {*zip(names, members, strict=True)})
    ids = [run.run_id for run in comparison.runs]
    return {
        run_id: name if name and groups[name] == 1 else _add_run(name, run_id)
        for run_id, name in zip(ids, names, strict=True)
    }


def _add_run(name: str, run_id: str) -> str:
    return " · ".join(filter(None, (name, run_id)))


def _list_parts(run: RunRow, flavor: str) -> tuple[str, ...]:
    return (
        clip_text(run.model or run.workload),
        run.framework,
        clip_text(run.framework_version),
        nodes_and_cards(run.node_count, run.cards_per_node),
        flavor,
        t("origin.imported") if run.origin is Origin.IMPORTED else "",
    )


def _list_parameters(comparison: Comparison) -> list[tuple[str, ...]]:
    """For each run its own values of the parameters that differ and decide speed, unless these are many."""
    fields = [
        field
        for field in comparison.differences
        if field.field.startswith("parameters.") and field.field in comparison.reasons
    ]
    if len(fields) > FEW_PARAMETERS:
        fields = []
    return [
        tuple(_name_parameter(field.field, field.values[index]) for field in fields)
        for index in range(len(comparison.runs))
    ]


def _name_parameter(field: str, value: object) -> str:
    return "" if value is None else clip_text(f"{field.partition('.')[2]}={value}")
