"""The leaderboard's parts: region, filters, chart and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from aisbench_core.formats import MISSING
from aisbench_core.model import Origin
from aisbench_core.rulesets.ruleset import DEFAULT
from aisbench_core.warehouse.answers.boards import BoardRow
from aisbench_core.warehouse.answers.compared import ComparedBy
from aisbench_core.warehouse.answers.sorts import BOARD_SORTS, RUN_SORTS
from aisbench_core.warehouse.values import BoardQuery, RegionFacts, RunRow, Validity
from pages._ui.configure.clones import show_clone_button
from pages._ui.leaderboard import chart
from pages._ui.leaderboard.rows import common_unit, group_cells, run_cells
from pages._ui.runs.validity import show_rules, show_verdict_of
from pages._ui.shell import address, charts
from pages._ui.shell.core import asked, core
from pages._ui.shell.errors import plain
from pages._ui.shell.listing import choose_text, page_of, show_pages, sorted_as_asked
from pages._ui.shell.navigation import COMPARE, LIVE, link
from pages._ui.shell.tables import Width, columns, height_of
from pages._ui.shell.words import words

SEEN = 25
"""Rows of a table that are seen at once."""

MOST_BARS, MOST_DOTS = 25, 40
"""How many rows are drawn as bars, and how many single runs of each at most."""

EVERY = "every"
LEAST_COMPARED, MOST_COMPARED = 2, 8


def choose_kind(regions: Sequence[RegionFacts]) -> RegionFacts:
    """One region, and either its measurements or its rehearsals: they are never shown together."""
    t = words()
    kinds = {kind_id(region): region for region in regions}
    chosen = st.selectbox(
        t("board.region"),
        width=350,
        **address.option(
            "region",
            list(kinds),
            next(iter(kinds)),
            lambda each: (
                t("board.kind", region=kinds[each].region, runs=f"{kinds[each].runs:,}")
                + (f" · {t('board.rehearsal')}" if kinds[each].rehearsal else "")
            ),
            always=True,
            forgets=["page"],
        ),
    )
    return kinds[chosen]


def show_kind(kind: RegionFacts) -> None:
    """A plain mark over numbers that are not measurements."""
    if kind.rehearsal:
        st.warning(words()("board.rehearsal_long", region=plain(kind.region)), icon=":material/theater_comedy:")


def choose_view() -> str:
    """`groups`: runs of equal configuration as one row; `runs`: each by itself."""
    t = words()
    chosen = st.radio(
        t("board.show"),
        horizontal=True,
        **address.option("show", ["groups", "runs"], "groups", lambda each: t(f"board.show_{each}"), forgets=["page"]),
    )
    return str(chosen)


def choose_board_query(kind: RegionFacts, ruleset_id: str) -> BoardQuery:
    """The filters, each of them kept in the URL."""
    t = words()
    known = asked(core().warehouse.facets, kind.region, kind.rehearsal)
    fields = st.columns(5)
    chosen: list[Any] = []
    facets = (known.models, known.workloads, known.framework_versions, known.flavors, known.node_counts)
    for column, name, options in zip(fields, ("model", "workload", "version", "flavor", "nodes"), facets, strict=True):
        with column:
            chosen.append(filter_by(name, options))
    models, workloads, versions, flavors, nodes = chosen
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = choose_text(t("listing.search"), t("listing.search_in"))
        origin = _origin()
        tags = _tags(known.tags)
        invalid = st.toggle(
            t("board.invalid"),
            help=t("board.invalid_help"),
            **address.flag("invalid", forgets=["page"]),
        )
    return BoardQuery(
        region=kind.region,
        rehearsal=kind.rehearsal,
        models=models,
        workloads=workloads,
        framework_versions=versions,
        flavors=flavors,
        node_counts=nodes,
        origin=origin,
        include_invalid=invalid,
        ruleset_id=ruleset_id,
        text=text,
        tags=tags,
    )


def choose_worth(query: BoardQuery) -> BoardQuery:
    """Of runs that are not valid, too, only those that are worth something particular."""
    t = words()
    if not query.include_invalid:
        return query
    chosen = st.radio(
        t("validity.worth"),
        horizontal=True,
        **address.option(
            "worth",
            [EVERY, *Validity],
            EVERY,
            lambda each: t("validity.every") if each == EVERY else t(f"validity.{each}"),
            forgets=["page"],
        ),
    )
    return query if chosen == EVERY else replace(query, validity=Validity(chosen))


def _tags(known: Sequence[str]) -> tuple[str, ...]:
    """Only runs that carry every one of these; nothing to choose from while no run has a tag."""
    if not known and "tag" not in st.query_params:
        return ()
    return filter_by("tag", known, help_text=words()("board.tag_help"))


def _origin() -> Origin | None:
    """Launched or imported runs, or both; they are never one row."""
    t = words()
    chosen = st.radio(
        t("board.origin"),
        horizontal=True,
        **address.option("origin", [EVERY, *Origin], EVERY, lambda each: t(f"origin.{each}"), forgets=["page"]),
    )
    return None if chosen == EVERY else Origin(chosen)


def show_groups(query: BoardQuery) -> None:
    """Runs of equal configuration as one row each, the fastest first."""
    t = words()
    query = sorted_as_asked(query, BOARD_SORTS, "throughput")
    page = page_of(core().warehouse.leaderboard, query)
    if not page.rows:
        st.info(t("board.no_match"), icon=":material/search:")
        return
    prints = tuple(row.fingerprint for row in page.rows)
    apart = asked(core().warehouse.apart.parameters, query.region, prints, rehearsal=page.rehearsal)
    _chart(query, page.rows, apart)
    head = common_unit(page.rows, t)
    names = {row.latest_run_id: ", ".join(filter(None, (apart.get(row.fingerprint), row.system))) for row in page.rows}
    told = any(names.values())
    table = [group_cells(row, head, names[row.latest_run_id] if told else None, t) for row in page.rows]
    chosen = _table(table, t("board.table"), "groups")
    st.caption(t("board.rank_about"))
    show_pages(page.total, query.limit)
    show_rules([rule_id for row in page.rows for rule_id in row.reason.split(";")], query.ruleset_id or DEFAULT)
    _links([page.rows[index].median_run_id or page.rows[index].latest_run_id for index in chosen], ComparedBy.ROWS)


def _chart(query: BoardQuery, rows: Sequence[BoardRow], apart: Mapping[str, str]) -> None:
    """The first rows as bars, with their single runs as dots."""
    t = words()
    drawn = [row for row in rows if row.throughput is not None][:MOST_BARS]
    if not drawn:
        return
    dots = asked(core().warehouse.dots, query, tuple(drawn), MOST_DOTS)
    for same in charts.by_unit(drawn).values():
        charts.draw(chart.bars(same, dots, apart, t), text=t("charts.board"))
    hidden = sum(row.runs - len(dots[row.latest_run_id]) for row in drawn)
    notes = [t("charts.board_legend")]
    notes += [t("charts.first_bars", bars=MOST_BARS)] if len(rows) > MOST_BARS else []
    notes += [t("charts.sampled", hidden=f"{hidden:,}", most=MOST_DOTS)] if hidden else []
    st.caption(" ".join(notes))


def show_run_table(query: BoardQuery) -> None:
    """Every run by itself, the newest first, with what its result is worth."""
    t = words()
    query = sorted_as_asked(query, RUN_SORTS, "created_at")
    page = page_of(core().warehouse.runs, query)
    if not page.rows:
        st.info(t("board.no_match"), icon=":material/search:")
        return
    head = common_unit(page.rows, t)
    chosen = _table([run_cells(row, head, t) for row in page.rows], t("board.run_table"), "runs-table")
    show_pages(page.total, query.limit)
    if len(chosen) == 1:
        show_verdict_of(page.rows[chosen[0]])
    _links([page.rows[index].run_id for index in chosen], ComparedBy.RUNS)


def kind_id(kind: RegionFacts | RunRow) -> str:
    """How the URL names a region's measurements, or its rehearsals."""
    return f"{kind.region}~rehearsal" if kind.rehearsal else kind.region


