"""From files of elsewhere to runs: what was read, what a person says about it, and the button that stores it.

What was read stays in the session, so that answers can be changed; nothing is stored before the button is pressed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st
from streamlit.typing import UploadedFile

from aisbench_core.formats import MISSING, number, percent
from aisbench_core.history.found import FoundResult, Table, Unread
from aisbench_core.importing.chosen import Choices, Preview, Said, Saved, Where
from aisbench_core.model import Mode, Origin
from aisbench_core.web.upload_store import MOST_FILE_BYTES, MOST_SESSION_BYTES, MOST_SESSION_FILES
from pages._ui.imports import table_columns
from pages._ui.shell import uploads, widgets
from pages._ui.shell.callbacks import whole
from pages._ui.shell.core import WHO, core
from pages._ui.shell.formats import when
from pages._ui.shell.navigation import LEADERBOARD, link
from pages._ui.shell.words import Words, words

READ, ABOUT, SAVED, ROUND = "old-read", "old-about", "old-saved", "old-round"
MOST_MB = MOST_FILE_BYTES // 1024**2
SHOWN = 200
"""How many results the preview holds; what is said about all holds for the others, too."""

UNREAD_SHOWN = 20
"""So many files that were not read are listed without being asked for."""

TOLD_EVERY = 50
OBS = "obs://"
KINDS = ["log", "txt", "out", "json", "csv", "tsv", "xlsx", "zip", "tar", "gz", "tgz", "db", "sqlite"]


@dataclass(frozen=True, slots=True)
class Read:
    """What was read last, and how to read it again when columns turn out to mean something else."""

    results: tuple[FoundResult, ...]
    unread: tuple[Unread, ...]
    tables: tuple[Table, ...]
    again: Callable[[], Iterator[FoundResult | Unread]]


def choose_source() -> None:
    """Where the results are: in files to upload, on the console's machine, or in OBS."""
    t = words()
    handed, here, there = st.tabs([t("import_results.upload"), t("import_results.path"), t("import_results.obs")])
    with handed:
        files = st.file_uploader(
            t("import_results.files"),
            type=KINDS,
            accept_multiple_files=True,
            key="old-files",
            max_upload_size=MOST_MB,
            help=t(
                "import_results.files_help", most=MOST_MB, all=MOST_SESSION_BYTES // 1024**2, files=MOST_SESSION_FILES
            ),
        )
        uploads.show_refused(files)
        if st.button(t("import_results.read"), key="old-read-files", icon=":material/search:", disabled=not files):
            _read(lambda: _results_in(files), _tables_in(files))
    with here:
        path = st.text_input(t("import_results.path_label"), key="old-path", help=t("import_results.path_help")).strip()
        if st.button(t("import_results.read"), key="old-read-path", icon=":material/search:", disabled=not path):
            place = Path(path)
            _read(lambda: core().history.read(place, {}), core().history.tables(place))
    with there:
        _ask_obs(t)


def _ask_obs(t: Words) -> None:
    left, right = st.columns([1, 3])
    profile = left.selectbox(t("import_results.keys"), core().regions.names(), key="old-keys")
    directory = right.text_input(
        t("import_results.obs_label"), key="old-obs", placeholder=f"{OBS}bucket/directory/"
    ).strip()
    ready = bool(profile and directory)
    if st.button(t("import_results.read"), key="old-read-obs", icon=":material/search:", disabled=not ready):
        place = directory if directory.startswith(OBS) else f"{OBS}{directory.lstrip('/')}"
        widgets.remember_choice("old-where", profile)
        _read(lambda: core().history.read_obs(str(profile), place, {}), iter(()))


def _results_in(files: Sequence[UploadedFile]) -> Iterator[FoundResult | Unread]:
    with uploads.opened(files) as all_open:
        yield from core().history.read_uploads(all_open, {})


def _tables_in(files: Sequence[UploadedFile]) -> Iterator[Table | Unread]:
    with uploads.opened(files) as all_open:
        yield from core().history.tables_in_uploads(all_open)


def has_read() -> bool:
    """Whether there is anything to look at."""
    return READ in st.session_state


def show_tables() -> None:
    """What the columns of tables are taken for; a person's corrections are remembered, and everything is read anew."""
    read: Read = st.session_state[READ]
    changed = table_columns.show(read.tables)
    if changed:
        core().history.columns.remember(changed)
        _read(read.again, iter(table_columns.corrected(read.tables, changed)))
        st.rerun()


