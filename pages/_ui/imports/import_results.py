"""Import of earlier measurements: what was read, what a person adds, and the button that stores it.

What was read stays in the session, so that answers can be changed; nothing is stored before the button is pressed.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st
from streamlit.typing import UploadedFile

from aisbench_core.base.formats import MISSING, format_number, format_percent
from aisbench_core.domain.authoring.specfile import NUMBERS
from aisbench_core.exchange.importing.choices import Choices, ImportAnswers, Preview, Provenance
from aisbench_core.exchange.readers.results import ParsedResult, Table, Unread
from aisbench_core.interfaces.web.uploads import MOST_FILE_BYTES, MOST_SESSION_BYTES, MOST_SESSION_FILES
from aisbench_core.model import Mode, RunSpec
from pages._ui.imports.table_columns import apply_corrections, show_columns
from pages._ui.runs.validity import check_text
from pages._ui.shell import numbers, uploads, widgets
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import actor, core, is_allowed, right_to
from pages._ui.shell.filters import region_key
from pages._ui.shell.formats import format_time
from pages._ui.shell.navigation import LEADERBOARD, link_page
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

READ, CORRECTIONS, REFUSED, SAVED, ROUND = "old-read", "old-about", "old-refused", "old-saved", "old-round"
MAX_MB = MOST_FILE_BYTES // 1024**2

MAX_PREVIEWS = 200  # how many results the preview shows; what is answered for all holds for the others, too
MAX_OPEN = 20  # up to so many files without a result are listed without a click

PROGRESS_EVERY = 50
OBS = "obs://"
KINDS = ["log", "txt", "out", "json", "csv", "tsv", "xlsx", "zip", "tar", "gz", "tgz", "db", "sqlite"]

# Fields that can be changed in the preview.
COUNTS = ("node_count", "cards_per_node")
EDITABLE = ("model", "framework_version", "mode", *COUNTS, "throughput_definition")


@dataclass(frozen=True, slots=True)
class Read:
    """What was read last, and how to read it again once columns turn out to mean something else."""

    results: tuple[ParsedResult, ...]
    unread: tuple[Unread, ...]
    tables: tuple[Table, ...]
    again: Callable[[], Iterator[ParsedResult | Unread]]


def choose_source() -> None:
    """Where the results are: in uploaded files, on the console's machine, or in OBS."""
    files_tab, path_tab, obs_tab = st.tabs(
        [t("import_results.upload"), t("import_results.path"), t("import_results.obs")]
    )
    with files_tab:
        session_mb = MOST_SESSION_BYTES // 1024**2
        files = st.file_uploader(
            t("import_results.files"),
            type=KINDS,
            accept_multiple_files=True,
            key="old-files",
            max_upload_size=MAX_MB,
            help=t("import_results.files_help", most=MAX_MB, all=session_mb, files=MOST_SESSION_FILES),
        )
        uploads.show_refused(files)
        if _read_button("old-read-files", bool(files)):
            _read_results(lambda: _results_in(files), _tables_in(files))
    with path_tab:
        may_name = right_to("ResultImport.read_on_server")
        path = st.text_input(
            t("import_results.path_label"),
            key="old-path",
            help=may_name.help_text or t("import_results.path_help"),
            disabled=not may_name.is_given,
        ).strip()
        if _read_button("old-read-path", bool(path)):
            _read_results(lambda: _on_server(path)[0], _on_server(path)[1])
    with obs_tab:
        left, right = st.columns([1, 3])
        profile = left.selectbox(t("import_results.keys"), core().regions.names(), key="old-keys")
        example = f"{OBS}bucket/directory/"
        directory = right.text_input(t("import_results.obs_label"), key="old-obs", placeholder=example).strip()
        if _read_button("old-read-obs", bool(profile and directory)):
            prefix = directory if directory.startswith(OBS) else f"{OBS}{directory.lstrip('/')}"
            widgets.remember_choice("old-where", profile)
            _read_results(lambda: core().imports.read_obs(str(profile), prefix, {}), iter(()))


