"""Notifications: runs that end are told to real receivers, at least once, and never delay a run."""

import email
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from email.header import decode_header, make_header
from pathlib import Path

import click
import pytest

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.cli.following import add_channel
from aisbench_core.model import DeliveryState, NewsKind, Notice, RunState
from aisbench_core.people.notifications.channels import NotificationChannel, channel_of
from aisbench_core.people.notifications.sending import sign_body
from aisbench_core.store.ledger.outbox import DIGEST_FROM, MOST_ATTEMPTS
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, Bench, bench_on
from tests.receivers import Hook, endless_webhook, mail_server, webhook
from tests.sandbox_process import SandboxProcess

SECRET = "0123456789abcdef-secret"
KILLED = """
import os, signal, sys
from pathlib import Path
from aisbench_core.people.notifications.sending import MessageSender
from aisbench_core.store.ledger.outbox import Outbox
from aisbench_core.config.settings import Settings
from aisbench_core.wiring import open_core

where = {"send": MessageSender, "mark_sent": Outbox}[sys.argv[2]]
setattr(where, sys.argv[2], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
open_core(Settings(data_dir=Path(sys.argv[1]), notify_private_addresses=True)).notifications.tick()
"""


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    return bench_on(sandbox, tmp_path / "data", notify_private_addresses=True)


@pytest.fixture
def hook() -> Iterator[Hook]:
    with webhook() as started:
        yield started


def channel(url: str, **fields: object) -> NotificationChannel:
    kinds = fields.pop("events", [kind for kind in NewsKind if kind is not NewsKind.HEAD])
    secret = {"secret": SECRET} if url.startswith("http") else {}
    return channel_of({"name": "lab", "url": url, "events": kinds, **secret, **fields}, Message("channel"))


def announce(bench: Bench, series_id: str, kind: str = "held") -> None:
    bench.core.ledger.announce(Notice(f"{kind}:{series_id}", series_id, kind, bench.clock(), Message("held")))


def save(bench: Bench, made: NotificationChannel) -> None:
    bench.core.notifications.channels.save(made, named(PERSON), replace=True)


def test_a_completed_run_is_told_to_a_webhook_with_a_signature(bench: Bench, hook: Hook) -> None:
    save(bench, channel(hook.url))

    run = bench.follow(bench.launch())
    bench.tick()

    [event] = hook.events()
    assert (event["event"], event["subject"], event["workload"]) == ("completed", run.run_id, "quickstart_digits")
    assert event["url"].endswith(f"/live?run={run.run_id}")
    assert "200 samples/s" in event["text"]
    assert event["rehearsal"] is True
    [headers], [body] = hook.headers, hook.bodies
    assert headers["X-AISBench-Signature"] == sign_body(SECRET, headers["X-AISBench-Timestamp"], body)
    assert json.loads(body)["title"] == f"AISBench: Rehearsal: Completed: {run.run_id}"
    [delivery], total = bench.core.notifications.outbox.page(10)
    assert (delivery.state, total) == (DeliveryState.SENT, 1)


def test_a_failed_run_is_told_by_mail_in_the_channels_language(sandbox: SandboxProcess, bench: Bench) -> None:
    sandbox.script(by="look", exit_code=3, outputs={}, log="no luck\n")
    with mail_server() as box:
        save(bench, channel(f"mailto://127.0.0.1:{box.port}/?from=lab@example.org&to=ann@example.org", language="zh"))

        run = bench.follow(bench.launch())
        bench.tick()

    assert run.state is RunState.FAILED
    [mail] = map(email.message_from_string, box.mails)
    assert "ann@example.org" in str(mail["To"])
    assert "失败" in str(make_header(decode_header(str(mail["Subject"]))))


