"""What the Scaling page is asked for: which question, which versions and hardware, up to how many nodes; in the URL."""

from collections.abc import Mapping, Sequence

import streamlit as st

from aisbench_core.formats import clipped
from aisbench_core.model import Origin
from aisbench_core.warehouse.answers.boards import hardware
from aisbench_core.warehouse.answers.scalings import QuestionRow, Scaling, ScalingQuery, ScalingQuestion, systems
from aisbench_core.warehouse.values import BoardQuery, RegionFacts, RunRow
from pages._ui.leaderboard.board import filter_by, kind_id
from pages._ui.shell import address
from pages._ui.shell.core import asked, core
from pages._ui.shell.errors import plain
from pages._ui.shell.words import Words, words

MOST_QUESTIONS = 200
"""How many questions the picker offers, those on most node counts; filters reach the others."""

MOST_CURVES = 4
"""More lines than this in one picture cannot be told apart."""

MOST_NODES = 100_000


def open_run() -> None:
    """Turn `?run=` into the question and the curve that the run lies on; says why, where there is none."""
    run_id = st.query_params.pop("run", "")
    if not run_id:
        return
    t = words()
    row = asked(core().warehouse.run, run_id)
    if row is None:
        st.info(t("scaling.no_run", run=plain(run_id)), icon=":material/search:")
        return
    curve = asked(core().warehouse.curve, row)
    if not curve.points:
        st.info(t("scaling.no_curve", run=plain(run_id)), icon=":material/info:")
        return
    for name, value in selection_of(row, curve).items():
        st.query_params[name] = value


def selection_of(row: RunRow, curve: Scaling) -> dict[str, str]:
    """The address of a run's curve."""
    return {"region": kind_id(row), "question": ScalingQuestion.of(row).id, "curve": curve.query.id}


def choose_scaling_query(kind: RegionFacts) -> BoardQuery:
    """The filters for questions, each of them kept in the URL."""
    known = asked(core().warehouse.facets, kind.region, kind.rehearsal)
    model, workload, flavor = st.columns(3)
    with model:
        models = filter_by("model", known.models)
    with workload:
        workloads = filter_by("workload", known.workloads)
    with flavor:
        flavors = filter_by("flavor", known.flavors)
    return BoardQuery(
        kind.region,
        rehearsal=kind.rehearsal,
        models=models,
        workloads=workloads,
        flavors=flavors,
        limit=MOST_QUESTIONS,
    )


def choose_question(query: BoardQuery) -> QuestionRow | None:
    """One question that was answered in cluster mode."""
    t = words()
    page = asked(core().warehouse.questions, query)
    if not page.rows:
        st.info(t("scaling.no_question"), icon=":material/search:")
        return None
    rows = {row.question.id: row for row in page.rows}
    prints = tuple(row.question.fingerprint for row in page.rows)
    apart = asked(core().warehouse.apart.parameters, query.region, prints, rehearsal=page.rehearsal)
    wanted = st.query_params.get("question", "")
    if wanted and wanted not in rows:
        st.info(t("scaling.unknown_question"), icon=":material/search:")
    chosen = st.selectbox(
        t("scaling.question"),
        help=t("scaling.question_help"),
        **address.option(
            "question",
            list(rows),
            next(iter(rows)),
            lambda each: _title(rows[each], apart, t),
            always=True,
            forgets=["curve"],
        ),
    )
    if page.total > len(rows):
        st.caption(t("scaling.more_questions", shown=len(rows), total=page.total))
    return rows[chosen]


def choose_curves(every: Sequence[Scaling], names: Mapping[str, str]) -> list[Scaling]:
    """Up to MOST_CURVES versions and kinds of hardware; the one on most node counts unless others are asked for."""
    t = words()
    curves = {curve.query.id: curve for curve in every if curve.points}
    _open_earlier(curves)
    chosen = st.multiselect(
        t("scaling.curves", most=MOST_CURVES),
        max_selections=MOST_CURVES,
        help=t("scaling.curves_help"),
        **address.several(
            "curve",
            list(curves),
            names.__getitem__,
            usual=list(curves)[:1],
            most=MOST_CURVES,
        ),
    )
    return [curves[each] for each in chosen]


def choose_nodes(curves: Sequence[Scaling]) -> int:
    """The number of nodes that is looked ahead to; twice the largest that was measured, unless another is typed."""
    t = words()
    usual = 2 * max(curve.largest for curve in curves)
    nodes = st.number_input(
        t("scaling.ahead_to"),
        min_value=1.0,
        max_value=float(MOST_NODES),
        step=1.0,
        format="%.0f",
        width=280,
        **address.number_input("at", float(usual), MOST_NODES, least=1.0),
    )
    return int(nodes or usual)


def curve_names(curves: Sequence[Scaling], t: Words) -> Mapping[str, str]:
    """Version and hardware of each curve by its id, and what tells it from curves where both are the same."""
    apart = systems(curve.query for curve in curves)
    return {curve.query.id: _curve_name(curve.query, apart[curve.query.id], t) for curve in curves}


def _curve_name(query: ScalingQuery, apart: str, t: Words) -> str:
    cards = t("scaling.cards", cards=query.cards_per_node)
    parts = (query.framework_version, hardware(query), apart, cards, _imported(query.origin, t))
    return " · ".join(part for part in parts if part)


def _open_earlier(curves: Mapping[str, Scaling]) -> None:
    """An address from before curves were told apart by their systems means every curve that was one then."""
    asked = st.query_params.get_all("curve")
    known = {each: [name for name, curve in curves.items() if curve.query.id_of_any_system == each] for each in asked}
    if any(known.values()):
        st.query_params["curve"] = [name for each in asked for name in known[each] or [each]]


def _title(row: QuestionRow, apart: Mapping[str, str], t: Words) -> str:
    data = t("board.synthetic") if row.question.synthetic_data else row.dataset
    key = "scaling.node_counts_claimed" if row.question.origin is Origin.IMPORTED else "scaling.node_counts"
    counts = t(key, counts=row.node_counts, runs=row.runs)
    told = clipped(apart.get(row.question.fingerprint, ""), 80)
    imported = _imported(row.question.origin, t)
    parts = (clipped(row.model), told, clipped(row.workload), data, counts, imported, row.question.fingerprint[:8])
    return " · ".join(part for part in parts if part)


def _imported(origin: Origin, t: Words) -> str:
    return t("origin.imported") if origin is Origin.IMPORTED else ""
