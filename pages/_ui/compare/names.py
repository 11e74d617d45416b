"""How compared runs are named: single runs by their ids, rows of the leaderboard by what distinguishes them."""

from collections import Counter
from collections.abc import Mapping

from aisbench_core.base.formats import clip_text, nodes_and_cards
from aisbench_core.model import Origin
from aisbench_core.warehouse.values.boards import describe_hardware
from aisbench_core.warehouse.values.compared import ComparedBy, Comparison
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.shell.tables import without_prefix
from pages._ui.shell.words import t


def names_of(comparison: Comparison) -> Mapping[str, str]:
    """A name for each run by its id; rows that look alike are also named by a run."""
    ids = [run.run_id for run in comparison.runs]
    if comparison.by is ComparedBy.RUNS:
        return dict(zip(ids, ids, strict=True))
    flavors = without_prefix([describe_hardware(run) for run in comparison.runs])
    parts = [_list_parts(run, flavor) for run, flavor in zip(comparison.runs, flavors, strict=True)]
    differing = [len(set(values)) > 1 for values in zip(*parts, strict=True)]
    names = [
        " · ".join(part for part, differs in zip(own, differing, strict=True) if differs and part) for own in parts
    ]
    alike = Counter(names)
    return {
        run_id: name if name and alike[name] == 1 else " · ".join(filter(None, (name, run_id)))
        for run_id, name in zip(ids, names, strict=True)
    }


def _list_parts(run: RunRow, flavor: str) -> tuple[str, ...]:
    return (
        clip_text(run.model or run.workload),
        run.framework,
        clip_text(run.framework_version),
        nodes_and_cards(run.node_count, run.cards_per_node),
        flavor,
        t("origin.imported") if run.origin is Origin.IMPORTED else "",
    )
