"""Names that attack, on every page that shows results: they are shown as they are, and no page fails."""

from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, markdown_texts, texts

NAME = '</script><b>O\'Brien</b> "=1+1" [link](http://example.org) $x$ :red[no] 🚀 \u202e' + "x" * 10_000


@pytest.fixture
def hostile(data_dir: Path) -> Path:
    """A console with two runs in which everything that people name has this name."""
    facts = replace(a.FACTS, title=NAME, model=NAME, framework=NAME, dataset=NAME, throughput_definition=NAME)
    made = [a.record(f"run-{number}", facts=facts, created_by=NAME, accuracy=None) for number in range(2)]
    Warehouse(data_dir / "warehouse.duckdb").record_many(made)
    return data_dir


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("leaderboard", {"invalid": "1"}),
        ("leaderboard", {"invalid": "1", "show": "runs", "model": NAME}),
        ("live", {"run": "run-0"}),
        ("compare", {"ids": ["run-0", "run-1"]}),
        ("history", {"invalid": "1"}),
    ],
)
def test_names_that_attack_are_only_text(
    open_page: OpenPage, hostile: Path, page: str, query: dict[str, str | list[str]]
) -> None:
    assert hostile.exists()

    app = open_page(page, **query)

    assert not app.exception
    assert "incident" not in texts(app).lower()
    assert "[link](http" not in markdown_texts(app)
    written = [*app.title, *app.markdown, *app.caption, *app.error, *app.warning, *app.info]
    assert max(len(each.value) for each in written) < 5_000
