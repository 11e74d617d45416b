"""The channels: a card for each with a test, and the dialogs that add, change and remove one."""

from typing import Any

import streamlit as st

from aisbench_core.errors import AisbenchError
from aisbench_core.messages import Message
from aisbench_core.model import NewsKind
from aisbench_core.notifications.channels import DEFAULT_KINDS, WEBHOOK, NotificationChannel, channel_of
from pages._ui.shell.core import actor, core
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import plain, show_error
from pages._ui.shell.outcomes import show_outcome
from pages._ui.shell.words import t

OUTCOME = "notify-outcome"
BOARD = "leaderboard"
LANGUAGES = {"en": "English", "zh": "中文"}

EDIT = Dialog("notify-edit", "medium")  # about a channel's name, or True for a new one
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
    st.button(t("notifications.add"), key="notify-add", icon=":material/add:", type="primary", on_click=EDIT.open)
    EDIT.show(t("notifications.edit_title"), _edit)
    REMOVE.show(t("notifications.remove_title"), _confirm_remove)


def _show_channel(channel: NotificationChannel) -> None:
    with st.container(border=True, key=f"channel-{channel.name}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(channel.name)}** · {plain(channel.masked)}", width="stretch")
            if st.button(t("notifications.test"), key=f"test-{channel.name}", icon=":material/send:"):
                _test(channel.name)
            names: dict[str, Any] = {"args": (channel.name,)}
            st.button(
                t("notifications.edit"), key=f"edit-{channel.name}", icon=":material/edit:", on_click=EDIT.open, **names
            )
            st.button(
                t("notifications.remove"),
                key=f"remove-{channel.name}",
                icon=":material/delete:",
                on_click=REMOVE.open,
                **names,
            )
        st.caption(_described(channel))


def _described(channel: NotificationChannel) -> str:
    """What the channel is told, in one line."""
    events = ", ".join(t(f"news.{kind}") for kind in channel.events)
    filters = {"workloads": ", ".join(channel.workloads), "people": ", ".join(channel.people), "view": channel.view}
    parts = [t(f"notifications.only_{name}", names=plain(value)) for name, value in filters.items() if value]
    return " · ".join((events, *parts))


def _test(name: str) -> None:
    with st.spinner(t("notifications.sending")):
        try:
            core().notifications.test(name)
        except AisbenchError as error:
            show_error(error)
            return
    st.success(t("notifications.sent_test", name=plain(name)), icon=":material/check:")


def _edit() -> None:
    name = EDIT.subject if isinstance(EDIT.subject, str) else ""
    channel = core().notifications.channels.get(name) if name else None
    answers: dict[str, Any] = {"name": name or st.text_input(t("notifications.name"), key="notify-name")}
    help_text = t("notifications.keep_address") if channel else t("notifications.address_help")
    address = st.text_input(t("notifications.address"), type="password", key=f"notify-url-{name}", help=help_text)
    if not address and channel is None:
        st.caption(t("notifications.forms"))
    url = address.strip() or (channel.url.get_secret_value() if channel else "")
    secret = channel.secret.get_secret_value() if channel and channel.secret and not address else ""
    if url.partition("://")[0].lower() in WEBHOOK:
        entered = st.text_input(
            t("notifications.secret"), type="password", key=f"notify-secret-{name}", help=t("notifications.secret_help")
        )
        secret = entered.strip() or secret
    answers |= {"url": url} | ({"secret": secret} if secret else {}) | _filters(channel)
    with st.container(horizontal=True):
        if st.button(t("notifications.save"), key="notify-save", type="primary"):
            _save(answers, replace=channel is not None)
        if st.button(t("launch.cancel"), key="notify-cancel"):
            EDIT.leave()


def _filters(channel: NotificationChannel | None) -> dict[str, Any]:
    name = channel.name if channel else ""
    kinds = [*(channel.events if channel else DEFAULT_KINDS)]
    events = st.multiselect(
        t("notifications.events"), [*NewsKind], kinds, lambda kind: t(f"news.{kind}"), key=f"notify-events-{name}"
    )
    known = core().workloads.names()
    chosen: list[str] = [*channel.workloads] if channel else []
    workloads = st.multiselect(
        t("notifications.workloads"), sorted({*known, *chosen}), chosen,
        key=f"notify-workloads-{name}", placeholder=t("notifications.any"),
    )  # fmt: skip
    people = st.text_input(
        t("notifications.people"),
        ", ".join(channel.people) if channel else "",
        key=f"notify-people-{name}",
        help=t("notifications.people_help"),
    )
    views = ["", *(view.name for view in core().warehouse.saved_views.on(BOARD))]
    stored = channel.view if channel else ""
    views += [stored] if stored not in views else []
    view = st.selectbox(
        t("notifications.view"),
        views,
        views.index(stored),
        lambda view: view or t("notifications.any"),
        key=f"notify-view-{name}",
    )
    languages = [*LANGUAGES]
    language = st.selectbox(
        t("notifications.language"),
        languages,
        languages.index(channel.language if channel else t.language.value),
        LANGUAGES.__getitem__,
        key=f"notify-language-{name}",
    )
    return {
        "events": events, "workloads": workloads, "view": view, "language": language,
        "people": [name.strip() for name in people.split(",") if name.strip()],
    }  # fmt: skip


def _save(answers: dict[str, Any], *, replace: bool) -> None:
    try:
        channel = channel_of(answers, Message("channel"))
        core().notifications.channels.save(channel, actor(), replace=replace)
    except AisbenchError as error:
        show_error(error)
        return
    st.session_state[OUTCOME] = t("notifications.saved", name=plain(channel.name))
    EDIT.leave()


def _confirm_remove() -> None:
    name = REMOVE.subject
    st.markdown(t("notifications.remove_what", name=plain(name)))
    with st.container(horizontal=True):
        if st.button(t("notifications.remove"), key="notify-remove-yes", type="primary"):
            core().notifications.remove(name, actor())
            st.session_state[OUTCOME] = t("notifications.removed", name=plain(name))
            REMOVE.leave()
        if st.button(t("launch.cancel"), key="notify-remove-no"):
            REMOVE.leave()