def test_filters_choose_what_a_channel_is_told(bench: Bench, hook: Hook) -> None:
    for fields in ({"events": ["failed"]}, {"people": ["somebody"]}, {"workloads": ["other"]}, {"view": "none"}):
        save(bench, channel(hook.url, **fields))
        bench.follow(bench.launch())
        bench.tick()
    assert hook.events() == []

    save(bench, channel(hook.url, people=[PERSON], workloads=["quickstart_digits"]))
    bench.follow(bench.launch())
    bench.tick()

    assert [event["event"] for event in hook.events()] == ["completed"]


def test_a_receiver_that_is_down_delays_no_run_and_gets_the_message_later(bench: Bench, hook: Hook) -> None:
    hook.status = 503
    save(bench, channel(hook.url))

    run = bench.follow(bench.launch())
    bench.tick(1)
    [refused], _ = bench.core.notifications.outbox.page(10)
    hook.status = 204
    for _ in range(3):
        bench.tick(60)

    assert run.state is RunState.COMPLETED
    assert refused.error == "the recipient answered with HTTP 503"
    assert len({headers["X-AISBench-Id"] for headers in hook.headers}) == 1
    assert len(hook.bodies) >= 2
    [delivery], _ = bench.core.notifications.outbox.page(10)
    assert delivery.state is DeliveryState.SENT


def test_a_message_that_never_arrives_is_given_up_and_can_be_tried_again(bench: Bench, hook: Hook) -> None:
    hook.status = 500
    save(bench, channel(hook.url))
    bench.follow(bench.launch())

    for _ in range(MOST_ATTEMPTS + 2):
        bench.tick(5 * 3600)
    [delivery], _ = bench.core.notifications.outbox.page(10)
    assert (delivery.state, delivery.attempts) == (DeliveryState.GIVEN_UP, MOST_ATTEMPTS)

    hook.status = 200
    bench.core.notifications.retry([delivery.message_id], named(PERSON))
    bench.tick()
    [delivery], _ = bench.core.notifications.outbox.page(10)
    assert delivery.state is DeliveryState.SENT


@pytest.mark.parametrize(("call", "arrived"), [("send", 0), ("mark_sent", 1)])
def test_a_kill_loses_no_message_and_a_second_one_has_the_same_id(
    bench: Bench, hook: Hook, call: str, arrived: int
) -> None:
    save(bench, channel(hook.url))
    announce(bench, "s-0")

    command = [sys.executable, "-c", KILLED, str(bench.core.settings.data_dir), call]
    killed = subprocess.run(command, check=False, cwd=Path.cwd())
    assert killed.returncode == -signal.SIGKILL
    assert len(hook.bodies) == arrived
    for number in range(1, DIGEST_FROM + 2):  # what may have arrived is in no digest of later ones
        announce(bench, f"s-{number}")
    for _ in range(3):
        bench.tick()

    ids = [headers["X-AISBench-Id"] for headers in hook.headers]
    assert ids.count("held:s-0>lab") == arrived + 1
    assert len(ids) == arrived + 2
    assert len({event["subject"] for event in hook.events()}) == DIGEST_FROM + 2


def test_the_notice_is_stored_with_the_state_it_is_about(bench: Bench, hook: Hook) -> None:
    """A follower that is killed right after the change leaves the notice behind."""
    run = bench.run(bench.launch())
    collecting = bench.core.ledger.advance(run, run.to(RunState.COLLECTING, final_state=RunState.FAILED))

    bench.core.ledger.advance(collecting, collecting.to(RunState.FAILED, detail=Message("no luck")))
    save(bench, channel(hook.url))
    another = another_process(bench)
    another.notifications.tick()
    another.notifications.tick()

    assert [(event["event"], event["subject"]) for event in hook.events()] == [("failed", run.run_id)]


def test_many_events_at_once_are_one_digest(bench: Bench, hook: Hook) -> None:
    save(bench, channel(hook.url))
    for number in range(DIGEST_FROM + 1):
        announce(bench, f"s-{number}")

    for _ in range(3):
        bench.tick()

    [body] = hook.bodies
    assert len(json.loads(body)["events"]) == DIGEST_FROM + 1
    assert json.loads(body)["title"] == f"AISBench: {DIGEST_FROM + 1} events"


