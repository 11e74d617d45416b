"""A series that ends when it has measured enough, on its form and its page."""

from pathlib import Path

import pytest

from tests.console.conftest import OpenPage, drawn, texts
from tests.series_bench import SeriesBench


@pytest.fixture
def bench(data_dir: Path) -> SeriesBench:
    return SeriesBench.on(data_dir)


def test_a_series_with_a_rule_says_what_it_takes_at_most_and_what_it_found(
    open_page: OpenPage, bench: SeriesBench
) -> None:
    form = open_page("series", new="1", until="half-width<2%")
    wrong = open_page("series", new="1", until="soon")
    series = bench.launch(images="r1,r2,r3", until="first-slower")
    for _ in range(30):
        for run in bench.admit():
            slow = 0.9 if run.spec.engine_version == "r3" else 1.0
            bench.end(run, 200.0 * slow + (run.series_index or 0) % 2)
    page = open_page("series", series=series.series_id)

    assert "At most **30** runs" in texts(form)
    assert "decided or first-slower" in texts(wrong)
    assert "r3 is the first slower one" in texts(page)
    assert drawn(page)
    assert not page.exception
