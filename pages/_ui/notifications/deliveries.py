"""What was sent to whom, what is still to be sent, and why something did not arrive."""

import streamlit as st

from aisbench_core.model import Delivery, DeliveryState
from pages._ui.shell import url
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.formats import format_time
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

PAGE = 20


def show_deliveries() -> None:
    """One page of deliveries, the newest first; those that were given up can be tried again."""
    outbox = core().notifications.outbox
    st.header(t("notifications.log"))
    _, total = outbox.page(1)
    if not total:
        st.caption(t("notifications.nothing_sent"))
        return
    pages = url.Pages("page", total, PAGE)
    deliveries, _ = outbox.page(PAGE, pages.offset)
    titles = {
        "at": t("notifications.at"), "event": t("notifications.event"), "subject": t("notifications.subject"),
        "channel": t("notifications.channel"), "state": t("notifications.state"),
        "attempts": t("notifications.attempts"), "next_at": t("notifications.next_at"),
        "error": t("notifications.error"),
    }  # fmt: skip
    show_table([_to_row(each) for each in deliveries], titles, t("notifications.log"))
    pages.show()
    given_up = [each.message_id for each in deliveries if each.state is DeliveryState.GIVEN_UP]
    if given_up and is_allowed("Notifications.retry"):
        label = t("notifications.again", count=len(set(given_up)))
        st.button(label, key="notify-again", icon=":material/refresh:", on_click=retry_messages, args=(given_up,))


@repeat_if_aborted
def retry_messages(message_ids: list[str]) -> None:
    """Send these again, with all attempts."""
    core().notifications.retry(message_ids, actor())


def _to_row(each: Delivery) -> dict[str, object]:
    return {
        "at": format_time(each.notification.at),
        "event": t(f"news.{each.notification.kind}"),
        "subject": each.notification.subject,
        "channel": each.channel,
        "state": t(f"delivery.{each.state.name.lower()}"),
        "attempts": each.attempts,
        "next_at": format_time(each.next_at) if each.state is DeliveryState.PENDING else None,
        "error": t.message(each.error) or None,
    }