def test_without_channels_nothing_is_kept(bench: Bench) -> None:
    bench.follow(bench.launch())
    bench.tick()

    assert bench.core.notifications.outbox.notices() == []
    assert bench.core.notifications.outbox.page(10) == ([], 0)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "[::ffff:10.0.0.1]"]
)
def test_private_addresses_are_refused_unless_an_administrator_allows_them(
    sandbox: SandboxProcess, tmp_path: Path, host: str
) -> None:
    bench = bench_on(sandbox, tmp_path / "strict")
    save(bench, channel(f"http://{host}:9/hook?token=tok-en"))
    announce(bench, "s-1")

    bench.tick()

    [delivery], _ = bench.core.notifications.outbox.page(10)
    assert "private address" in delivery.error
    assert "tok-en" not in delivery.error


def test_no_key_of_an_address_reaches_ledger_or_log(bench: Bench) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        save(bench, channel(f"http://127.0.0.1:{taken.getsockname()[1]}/tok-en?k=tok-en"))
        bench.follow(bench.launch())
        bench.tick()

    stored = b"".join(
        file.read_bytes()
        for file in bench.core.settings.data_dir.rglob("*")
        if file.is_file() and file.name != "notifications.yaml"
    )
    assert b"tok-en" not in stored
    assert SECRET.encode() not in stored
    assert oct(bench.core.settings.notifications_path.stat().st_mode & 0o777) == "0o600"


