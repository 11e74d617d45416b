"""The follower writes the audit's signed head to OBS daily, and an outage or a missing bucket delays it."""

from pathlib import Path

import pytest

from aisbench_core.base.errors import CloudError
from aisbench_core.base.messages import Message
from aisbench_core.model import NewsKind
from aisbench_core.people.notifications.channels import channel_of
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.store.signing.heads import SignedHead
from tests.actors import TESTER
from tests.flow.following import Bench, bench_on
from tests.receivers import webhook
from tests.sandbox_process import SandboxProcess

HOUR = 3600.0


def bench_with(sandbox: SandboxProcess, folder: Path, directory: str) -> Bench:
    return bench_on(sandbox, folder / "data", head_directory=directory)


@pytest.fixture
def directory(sandbox: SandboxProcess, tmp_path: Path) -> str:
    bucket = bench_on(sandbox, tmp_path / "other").core.regions.profile("sandbox").bucket
    return f"/{bucket}/{tmp_path.name}/"


def published(bench: Bench, directory: str) -> list[SignedHead]:
    """The heads in the directory, in the order of their numbers."""
    texts = [bench.objects().read(each.path).decode() for each in bench.objects().list(directory)]
    return sorted((head for text in texts if (head := SignedHead.find_in(text))), key=lambda head: head.number)


def outcomes(bench: Bench) -> list[str]:
    entries = bench.core.audit.entries(AuditQuery(change="head.publish"), TESTER)
    return [entry.act.outcome for entry in reversed(entries)]


def test_a_head_a_day_is_written_and_continued_by_the_audit(
    sandbox: SandboxProcess, tmp_path: Path, directory: str
) -> None:
    bench = bench_with(sandbox, tmp_path, f"obs:/{directory}")

    for _ in range(50):
        bench.tick(HOUR)

    heads = published(bench, directory)
    assert len(heads) == 3
    assert outcomes(bench) == ["done"] * 3
    for head in heads:
        assert bench.core.heads.check(head, TESTER).audit.last_number == heads[-1].number + 1


def test_a_new_follower_does_not_repeat_the_head_of_the_day(
    sandbox: SandboxProcess, tmp_path: Path, directory: str
) -> None:
    bench_with(sandbox, tmp_path, f"obs:/{directory}").tick()

    again = bench_with(sandbox, tmp_path, f"obs:/{directory}")
    again.tick()

    assert len(published(again, directory)) == 1


def test_what_cannot_be_written_is_tried_again_an_hour_later(sandbox: SandboxProcess, tmp_path: Path) -> None:
    bench = bench_with(sandbox, tmp_path, "obs://no-such-bucket/heads")

    for _ in range(4):
        bench.tick(HOUR / 3)

    assert outcomes(bench) == ["failed"] * 2
    with pytest.raises(CloudError):
        bench.core.head_publishing.publish(TESTER)


def test_nothing_is_written_where_nobody_asked_for_it(sandbox: SandboxProcess, tmp_path: Path) -> None:
    bench = bench_on(sandbox, tmp_path / "data")

    bench.tick()

    assert outcomes(bench) == []
    assert not bench.core.settings.signing_key_path.exists()


def test_the_head_of_the_audit_is_told_once_a_day_and_continued_by_the_audit(
    sandbox: SandboxProcess, tmp_path: Path
) -> None:
    bench = bench_on(sandbox, tmp_path / "data", notify_private_addresses=True)
    with webhook() as hook:
        answers = {"name": "lab", "url": hook.url, "secret": "0123456789abcdef", "events": [NewsKind.HEAD]}
        bench.core.notifications.channels.save(channel_of(answers, Message("channel")), TESTER, replace=True)

        for _ in range(26):
            bench.tick(HOUR)

    first, second = hook.events()
    head = SignedHead.find_in(first["text"])
    assert head
    assert bench.core.heads.check(head, TESTER).head.signature
    assert (first["event"], first["subject"], first["url"].endswith("/health")) == ("head", head.entry, True)
    assert second["subject"] != first["subject"]
