"""The draft of a spec: kept in the ledger as YAML after every change, so that it survives a reload.

The stored text is the only truth. The form and the YAML view both show it and both change it, which is why they cannot
disagree, and why two tabs on one draft show the same once they look again.
"""

from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from aisbench_core.authoring.fixes import fixed
from aisbench_core.authoring.specfile import comments_of, from_yaml, to_yaml
from aisbench_core.authoring.workloads import Workload
from aisbench_core.documents import parse
from aisbench_core.errors import AisbenchError
from aisbench_core.messages import Message
from aisbench_core.model import Channel, Finding, RunSpec, Scalar
from aisbench_core.reproducing.values import Original
from pages._ui.configure.first_draft import first_spec, profile_in_url
from pages._ui.shell.browser import browser_key, own_draft
from pages._ui.shell.callbacks import whole
from pages._ui.shell.core import core

MINE = "mine"
"""What the URL calls the browser's own draft, which is also meant where it names none."""

SHARED = "draft"
"""The key of the one draft that all browsers had before each had its own; URLs of that time name it, too."""

OWN = "browser-"
"""How the key of a browser's own draft begins. No URL names it."""

FROM = "from-"
"""How the key of a draft begins that was made of a run; the run's id follows, and after a dot whose draft it is."""

UNLINKED = (OWN, "system-")
"""How keys begin that no URL names: of browsers' own drafts, and of what is stored beside drafts."""

OPENED = "draft-opened"
"""Where a session has the name of the draft that Configure showed last."""

KEPT = ("name", "description", "flavor", "pool_id", "node_count", "cards_per_node", "mode", "environments", "volumes")
KEPT_TOO = ("priority", "auto_stop_hours", "retries", "log_path", "log_levels", "secrets", "api")
"""What a person decided about where to run stays when another workload is picked; the rest is the workload's."""


@dataclass(frozen=True, slots=True)
class SpecDraft:
    """The text as it stands, and what it means: a spec, or the reason why it means none."""

    text: str
    spec: RunSpec | None
    problem: AisbenchError | None


def draft_name() -> str:
    """What the URL calls the draft of this page; what is no draft to be linked to is the browser's own."""
    name = st.query_params.get("draft", MINE)
    return MINE if name in ("", SHARED) or name.startswith(UNLINKED) else name


def draft_key() -> str:
    """Where the draft of this page is stored: the URL's `?draft=`, or the browser's own."""
    name = draft_name()
    return name if name != MINE else own_draft(OWN, SHARED)


def open_again() -> None:
    """The menu drops what is in the URL: put the draft back that was shown last, unless the browser's Back led here."""
    asked = "draft" in st.query_params
    opened = st.session_state.get(OPENED, MINE)
    if not asked and opened != MINE and not _went_back():
        st.query_params["draft"] = opened
    st.session_state[OPENED] = draft_name()


def _went_back() -> bool:
    """Whether the browser's Back or Forward led here."""
    context = get_script_run_ctx()
    return bool(context and context.is_history_navigation)


def read_draft(key: str = "") -> SpecDraft:
    """The draft with this key, else the page's; one that was never changed is the first spec for the page's profile.

    It is not stored before somebody changes it, so it follows a region that answers only later. Raises ConfigError if
    there is no workload to begin with."""
    text = core().ledger.draft(key or draft_key())
    if text is None:
        first = first_spec(profile_in_url())
        return SpecDraft(to_yaml(first), first, None)
    try:
        return SpecDraft(text, from_yaml(text), None)
    except AisbenchError as error:
        return SpecDraft(text, None, error)


def now(key: str, otherwise: RunSpec) -> RunSpec:
    """What a draft means as it is stored now; `otherwise`, where it was never changed or means no spec."""
    text = core().ledger.draft(key)
    try:
        return from_yaml(text) if text else otherwise
    except AisbenchError:
        return otherwise


def comments_now(key: str) -> dict[str, str]:
    """The comments on a draft's parameters as it is stored now."""
    return comments_of(core().ledger.draft(key) or "")


