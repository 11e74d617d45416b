"""The report on paper: whole pages of A4, nothing beside them, and readable text."""

import io
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Browser
from pypdf import PdfReader

from aisbench_core.exchange.report.reports import Reports
from aisbench_core.exchange.report.words import ReportLanguage
from aisbench_core.model import stated_of
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
A4 = (595, 842)
LONG = "a-name-without-any-blank-" * 8


def test_the_report_prints_on_a4_with_its_marks_on_each_page(browser: Browser, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    stated = stated_of({"submitter": "实验室 3", "host_networking": LONG})
    runs = [
        a.record(f"run-{nodes}-{number}", node_count=nodes, region="sandbox", rehearsal=True, created_by=LONG,
                 created_at=a.T0 + timedelta(hours=number), throughputs=[1000.0 + number] * 8 * nodes, flavor=LONG)
        for nodes in (1, 2, 4) for number in range(5)
    ]  # fmt: skip
    warehouse.record_many([replace(run, described=stated) for run in runs])
    names = [run.run.run_id for run in runs]
    file = tmp_path / "report.html"
    file.write_text(Reports(warehouse, lambda: NOW).write(names, ReportLanguage.BOTH), "utf-8")
    requests: list[str] = []
    with browser.new_context(viewport={"width": 794, "height": 1123}) as context:
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))

        page.goto(file.as_uri())
        on_screen = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 688, "height": 1000})  # between the margins of A4
        in_print = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        printed = PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True, print_background=True)))

    assert requests == [file.as_uri()]
    assert max(on_screen, in_print) <= 0
    assert len(printed.pages) >= 4
    said = [re.sub(r"\s+", " ", each.extract_text()) for each in printed.pages]
    for number, (sheet, text) in enumerate(zip(printed.pages, said, strict=True), start=1):
        assert (round(sheet.mediabox.width), round(sheet.mediabox.height)) == A4
        assert "NOT A MEASUREMENT" in text
        assert f"{number} / {len(said)}" in text
    whole = " ".join(said)
    for part in ("实验室 3", "Olympic mean", "run-4-4", "batch_size", "V05"):
        assert part in whole