def _on_server(path: str) -> tuple[Iterator[ParsedResult | Unread], Iterator[Table | Unread]]:
    return core().imports.read_on_server(Path(path), actor())


def _read_button(key: str, ready: bool) -> bool:
    return st.button(t("import_results.read"), key=key, icon=":material/search:", disabled=not ready)


def _results_in(files: Sequence[UploadedFile]) -> Iterator[ParsedResult | Unread]:
    with uploads.open_uploads(files) as opened:
        yield from core().imports.read_uploads(opened, {})


def _tables_in(files: Sequence[UploadedFile]) -> Iterator[Table | Unread]:
    with uploads.open_uploads(files) as opened:
        yield from core().imports.tables_in_uploads(opened)


def _read_results(again: Callable[[], Iterator[ParsedResult | Unread]], tables: Iterator[Table | Unread]) -> None:
    results: list[ParsedResult] = []
    unread: list[Unread] = []
    with st.spinner(t("import_results.reading")), core().operations.count_operation(actor().name):
        progress = st.empty()
        for result in again():
            if isinstance(result, Unread):
                unread.append(result)
                continue
            results.append(result)
            if len(results) % PROGRESS_EVERY == 0:
                progress.caption(t("import_results.so_far", count=len(results)))
        progress.empty()
        readable = tuple(table for table in tables if isinstance(table, Table))
    st.session_state[READ] = Read(tuple(results), tuple(unread), readable, again)
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    for key in (CORRECTIONS, REFUSED, SAVED):
        st.session_state.pop(key, None)


def last_read() -> Read | None:
    """What was read last in this session."""
    read: Read | None = st.session_state.get(READ)
    return read


def show_tables(read: Read) -> None:
    """The meanings of tables' columns; a person's corrections are remembered, and everything is read again."""
    changed = show_columns(read.tables)
    if changed:
        core().imports.columns.remember(changed, actor())
        _read_results(read.again, iter(apply_corrections(read.tables, changed)))
        st.rerun()


def show_unread(read: Read) -> None:
    """Files without a result, each with the reason."""
    if not read.unread:
        return
    title = t("import_results.unread", count=len(read.unread))
    expanded = not read.results or len(read.unread) <= MAX_OPEN
    with st.expander(title, expanded=expanded, icon=":material/warning:"):
        rows = [{"file": unread.source, "reason": t.message(unread.reason)} for unread in read.unread]
        titles = {"file": t("import_results.file"), "reason": t("import_results.reason")}
        show_table(rows, titles, title, visible=MAX_OPEN)


def choose_answers() -> Choices | None:
    """What a person answers for all results; single ones are changed in the preview. None while a number is refused."""
    st.header(t("import_results.all"))
    unset = t("import.from_file")
    profiles = ["", *core().regions.names()]
    workloads = ["", *(workload.name for workload in core().workloads.all())]
    first, second, third, fourth = st.columns(4)
    nowhere = t("import_results.nowhere")
    choice = widgets.session_choice("old-where", profiles, "", lambda name: name or nowhere)
    profile = first.selectbox(t("import_results.where"), help=t("import_results.where_help"), **choice)
    choice = widgets.session_choice("old-load", workloads, "", lambda name: name or unset)
    workload = second.selectbox(t("field.workload"), **choice)
    model = third.text_input(t("field.model"), key="old-model", placeholder=unset)
    version = fourth.text_input(t("field.framework_version"), key="old-version", placeholder=unset)
    first, second, third, fourth, fifth = st.columns(5)
    choice = widgets.session_choice("old-mode", ["", *Mode], "", lambda mode: t(f"mode.{mode}") if mode else unset)
    mode = first.selectbox(t("field.mode"), **choice)
    with second:
        nodes = _ask_count("node_count", "old-nodes", unset)
    with third:
        cards = _ask_count("cards_per_node", "old-cards", unset)
    label, help_text = t("field.throughput_definition"), t("import_results.definition")
    definition = fourth.text_input(label, key="old-definition", placeholder=unset, help=help_text)
    unit = fifth.text_input(t.field("throughput_unit"), key="old-unit", placeholder=unset)
    answers = ImportAnswers(
        workload=workload or "",
        model=model.strip(),
        framework_version=version.strip(),
        throughput_definition=definition.strip(),
        unit=unit.strip(),
        mode=Mode(mode) if mode else None,
        node_count=None if nodes.value is None else int(nodes.value),
        cards_per_node=None if cards.value is None else int(cards.value),
    )
    if nodes.problem or cards.problem:
        return None
    where = core().imports.where(profile) if profile else Provenance()
    return Choices(where, answers, dict(st.session_state.get(CORRECTIONS, {})))


