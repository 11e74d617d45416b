"""Schedules that their owners may not launch any more, on the page Series."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from aisbench_core.interfaces.cli import main
from aisbench_core.model import Role
from aisbench_core.model.token import TokenRequest
from tests.actors import named
from tests.console.conftest import OpenPage
from tests.series_bench import SPEC, SeriesBench


@pytest.fixture
def bench(data_dir: Path) -> SeriesBench:
    return SeriesBench.on(data_dir)


def add_and_revoke(bench: SeriesBench) -> str:
    """A schedule of a token that was revoked since; the token's id."""
    token, _ = bench.core.tokens.create(TokenRequest(name="ci", role=Role.ENGINEER), named("ann"))
    draft = bench.core.series.plan(SPEC, {"repeats": 2})
    bench.core.schedules.add(draft.plan, {"name": "nightly", "cron": "0 2 * * *"}, "", token.actor)
    bench.core.tokens.revoke(token.token_id, named("ann"))
    return token.token_id


def test_a_schedule_whose_owner_may_not_launch_any_more_says_why_it_is_held(
    open_page: OpenPage, bench: SeriesBench
) -> None:
    token_id = add_and_revoke(bench)

    app = open_page("series")

    held = [warning.value for warning in app.warning if warning.value.startswith("Held")]
    assert [text.partition(" (")[0] for text in held] == [f"Held: token {token_id} was revoked by ann"]


@pytest.mark.parametrize(
    ("language", "said"), [("en", "Schedule nightly is held: token"), ("zh", "定时计划 nightly 已搁置：令牌")]
)
def test_health_names_the_schedules_that_are_held(
    open_page: OpenPage, bench: SeriesBench, language: str, said: str
) -> None:
    add_and_revoke(bench)

    app = open_page("health", lang=language)

    assert [warning.value for warning in app.warning if warning.value.startswith(said)]


def test_the_command_line_names_the_schedules_that_are_held(bench: SeriesBench) -> None:
    token_id = add_and_revoke(bench)

    environment = {"AISBENCH_DATA_DIR": str(bench.core.settings.data_dir), "AISBENCH_PROFILE": "quiet"}
    health, listed = (
        CliRunner().invoke(main, words, env=environment).stdout for words in (["health"], ["schedule", "list"])
    )

    assert f"schedule nightly  held: token {token_id} was revoked by ann" in health
    assert f"token {token_id} was revoked by ann" in listed
