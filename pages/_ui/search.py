"""Quick search from every page: whatever a page shows by a name, and the pages and their actions."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import chain, islice
from pathlib import Path

import streamlit as st

from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.runs import BoardQuery, RegionFacts
from pages._ui.cards.run_cards import run_facts, run_titles
from pages._ui.configure.drafts import MINE
from pages._ui.shell import navigation, url
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.charts import row_name
from pages._ui.shell.core import core, is_allowed, ledger_answer, run_cached
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.filters import region_key
from pages._ui.shell.focus import focus_first
from pages._ui.shell.navigation import Selection
from pages._ui.shell.words import t

SEARCH = Dialog("search", "medium")  # about the address that it was opened on: following a result closes it
TEXT = "search-text"
OPENED = "search-opened"  # how often the session has opened it

EACH = 10  # results of a kind
SERIES_READ = 200  # how many of the newest series are looked at

# Once in the browser. Arrows lead from the field through the results and back; Enter in the field opens the first one,
# once the results are those of what was typed; a letter on a result goes on typing.
KEYS = """<script>
(() => {
  if (window.searchKeys) return;
  window.searchKeys = true;
  const open = (text, tries) => {
    const found = document.querySelector("[data-searched]");
    if (!found) return;
    if (found.dataset.searched === text) document.querySelector('.st-key-search-results a[href]')?.click();
    else if (tries) setTimeout(open, 100, text, tries - 1);
  };
  addEventListener("keydown", event => {
    const input = document.querySelector(".st-key-search-text input");
    const results = [...document.querySelectorAll(".st-key-search-results a[href]")];
    const here = document.activeElement, at = results.indexOf(here);
    if (!input || (here !== input && at < 0) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = Math.min(at + (event.key === "ArrowDown" ? 1 : -1), results.length - 1);
      event.preventDefault();
      (next < 0 ? input : results[next]).focus();
    }
    else if (event.key === "Enter" && here === input && !event.isComposing) open(input.value.trim(), 50);
    else if (event.key.length === 1 && event.key !== " " && here !== input) input.focus();
  }, true);
})();
</script>"""


@dataclass(frozen=True, slots=True)
class _Result:
    """A link to what was found; `facts` tell similar names apart, `name` those that read the same even so."""

    page: Path
    label: str
    selection: Selection
    facts: str = ""
    name: str = ""


def show_search_button(page: str) -> None:
    """The button in the menu, which Ctrl+K presses as well."""
    label, help_text = t("search.open"), t("search.help")
    args = (page,)
    st.button(
        label,
        key="search-open",
        icon=":material/search:",
        shortcut="Mod+K",
        width="stretch",
        help=help_text,
        on_click=_open_search,
        args=args,
    )


def show_search(page: str) -> None:
    """The dialog, while it is open; the entry calls it once, after the page."""
    if SEARCH.subject not in (None, _build_address(page)):
        SEARCH.close()
    SEARCH.show(t("search.open"), _show_search)


@repeat_if_aborted
def _open_search(page: str) -> None:
    st.session_state[OPENED] = st.session_state.get(OPENED, 0) + 1
    SEARCH.open(_build_address(page))


def _build_address(page: str) -> tuple[object, ...]:
    return (page, *sorted(url.read_parameters().items()))


def _show_search() -> None:
    text = st.text_input(t("search.label"), key=TEXT, type="search", placeholder=t("search.placeholder"), live=True)
    wanted = text.strip().casefold()
    count = 0
    with st.container(key="search-results"):
        for title, find in SOURCES.items():
            with errors_shown():
                results = _tell_apart([*islice(find(wanted), EACH)])
                count += len(results)
                _show_results(title, results)
    st.caption(t("search.keys") if count else t("search.nothing", text=escape_markdown(text)))
    st.html(f'<span data-searched="{escape(text.strip())}"></span>')
    st.html(KEYS, unsafe_allow_javascript=True)
    focus_first((TEXT,), st.session_state.get(OPENED, 0))


def _show_results(title: str, results: Sequence[_Result]) -> None:
    if not results:
        return
    st.markdown(f"**{t(f'search.{title}')}**")
    with st.container(gap="xxsmall"):
        for result in results:
            label = escape_markdown(result.label)
            if result.facts:
                label = f"{label} :small[{escape_markdown(result.facts)}]"
            navigation.link_page(result.page, label, result.selection)


def _tell_apart(results: Sequence[_Result]) -> list[_Result]:
    """The same results; those that read the same get their names."""
    seen = Counter((result.label, result.facts) for result in results)
    return [
        replace(result, facts=" · ".join(filter(None, (result.facts, result.name))))
        if seen[result.label, result.facts] > 1
        else result
        for result in results
    ]


def _find_pages(wanted: str) -> Iterator[_Result]:
    for page in (*chain(*navigation.SECTIONS.values()), navigation.INFERENCE):
        title = t(f"menu.{page.stem}")
        if wanted in title.casefold():
            yield _Result(page, title, {})


def _find_actions(wanted: str) -> Iterator[_Result]:
    """What people begin on a page, for who may."""
    for key, (page, selection, method) in ACTIONS.items():
        if wanted and wanted in t(f"search.{key}").casefold() and is_allowed(method):
            yield _Result(page, t(f"search.{key}"), selection, t(f"menu.{page.stem}"))


def _find_runs(wanted: str) -> Iterator[_Result]:
    """Runs of the ledger, the newest first; then those that only the warehouse has."""
    shown = set()
    runs = core().ledger.page(None, wanted, EACH)
    titles = run_titles(runs)
    for run in runs:
        shown.add(run.run_id)
        facts = f"{t(f'state.{run.state}')} · {run_facts(run)}"
        yield _Result(navigation.LIVE, titles[run.run_id], {"run": run.run_id}, facts)
    if not wanted:
        return
    for region in run_cached(core().warehouse.facets.list_regions):
        query = BoardQuery(
            region.region, rehearsal=region.rehearsal, text=wanted, include_invalid=True, sort="created_at", limit=EACH
        )
        for row in run_cached(core().warehouse.runs.list_rows, query).rows:
            if row.run_id not in shown:
                yield _Result(navigation.LIVE, f"{row.title} · {row.run_id}", {"run": row.run_id}, region.region)


def _find_configurations(wanted: str) -> Iterator[_Result]:
    """Rows of the leaderboard whose runs, model, versions or hardware have the text."""
    for region in run_cached(core().warehouse.facets.list_regions) if wanted else ():
        query = BoardQuery(region.region, rehearsal=region.rehearsal, text=wanted, limit=EACH)
        for row in run_cached(core().warehouse.board.list_rows, query).rows:
            selection = {"run": row.median_run_id or row.latest_run_id}
            yield _Result(
                navigation.CONFIGURATION, row_name(row, ""), selection, _describe_region(region), _describe_row(row)
            )


def _describe_region(region: RegionFacts) -> str:
    return f"{region.region} · {t('run_rows.rehearsal')}" if region.rehearsal else region.region


def _describe_row(row: BoardRow) -> str:
    """What rows of the same model, version and size differ in: the benchmark, else at least their runs."""
    benchmark = (row.throughput_definition, row.dataset, row.image)
    return " · ".join(filter(None, (t("search.latest", run=row.latest_run_id), *benchmark)))


def _find_series(wanted: str) -> Iterator[_Result]:
    for series in core().series.newest(SERIES_READ if wanted else EACH):
        if wanted in f"{series.title} {series.series_id} {series.plan.spec.workload}".casefold():
            label = f"{series.title} · {series.series_id}"
            yield _Result(navigation.SERIES, label, {"series": series.series_id}, series.plan.spec.workload)


def _find_views(wanted: str) -> Iterator[_Result]:
    pages = {page.stem: page for page in navigation.ICONS}
    for view in run_cached(core().warehouse.saved_views.on):
        if wanted in view.name.casefold() and view.page in pages:
            yield _Result(pages[view.page], view.name, {url.VIEW: view.name}, t(f"menu.{view.page}"))


def _find_workloads(wanted: str) -> Iterator[_Result]:
    for workload in core().workloads.all() if wanted else ():
        title = t.pick(workload.title, workload.title_zh)
        if wanted in f"{workload.name} {workload.title} {workload.title_zh}".casefold():
            yield _Result(
                navigation.LEADERBOARD, title, {"workload": workload.name}, t("menu.leaderboard"), workload.name
            )


def _find_versions(wanted: str) -> Iterator[_Result]:
    for region in run_cached(core().warehouse.facets.list_regions) if wanted else ():
        facets = run_cached(core().warehouse.facets.fetch_values, region.region, region.rehearsal)
        for version in facets.framework_versions:
            if wanted in version.casefold():
                selection = {"region": region_key(region), "version": version}
                yield _Result(navigation.LEADERBOARD, version, selection, _describe_region(region))


def _find_nodes(wanted: str) -> Iterator[_Result]:
    """Each leads to the newest run on it."""
    for host, run_id in run_cached(core().warehouse.cards.find_hosts, wanted, EACH) if wanted else ():
        yield _Result(navigation.LIVE, host, {"run": run_id}, t("search.latest", run=run_id))


def _find_people(wanted: str) -> Iterator[_Result]:
    """Those who launched runs; each leads to these."""
    for name in ledger_answer(core().ledger.list_people) if wanted else ():
        if wanted in name.casefold():
            yield _Result(navigation.RUNS, name, {"who": name}, t("menu.runs"))


def _find_tags(wanted: str) -> Iterator[_Result]:
    for tag in ledger_answer(core().ledger.list_tags) if wanted else ():
        if wanted in tag.casefold():
            yield _Result(navigation.RUNS, tag, {"tag": tag}, t("menu.runs"))


ACTIONS: Mapping[str, tuple[Path, Selection, str]] = {
    "launch_run": (navigation.CONFIGURE, {"draft": MINE}, "Runs.launch"),
    "launch_series": (navigation.SERIES, {"new": "1"}, "SeriesService.launch"),
    "import_results": (navigation.IMPORT, {}, "ResultImport.save"),
    "add_channel": (navigation.NOTIFICATIONS, {}, "NotificationChannels.save"),
    "set_budget": (navigation.SPENDING, {}, "Budgets.save"),
    "set_role": (navigation.PEOPLE, {}, "People.set_role"),
}
"""Where each begins, and the method that it needs the right to."""

SOURCES: dict[str, Callable[[str], Iterator[_Result]]] = {
    "pages": _find_pages,
    "actions": _find_actions,
    "runs": _find_runs,
    "configurations": _find_configurations,
    "series": _find_series,
    "views": _find_views,
    "workloads": _find_workloads,
    "versions": _find_versions,
    "nodes": _find_nodes,
    "people": _find_people,
    "tags": _find_tags,
}
