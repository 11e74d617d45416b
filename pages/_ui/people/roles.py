"""What each role may do: every change, and who may make it."""

import streamlit as st

from aisbench_core.domain.access.permissions import PERMISSIONS, ROLES, Permission
from aisbench_core.model import Role
from pages._ui.grid.table import show_grid
from pages._ui.grid.values import GridCell, GridColumn, GridRow, Tone
from pages._ui.shell.words import t

VISIBLE = 12
ORDER = [*ROLES]


def show_roles() -> None:
    """A row for each change, and a column for each role."""
    st.header(t("people.roles"))
    st.caption(t("people.roles_what"))
    columns = [GridColumn("change", t("audit.change"), fills=True)]
    columns += [GridColumn(role.value, t.message(name)) for role, name in ROLES.items()]
    permissions = {each.change: each for each in PERMISSIONS.values()}
    rows = [_to_row(permission) for _, permission in sorted(permissions.items())]
    show_grid(columns, rows, t("people.roles"), key="roles", visible=VISIBLE)


def _to_row(permission: Permission) -> GridRow:
    cells = {role.value: _describe_right(permission, role) for role in ROLES}
    return GridRow(permission.change, permission.change, {"change": GridCell(permission.change), **cells})


def _describe_right(permission: Permission, role: Role) -> GridCell:
    """Whether a role may make a change: always, to one's own things only, or never."""
    if ORDER.index(role) >= ORDER.index(permission.needs(of_others=True)):
        return GridCell("✓", Tone.GOOD)
    if ORDER.index(role) >= ORDER.index(permission.role):
        return GridCell(t("people.own"), Tone.INFO)
    return GridCell("")
