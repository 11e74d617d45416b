"""Numbers, times and amounts read the same on pages, in the command line and in printed reports."""

from datetime import UTC, datetime

import pytest

from aisbench_core.base import formats
from aisbench_core.exchange.report.reports import make_environment
from pages._ui.shell.formats import to_local_time


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (0.97530, "0.9753"),
        (12.3456, "12.346"),
        (7900.0, "7,900"),
        (30123.456, "30,123"),
        (0.00012, "0.00012"),
        (-3.5, "−3.5"),
        (-1e-9, "−1e-09"),
        (1e99, "1e+99"),
    ],
)
def test_a_number_has_five_digits_and_nothing_measured_is_a_dash(value: float | None, text: str) -> None:
    assert formats.format_number(value) == text
    template = make_environment().from_string("{% from 'macros.html.jinja' import numeral %}{{ numeral(value) }}")
    assert template.render(value=value) == f'<td class="number">{text}</td>'


def test_a_number_can_have_its_unit() -> None:
    assert formats.format_number(7900, "samples/s") == "7,900 samples/s"


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (59.4, "59 s"), (90.1, "2 min"), (7530, "2 h 6 min")])
def test_an_estimate_has_seconds_in_its_last_minute_only(seconds: float, text: str) -> None:
    assert formats.format_estimate(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.04, "0.04 s"),
        (12.44, "12.4 s"),
        (59.7, "59.7 s"),
        (59.99, "1 min"),
        (200, "3 min 20 s"),
        (3599.9, "1 h"),
        (7500, "2 h 5 min"),
    ],
)
def test_a_duration_is_read_in_hours_minutes_and_seconds(seconds: float | None, text: str) -> None:
    assert formats.format_duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "–"),
        (0, "0 B"),
        (1023, "1,023 B"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1 MiB"),
        (5 * 1024**2, "5 MiB"),
        (3 * 1024**4, "3 TiB"),
    ],
)
def test_sizes_are_read_in_binary_units(count: int | None, text: str) -> None:
    assert formats.format_size(count) == text


def test_an_amount_has_two_decimals_and_its_currency() -> None:
    assert formats.format_money(1234.5, "CNY") == "1,234.50 CNY"
    assert formats.format_money(None, "CNY") == "–"


def test_a_share_is_read_in_percent() -> None:
    assert formats.format_percent(0.905) == "90.5 %"
    assert formats.format_percent(0.012345) == "1.234 %"
    assert formats.format_percent(None) == "–"


def test_changes_have_a_sign_and_a_true_minus() -> None:
    assert [formats.format_change(change) for change in (0.012, -0.034, -1e-9)] == ["+1.20 %", "−3.40 %", "+0.00 %"]
    assert formats.format_points(-0.0125) == "−1.25"
    assert formats.format_money(-1.5, "CNY") == "−1.50 CNY"


def test_moments_of_node_hours_are_not_a_line_of_zeros() -> None:
    assert [formats.format_hours(hours) for hours in (0, 0.00012, 12.345)] == ["0", "< 0.01", "12.3"]


def test_times_are_shown_on_the_clock_of_the_browser() -> None:
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)

    assert to_local_time(noon, "Asia/Shanghai").hour == 20
    assert to_local_time(noon, "No/Where").hour == 12
    assert to_local_time(noon, None).hour == 12


@pytest.mark.parametrize(
    ("name", "text"),
    [("a" * 64, "a" * 12), (f"sha256:{'b' * 64}", f"sha256:{'b' * 12}"), ("r1.10", "r1.10"), ("c" * 65, "c" * 65)],
)
def test_a_hash_is_shown_by_its_first_digits_whether_it_names_its_kind_or_not(name: str, text: str) -> None:
    assert formats.shorten_hash(name) == text