def show_unread() -> None:
    """Files without a result, each with the reason."""
    t = words()
    read: Read = st.session_state[READ]
    if read.unread:
        opened = not read.results or len(read.unread) <= UNREAD_SHOWN
        with st.expander(
            t("import_results.unread", count=len(read.unread)), expanded=opened, icon=":material/warning:"
        ):
            rows = [
                {t("import_results.file"): each.source, t("import_results.reason"): t.said(each.reason)}
                for each in read.unread
            ]
            st.dataframe(rows, hide_index=True, alt=t("import_results.unread", count=len(rows)))


def choose_answers() -> Choices:
    """What a person says about all results; single ones are answered in the preview."""
    t = words()
    st.header(t("import_results.all"))
    profiles = ["", *core().regions.names()]
    workloads = {"": t("import.told")} | {workload.name: workload.name for workload in core().workloads.all()}
    first, second, third, fourth = st.columns(4)
    profile = first.selectbox(
        t("import_results.where"),
        help=t("import_results.where_help"),
        **widgets.session_choice("old-where", profiles, "", lambda each: each or t("import_results.nowhere")),
    )
    workload = second.selectbox(
        t("field.workload"), **widgets.session_choice("old-load", list(workloads), "", workloads.__getitem__)
    )
    model = third.text_input(t("field.model"), key="old-model", placeholder=t("import.told"))
    version = fourth.text_input(t("field.framework_version"), key="old-version", placeholder=t("import.told"))
    first, second, third, fourth = st.columns(4)
    modes = first.selectbox(
        t("field.mode"),
        **widgets.session_choice(
            "old-mode", ["", *Mode], "", lambda each: t(f"mode.{each}") if each else t("import.told")
        ),
    )
    nodes = second.number_input(t("field.node_count"), 1, 4096, None, key="old-nodes", placeholder=t("import.told"))
    cards = third.number_input(t("field.cards_per_node"), 1, 64, None, key="old-cards", placeholder=t("import.told"))
    definition = fourth.text_input(
        t("field.throughput_definition"),
        key="old-definition",
        placeholder=t("import.told"),
        help=t("import_results.definition"),
    )
    said = Said(
        workload=workload or "",
        model=model.strip(),
        framework_version=version.strip(),
        throughput_definition=definition.strip(),
        mode=Mode(modes) if modes else None,
        node_count=nodes,
        cards_per_node=cards,
    )
    where = core().history.where(profile) if profile else Where()
    return Choices(where, said, dict(st.session_state.get(ABOUT, {})))


def show_preview(choices: Choices) -> None:
    """The first results as they would be stored; what a person changes in a row is said of that result only."""
    t = words()
    read: Read = st.session_state[READ]
    st.header(t("import_results.found", count=len(read.results)))
    if not read.results:
        st.info(t("import_results.nothing"), icon=":material/info:")
        return
    st.caption(t("import_results.claims"))
    previews = core().history.preview(read.results[:SHOWN], choices, WHO)
    names = _columns(t)
    st.data_editor(
        [_cells(preview, t) for preview in previews],
        hide_index=True,
        disabled=[name for name in _cells(previews[0], t) if name not in names],
        placeholder=MISSING,
        column_config={
            t("import_results.state"): st.column_config.TextColumn(width="medium"),
            t("import_results.not_counted"): st.column_config.TextColumn(width="large"),
            t("import_results.doubts"): st.column_config.TextColumn(width=table_columns.doubts_width(previews)),
            t("field.mode"): st.column_config.SelectboxColumn(options=[t(f"mode.{each}") for each in Mode]),
            t("field.node_count"): st.column_config.NumberColumn(min_value=1, max_value=4096, step=1),
            t("field.cards_per_node"): st.column_config.NumberColumn(min_value=1, max_value=64, step=1),
        },
        key=f"old-preview-{st.session_state.get(ROUND, 0)}",
        on_change=_changed,
        args=(tuple(preview.found.identity for preview in previews),),
        alt=t("import_results.found", count=len(read.results)),
    )
    if len(read.results) > SHOWN:
        st.caption(t("import_results.first", count=SHOWN))


