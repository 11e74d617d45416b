"""A trusted server says when a head was there; one that is down, or lies, costs no head."""

import base64
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import rfc3161_client

from aisbench_core.base.clock import utc_now
from aisbench_core.base.errors import CloudError, CloudRejected, CloudUnavailable, ConfigError
from aisbench_core.config.settings import HOME, Settings
from aisbench_core.exchange.evidence import verify
from aisbench_core.running.time_stamps import MOST_BYTES
from aisbench_core.store.signing.heads import SignedHead
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import TESTER
from tests.bundles import EvidenceConsole, make_key
from tests.flow.command_line import CommandLine
from tests.flow.following import bench_on
from tests.sandbox_process import SandboxProcess
from tests.time_stamp_server import TimeStampServer

pytestmark = pytest.mark.slow  # OpenSSL is installed for make test

HOUR = 3600.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TimeStampServer]:
    server = TimeStampServer(tmp_path / "tsa")
    with server.serve():
        yield server


def settings_for(server: TimeStampServer, folder: Path) -> Settings:
    return Settings(data_dir=folder, timestamp_url=server.url, timestamp_certificates=str(server.authority))


@pytest.fixture
def core(server: TimeStampServer, tmp_path: Path) -> Core:
    return open_core(settings_for(server, tmp_path / "data"))


def query(message: bytes) -> bytes:
    """What somebody else asks."""
    builder = rfc3161_client.TimestampRequestBuilder().data(message)
    return builder.hash_algorithm(rfc3161_client.HashAlgorithm.SHA256).build().as_bytes()


def test_a_stamp_is_kept_below_its_head_and_says_when_and_who(core: Core) -> None:
    before = utc_now().replace(microsecond=0)

    head = core.time_stamps.ask(core.heads.sign())
    kept = SignedHead.find_in(f"{head.text}\n")

    assert kept == head
    found = core.time_stamps.check(head)
    assert before <= found.at <= utc_now()
    assert found.signer == "CN=Test time"
    assert core.heads.check(head, TESTER).head == head


def test_the_shell_prints_the_stamp_and_says_when_and_who(
    sandbox: SandboxProcess, server: TimeStampServer, tmp_path: Path
) -> None:
    shell = CommandLine(tmp_path / "data", sandbox)
    names = {"AISBENCH_TIMESTAMP_URL": server.url, "AISBENCH_TIMESTAMP_CERTIFICATES": str(server.authority)}
    shell.environment |= names
    (tmp_path / "head.txt").write_text(shell.type("evidence", "head", "--stamp").stdout)

    checked = shell.type("evidence", "check", str(tmp_path / "head.txt"))
    server.answer = lambda _: (503, b"")
    refused = shell.type("evidence", "head", "--stamp")
    shell.end()

    assert ", stamped at 20" in checked.stdout
    assert "+00:00 by CN=Test time)" in checked.stdout
    assert (refused.exit_code, "HTTP 503" in refused.stderr) == (2, True)


def test_openssl_verifies_it_as_the_manual_says(core: Core, server: TimeStampServer, tmp_path: Path) -> None:
    head = core.time_stamps.ask(core.heads.sign())
    (tmp_path / "head.txt").write_text(f"{head.text}\n")
    _, _, rest = (HOME / "docs" / "seals.md").read_text("utf-8").partition("check it with OpenSSL: `")
    command = rest.partition("`.")[0].replace("ca.pem", str(server.authority))

    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, "Verification: OK" in done.stderr + done.stdout) == (0, True), done.stderr


LIES: dict[str, tuple[int, Callable[[TimeStampServer], bytes], str]] = {
    "a stamp of something else": (200, lambda server: server.reply(query(b"x")), "cannot be verified: Nonce mismatch"),
    "a stranger's": (
        200,
        lambda server: TimeStampServer(server.folder / "other").reply(server.queries[-1]),
        "cannot be verified: Error while verifying certificates",
    ),
    "one that another asked for": (
        200,
        lambda server: server.reply(query(str(server.head).encode())),
        "cannot be verified: Nonce mismatch",
    ),
    "a refusal": (200, lambda server: server.reply(b"no query"), "cannot be verified: "),
    "nothing": (200, lambda _: b"", "cannot be verified: ASN.1 parse error"),
    "a page": (200, lambda _: b"<html>Sign in</html>", "cannot be verified: ASN.1 parse error"),
    "no end": (200, lambda _: b"0" * (MOST_BYTES + 10), f"HTTP 200, {MOST_BYTES + 1:,} bytes"),
    "an error": (503, lambda _: b"later", "HTTP 503"),
}


