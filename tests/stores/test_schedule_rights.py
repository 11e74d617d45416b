"""By what right a schedule launches: that of whoever made it, as far as it still holds."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import NotAllowed
from aisbench_core.model import Actor, Role, RunSpec, Schedule, WayIn
from aisbench_core.model.token import TokenRequest
from aisbench_core.store.audit.audit import AuditQuery
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import SPEC, SeriesBench
from tests.stores.test_schedules import ME, NIGHTLY, NOON, launched, tick


@pytest.fixture
def bench(tmp_path: Path) -> SeriesBench:
    bench = SeriesBench.on(tmp_path / "data")
    bench.clock.now = NOON
    return bench


def program(bench: SeriesBench, role: Role = Role.ENGINEER, **request: Any) -> Actor:
    """Whoever has a new token of a name that has never signed in."""
    created, _ = bench.core.tokens.create(TokenRequest(name="ci", role=role, **request), ME)
    return created.actor


def as_added_by(bench: SeriesBench, actor: Actor, plan: RunSpec = SPEC) -> Schedule:
    draft = bench.core.series.plan(plan, {"repeats": 2})
    return bench.core.schedules.add(draft.plan, NIGHTLY, "", actor)


def test_a_schedule_launches_with_the_role_of_the_token_that_made_it(bench: SeriesBench) -> None:
    as_added_by(bench, program(bench))

    tick(bench, "2026-03-03T02:00:01+08:00")
    (run,) = bench.admit()

    roles = {
        entry.act.change: entry.act.role
        for entry in bench.core.audit.entries(AuditQuery(who="ci", excluded="seal."), ME)
        if entry.act.via == WayIn.FOLLOWER
    }
    assert (run.created_by, roles) == ("ci", {"series.launch": "engineer", "run.create": "engineer"})


@pytest.mark.parametrize("lost", ["code_dir", "schedule"])
def test_what_only_an_admin_may_launch_is_not_launched_by_a_schedule_of_somebody_less(
    bench: SeriesBench, tmp_path: Path, lost: str
) -> None:
    spec = code_on_the_server(tmp_path / "code")
    if lost == "code_dir":
        with pytest.raises(NotAllowed, match="code_dir"):
            as_added_by(bench, program(bench), spec)
        return
    as_added_by(bench, named("ci"), spec)  # in a shell, as an admin
    bench.core.people.set_role("boss", Role.ADMIN, ME)
    bench.core.people.set_role("ci", Role.ENGINEER, ME)

    schedule = tick(bench, "2026-03-03T02:00:01+08:00")

    assert str(schedule.detail).startswith("not launched: code_dir names files on the server")


def revoke_token(bench: SeriesBench) -> str:
    (token,) = bench.core.tokens.all()
    bench.core.tokens.revoke(token.token_id, named("boss"))
    return f"token {token.token_id} was revoked by boss"


def let_token_expire(bench: SeriesBench) -> str:
    (token,) = bench.core.tokens.all()
    bench.clock.now = token.expires_at
    return f"token {token.token_id} expired on {token.expires_at:%Y-%m-%d}"


def revoke_name(bench: SeriesBench) -> str:
    bench.core.people.revoke("ci", named("boss"))
    return "the access of ci was revoked"


def revoke_maker(bench: SeriesBench) -> str:
    bench.core.people.revoke(PERSON, named("boss"))
    return f"the access of {PERSON} was revoked"


def demote_name(bench: SeriesBench) -> str:
    bench.core.people.set_role("ci", Role.VIEWER, named("boss"))
    return "permission denied: series.launch needs the role engineer, and ci has viewer"


@pytest.mark.parametrize("end", [revoke_token, let_token_expire, revoke_name, revoke_maker, demote_name])
def test_a_schedule_is_held_with_its_reason_when_its_token_or_owner_may_not_launch_any_more(
    bench: SeriesBench, end: Callable[[SeriesBench], str]
) -> None:
    bench.core.people.set_role("boss", Role.ADMIN, ME)
    added = as_added_by(bench, program(bench))
    assert bench.core.schedules.hold(added) is None

    reason = end(bench)
    (schedule,) = bench.core.schedules.all()
    held = bench.core.schedules.hold(schedule)
    tomorrow = bench.clock.now.astimezone(NOON.tzinfo) + timedelta(days=1)
    skipped = tick(bench, tomorrow.replace(hour=2, minute=0, second=1, microsecond=0))

    assert str(held).startswith(reason)
    assert str(skipped.detail).startswith(f"not launched: {reason}")
    assert launched(bench) == []


def code_on_the_server(folder: Path) -> RunSpec:
    """A spec with code outside the folders of workloads, which only admins may launch."""
    folder.mkdir()
    (folder / "train.py").write_text("print('hello')\n", "utf-8")
    return RunSpec(**SPEC.model_dump() | {"code_dir": str(folder), "boot_file": "train.py"})


def test_a_schedule_of_an_older_console_is_held_where_its_code_needs_an_admin_until_its_owner_resumes_it(
    bench: SeriesBench, tmp_path: Path
) -> None:
    as_added_by(bench, named("ci"), code_on_the_server(tmp_path / "code"))
    with closing(sqlite3.connect(bench.core.settings.ledger_path)) as con, con:
        con.execute("update schedules set role = 'engineer'")  # what the migration gives those without a role

    (old,) = bench.core.schedules.all()
    held = bench.core.schedules.hold(old)
    skipped = tick(bench, "2026-03-03T02:00:01+08:00")
    resumed = bench.core.schedules.resume("nightly", named("ci"))

    assert str(held).startswith("code_dir names files on the server, which only an admin may use (its owner can resume")
    assert str(skipped.detail) == f"not launched: {held}"
    assert bench.core.schedules.hold(resumed) is None
    assert tick(bench, "2026-03-04T02:00:01+08:00").series_id != ""


def remove_code(bench: SeriesBench) -> str:
    (Path(bench.core.schedules.get("nightly").plan.spec.code_dir) / "train.py").unlink()
    return "this series cannot be launched: boot_file"


def remove_profile(bench: SeriesBench) -> str:
    (bench.core.settings.data_dir / "profiles" / "quiet.yaml").unlink()
    return "there is no profile"


def shrink_budget(bench: SeriesBench) -> str:
    bench.core.schedules.change("nightly", None, {"weekly_hours": 0.5}, "", named("ci"))
    return "a series needs about 2 node hours, more than its budget of 0.5 a week"


@pytest.mark.parametrize("spoil", [remove_code, remove_profile, shrink_budget])
def test_a_schedule_that_no_time_would_launch_is_held_with_what_to_do(
    bench: SeriesBench, tmp_path: Path, spoil: Callable[[SeriesBench], str]
) -> None:
    as_added_by(bench, named("ci"), code_on_the_server(tmp_path / "code"))
    assert bench.core.schedules.list_held() == []

    reason = spoil(bench)
    (held,) = bench.core.schedules.list_held()
    skipped = tick(bench, "2026-03-03T02:00:01+08:00")

    assert held.name == "nightly"
    assert str(held.why).startswith(reason)
    assert str(held.why).endswith(")")  # what to do
    assert str(skipped.detail).startswith("not launched: ")
    assert launched(bench) == []


def test_a_console_that_follows_nothing_does_not_judge_what_only_its_follower_has(
    bench: SeriesBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    monkeypatch.setenv("AISBENCH_SECRET_HF_TOKEN", "a-value")
    as_added_by(bench, named("ci"), code_on_the_server(code).model_copy(update={"secrets": ("HF_TOKEN",)}))
    monkeypatch.delenv("AISBENCH_SECRET_HF_TOKEN")
    code.rename(tmp_path / "elsewhere")

    (held,) = bench.core.schedules.list_held()
    console = SeriesBench.on(bench.core.settings.data_dir, console_follows=False).core

    assert "HF_TOKEN has no value" in str(held.why)
    assert console.schedules.list_held() == []


def test_a_schedule_whose_last_series_is_held_is_held_too(bench: SeriesBench) -> None:
    draft = bench.core.series.plan(SPEC, {"repeats": 2, "budget": 0.5})
    bench.core.schedules.add(draft.plan, NIGHTLY, "", named("ci"))
    first = tick(bench, "2026-03-03T02:00:01+08:00")

    bench.admit()
    (held,) = bench.core.schedules.list_held()
    bench.core.series.stop(first.series_id, named("ci"))

    assert str(held.why).startswith(f"its last series, {first.series_id}, is held")
    assert bench.core.schedules.list_held() == []


def test_a_paused_schedule_is_not_called_held(bench: SeriesBench) -> None:
    as_added_by(bench, program(bench))
    revoke_token(bench)

    bench.core.schedules.pause("nightly", ME)

    assert bench.core.schedules.list_held() == []


def test_its_owner_takes_a_held_schedule_over_with_another_token(bench: SeriesBench) -> None:
    as_added_by(bench, program(bench))
    revoke_token(bench)

    resumed = bench.core.schedules.resume("nightly", program(bench))

    assert bench.core.schedules.hold(resumed) is None
    assert tick(bench, "2026-03-03T02:00:01+08:00").series_id != ""


def test_nobody_else_lends_a_schedule_their_rights(bench: SeriesBench) -> None:
    as_added_by(bench, program(bench))
    revoke_token(bench)

    bench.core.schedules.change("nightly", None, {"cron": "0 3 * * *"}, "", named("boss"))

    (schedule,) = bench.core.schedules.all()
    assert bench.core.schedules.hold(schedule) is not None
