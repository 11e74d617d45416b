"""Schedules that their owners may not launch any more, on the page Series."""

from pathlib import Path

import pytest

from aisbench_core.model import Role
from aisbench_core.tokens.token import TokenRequest
from tests.actors import named
from tests.console.conftest import OpenPage
from tests.series_bench import SPEC, SeriesBench


@pytest.fixture
def bench(data_dir: Path) -> SeriesBench:
    return SeriesBench.on(data_dir)


def test_a_schedule_whose_owner_may_not_launch_any_more_says_why_it_is_held(
    open_page: OpenPage, bench: SeriesBench
) -> None:
    token, _ = bench.core.tokens.create(TokenRequest(name="ci", role=Role.ENGINEER), named("ann"))
    draft = bench.core.series.plan(SPEC, {"repeats": 2})
    bench.core.schedules.add(draft.plan, {"name": "nightly", "cron": "0 2 * * *"}, "", token.actor)
    bench.core.tokens.revoke(token.token_id, named("ann"))

    app = open_page("series")

    held = [warning.value for warning in app.warning if warning.value.startswith("Held")]
    assert [text.partition(" (")[0] for text in held] == [f"Held: token {token.token_id} was revoked by ann"]
