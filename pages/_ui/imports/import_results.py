"""Steps 2 and 3 of an import: what was understood, what mends it, the results, and the button that stores them."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.base.formats import MISSING, format_number, format_percent
from aisbench_core.exchange.importing.choices import Choices, Preview, Saved
from aisbench_core.exchange.importing.understanding import Understanding, understand_results
from pages._ui.grid.table import show_grid
from pages._ui.grid.values import Align, Dot, GridCell, GridColumn, GridRow, PageLink, Tone
from pages._ui.imports.answers import choose_answers
from pages._ui.imports.earlier_imports import select_runs
from pages._ui.imports.reading import MAX_SEEN, ROUND, SAVED, Read, show_unknown_columns
from pages._ui.imports.single_results import get_refused, show_single_results
from pages._ui.shell.core import actor, core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.navigation import LEADERBOARD, LIVE, link_page
from pages._ui.shell.words import t

SEEN = "old-seen"
VISIBLE = 12  # rows of the table at a time
MAX_CAUSES = 5  # how many are said; results with rarer ones say so in their row


def show_understanding(read: Read) -> None:
    """What the results are and how many will count, the answers that mend them, the import, and each result."""
    if not read.results:
        st.info(t("import_results.nothing"), icon=":material/info:")
        show_unknown_columns(read)
        return
    with st.container(border=True, key="import-understood"):
        head = st.container()  # it follows from the answers below
        choices = choose_answers(read.mended_by)
        if choices is None:
            return
        previews, found = _preview_results(read, choices)
        with head:
            _show_head(read, choices, found)
    show_unknown_columns(read)
    _show_results(previews)
    if len(read.results) > MAX_SEEN:
        st.caption(t("import_results.first", count=MAX_SEEN))
    show_single_results(previews)


def _preview_results(read: Read, choices: Choices) -> tuple[Sequence[Preview], Understanding]:
    """The first results as they would be stored, looked at again only if something has changed."""
    key = (st.session_state.get(ROUND), choices, core().warehouse.revision())
    seen = st.session_state.get(SEEN)
    if seen is None or seen[0] != key:
        previews = core().imports.preview(read.results[:MAX_SEEN], choices, actor())
        seen = st.session_state[SEEN] = key, previews, understand_results(previews, len(read.results))
    return seen[1], seen[2]


def _show_head(read: Read, choices: Choices, found: Understanding) -> None:
    outcome = t.message(found.outcome)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.header(t.message(found.contents), width="content")
        label = t("import_results.save", count=f"{found.total:,}", outcome=outcome)
        blocked = any(result.identity in get_refused() for result in read.results)
        saving = st.button(label, key="old-save", type="primary", icon=":material/save:", disabled=blocked)
    colour = "red" if not found.counting else "green" if found.counting == found.seen else "orange"
    causes = [f"{escape_markdown(t.message(cause.sentence))} ({count:,})" for cause, count in found.causes]
    if len(causes) > MAX_CAUSES:
        causes[MAX_CAUSES:] = [t("import_results.more_causes", count=len(causes) - MAX_CAUSES)]
    st.markdown(" · ".join([f"**:{colour}[{escape_markdown(outcome)}]**", *causes]))
    limits = [f"{escape_markdown(t.message(cause.sentence))} ({count:,})" for cause, count in found.limits]
    st.caption(" · ".join([t("import_results.claims"), *limits]))
    if saving:
        _save_results(read, choices)


def _save_results(read: Read, choices: Choices) -> None:
    bar, total = st.progress(0.0), len(read.results)

    def on_progress(done: int) -> None:
        bar.progress(done / total, text=t("import_results.saving", done=done, total=total))

    st.session_state[SAVED] = core().imports.save(read.results, choices, actor(), on_progress)
    st.session_state.pop(SEEN, None)
    st.rerun()


def _show_results(previews: Sequence[Preview]) -> None:
    columns = [
        GridColumn("model", t.field("model"), width=200),
        GridColumn("version", t("import_results.version"), width=110),
        GridColumn("size", t("import_results.size"), Align.RIGHT),
        GridColumn("throughput", t("import_results.throughput"), Align.RIGHT),
        GridColumn("accuracy", t("board.accuracy"), Align.RIGHT),
        GridColumn("ended", t("recorded.ended"), Align.RIGHT),
        GridColumn("file", t("import_results.file"), width=150),
        GridColumn("counts", t("import_results.counts"), fills=True),
    ]
    rows = [_to_row(str(number), preview) for number, preview in enumerate(previews)]
    show_grid(columns, rows, t("import_results.table"), key="import-results", visible=VISIBLE)


def _to_row(row_id: str, preview: Preview) -> GridRow:
    run, facts, info = preview.record.run, preview.record.workload, preview.result.info
    location, accuracy = preview.result.location, info.accuracy
    is_measured = info.throughput_ratio is not None
    cells = {
        "model": GridCell(facts.model, is_strong=True),
        "version": GridCell(run.spec.framework_version),
        "size": GridCell(_format_size(preview)),
        "throughput": GridCell(
            format_number(info.throughput_ratio, digits=6), unit=facts.throughput_unit if is_measured else ""
        ),
        "accuracy": GridCell(format_percent(accuracy)),
        "ended": GridCell(format_time(run.ended_at)),
        "file": GridCell(location, Tone.MUTED, title=location),
        "counts": _describe_fate(preview),
    }
    return GridRow(row_id, location, cells, PageLink(LIVE, {"run": preview.existing}) if preview.existing else None)


def _format_size(preview: Preview) -> str:
    """Nodes × cards, with a dash for what nobody states."""
    spec, imported = preview.record.run.spec, preview.record.imported
    stated = imported.stated if imported else ()
    sizes = {"node_count": spec.node_count, "cards_per_node": spec.cards_per_node}
    return " × ".join(str(size) if name in stated else MISSING for name, size in sizes.items())


def _describe_fate(preview: Preview) -> GridCell:
    """Whether the result will count, or why not."""
    if not preview.causes:
        return GridCell(t("import_results.yes"), Tone.GOOD, dot=Dot(Tone.GOOD, t("import_results.yes")))
    text = "; ".join(t.message(cause.sentence) for cause in preview.causes)
    title = t("import_results.here", run=preview.existing) if preview.existing else text
    tone = Tone.MUTED if preview.existing or preview.duplicate_of else Tone.BAD
    return GridCell(text, tone, title=title)


def show_saved(saved: Saved) -> None:
    """How many runs are new, and links to exactly these."""
    st.success(t("import_results.saved", new=len(saved.new), known=saved.existing), icon=":material/check:")
    if saved.corrected:
        st.info(t("import_results.corrected", count=saved.corrected), icon=":material/edit:")
    if not saved.import_id:
        return
    stored = core().imports.get_import(saved.import_id)
    for region in stored.regions:  # results may name a region of their own
        label = t("import_results.go", count=f"{stored.runs:,}")
        if len(stored.regions) > 1:
            label = t("import_results.go_region", region=escape_markdown(region))
        link_page(LEADERBOARD, label, select_runs(stored, region))
