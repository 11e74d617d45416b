"""Roles: every change through the core, by every role and every way in, and docs/access.md, which lists them."""

import ast
import dataclasses
import inspect
import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import NotAllowed
from aisbench_core.config.settings import HOME, Settings
from aisbench_core.domain.acceptance.acceptance import Acceptance, AcceptancePlan
from aisbench_core.domain.access import PERMISSIONS, Permission, permitted
from aisbench_core.domain.access.permissions import ROLES, has_role
from aisbench_core.model import (
    Actor,
    Event,
    Grant,
    Level,
    Role,
    RunState,
    Schedule,
    Series,
    SeriesPlan,
    SeriesRow,
    WayIn,
    local_actor,
)
from aisbench_core.store.ledger.database.rows import insert_row
from aisbench_core.store.ledger.ledger import as_text
from aisbench_core.store.ledger.schedules import ScheduleLedger
from aisbench_core.store.ledger.series import SeriesLedger
from aisbench_core.warehouse.values.inference import InferenceResult, InferenceTool, InferenceUnit
from aisbench_core.warehouse.values.saved import SavedView
from aisbench_core.wiring import Core, open_core
from tests.actors import named
from tests.records import run, spec
from tests.source_tree import files_of, nodes_of, path_of, product

DOCUMENT = HOME / "docs" / "access.md"
WAYS = (WayIn.CONSOLE, WayIn.CLI, WayIn.API)
HEAD = "<!-- changes -->\n\n"
NOW = datetime(2026, 1, 2, tzinfo=UTC)
OWNER, SESSION = "owner", "a" * 12
A, V = Role.ADMIN, Role.VIEWER


def with_role(role: Role | None, name: str = "somebody", via: WayIn = WayIn.CONSOLE) -> Actor:
    """A person with one role."""
    return Actor(name, frozenset({role} if role else ()), via)


# --- the table ------------------------------------------------------------------------------------------


def document() -> str:
    """docs/access.md with its table as PERMISSIONS would write it."""
    before, found, after = DOCUMENT.read_text("utf-8").partition(HEAD)
    assert found
    changes: dict[str, dict[str, None]] = {}
    for permission in PERMISSIONS.values():
        changes.setdefault(_describe_need(permission), {})[f"`{permission.change}`"] = None
    rows = (f"* {', '.join(alike)}: {need}\n" for need, alike in changes.items())
    return before + HEAD + "".join(rows) + re.sub(r"\A(\*.*\n)*", "", after)


def _describe_need(permission: Permission) -> str:
    others = f", for others' {permission.others}" if permission.others else ""
    return f"{permission.role}{others}; {permission.reason}"


def test_the_page_lists_what_every_role_may_change() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


# --- every method is guarded ------------------------------------------------------------------------------


def test_every_method_that_takes_an_actor_is_guarded() -> None:
    """Found in the source, so that a new one without a role fails here."""
    found: set[str] = set()
    unguarded: set[str] = set()
    for file in files_of("aisbench_core"):
        for owner in nodes_of(file, ast.ClassDef):
            for method in owner.body:
                if isinstance(method, ast.FunctionDef) and _takes_actor(method) and not _is_private(method):
                    found.add(f"{owner.name}.{method.name}")
                    if not any("permitted" in ast.unparse(each) for each in method.decorator_list):
                        unguarded.add(f"{path_of(file)}: {owner.name}.{method.name}")

    assert unguarded == set()
    assert found == set(PERMISSIONS)


def _takes_actor(method: ast.FunctionDef) -> bool:
    return any(each.arg == "actor" for each in (*method.args.args, *method.args.kwonlyargs))


def _is_private(method: ast.FunctionDef) -> bool:
    # `Event.by` only describes what was done.
    return method.name.startswith("_") or method.name == "by"


def test_a_method_without_a_role_cannot_be_guarded() -> None:
    class Novelty:
        def launch(self, actor: Actor) -> None:
            """Whatever it does."""

    with pytest.raises(KeyError, match="Novelty"):
        permitted(Novelty.launch)


UNGUARDED = {
    "ledger": {
        "add", "advance", "note", "announce", "beat", "set_progress", "transaction", "connection", "insert", "rows",
    },
    "warehouse": {"compact", "cursor", "move_to", "rebuild", "record", "record_many"},
    "imports": {"forget_at"},
}  # fmt: skip
"""Methods of `core.…` for the core's own use, which no way in may call: they take nobody."""


