"""Who signed in, in which role, and the dialogs that change a role or revoke an access."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.domain.access.permissions import ROLES
from aisbench_core.model import Role
from aisbench_core.people.accounts.people import Person
from pages._ui.grid.action_bar import create_action_bar
from pages._ui.grid.table import clear_ticks, show_grid
from pages._ui.grid.values import Align, Dot, GridCell, GridColumn, GridRow, Tone
from pages._ui.shell.core import actor, core
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.outcomes import keep_outcome, show_outcome
from pages._ui.shell.words import t

KEY = "people"
OUTCOME = "people-outcome"
NAME = "people-name"

ROLE = Dialog("people-role")  # about somebody's name, empty for somebody who has not signed in yet
REVOKING = Dialog("people-revoke")  # about somebody's name


def show_people() -> None:
    """Everybody, and what can be done with one who is ticked."""
    people = core().people.all(actor())
    show_outcome(OUTCOME)
    if not core().sessions.needs_sign_in:
        st.info(t("people.no_sign_in"), icon=":material/info:")
    icon = ":material/person_add:"
    st.button(t("people.add"), key="people-add", type="primary", icon=icon, on_click=ROLE.open, args=("",))
    if not people:
        st.caption(t("people.nobody"))
    else:
        _show_table(people)
    ROLE.show(t("people.role_title"), _give_role)
    REVOKING.show(t("people.revoke_title"), _confirm_revocation)


def _show_table(people: Sequence[Person]) -> None:
    columns = [
        GridColumn("name", t("people.name"), width=280),
        GridColumn("role", t("people.role")),
        GridColumn("given", t("people.given")),
        GridColumn("group", t("people.by_group")),
        GridColumn("teams", t("people.teams"), fills=True),
        GridColumn("seen", t("people.last_seen"), Align.RIGHT),
        GridColumn("changed", t("people.changed")),
    ]
    ticked = show_grid(columns, [_to_row(one) for one in people], t("people.title"), key=KEY, is_tickable=True)
    if not ticked:
        return
    is_one = len(ticked) == 1
    with create_action_bar(KEY, len(ticked)):
        args = ticked[:1]
        st.button(t("people.set_role"), key="people-set-role", disabled=not is_one, on_click=ROLE.open, args=args)
        st.button(t("people.revoke"), key="people-revoke-open", disabled=not is_one, on_click=REVOKING.open, args=args)


def _to_row(one: Person) -> GridRow:
    is_in, state = not one.revoked, "people.revoked" if one.revoked else "people.active"
    changed = f"{format_time(one.changed_at)} · {one.changed_by}" if one.changed_at else ""
    cells = {
        "name": GridCell(one.name, dot=Dot(Tone.GOOD if is_in else Tone.BAD, t(state)), is_strong=True),
        "role": GridCell(_name_role(one.role)) if is_in else GridCell(t("people.revoked"), Tone.BAD),
        "given": GridCell(_name_role(one.given_role), Tone.MUTED),
        "group": GridCell(_name_role(one.group_role), Tone.MUTED),
        "teams": GridCell(", ".join(core().people.teams(one.name)), Tone.MUTED),
        "seen": GridCell(format_time(one.last_seen_at)),
        "changed": GridCell(changed, Tone.MUTED),
    }
    return GridRow(one.name, one.name, cells)


def _name_role(role: Role | None) -> str:
    return t.message(ROLES[role]) if role else ""


def _give_role() -> None:
    name = str(ROLE.subject)
    if not name:
        name = st.text_input(t("people.name"), key=NAME, help=t("people.name_help")).strip()
    known = core().people.find(name) if name else None
    roles = [*Role]
    label, start = t("people.role"), known.given_role if known and known.given_role else Role.VIEWER
    index = roles.index(start)
    role = st.radio(label, roles, index, format_func=_name_role, key=f"people-role-{ROLE.subject}", horizontal=True)
    if known and known.group_role:
        st.caption(t("people.group_counts", role=_name_role(known.group_role)))
    with st.container(horizontal=True):
        if st.button(t("people.give"), key="people-role-yes", type="primary", disabled=not name):
            after = core().people.set_role(name, role, actor())
            _note_outcome(t("people.role_given", name=escape_markdown(after.name), role=_name_role(after.role)))
            ROLE.leave()
        if st.button(t("launch.cancel"), key="people-role-no"):
            ROLE.leave()


def _confirm_revocation() -> None:
    name = escape_markdown(str(REVOKING.subject))
    st.markdown(t("people.revoke_what", name=name))
    with st.container(horizontal=True):
        if st.button(t("people.revoke_yes"), key="people-revoke-yes", type="primary"):
            core().people.revoke(str(REVOKING.subject), actor())
            _note_outcome(t("people.revoke_done", name=name))
            REVOKING.leave()
        if st.button(t("launch.cancel"), key="people-revoke-no"):
            REVOKING.leave()


def _note_outcome(outcome: str) -> None:
    keep_outcome(OUTCOME, outcome)
    clear_ticks(KEY)
