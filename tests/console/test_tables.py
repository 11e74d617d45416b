"""Numbers in tables: as many decimals as the longest of a column has, so that no browser invents digits."""

from collections.abc import Sequence

import pytest

from pages._ui.shell.tables import columns


@pytest.mark.parametrize(
    ("values", "shown_as"),
    [
        ((941.53, 785.2, 12), "%.2f"),
        ((1.0, 2, None), "%.0f"),
        ((941.53, 52_683.0), "localized"),
        ((0.1234567, 1.0), "plain"),
        ((1e-9, 1.0), "plain"),
    ],
)
def test_a_column_of_numbers_has_the_decimals_of_its_longest(values: Sequence[float | None], shown_as: str) -> None:
    [column] = columns([{"value": value} for value in values], {}).values()

    assert column["type_config"]["format"] == shown_as
