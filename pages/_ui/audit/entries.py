"""The audit's entries: filtered, a page at a time, as a file, and verified."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from aisbench_core.domain.access.audit_entry import ActOutcome, AuditEntry
from aisbench_core.domain.access.permissions import ROLES
from aisbench_core.model import Actor, Role, WayIn
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.store.audit.audit_table import to_csv
from pages._ui.shell import url
from pages._ui.shell.core import actor, core
from pages._ui.shell.filters import filter_bar
from pages._ui.shell.formats import format_time
from pages._ui.shell.tables import Width, show_table
from pages._ui.shell.words import t

PAGE = 50
MOST_IN_FILE = 100_000


def show_entries() -> None:
    """One page of entries, newest first, and what can be done with all that the filters choose."""
    who = actor()
    core().audit.count(AuditQuery(), who)  # whoever may not read it sees no filters
    query = _choose_query()
    pages = url.Pages("page", core().audit.count(query, who), PAGE)
    entries = core().audit.entries(query, who, PAGE, pages.offset)
    with st.container(horizontal=True):
        _show_download(query, who)
        _show_verification(who)
    if not entries:
        st.caption(t("audit.nothing"))
        return
    widths: dict[str, Width] = {"object": "medium", "detail": "large"}
    titles = {
        "at": t("audit.at"), "who": t("audit.who"), "role": t("audit.role"), "via": t("audit.via"),
        "change": t("audit.change"), "object": t("audit.object"), "before": t("audit.before"),
        "after": t("audit.after"), "outcome": t("audit.outcome"), "detail": t("audit.detail"),
    }  # fmt: skip
    show_table([_to_row(entry) for entry in entries], titles, t("audit.title"), widths=widths)
    pages.show()


def _choose_query() -> AuditQuery:
    with filter_bar():
        who, change, subject = (
            url.input_text(name, t(f"audit.{name}"), resets=["page"], width=150) for name in ("who", "change", "object")
        )
        via = url.choose_option(st.selectbox, "via", t("audit.via"), ["", *WayIn], _or_all, resets=["page"], width=130)
        outcome = url.choose_option(
            st.selectbox, "outcome", t("audit.outcome"), ["", *ActOutcome], _label_outcome, resets=["page"], width=130
        )
    # Every run has entries about its folder, among which those of people would be lost.
    return AuditQuery(who, change, subject, via, outcome, excluded="" if change or subject else "seal.")


def _or_all(value: str) -> str:
    return value or t("audit.all")


def _label_outcome(outcome: str) -> str:
    return t(f"audit.{outcome}") if outcome else t("audit.all")


def _show_download(query: AuditQuery, who: Actor) -> None:
    audit = core().audit
    st.download_button(
        t("audit.download"),
        data=partial(_write_csv, audit.entries, replace(query, excluded=""), who),
        file_name=f"aisbench-audit-{core().clock():%Y%m%d-%H%M%S}.csv",
        mime="text/csv",
        key="audit-file",
        on_click="ignore",
        icon=":material/download:",
    )


def _write_csv(read: Callable[..., list[AuditEntry]], query: AuditQuery, who: Actor) -> bytes:
    return to_csv(read(query, who, MOST_IN_FILE)).encode("utf-8-sig")  # a spreadsheet knows the encoding by the mark


def _show_verification(who: Actor) -> None:
    if st.button(t("audit.verify"), key="audit-verify", icon=":material/verified:"):
        check = core().audit.verify(who)
        st.success(t("audit.verified", entries=f"{check.entries:,}", hash=check.last_hash))


def _to_row(entry: AuditEntry) -> dict[str, object]:
    act = entry.act
    return {
        "at": format_time(entry.at),
        "who": act.who,
        "role": t.message(ROLES[Role(act.role)]) if act.role else None,
        "via": act.via,
        "change": act.change,
        "object": act.object or None,
        "before": act.before or None,
        "after": act.after or None,
        "outcome": _label_outcome(act.outcome),
        "detail": act.detail or None,
    }