def test_no_way_in_writes_past_the_guarded_methods() -> None:
    ways = (
        "app.py",
        "pages",
        "aisbench_core/interfaces/cli",
        "aisbench_core/interfaces/web",
        "aisbench_core/interfaces/api",
    )
    calls = {
        f"{path_of(file)}:{node.lineno} {ast.unparse(node)}"
        for way in ways
        if (HOME / way).exists()
        for file in files_of(way)
        for node in nodes_of(file, ast.Attribute)
        if isinstance(node.value, ast.Attribute) and node.attr in UNGUARDED.get(node.value.attr, ())
    }

    assert calls == set()


def test_only_the_ways_in_say_who_acts() -> None:
    """Whoever could make an actor could give it any role."""
    makers = {
        path_of(file)
        for file in product()
        for node in nodes_of(file, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id in ("Actor", "local_actor")
    }

    assert makers == {
        "aisbench_core/interfaces/cli/core.py",
        "aisbench_core/people/accounts/people.py",  # of somebody who signed in
        "aisbench_core/model/run.py",
        "aisbench_core/model/token.py",  # of a checked token
        "aisbench_core/people/tokens/service.py",  # the follower, for whoever asked for something
        "aisbench_core/running/head_publishing.py",  # the follower, which publishes the head each day
        "aisbench_core/running/cleaning/deletions.py",  # the follower, for the admin who deleted a run
        "aisbench_core/running/series/admission.py",  # the follower, which stops trials as their owner might
        "pages/_ui/shell/core.py",
    }


# --- the walk: role x method x way in ----------------------------------------------------------------------


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """A core with a run, a series, a schedule, a view, a result of inference, an acceptance and a session of OWNER."""
    core = open_core(Settings(data_dir=tmp_path / "data"))
    core.ledger.add(run("run-1", created_by=OWNER), launched("run-1"))
    series = Series("series-1", SeriesPlan(spec=spec()), (SeriesRow(1, "", "", spec()),), "sandbox", NOW, OWNER, None)
    SeriesLedger(core.ledger).add(series, [], launched("series-1"))
    schedule = Schedule(
        name="view", plan=series.plan, profile="sandbox", cron="0 2 * * *", time_zone="UTC", owner=OWNER,
        created_at=NOW, next_at=NOW,
    )  # fmt: skip
    ScheduleLedger(core.ledger).add(schedule, launched(schedule.event_id))
    view = SavedView("leaderboard", "view", {"q": ("x",)}, OWNER, NOW)
    core.warehouse.saved_views.save(view, named(OWNER))
    core.warehouse.inference.add([INFERENCE], OWNER, NOW)
    plan = AcceptancePlan(core.acceptances.suites.get("quick"), (), rehearsal=True)
    accepted = Acceptance("acceptance-1", plan, "sandbox", NOW, OWNER, Grant(Role.ENGINEER))
    core.acceptances.ledger.add(accepted, launched("acceptance-1"))
    began = as_text(core.clock())
    with core.ledger.transaction() as con:
        insert_row(con, "sign_ins", {"id_hash": SESSION, "name": OWNER, "began_at": began, "active_at": began})
    return core


def launched(subject: str) -> Event:
    """The first event of a run or a series."""
    return Event(subject, NOW, WayIn.CLI, Level.INFO, "launched")


def services(core: Core) -> dict[str, Any]:
    """Every service with guarded methods, by its class, found from the core down."""
    found: dict[str, Any] = {}
    open_ = list(vars(core).values())
    while open_:
        service = open_.pop()
        kind = type(service)
        if not kind.__module__.startswith("aisbench_core.") or kind.__name__ in found:
            continue
        found[kind.__name__] = service
        names = [each.name for each in dataclasses.fields(service)] if dataclasses.is_dataclass(service) else []
        open_ += [getattr(service, name) for name in names]
        open_ += list(getattr(service, "__dict__", {}).values())
    return found


INFERENCE = InferenceResult(tool=InferenceTool.SERVICE, unit=InferenceUnit.TOKENS, source="gsm8k.json")

OBJECTS: dict[str, object] = {
    "run_id": "run-1", "series_id": "series-1", "page": "leaderboard", "name": "view", "session": SESSION,
    "person": OWNER, "acceptance_id": "acceptance-1", "result_id": INFERENCE.result_id,
}  # fmt: skip
"""Arguments that the owner is found by; others are objects that no method can use."""


def attempt(found: dict[str, Any], method: str, actor: Actor) -> bool:
    """Whether the core lets an actor call a method; what the method makes of useless arguments does not matter."""
    owner, _, name = method.partition(".")
    bound = getattr(found[owner], name)
    arguments = {
        each.name: OBJECTS.get(each.name, _Useless())
        for each in inspect.signature(bound).parameters.values()
        if each.default is each.empty or each.name == "overwrite"
    }
    try:
        bound(**arguments | {"actor": actor})
    except NotAllowed:
        return False
    except Exception:
        return True
    return True


class _Useless:
    """An argument that a permitted method fails on: nothing is launched, stored or sent."""

    page, name = "leaderboard", "view"  # as a view, it is OWNER's
    run = None  # as a job, it is not of this console


def cells() -> Iterator[tuple[str, Role, WayIn]]:
    return itertools.product(PERMISSIONS, ROLES, WAYS)


# They take no argument but the actor, so that a permitted call would do the work; they share one guard with all others.
WITHOUT_ARGUMENTS = {"ResultImport.add_demo", "ResultImport.remove_demo"}


@pytest.mark.slow
def test_there_is_no_way_around_a_role(core: Core) -> None:
    found, wrong, walked = services(core), [], 0
    for method, role, via in cells():
        permission = PERMISSIONS[method]
        may = has_role(with_role(role), permission.needs(of_others=True))
        if method in WITHOUT_ARGUMENTS and may and (role, via) != (permission.role, WayIn.CLI):
            continue
        walked += 1
        if attempt(found, method, with_role(role, via=via)) is not may:
            wrong.append((method, role, via))

    assert wrong == []
    assert walked >= len(PERMISSIONS) * len(ROLES) * len(WAYS) - 2 * 8


def test_the_audit_asks_for_no_argument_that_a_method_lacks() -> None:
    class Runs:
        def stop(self, run: str, actor: Actor) -> None: ...

    Runs.stop.__qualname__ = "Runs.collect_again"
    with pytest.raises(TypeError, match="its subject in the audit"):
        permitted(Runs.stop)


def test_one_may_change_what_one_owns(core: Core) -> None:
    found = services(core)
    own = [method for method, permission in PERMISSIONS.items() if permission.others]
    foreign_jobs = {"Jobs.stop", "Jobs.delete", "Jobs.request_diagnosis"}  # of no run of this console

    refused = {method for method in own if not attempt(found, method, with_role(Role.ENGINEER, OWNER))}

    assert refused == foreign_jobs


def test_a_read_only_token_changes_nothing_whatever_its_role(core: Core) -> None:
    found = services(core)
    reader = dataclasses.replace(with_role(Role.ADMIN, via=WayIn.API), read_only=True)

    changed = [method for method, each in PERMISSIONS.items() if each.is_change and attempt(found, method, reader)]

    assert changed == []


def test_a_read_only_token_reads_what_its_role_may_read(core: Core) -> None:
    admin, viewer = (dataclasses.replace(with_role(role, via=WayIn.API), read_only=True) for role in (A, V))
    found = services(core)
    reads = [method for method, each in PERMISSIONS.items() if not each.is_change]

    assert [method for method in reads if not attempt(found, method, admin)] == []
    assert [method for method in reads if attempt(found, method, viewer)] == ["Tokens.visible", "OpenSessions.visible"]


def test_whoever_has_no_role_may_change_nothing(core: Core) -> None:
    found = services(core)

    assert [method for method in PERMISSIONS if attempt(found, method, with_role(None))] == []


def test_a_refusal_names_the_change_the_needed_role_and_the_own_one(core: Core) -> None:
    with pytest.raises(NotAllowed) as refused:
        core.runs.stop("run-1", with_role(Role.ENGINEER, "ann"))

    assert str(refused.value) == (
        "permission denied: run.stop of what others own needs the role lead, and ann has engineer"
        " (ask an admin for the role, or ask somebody who has it)"
    )


def test_who_may_stop_a_series_may_stop_the_runs_in_it_that_others_launched_again(core: Core) -> None:
    again = run("run-2", created_by="lead", series_id="series-1", series_index=1, state=RunState.RUNNING)
    core.ledger.add(again, launched("run-2"))

    core.series.stop("series-1", with_role(Role.ENGINEER, OWNER))

    assert core.ledger.get("run-2").state is RunState.STOPPING
    with pytest.raises(NotAllowed):  # by itself it is not his
        core.runs.stop("run-2", with_role(Role.ENGINEER, OWNER))


def test_who_is_on_this_machine_may_do_everything() -> None:
    shell = local_actor("root", WayIn.CLI)

    assert all(has_role(shell, permission.needs(of_others=True)) for permission in PERMISSIONS.values())


def test_roles_are_ordered() -> None:
    held = [role for role in ROLES if has_role(with_role(Role.LEAD), role)]

    assert held == [Role.VIEWER, Role.ENGINEER, Role.LEAD]
    assert not has_role(with_role(None), Role.VIEWER)
