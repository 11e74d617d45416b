"""The channels: a card for each with a test, and the dialogs that add, change and remove one."""

from typing import Any

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.model import NewsKind
from aisbench_core.people.notifications.channels import DEFAULT_KINDS, WEBHOOK, NotificationChannel, channel_of
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown, show_error
from pages._ui.shell.outcomes import keep_outcome, show_outcome
from pages._ui.shell.words import t

OUTCOME = "notify-outcome"
ERROR = "notify-error"  # why what the dialog holds could not be saved
NAME = "notify-name"
BOARD = "leaderboard"
LANGUAGES = {"en": "English", "zh": "中文"}


def _forget_error() -> None:
    st.session_state.pop(ERROR, None)


EDIT = Dialog("notify-edit", "medium", _forget_error)  # about a channel's name, or True for a new one
REMOVE = Dialog("notify-remove")  # about a channel's name


def show_channels() -> None:
    """A card for each channel, and the way to another one."""
    show_outcome(OUTCOME)
    st.header(t("notifications.channels"))
    try:
        channels = core().notifications.channels.all()
    except AisbenchError as error:
        show_error(error)
        return
    for channel in channels:
        _show_channel(channel)
    if not channels:
        st.info(t("notifications.none"), icon=":material/notifications_off:")
    if is_allowed("NotificationChannels.save"):
        st.button(t("notifications.add"), key="notify-add", icon=":material/add:", type="primary", on_click=EDIT.open)
    EDIT.show(t("notifications.edit_title"), _show_editor)
    REMOVE.show(t("notifications.remove_title"), _confirm_remove)


def _show_channel(channel: NotificationChannel) -> None:
    with st.container(border=True, key=f"channel-{channel.name}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{escape_markdown(channel.name)}** · {escape_markdown(channel.masked)}", width="stretch")
            testing = is_allowed("NotificationChannels.save") and _show_actions(channel)
        st.caption(_describe_channel(channel))
        if testing:
            _send_test(channel.name)


def _show_actions(channel: NotificationChannel) -> bool:
    """The buttons of a channel; whether it is to be tested."""
    testing = st.button(t("notifications.test"), key=f"test-{channel.name}", icon=":material/send:")
    names: dict[str, Any] = {"args": (channel.name,)}
    label = t("notifications.edit")
    st.button(label, key=f"edit-{channel.name}", icon=":material/edit:", on_click=EDIT.open, **names)
    label = t("notifications.remove")
    st.button(label, key=f"remove-{channel.name}", icon=":material/delete:", on_click=REMOVE.open, **names)
    return testing


def _describe_channel(channel: NotificationChannel) -> str:
    """What the channel is told, in one line."""
    events = ", ".join(t(f"news.{kind}") for kind in channel.events)
    filters = {"workloads": ", ".join(channel.workloads), "people": ", ".join(channel.people), "view": channel.view}
    parts = [t(f"notifications.only_{name}", names=escape_markdown(value)) for name, value in filters.items() if value]
    return " · ".join((events, *parts))


def _send_test(name: str) -> None:
    with st.spinner(t("notifications.sending")):
        try:
            core().notifications.test(name, actor())
        except AisbenchError as error:
            show_error(error)
            return
    st.success(t("notifications.sent_test", name=escape_markdown(name)), icon=":material/check:")