def show_save(choices: Choices) -> None:
    """The button; afterwards how many are new, and where they are seen."""
    t = words()
    read: Read = st.session_state[READ]
    if read.results and st.button(
        t("import_results.save", count=len(read.results)), key="old-save", type="primary", icon=":material/save:"
    ):
        st.session_state[SAVED] = (_save(read.results, choices), choices.where)
        st.rerun()
    if SAVED in st.session_state:
        saved, where = st.session_state[SAVED]
        st.success(t("import_results.saved", new=len(saved.new), known=saved.known), icon=":material/check:")
        if saved.corrected:
            st.info(t("import_results.corrected", count=saved.corrected), icon=":material/edit:")
        link(LEADERBOARD, t("import_results.go"), _board(where))


def _save(results: Sequence[FoundResult], choices: Choices) -> Saved:
    t = words()
    bar, total = st.progress(0.0), len(results)

    def told(done: int) -> None:
        bar.progress(done / total, text=t("import_results.saving", done=done, total=total))

    return core().history.save(results, choices, WHO, told)


def said_of(changes: dict[str, object], t: Words) -> Said:
    """One row's changes in the preview as a person's answers."""
    modes = {t(f"mode.{each}"): each for each in Mode}
    answers = {name: changes[title] for title, name in _columns(t).items() if changes.get(title) not in (None, "")}
    mode = answers.pop("mode", None)
    return replace(Said(**answers), mode=modes.get(str(mode)))  # type: ignore[arg-type]  # the editor keeps the types


def _read(again: Callable[[], Iterator[FoundResult | Unread]], tables: Iterator[Table | Unread]) -> None:
    t = words()
    results: list[FoundResult] = []
    unread: list[Unread] = []
    with st.spinner(t("import_results.reading")):
        bar = st.empty()
        for each in again():
            if isinstance(each, Unread):
                unread.append(each)
                continue
            results.append(each)
            if len(results) % TOLD_EVERY == 0:
                bar.caption(t("import_results.so_far", count=len(results)))
        bar.empty()
        known = tuple(table for table in tables if isinstance(table, Table))
    st.session_state[READ] = Read(tuple(results), tuple(unread), known, again)
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    st.session_state.pop(ABOUT, None)
    st.session_state.pop(SAVED, None)


def _columns(t: Words) -> dict[str, str]:
    """The preview's columns that can be edited, and the fields that they are."""
    fields = ("model", "framework_version", "mode", "node_count", "cards_per_node", "throughput_definition")
    return {t.field(name): name for name in fields}


def _standing(preview: Preview, t: Words) -> str:
    if preview.duplicate_of:
        return t("import_results.duplicate", file=preview.duplicate_of)
    return t("import_results.here", run=preview.here) if preview.here else t("import_results.new")


def _cells(preview: Preview, t: Words) -> dict[str, object]:
    run, facts = preview.record.run, preview.record.workload
    stated = preview.record.imported.stated if preview.record.imported else ()
    return {
        t("import_results.state"): _standing(preview, t),
        t.field("model"): facts.model,
        t("import_results.doubts"): "; ".join(map(t.said, preview.found.problems)) or MISSING,
        t("board.validity"): t(f"validity.{preview.validity}"),
        t("import_results.not_counted"): table_columns.not_counted(preview, t) or MISSING,
        t("import_results.file"): preview.found.place,
        t.field("framework_version"): run.spec.framework_version,
        t.field("mode"): t(f"mode.{run.spec.mode}") if "mode" in stated else None,
        t.field("node_count"): run.spec.node_count if "node_count" in stated else None,
        t.field("cards_per_node"): run.spec.cards_per_node if "cards_per_node" in stated else None,
        t("board.throughput", unit=facts.throughput_unit): number(preview.found.info.throughput_ratio, digits=6),
        t("board.accuracy"): percent(preview.found.info.accuracy),
        t("recorded.ended"): when(run.ended_at),
        t.field("throughput_definition"): facts.throughput_definition,
    }


@whole
def _changed(identities: Sequence[str]) -> None:
    """Keep what a person says of single results, because the table is drawn anew with every answer."""
    t = words()
    rows = st.session_state[f"old-preview-{st.session_state.get(ROUND, 0)}"]["edited_rows"]
    about = dict(st.session_state.get(ABOUT, {}))
    for index, changes in rows.items():
        about[identities[int(index)]] = said_of(changes, t)
    st.session_state[ABOUT] = about


def _board(where: Where) -> dict[str, str]:
    region = f"{where.region}~rehearsal" if where.rehearsal else where.region
    return {"region": region, "origin": Origin.IMPORTED.value, "show": "runs", "invalid": "1"}