def test_a_variable_stands_for_a_key(bench: Bench, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AISBENCH_NOTIFY_HOOK", hook.url.removeprefix("http://"))
    save(bench, channel("http://${AISBENCH_NOTIFY_HOOK}"))

    bench.core.notifications.test("lab", named(PERSON))

    assert "This is a test of channel lab" in hook.events()[0]["text"]


def test_a_regression_and_a_record_are_told_once(bench: Bench, hook: Hook) -> None:
    save(bench, channel(hook.url, events=["regression", "improvement", "record"]))
    warehouse = bench.core.warehouse
    warehouse.record_many(a.records([8000.0, 8010.0, 7990.0, 8005.0, 7995.0], "old"))
    new = [
        a.record(f"new-{day}", throughputs=[(9000.0 + day) / 8] * 8, framework_version="r1.11",
                 created_at=a.T0 + timedelta(days=day))
        for day in range(1, 6)
    ]  # fmt: skip
    warehouse.record_many(new)
    for run in new[-2:]:
        bench.core.ledger.add(run.run)
        bench.core.ledger.announce(Notice.from_ended(run.run))

    for _ in range(4):
        bench.tick()

    kinds = [event["event"] for event in hook.events()]
    assert sorted(kinds) == ["improvement", "record"]
    assert "% faster than" in next(event["text"] for event in hook.events() if event["event"] == "improvement")


def another_process(bench: Bench) -> Core:
    """A core on the same folder."""
    return open_core(bench.core.settings, bench.clock)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://ann:tok/en@example.org/hook", "is not an address of a webhook"),
        ("https://ann:tok-en@example.org/hook", "before @"),
        ("https:///tok-en", "is not an address of a webhook"),
        ("mailtos://ann:tok-en@example.org?to=ann@example.org&pgpprv=/etc/hostname", "options of mail"),
        ("json://tok-en.example.org", "url: must begin with one of"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(url: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as refused:
        channel(url)
    assert "tok" not in str(refused.value)


@pytest.mark.parametrize("entry", [["feishu://tok-en"], {"feishu": "tok-en"}, 5])
def test_an_address_that_is_no_text_is_not_repeated_either(bench: Bench, entry: object) -> None:
    file = bench.core.settings.notifications_path
    file.write_text(json.dumps({"lab": {"url": entry}}), "utf-8")
    file.chmod(0o600)

    with pytest.raises(SpecError, match="url: ") as refused:
        bench.core.notifications.channels.all()
    assert "tok-en" not in str(refused.value)


def test_other_variables_of_the_environment_are_not_sent(
    bench: Bench, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AISBENCH_SK", "tok-en")
    save(bench, channel(f"{hook.url}&k=${{AISBENCH_SK}}"))

    with pytest.raises(ConfigError, match="names of variables for channels begin with AISBENCH_NOTIFY_"):
        bench.core.notifications.test("lab", named(PERSON))
    assert hook.bodies == []


def test_a_secret_behind_a_variable_is_as_long_as_any(
    bench: Bench, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AISBENCH_NOTIFY_KEY", "short")
    answers = {"name": "lab", "url": hook.url, "secret": "${AISBENCH_NOTIFY_KEY}"}
    save(bench, channel_of(answers, Message("channel")))

    with pytest.raises(ConfigError, match="at least 16 characters"):
        bench.core.notifications.test("lab", named(PERSON))
    assert hook.bodies == []


def test_a_notice_that_nobody_knows_holds_up_no_other(bench: Bench, hook: Hook) -> None:
    save(bench, channel(hook.url))
    announce(bench, "s-0", kind="of a newer version")
    announce(bench, "s-1")

    bench.tick()

    assert [event["subject"] for event in hook.events()] == ["s-1"]


def test_an_answer_without_end_is_not_read(bench: Bench) -> None:
    with endless_webhook() as url:
        save(bench, channel(url))
        announce(bench, "s-1")

        bench.tick()

    [delivery], _ = bench.core.notifications.outbox.page(5)
    assert delivery.state is DeliveryState.SENT


def test_the_command_line_keeps_channels_and_shows_no_key(shell: CommandLine, hook: Hook) -> None:
    shell.type("notify", "add", "lab", "--event", "held", stdin=f"{hook.url}\n{SECRET}\n")
    listed = shell.type("notify", "list").stdout
    refused = shell.type("notify", "test", "lab")
    unknown = shell.type("notify", "test", "nobody")
    shell.type("notify", "remove", "lab")

    assert "http://127.0.0.1/…" in listed
    assert "private address" in refused.stderr
    assert refused.exit_code == 2
    assert "known channels: lab" in unknown.stderr
    assert "lab" not in shell.type("notify", "list").stdout
    assert "tok-en" not in listed + refused.stderr + unknown.stderr
    assert shell.type("notify", "log").exit_code == 0


def test_a_budget_that_is_nearly_used_is_told_once_with_a_link_to_spending(bench: Bench, hook: Hook) -> None:
    save(bench, channel(hook.url, events=["budget"], people=[PERSON], language="zh"))
    bench.core.budgets.save({"scope": "person", "amount": 10.0, "currency": "CNY"}, named(PERSON))
    ended = replace(
        a.run("r-1", state=RunState.COMPLETED), created_at=bench.clock(), duration_s=32400.0, version=0,
        currency="CNY", price_per_node_hour=1.0,
    )  # fmt: skip
    bench.core.ledger.add(replace(ended, created_by=PERSON))
    bench.core.ledger.add(replace(ended, run_id="r-2", created_by="bob"))

    for _ in range(4):
        bench.tick(60)

    [event] = hook.events()
    assert (event["event"], event["subject"], event["person"]) == ("budget", f"person {PERSON}", PERSON)
    assert event["url"].endswith("/spending")
    assert f"{PERSON} 的预算" in event["text"]
    assert "已用到 80 %" in event["text"]


def test_the_command_line_offers_every_event() -> None:
    [choice] = [option.type for option in add_channel.params if option.name == "events"]

    assert isinstance(choice, click.Choice)
    assert [*choice.choices] == [kind.value for kind in NewsKind]