def _show_editor() -> None:
    if EDIT.subject is None:  # closed by a callback, after which only the dialog is drawn again
        st.rerun()
    name = EDIT.subject if isinstance(EDIT.subject, str) else ""
    channel = core().notifications.channels.get(name) if name else None
    if error := st.session_state.get(ERROR):
        show_error(error)
    # A form sends what was typed, however one leaves a field: Tab leads from a password to the button that shows it.
    with st.form(f"notify-form-{name}", border=False):
        if not name:
            st.text_input(t("notifications.name"), key=NAME)
        help_text = t("notifications.keep_address") if channel else t("notifications.address_help")
        st.text_input(t("notifications.address"), key=_build_key("url", name), help=help_text, type="password")
        if channel is None:
            st.caption(t("notifications.forms"))
        help_text = t("notifications.secret_help")
        st.text_input(t("notifications.secret"), key=_build_key("secret", name), help=help_text, type="password")
        _choose_filters(name, channel)
        with st.container(horizontal=True):
            label = t("notifications.save")
            st.form_submit_button(label, key="notify-save", type="primary", on_click=save_channel, args=(name,))
            st.form_submit_button(t("launch.cancel"), key="notify-cancel", on_click=EDIT.close)


def _build_key(field: str, name: str) -> str:
    return f"notify-{field}-{name}"


def _choose_filters(name: str, channel: NotificationChannel | None) -> None:
    kinds = [*(channel.events if channel else DEFAULT_KINDS)]
    st.multiselect(
        t("notifications.events"), [*NewsKind], kinds, lambda kind: t(f"news.{kind}"), key=_build_key("events", name)
    )
    chosen: list[str] = [*channel.workloads] if channel else []
    known = sorted({*core().workloads.names(), *chosen})
    placeholder = t("notifications.any")
    st.multiselect(
        t("notifications.workloads"), known, chosen, key=_build_key("workloads", name), placeholder=placeholder
    )
    people = ", ".join(channel.people) if channel else ""
    help_text = t("notifications.people_help")
    st.text_input(t("notifications.people"), people, key=_build_key("people", name), help=help_text)
    views = ["", *(view.name for view in core().warehouse.saved_views.on(BOARD))]
    stored = channel.view if channel else ""
    views += [stored] if stored not in views else []
    st.selectbox(
        t("notifications.view"),
        views,
        views.index(stored),
        lambda view: view or placeholder,
        key=_build_key("view", name),
    )
    languages = [*LANGUAGES]
    index = languages.index(channel.language if channel else t.language.value)
    st.selectbox(t("notifications.language"), languages, index, LANGUAGES.__getitem__, key=_build_key("language", name))


def _read_answers(name: str) -> dict[str, Any]:
    """What the dialog's fields hold now; an empty address, and the secret beside it, are those that are stored."""
    state = st.session_state
    channel = core().notifications.channels.get(name) if name else None
    address, secret = (str(state.get(_build_key(field, name), "")).strip() for field in ("url", "secret"))
    if channel and not address:
        address = channel.url.get_secret_value()
        secret = secret or (channel.secret.get_secret_value() if channel.secret else "")
    people = [person.strip() for person in state[_build_key("people", name)].split(",") if person.strip()]
    chosen = {field: state[_build_key(field, name)] for field in ("events", "workloads", "view", "language")}
    answers = {"name": name or state[NAME].strip(), "url": address, "people": people, **chosen}
    return answers | ({"secret": secret} if secret and address.partition("://")[0].lower() in WEBHOOK else {})


@repeat_if_aborted
def save_channel(name: str) -> None:
    """Save what the dialog's fields hold, under this name or as a new channel."""
    try:
        channel = channel_of(_read_answers(name), Message("channel"))
        core().notifications.channels.save(channel, actor(), replace=bool(name))
    except AisbenchError as error:
        st.session_state[ERROR] = error
        return
    keep_outcome(OUTCOME, t("notifications.saved", name=escape_markdown(channel.name)))
    EDIT.close()


def _confirm_remove() -> None:
    name = REMOVE.subject
    st.markdown(t("notifications.remove_what", name=escape_markdown(name)))
    with st.container(horizontal=True):
        if st.button(t("notifications.remove"), key="notify-remove-yes", type="primary"):
            core().notifications.remove(name, actor())
            keep_outcome(OUTCOME, t("notifications.removed", name=escape_markdown(name)))
            REMOVE.leave()
        if st.button(t("launch.cancel"), key="notify-remove-no"):
            REMOVE.leave()
