"""Fields that runs differ in, as pages name them and show their values."""

from aisbench_core.base.formats import MISSING
from aisbench_core.model import Mode, Origin
from pages._ui.shell.words import t


def field_name(name: str) -> str:
    """A field's name; a parameter's own name stays as it is."""
    group, _, own = name.partition(".")
    return t("field.parameter", name=own) if group == "parameters" and own else t.field(name)


def field_text(value: object) -> str:
    """A field's value for people."""
    if isinstance(value, bool):
        return t("compare.true") if value else t("compare.false")
    if isinstance(value, Mode):
        return t(f"mode.{value}")
    if isinstance(value, Origin):
        return t(f"origin.{value}")
    return MISSING if value is None or value == "" else str(value)