def store(spec: RunSpec, key: str = "") -> None:
    """Keep the spec as the draft with this key, else the page's; comments on parameters stay."""
    store_text(to_yaml(spec, comments_of(read_draft(key).text)), key)


@whole
def mend(finding: Finding) -> None:
    """Change the draft as a finding proposes."""
    spec = read_draft().spec
    if spec:
        store(fixed(spec, [finding]))


def store_text(text: str, key: str = "") -> None:
    """Keep the text as the draft with this key, else the page's, whether or not it means a spec."""
    core().ledger.save_draft(key or draft_key(), text, core().clock())


@whole
def discard_draft() -> None:
    """Forget the draft; the page then begins a new one."""
    core().ledger.drop_draft(draft_key())


def clone(original: Original) -> str:
    """Make a new draft of a run's spec; gives its key. No other draft is touched, earlier ones of this run neither."""
    text = to_yaml(core().clones.spec(original))
    first = f"{FROM}{original.run_id}.{_whose()}"
    keys = chain([first], (f"{first}-{number}" for number in count(2)))
    key = next(key for key in keys if core().ledger.draft(key) in (None, text))
    core().ledger.save_draft(key, text, core().clock())
    return key


def original_id() -> str:
    """The run that the page's draft was made of; empty when it was made of none."""
    key = draft_key()
    return key.removeprefix(FROM).partition(".")[0] if key.startswith(FROM) else ""


def _whose() -> str:
    """Tells drafts of one browser from those of others, where both made them of the same."""
    return browser_key()[:8]


@whole
def begin_again(original: Original) -> None:
    """Make the draft what it was when it was made of the run."""
    store_text(to_yaml(core().clones.spec(original)))


def draft_of(spec: RunSpec, text: str) -> str:
    """Make a new draft of a spec that was imported, as this text; gives its key. The person's own is not touched."""
    key = f"import-{spec.sha256[:12]}-{_whose()}"
    core().ledger.save_draft(key, text, core().clock())
    return key


def with_field(spec: RunSpec, field: str, value: Any) -> RunSpec:
    """The spec with one field changed: `node_count`, `parameters.epochs`, `log_levels.cann`.

    Raises SpecError if the field does not take the value."""
    head, _, name = field.partition(".")
    answers = spec.model_dump()
    answers[head] = {**answers[head], name: value} if name else value
    return parse(RunSpec, answers, Message("the draft"))


def with_input(spec: RunSpec, workload: Workload, name: str, path: str) -> RunSpec:
    """The spec with another directory for one input; inputs without a directory are left to the manifest."""
    channels = [
        input_channel.model_copy(update={"path": path}) if input_channel.name == name else input_channel
        for input_channel in input_channels(workload, spec)
    ]
    return spec.model_copy(update={"inputs": tuple(channel for channel in channels if channel.path.strip())})


def input_channels(workload: Workload, spec: RunSpec) -> tuple[Channel, ...]:
    """The inputs that a form offers: the spec's, and the data set's where the spec does not name it."""
    named = {each.name for each in spec.inputs}
    return spec.inputs + (() if workload.dataset.input in named else (Channel(name=workload.dataset.input),))


def with_workload(spec: RunSpec, workload: str) -> RunSpec:
    """The spec for another workload: what belongs to the old one is dropped."""
    return RunSpec(workload=workload, **{name: getattr(spec, name) for name in (*KEPT, *KEPT_TOO)})


def with_version(spec: RunSpec, workload: Workload, version: str) -> RunSpec:
    """The spec for another framework version: its engine and boot file, and only parameters that it knows."""
    known = workload.edition(version).parameters
    kept: dict[str, Scalar] = {name: value for name, value in spec.parameters.items() if name in known}
    engine = {"engine_name": "", "engine_version": "", "boot_file": "", "imported": False}
    return spec.model_copy(update={"framework_version": version, "parameters": kept, **engine})
