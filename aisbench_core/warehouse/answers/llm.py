"""How runs trained language models, with all that their numbers were divided by."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from duckdb import DuckDBPyConnection

from aisbench_core.domain.llm.chips import Chips
from aisbench_core.domain.llm.llm_settings import read_llm
from aisbench_core.domain.llm.training import LlmTraining, describe_training
from aisbench_core.model import Better, Combined, MetricSource, RunMetric
from aisbench_core.model.columns import MISSED


def describe_trainings(cur: DuckDBPyConnection, run_ids: Sequence[str], chips: Chips) -> dict[str, LlmTraining]:
    """By run, in their order; runs that trained no language model are left out."""
    cur.execute(
        f"""select run_id, speed_parameters, coalesce(flavor, ''),
            coalesce(system->>'$.accelerator_model_name', ''), {MISSED}
        from runs join results using (run_id) where run_id in (select unnest(?::VARCHAR[]))""",
        [list(run_ids)],
    )
    found = {
        run_id: (llm, chips.choose_name(stated, flavor), missed)
        for run_id, speed, flavor, stated, missed in cur.fetchall()
        if (llm := read_llm(json.loads(speed or "null")))
    }
    metrics = _fetch_metrics(cur, list(found))
    return {
        run_id: replace(describe_training(llm, metrics[run_id], named, chips), missed_target=missed)
        for run_id in run_ids
        if run_id in found
        for llm, named, missed in [found[run_id]]
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
