"""One number reads the same on pages, in the command line and in printed reports."""

import pytest

from aisbench_core.cli import shown
from aisbench_core.numerals import decimal, percentage
from aisbench_core.report.tables import numeral, share
from pages._ui.shell import formats


@pytest.mark.parametrize("value", [0.0, 0.000123456, 0.97531, 1.2969, 12.5, 1234.5, 30123.456, 1_234_567.8, -3.4, 1e99])
def test_a_number_reads_the_same_everywhere(value: float) -> None:
    text = decimal(value)

    assert {text, shown.number(value), formats.number(value)} == {text}
    assert f">{text}<" in numeral(value)


@pytest.mark.parametrize(("value", "text"), [(0.9375, "93.75 %"), (0.76, "76 %"), (0.012345, "1.234 %"), (0.0, "0 %")])
def test_a_share_reads_the_same_everywhere(value: float, text: str) -> None:
    assert {percentage(value), shown.percent(value), formats.percent(value)} == {text}
    assert f">{text}<" in share(value)