@pytest.mark.parametrize("what", LIES)
def test_a_server_that_lies_gives_a_clear_error_and_loses_nothing(
    what: str, core: Core, server: TimeStampServer
) -> None:
    status, lie, said = LIES[what]
    head = server.head = core.heads.sign()
    server.answer = lambda _: (status, lie(server))

    with pytest.raises(CloudRejected) as refused:
        core.time_stamps.ask(head)

    assert said in str(refused.value)
    assert core.heads.check(head, TESTER).audit.last_hash == head.hash


@pytest.mark.parametrize(
    ("url", "authority", "error", "said"),
    [
        ("", "authority.pem", ConfigError, "timestamp_url is not set"),
        ("http://127.0.0.1:1/", "", ConfigError, "timestamp_certificates cannot be used: it is not set"),
        ("http://127.0.0.1:1/", "missing.pem", ConfigError, "cannot be used: No such file or directory"),
        ("http://127.0.0.1:1/", "server.key", ConfigError, "cannot be used: it holds no certificate"),
        ("http://127.0.0.1:1/", "server.pem", CloudUnavailable, "cannot be reached .ConnectionError"),
    ],
)
def test_what_is_missing_is_named(
    url: str, authority: str, error: type[ConfigError | CloudError], said: str, server: TimeStampServer, tmp_path: Path
) -> None:
    file = str(server.folder / authority) if authority else ""
    core = open_core(Settings(data_dir=tmp_path, timestamp_url=url, timestamp_certificates=file))

    with pytest.raises(error, match=said):
        core.time_stamps.ask(core.heads.sign())


@pytest.mark.parametrize("place", [0, 300, 600])
def test_a_stamp_that_was_changed_or_is_another_heads_is_refused(place: int, core: Core) -> None:
    head = core.time_stamps.ask(core.heads.sign())
    content = bytearray(base64.b64decode(head.stamp))
    content[place] ^= 1

    for wrong in (replace(head, stamp=base64.b64encode(content).decode()), replace(head, number=head.number + 1)):
        with pytest.raises(CloudRejected, match="cannot be verified"):
            core.time_stamps.check(wrong)


def test_the_daily_head_is_stamped_and_written_without_one_while_the_server_is_down(
    sandbox: SandboxProcess, tmp_path: Path, server: TimeStampServer
) -> None:
    bucket = bench_on(sandbox, tmp_path / "other").core.regions.profile("sandbox").bucket
    bench = bench_on(
        sandbox, tmp_path / "data", head_directory=f"obs://{bucket}/{tmp_path.name}", timestamp_url=server.url,
        timestamp_certificates=str(server.authority),
    )  # fmt: skip

    bench.tick()
    server.answer = lambda _: (503, b"")
    for _ in range(26):
        bench.tick(HOUR)

    files = bench.objects().list(f"/{bucket}/{tmp_path.name}/")
    heads = [SignedHead.find_in(bench.objects().read(each.path).decode()) for each in files]
    stamped = sorted((head.number, bool(head.stamp)) for head in heads if head)
    assert [has_stamp for _, has_stamp in stamped] == [True, False]


def test_a_bundle_carries_the_stamp_of_its_head_or_why_there_is_none(tmp_path: Path, server: TimeStampServer) -> None:
    settings = settings_for(server, tmp_path)
    console = EvidenceConsole(tmp_path / "console", make_key(), print_page=str.encode, settings=settings)
    console.record(a.records([8000.0]))

    stamped = console.make("run-0")
    server.answer = lambda _: (503, b"")
    problems, _, predicate, _ = verify.check_bundle(console.make("run-0"))

    assert verify.check_bundle(stamped)[0] == problems == []
    head = SignedHead.find_in(stamped.decode(errors="replace"))
    assert head
    assert console.bundles.stamps.check(head).signer == "CN=Test time"
    assert "HTTP 503" in predicate["absent"]["the time stamp in audit.json"]