def filter_by(name: str, options: Sequence[Any], help_text: str | None = None) -> tuple[Any, ...]:
    """One filter with any number of choices, kept in the URL; none chosen filters nothing."""
    t = words()
    chosen = st.multiselect(
        t(f"board.{name}"),
        placeholder=t("board.every"),
        help=help_text,
        **address.several(name, options, forgets=["page"]),
    )
    return tuple(chosen)


def _table(rows: list[dict[str, Any]], alt: str, key: str) -> list[int]:
    """The table; gives the numbers of the rows that are ticked."""
    t = words()
    widths: dict[str, Width] = {
        t("board.model"): 130,
        t("board.parameters"): 130,
        t("board.reason"): 260,
        t("board.flavor"): 200,
    }
    event = st.dataframe(
        rows,
        hide_index=True,
        alt=alt,
        key=key,
        on_select="rerun",
        height=height_of(rows, SEEN),
        column_config=columns(rows, widths),
        placeholder=MISSING,
    )
    return [index for index in event["selection"]["rows"] if index < len(rows)]


def _links(run_ids: Sequence[str], by: ComparedBy) -> None:
    """What can be done with the ticked rows: one is shown, several are compared, groups as groups."""
    t = words()
    if len(run_ids) == 1:
        with st.container(horizontal=True, vertical_alignment="center"):
            link(LIVE, t("board.open", run=run_ids[0]), {"run": run_ids[0]})
            show_clone_button(run_ids[0], key="ticked")
    if 2 <= len(run_ids) <= MOST_COMPARED:
        link(
            COMPARE,
            t("board.compare", count=len(run_ids)),
            {"ids": list(run_ids)} | ({} if by is ComparedBy.RUNS else {"by": by.value}),
        )
    else:
        st.caption(t("board.compare_hint"))
