"""A series that searches: how, its best trial, and a table of all trials whose values are chosen."""

from collections.abc import Collection

import streamlit as st

from aisbench_core.base.formats import format_duration, format_number
from aisbench_core.model import Objective, ParameterSearch, Range, Sampler
from aisbench_core.model.search import Values
from aisbench_core.running.series.matrix import Cell, Matrix, MatrixRow
from pages._ui.series.matrix import VISIBLE, show_best_row, show_why_no_best, state_text
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t


def objective_text(objective: Objective) -> str:
    """In words."""
    return t(f"series.objective_{objective.name.lower()}")


def sampler_text(sampler: Sampler) -> str:
    """In words."""
    return t(f"series.sampler_{sampler.name.lower()}")


def objective_head(search: ParameterSearch) -> str:
    """The objective with its unit, as the head of a column or an axis."""
    return f"{objective_text(search.objective)} ({t.unit(search.unit)})" if search.unit else t("series.value")


def show_search_plan(matrix: Matrix, search: ParameterSearch) -> None:
    """What is searched and how, and the best trial so far."""
    space = "; ".join(f"{name}={_values_text(values)}" for name, values in search.space.items())
    facts = {"space": escape_markdown(space), "sampler": sampler_text(search.sampler), "seed": search.seed}
    early = t("series.searched_early") if search.early_stop else ""
    st.caption(t("series.searched", objective=objective_text(search.objective), **facts) + early)
    if matrix.best:
        show_best_row(matrix.best, "series.best_trial")
        st.caption(t("series.best_trial_about"))
    show_why_no_best(matrix)


def show_trials(matrix: Matrix, search: ParameterSearch, hidden: Collection[str]) -> None:
    """A row for each trial whose values are chosen, with the reason if it ended without a value; without the hidden
    columns."""
    chosen = [(row, cell) for row in matrix.rows for cell in row.cells if row.planned.parameters]
    if not chosen:
        st.caption(t("series.no_attempts"))
        return
    rows = [_to_row(row, cell) for row, cell in chosen]
    titles = {key: title for key, title in list_trial_titles(matrix, search).items() if key not in hidden}
    show_table(rows, titles, t("series.trials"), widths={"detail": "large"}, visible=VISIBLE)


def list_trial_titles(matrix: Matrix, search: ParameterSearch) -> dict[str, str]:
    """Hyperparameters have no other names; what all trials have in common is no column."""
    plan = matrix.series.plan
    names = dict.fromkeys(name for row in matrix.rows for name in row.planned.parameters)
    return {
        "trial": t("series.trial"),
        **({"nodes": t("series.counts")} if len(plan.node_counts) > 1 else {}),
        **({"image": t("series.image")} if len(plan.images) > 1 else {}),
        **{_parameter_field(name): name for name in names},
        "state": t("series.state"),
        **({} if search.objective is Objective.THROUGHPUT else {"objective": objective_head(search)}),
        "value": t("series.value"),
        "took": t("series.took"),
        "run": t("series.run"),
        "detail": t("series.detail"),
    }


def _parameter_field(name: str) -> str:
    return f"parameters.{name}"


def _to_row(row: MatrixRow, cell: Cell) -> dict[str, object]:
    run = cell.shown.run
    return {
        "trial": cell.index,
        "nodes": row.planned.node_count,
        "image": row.planned.image,
        **{_parameter_field(name): value for name, value in row.planned.parameters.items()},
        "state": state_text(cell.shown),
        "objective": format_number(row.objective),
        "value": format_number(row.median, t.unit(row.unit)) if row.median is not None else format_number(None),
        "took": format_duration(run.duration_s if run else None),
        "run": run.run_id if run else "",
        "detail": t.message(run.explanation) if run else "",
    }


def _values_text(values: Values) -> str:
    return values.text if isinstance(values, Range) else ",".join(map(str, values))
