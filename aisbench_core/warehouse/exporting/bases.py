"""The column beside `ruleset_id`: whether the rules that decided were inferred. Standards are not public, and a table
that names one must not look like its application."""

from collections.abc import Mapping

from aisbench_core.warehouse.exporting.columns import SheetColumn, text

COLUMN = "ruleset_basis"
_MEANING = (
    "what the rules rest on where it is not the text of the standard that the ruleset is named after: "
    "`rules inferred without the standard's text`, or how many of them were inferred"
)
_OF_ONE = "list_extract($basis_texts::VARCHAR[], list_position($basis_ids::VARCHAR[], {ruleset_id}))"


def of_several(ruleset_ids: str) -> SheetColumn:
    """The column for ids that are separated by `;`."""
    each = f"concat(ruleset_id, ': ', {_OF_ONE.format(ruleset_id='ruleset_id')})"
    inferred = f"list_filter(string_split({ruleset_ids}, ';'), lambda id: list_contains($basis_ids::VARCHAR[], id))"
    several = f"array_to_string(list_transform({inferred}, lambda ruleset_id: {each}), ';')"
    return text(
        COLUMN,
        f"{_MEANING}; of several rulesets with their ids, separated by `;`; empty when no rule was",
        f"case when contains({ruleset_ids}, ';') then {several} else {_OF_ONE.format(ruleset_id=ruleset_ids)} end",
    )


def basis_parameters(bases: Mapping[str, str]) -> dict[str, object]:
    """The values that the column names. `bases`: what to say of rulesets, by id."""
    return {"basis_ids": list(bases), "basis_texts": list(map(str, bases.values()))}
