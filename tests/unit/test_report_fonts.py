"""The report's fonts: it looks the same whatever fonts a machine has, and every letter of our words is in them."""

import io
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fontTools.ttLib import TTFont
from pypdf import PdfReader

from aisbench_core.exchange.report.reports import Reports
from aisbench_core.exchange.report.words import ReportLanguage
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.report_fonts import FONTS, our_letters

pytestmark = pytest.mark.slow  # prints PDF files


def fonts_of(content: bytes) -> set[str]:
    resources: list[Any] = [page["/Resources"] for page in PdfReader(io.BytesIO(content)).pages]
    return {font.get_object()["/BaseFont"].split("+")[-1] for each in resources for font in each["/Font"].values()}


@pytest.mark.parametrize("name", ["regular", "bold"])
def test_the_reports_fonts_have_every_letter_of_our_words(name: str) -> None:
    missing = our_letters() - {chr(code) for code in TTFont(FONTS / f"{name}.woff2").getBestCmap()}

    assert not missing, f"{''.join(sorted(missing))}: make fonts"


def test_the_reports_fonts_are_a_few_hundred_kilobytes_with_their_licence_beside_them() -> None:
    assert sum(file.stat().st_size for file in FONTS.glob("*.woff2")) < 500_000
    assert "SIL OPEN FONT LICENSE Version 1.1" in (FONTS / "OFL.txt").read_text("utf-8")


@pytest.mark.parametrize("full", [False, True])
def test_a_printed_report_has_its_own_fonts_only_and_the_printer_ignores_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, full: bool
) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    runs = [a.record(f"run-{n}", node_count=n, throughputs=[1000.0 + n] * 8 * n) for n in (1, 2)]
    warehouse.record_many(runs)
    caplog.set_level(logging.WARNING, "weasyprint")

    printed = Reports(warehouse, lambda: a.T0 + timedelta(days=9)).write_pdf(
        ["run-1", "run-2"], ReportLanguage.BOTH, full=full
    )

    assert fonts_of(printed) == {"AISBench-Report", "AISBench-Report-Bold", "AISBench-Report-Mono"}
    assert caplog.messages == []
