"""How runs trained language models, with all that their numbers were divided by."""

import json
from collections import defaultdict
from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.domain.llm.chips import Chips
from aisbench_core.domain.llm.llm_settings import read_llm
from aisbench_core.domain.llm.training import LlmTraining, describe_training
from aisbench_core.model import Better, Combined, MetricSource, RunMetric


def describe_trainings(cur: DuckDBPyConnection, run_ids: Sequence[str], chips: Chips) -> dict[str, LlmTraining]:
    """By run, in their order; runs that trained no language model are left out."""
    cur.execute(
        """select run_id, speed_parameters, coalesce(flavor, ''), coalesce(system->>'$.accelerator_model_name', '')
        from runs where run_id in (select unnest(?::VARCHAR[]))""",
        [list(run_ids)],
    )
    found = {
        run_id: (llm, chips.choose_name(stated, flavor))
        for run_id, speed, flavor, stated in cur.fetchall()
        if (llm := read_llm(json.loads(speed or "null")))
    }
    metrics = _fetch_metrics(cur, list(found))
    return {
        run_id: describe_training(found[run_id][0], metrics[run_id], found[run_id][1], chips)
        for run_id in run_ids
        if run_id in found
    }


def _fetch_metrics(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> defaultdict[str, list[RunMetric]]:
    cur.execute(
        """select run_id, name, value, unit, better, combined, definition, source from run_metrics
        where run_id in (select unnest(?::VARCHAR[]))""",
        [run_ids],
    )
    metrics: defaultdict[str, list[RunMetric]] = defaultdict(list)
    for run_id, name, value, unit, better, combined, definition, source in cur.fetchall():
        metric = RunMetric(name, value, unit, Better(better), Combined(combined), definition, MetricSource(source))
        metrics[run_id].append(metric)
    return metrics
