"""Drafts of specs: stored in the ledger as YAML at every change, so that they survive a reload.

The stored text is the only truth. The form and the YAML view both show it and both change it, so they cannot disagree,
and two tabs on one draft show the same after their next rerun.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.number_ranges import InvalidNumber
from aisbench_core.domain.authoring.specfile import NUMBERS, WrittenSpec, comments_of, from_yaml, read_written, to_yaml
from aisbench_core.domain.authoring.workloads import Workload
from aisbench_core.domain.preflight.fixes import apply_fixes
from aisbench_core.model import Channel, Finding, RunSpec, Scalar
from aisbench_core.model.spec_fields import fields_where
from aisbench_core.running.reproducing.values import Original
from pages._ui.configure.first_draft import first_spec
from pages._ui.shell.browser import browser_key, own_draft
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import core, profile_in_url

MINE = "mine"  # what the URL calls the browser's own draft, which is also the one where it names none
SHARED = "draft"  # the key of the one draft that all browsers shared before each had its own; old links still name it

OWN = "browser-"  # prefix of the keys of browsers' own drafts; no URL names them
FROM = "from-"  # prefix of the keys of clones; the run's id follows, and after a dot the browser
UNLINKED = (OWN, "system-")  # prefixes of keys that no URL may name; "system-": drafts that are no specs
STORED = "draft-stored"  # where the session has the key and the text of what it stored last
OPENED = "draft-opened"  # where the session has the name of the draft that New run showed last


@dataclass(frozen=True, slots=True)
class SpecDraft:
    """The stored text, and what it says, or the reason why it is no spec.

    A draft with refused numbers has both: the form shows it, and nothing can be launched from it."""

    text: str
    written: WrittenSpec | None
    problem: AisbenchError | None

    @property
    def spec(self) -> RunSpec | None:
        """The spec that can be launched, if it is one."""
        return self.written.spec if self.written and not self.written.refused else None


def draft_name() -> str:
    """The page's draft as the URL names it; a name that no URL may have means the browser's own."""
    name = st.query_params.get("draft", MINE)
    return MINE if name in ("", SHARED) or name.startswith(UNLINKED) else name


def draft_key() -> str:
    """The key of the page's draft: the URL's `?draft=`, or the browser's own."""
    name = draft_name()
    return name if name != MINE else own_key()


def own_key() -> str:
    """The key of the browser's own draft."""
    return own_draft(OWN, SHARED)


def reopen_last() -> None:
    """Put the draft that was shown last back into the URL, which the menu drops; not after the browser's Back."""
    context = get_script_run_ctx()
    went_back = context is not None and context.is_history_navigation
    opened = st.session_state.get(OPENED, MINE)
    if "draft" not in st.query_params and opened != MINE and not went_back:
        st.query_params["draft"] = opened
    st.session_state[OPENED] = draft_name()


def read_draft(key: str = "") -> SpecDraft:
    """The draft with this key, else the page's; one that was never changed is `first_spec` for the page's profile.

    That is stored only once somebody changes it: until then it follows the region, which may answer late. Raises
    ConfigError if there is no workload."""
    text = core().ledger.draft(key or draft_key())
    if text is None:
        first = first_spec(profile_in_url())
        return SpecDraft(to_yaml(first), WrittenSpec(first, {}), None)
    try:
        written = read_written(text)
    except AisbenchError as error:
        return SpecDraft(text, None, error)
    return SpecDraft(text, written, written.problem)


def stored_spec(key: str, otherwise: RunSpec) -> RunSpec:
    """The spec of a draft as it is stored now; `otherwise` where it was never changed or is no valid spec."""
    text = core().ledger.draft(key)
    try:
        return from_yaml(text) if text else otherwise
    except AisbenchError:
        return otherwise


def stored_comments(key: str) -> dict[str, str]:
    """The comments on the parameters of a draft as it is stored now."""
    return comments_of(core().ledger.draft(key) or "")


def change_draft(key: str, change: Callable[[RunSpec], RunSpec]) -> None:
    """Store the changed spec as the draft with this key; comments on parameters and refused numbers stay.

    A refused number is dropped once its field is changed. Raises what `change` raises."""
    draft = read_draft(key)
    if draft.written is None:
        return
    before = draft.written.spec
    spec = change(before)
    refused = {
        name: text for name, text in draft.written.refused.items() if getattr(spec, name) == getattr(before, name)
    }
    store_text(WrittenSpec(spec, refused).to_yaml(comments_of(draft.text)), key)


def enter_number(key: str, field: str, text: str) -> None:
    """Store what is typed for a number of the draft with this key, whether or not the spec takes it."""
    draft = read_draft(key)
    if draft.written is None:
        return
    default = RunSpec.model_fields[field].default
    spec = with_field(draft.written.spec, field, default)
    refused = {name: other for name, other in draft.written.refused.items() if name != field}
    if text.strip() or default is not None:
        try:
            spec = with_field(spec, field, NUMBERS[field].read(text))
        except InvalidNumber:
            refused[field] = text.strip()
    store_text(WrittenSpec(spec, refused).to_yaml(comments_of(draft.text)), key)