def _ask_count(field: str, key: str, unset: str) -> numbers.NumberEntry[None]:
    """How many nodes or cards; None if nothing is entered."""
    text = numbers.show_number_field(t(f"field.{field}"), NUMBERS[field], key=key, placeholder=unset)
    entry = numbers.read_entry(text, None, NUMBERS[field])
    numbers.show_refusal(entry.problem)
    return entry


def show_preview(read: Read, choices: Choices) -> None:
    """The first results as they would be stored; a change in a row concerns that result only."""
    title = t("import_results.found", count=len(read.results))
    st.header(title)
    if not read.results:
        st.info(t("import_results.nothing"), icon=":material/info:")
        return
    st.caption(t("import_results.claims"))
    previews = core().imports.preview(read.results[:MAX_PREVIEWS], choices, actor())
    rows = [_to_row(preview) for preview in previews]
    editable = [t.field(name) for name in EDITABLE]
    # Not columns of numbers: those drop what is out of range without a word.
    helps = {name: numbers.allowed_text(NUMBERS[name]) for name in COUNTS}
    counts = {t(f"field.{name}"): st.column_config.TextColumn(help=text) for name, text in helps.items()}
    # Doubts should be visible without scrolling; where there are none, they need little room.
    doubtful = any(preview.result.problems for preview in previews)
    st.data_editor(
        rows,
        hide_index=True,
        disabled=[column for column in rows[0] if column not in editable],
        placeholder=MISSING,
        column_config={
            t("import_results.state"): st.column_config.TextColumn(width="medium"),
            t("import_results.leaderboard"): st.column_config.TextColumn(width="large"),
            t("import_results.doubts"): st.column_config.TextColumn(width="large" if doubtful else "small"),
            t("field.mode"): st.column_config.SelectboxColumn(options=[t(f"mode.{mode}") for mode in Mode]),
            **counts,
        },
        key=_preview_key(),
        on_change=_keep_corrections,
        args=(tuple(preview.result.identity for preview in previews),),
        alt=title,
    )
    for preview in previews:
        for name, text in _get_refused().get(preview.result.identity, {}).items():
            problem = t.message(NUMBERS[name].problem(text))
            numbers.show_refusal(f"{preview.result.location} · {t(f'field.{name}')}: {problem}")
    if len(read.results) > MAX_PREVIEWS:
        st.caption(t("import_results.first", count=MAX_PREVIEWS))


def _to_row(preview: Preview) -> dict[str, object]:
    run, facts = preview.record.run, preview.record.workload
    refused = _get_refused().get(preview.result.identity, {})
    stated = preview.record.imported.stated if preview.record.imported else ()
    state = t("import_results.here", run=preview.existing) if preview.existing else t("import_results.new")
    if preview.duplicate_of:
        state = t("import_results.duplicate", file=preview.duplicate_of)
    reasons = "; ".join([*map(t.message, preview.off_leaderboard), *map(check_text, preview.failed)])
    counts = t("import_results.off_leaderboard", reasons=reasons) if reasons else t("import_results.on_leaderboard")
    return {
        t("import_results.state"): state,
        t.field("model"): facts.model,
        t("import_results.doubts"): "; ".join(map(t.message, preview.result.problems)) or MISSING,
        t("board.validity"): t(f"validity.{preview.validity}"),
        t("import_results.leaderboard"): counts,
        t("import_results.limits"): "; ".join(map(t.message, preview.limits)) or MISSING,
        t("import_results.file"): preview.result.location,
        t.field("framework_version"): run.spec.framework_version,
        t.field("mode"): t(f"mode.{run.spec.mode}") if "mode" in stated else None,
        **{t.field(name): refused.get(name) or _count_text(run.spec, name, stated) for name in COUNTS},
        t("board.throughput", unit=facts.throughput_unit): format_number(
            preview.result.info.throughput_ratio, digits=6
        ),
        t("board.accuracy"): format_percent(preview.result.info.accuracy),
        t("recorded.ended"): format_time(run.ended_at),
        t.field("throughput_definition"): facts.throughput_definition,
    }


