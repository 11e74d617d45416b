"""Answers about single results: a table to change them in, and the numbers in it that are refused."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from aisbench_core.base.formats import MISSING
from aisbench_core.domain.authoring.specfile import NUMBERS
from aisbench_core.exchange.importing.choices import ImportAnswers, Preview
from aisbench_core.model import Mode, RunSpec
from pages._ui.imports.reading import CORRECTIONS, REFUSED, ROUND
from pages._ui.shell import numbers
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.words import t

MAX_CHANGED = 200  # of so many results single answers can be given

COUNTS = ("node_count", "cards_per_node")
EDITABLE = ("model", "framework_version", "mode", *COUNTS, "throughput_definition")


def show_single_results(previews: Sequence[Preview]) -> None:
    """The first results as they were read; a change in a row concerns that result only."""
    previews = previews[:MAX_CHANGED]
    title = t("import_results.single", count=len(previews))
    with st.expander(title, icon=":material/edit:"):
        _show_editor(previews, title)
    for preview in previews:
        for name, text in get_refused().get(preview.result.identity, {}).items():
            problem = t.message(NUMBERS[name].problem(text))
            numbers.show_refusal(f"{preview.result.location} · {t(f'field.{name}')}: {problem}")


def _show_editor(previews: Sequence[Preview], title: str) -> None:
    text, choice = st.column_config.TextColumn, st.column_config.SelectboxColumn
    labels = {"file": t("import_results.file"), **{name: t.field(name) for name in EDITABLE}}
    columns = {name: text(label, disabled=name not in EDITABLE) for name, label in labels.items()}
    # Not columns of numbers: those drop what is out of range without a word.
    counts = {name: text(labels[name], help=numbers.allowed_text(NUMBERS[name])) for name in COUNTS}
    modes = choice(labels["mode"], options=[t(f"mode.{mode}") for mode in Mode])
    st.data_editor(
        [_to_row(preview) for preview in previews],
        hide_index=True,
        placeholder=MISSING,
        column_config={**columns, **counts, "mode": modes, "why": text(t("import_results.why"), disabled=True)},
        key=_editor_key(),
        on_change=_keep_corrections,
        args=(tuple(preview.result.identity for preview in previews),),
        alt=title,
    )


def _to_row(preview: Preview) -> dict[str, object]:
    run, facts = preview.record.run, preview.record.workload
    refused = get_refused().get(preview.result.identity, {})
    stated = preview.record.imported.stated if preview.record.imported else ()
    return {
        "file": preview.result.location,
        "model": facts.model,
        "framework_version": run.spec.framework_version,
        "mode": t(f"mode.{run.spec.mode}") if "mode" in stated else None,
        **{name: refused.get(name) or _count_text(run.spec, name, stated) for name in COUNTS},
        "throughput_definition": facts.throughput_definition,
        "why": "; ".join(t.message(cause.sentence) for cause in preview.causes) or MISSING,
    }


def _count_text(spec: RunSpec, name: str, stated: Collection[str]) -> str | None:
    return numbers.text_of(getattr(spec, name)) if name in stated else None


def get_refused() -> Mapping[str, Mapping[str, str]]:
    """The numbers that are refused, by the identity of their result and by field, as they were typed."""
    refused: Mapping[str, Mapping[str, str]] = st.session_state.get(REFUSED, {})
    return refused


def _editor_key() -> str:
    return f"old-preview-{st.session_state.get(ROUND, 0)}"


@repeat_if_aborted
def _keep_corrections(identities: Sequence[str]) -> None:
    """Keep the changes of single results: the editor loses them when an answer for all draws it anew."""
    corrections, refused = dict(st.session_state.get(CORRECTIONS, {})), dict(get_refused())
    for index, changes in st.session_state[_editor_key()]["edited_rows"].items():
        identity = identities[int(index)]
        corrections[identity] = answers_in(changes, corrections.get(identity, ImportAnswers()))
        refused[identity] = refused_in(changes, refused.get(identity, {}))
    st.session_state[CORRECTIONS] = corrections
    st.session_state[REFUSED] = {identity: texts for identity, texts in refused.items() if texts}


def answers_in(changes: Mapping[str, object], before: ImportAnswers) -> ImportAnswers:
    """A result's answers after the changes of its row, by field; what is refused answers nothing."""
    modes = dict(zip((t(f"mode.{mode}") for mode in Mode), Mode, strict=True))
    typed = {name: str(changes[name] or "") for name in EDITABLE if name in changes}
    counts = {name: numbers.read_entry(typed.pop(name), None, NUMBERS[name]).value for name in COUNTS if name in typed}
    mode = {"mode": modes.get(typed.pop("mode"))} if "mode" in typed else {}
    return replace(before, **typed, **counts, **mode)  # type: ignore[arg-type]  # counts are whole


def refused_in(changes: Mapping[str, object], before: Mapping[str, str]) -> Mapping[str, str]:
    """The refused numbers of a result after the changes of its row."""
    typed = {name: str(changes[name] or "").strip() for name in COUNTS if name in changes}
    return {name: text for name, text in {**before, **typed}.items() if text and NUMBERS[name].problem(text)}