@repeat_if_aborted
def fix(finding: Finding) -> None:
    """Apply what a finding proposes to the draft."""
    change_draft(draft_key(), lambda spec: apply_fixes(spec, [finding]))


def store_text(text: str, key: str = "") -> None:
    """Store the text as the draft with this key, else the page's, whether or not it is a valid spec."""
    key = key or draft_key()
    core().ledger.save_draft(key, text, core().clock())
    st.session_state[STORED] = (key, text)


def last_stored(key: str) -> str | None:
    """What this session stored last as the draft with this key, if anything."""
    stored, text = st.session_state.get(STORED, ("", ""))
    return text if stored == key else None


@repeat_if_aborted
def discard_draft() -> None:
    """Drop the draft; the page then starts with a new one."""
    core().ledger.drop_draft(draft_key())


def clone(original: Original, corrected: RunSpec | None = None) -> str:
    """A new draft of a run's spec; returns its key. No other draft is changed, not even an earlier clone of the run.

    `corrected`: what the draft begins with instead; the page shows how it differs from the run."""
    text = to_yaml(corrected or core().clones.spec(original))
    first = f"{FROM}{original.run_id}.{_get_browser_suffix()}"
    # An earlier clone that was changed since keeps its key; one that was not is opened again.
    keys = chain([first], (f"{first}-{number}" for number in count(2)))
    key = next(key for key in keys if core().ledger.draft(key) in (None, text))
    core().ledger.save_draft(key, text, core().clock())
    return key


def original_id() -> str:
    """The run that the page's draft is a clone of; empty if it is no clone."""
    return run_of(draft_key())


def run_of(key: str) -> str:
    """The run that the draft with this key is a clone of; empty if it is no clone."""
    return key.removeprefix(FROM).partition(".")[0] if key.startswith(FROM) else ""


def _get_browser_suffix() -> str:
    """Distinguishes the drafts that several browsers make of the same run or file."""
    return browser_key()[:8]


@repeat_if_aborted
def reset_to_original(original: Original) -> None:
    """Make the draft the run's spec again."""
    store_text(to_yaml(core().clones.spec(original)))


def draft_of(spec: RunSpec, text: str) -> str:
    """Store an imported spec as a new draft with this text; returns its key. The browser's own draft stays."""
    key = f"import-{spec.sha256[:12]}-{_get_browser_suffix()}"
    core().ledger.save_draft(key, text, core().clock())
    return key


def with_field(spec: RunSpec, field: str, value: Any) -> RunSpec:
    """The spec with one field changed: `node_count`, `parameters.epochs`, `log_levels.cann`.

    Raises SpecError if the field does not take the value."""
    head, _, name = field.partition(".")
    answers = spec.model_dump()
    answers[head] = {**answers[head], name: value} if name else value
    return parse_document(RunSpec, answers, Message("the draft"))


def with_input(spec: RunSpec, workload: Workload, name: str, path: str) -> RunSpec:
    """The spec with another directory for one input; one without a directory is dropped."""
    channels = [
        input_channel.model_copy(update={"path": path}) if input_channel.name == name else input_channel
        for input_channel in input_channels(workload, spec)
    ]
    return spec.model_copy(update={"inputs": tuple(channel for channel in channels if channel.path.strip())})


def with_prefetch(spec: RunSpec, outputs: Sequence[Channel], *, prefetch: bool) -> RunSpec:
    """The spec whose outputs, the manifest's if it names none, are downloaded before the job starts, or not."""
    changed = tuple(channel.model_copy(update={"prefetch": prefetch}) for channel in spec.outputs or outputs)
    return spec.model_copy(update={"outputs": changed})


def input_channels(workload: Workload, spec: RunSpec) -> tuple[Channel, ...]:
    """The inputs of the form: the spec's, and the data set's where it reads one that the spec does not name."""
    known = {"", *(channel.name for channel in spec.inputs)}
    return spec.inputs + (() if workload.dataset.input in known else (Channel(name=workload.dataset.input),))


def with_workload(spec: RunSpec, workload: str) -> RunSpec:
    """The spec for another workload, without what belongs to the old one."""
    names = fields_where(lambda field: not field.of_workload)
    return RunSpec(workload=workload, **{name: getattr(spec, name) for name in names})


def with_version(spec: RunSpec, workload: Workload, version: str) -> RunSpec:
    """The spec for another framework version: with its engine and boot file, and without parameters that it lacks."""
    valid = workload.edition(version).parameters
    parameters: dict[str, Scalar] = {name: value for name, value in spec.parameters.items() if name in valid}
    engine = {"engine_name": "", "engine_version": "", "boot_file": "", "imported": False}
    return spec.model_copy(update={"framework_version": version, "parameters": parameters, **engine})