def _count_text(spec: RunSpec, name: str, stated: Collection[str]) -> str | None:
    return numbers.text_of(getattr(spec, name)) if name in stated else None


def _get_refused() -> Mapping[str, Mapping[str, str]]:
    """The numbers that are refused, by the identity of their result and by field, as they were typed."""
    refused: Mapping[str, Mapping[str, str]] = st.session_state.get(REFUSED, {})
    return refused


def _preview_key() -> str:
    return f"old-preview-{st.session_state.get(ROUND, 0)}"


@repeat_if_aborted
def _keep_corrections(identities: Sequence[str]) -> None:
    """Keep the changes of single results: the editor loses them when an answer for all draws it anew."""
    corrections, refused = dict(st.session_state.get(CORRECTIONS, {})), dict(_get_refused())
    for index, changes in st.session_state[_preview_key()]["edited_rows"].items():
        identity = identities[int(index)]
        corrections[identity] = answers_in(changes, corrections.get(identity, ImportAnswers()))
        refused[identity] = refused_in(changes, refused.get(identity, {}))
    st.session_state[CORRECTIONS] = corrections
    st.session_state[REFUSED] = {identity: texts for identity, texts in refused.items() if texts}


def answers_in(changes: Mapping[str, object], before: ImportAnswers) -> ImportAnswers:
    """A result's answers after the changes of its row, by column title; what is refused answers nothing."""
    modes = {t(f"mode.{mode}"): mode for mode in Mode}
    typed = {name: str(changes[t.field(name)] or "") for name in EDITABLE if t.field(name) in changes}
    counts = {name: numbers.read_entry(typed.pop(name), None, NUMBERS[name]).value for name in COUNTS if name in typed}
    mode = {"mode": modes.get(typed.pop("mode"))} if "mode" in typed else {}
    return replace(before, **typed, **counts, **mode)  # type: ignore[arg-type]  # counts are whole


def refused_in(changes: Mapping[str, object], before: Mapping[str, str]) -> Mapping[str, str]:
    """The refused numbers of a result after the changes of its row."""
    typed = {name: str(changes[t.field(name)] or "").strip() for name in COUNTS if t.field(name) in changes}
    return {name: text for name, text in {**before, **typed}.items() if text and NUMBERS[name].problem(text)}


def show_save(read: Read, choices: Choices) -> None:
    """The button; afterwards how many runs are new, and a link to them."""
    label = t("import_results.save", count=len(read.results))
    blocked = any(result.identity in _get_refused() for result in read.results)
    if (
        read.results
        and is_allowed("ResultImport.save")
        and st.button(label, key="old-save", type="primary", icon=":material/save:", disabled=blocked)
    ):
        bar, total = st.progress(0.0), len(read.results)

        def on_progress(done: int) -> None:
            bar.progress(done / total, text=t("import_results.saving", done=done, total=total))

        saved = core().imports.save(read.results, choices, actor(), on_progress)
        st.session_state[SAVED] = saved
        st.rerun()
    if SAVED in st.session_state:
        saved = st.session_state[SAVED]
        st.success(t("import_results.saved", new=len(saved.new), known=saved.existing), icon=":material/check:")
        if saved.corrected:
            st.info(t("import_results.corrected", count=saved.corrected), icon=":material/edit:")
        # Results may name a region of their own, so that they are elsewhere than was chosen.
        if row := core().warehouse.runs.find_row(saved.new[0]) if saved.new else None:
            selection = {"region": region_key(row), "origin": row.origin.value, "show": "runs", "invalid": "1"}
            link_page(LEADERBOARD, t("import_results.go"), selection)
