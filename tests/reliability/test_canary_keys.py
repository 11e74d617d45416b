"""Canary keys through everything: no command, page, file, table or log may show them."""

import base64
import itertools
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aisbench_core.model import Run, RunState
from aisbench_core.wiring import Core
from tests.actors import named
from tests.browser.conftest import QUICK
from tests.browser.console_process import ConsoleProcess
from tests.browser.visit import Visit
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC
from tests.flow.killable import Killable
from tests.flow.trouble import use_keys
from tests.reliability.outcomes import campaign
from tests.sandbox_process import SandboxProcess
from tests.unit.upstream_files import ACCESS, SECRET_KEY

WRONG = ("CANARYACCESSKEY00WRONG", "canary+secret/key=that-nobody-may-see-0123456789")
PAGES = ("configure", "runs", "live", "series", "leaderboard", "compare", "scaling", "history", "import", "health")


def spellings(secret: str) -> Iterator[bytes]:
    """A secret as it is, and as protocols write it."""
    yield secret.encode()
    yield urllib.parse.quote(secret, safe="").encode()
    for start in range(3):
        yield base64.b64encode(b"x" * start + secret.encode())[4:-4]


def assert_unseen(text: bytes, secrets: list[str], where: str) -> None:
    for secret in secrets:
        assert not any(spelling in text for spelling in spellings(secret)), f"a secret is in {where}"


@pytest.fixture
def keys_file(shell: CommandLine, sandbox: SandboxProcess, tmp_path: Path) -> Path:
    """Where the profile's keys come from."""
    file = tmp_path / "keys.yaml"
    use_keys(file, *sandbox.keys)
    shell.add_profile("lab", sandbox.profile, credentials_file=str(file))
    return file


def commands(run: Run, folder: Path) -> list[tuple[str, ...]]:
    """Every command that says or writes something."""
    run_id = run.run_id
    return [
        ("runs",), ("runs", "--json"), ("show", run_id), ("show", run_id, "--json"), ("logs", run_id),
        ("spec", "quickstart_digits"), ("clone", run_id), ("preflight", "quickstart_digits"), ("profiles", "--json"),
        ("workloads",), ("health", "--json"), ("health",), ("doctor",), ("doctor", "--json"), ("jobs", "list"),
        ("leaderboard", "--region", "sandbox"), ("export", "--region", "sandbox", "--format", "csv"),
        ("export", "--region", "sandbox", "--format", "json"), ("report", run_id), ("validate",),
        ("export", "--region", "sandbox", "--format", "parquet", "--output", str(folder / "out.parquet")),
        ("export", "--region", "sandbox", "--format", "xlsx", "--output", str(folder / "out.xlsx")),
        ("config", "export", "quickstart_digits"), ("sql", "select * from v_runs"), ("warehouse", "check"),
        ("warehouse", "snapshot", str(folder / "snapshot.duckdb")), ("reproduce", run_id),
        ("--debug", "show", "no-such-run"), ("system", "show", run_id), ("series", "list"), ("imports", "list"),
        ("mlflow", "export", "http://127.0.0.1:9"), ("compare", run_id, run_id), ("scaling", run_id),
    ]  # fmt: skip


def test_no_key_is_seen_anywhere(
    core: Core,
    shell: CommandLine,
    sandbox: SandboxProcess,
    keys_file: Path,
    tmp_path: Path,
    session: Callable[[ConsoleProcess], Visit],
) -> None:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    secrets = [sandbox.keys[1], WRONG[1], SECRET_KEY]
    out = tmp_path / "out"
    out.mkdir()
    with campaign("Canary keys", __file__) as row:
        follower = Killable(shell, core)
        follower.start()
        right = core.runs.launch(SPEC, "lab", named(PERSON))
        follower.wait(lambda: core.ledger.get(right.run_id).state.is_terminal, "the run to end")
        assert core.ledger.get(right.run_id).state is RunState.COMPLETED
        answers = [shell.type(*words).output for words in commands(right, out)]
        use_keys(keys_file, *WRONG)
        wrong = core.runs.launch(SPEC, "lab", named(PERSON))
        follower.wait(lambda: core.ledger.get(wrong.run_id).state.is_terminal, "the run to be refused")
        follower.kill()
        answers += [shell.type(*words).output for words in commands(wrong, out)]
        answers += [*import_upstream(shell, tmp_path), *broken_keys(shell, keys_file)]
        use_keys(keys_file, *WRONG)
        pages = page_texts(shell, session, right)

        for number, answer in enumerate(answers):
            assert_unseen(answer.encode(), secrets, f"the answer of command {number}: {answer[:200]}")
        for page, text in pages.items():
            assert_unseen(text, secrets, f"page {page}")
        files = [file for folder in (shell.data_dir, out) for file in folder.rglob("*") if file.is_file()]
        kept = [file for file in files if file.name != "credentials.yaml"]
        for file in kept:
            assert_unseen(file.read_bytes(), secrets, str(file))
        row.repetitions = (
            f"{len(answers)} commands, {len(pages)} pages and what their sockets carried, {len(kept)} files"
        )
        row.outcome = "no secret key seen, plain or encoded"


def import_upstream(shell: CommandLine, folder: Path) -> list[str]:
    """What is said of an upstream configuration with keys, whole, cut in the middle of its keys, and malformed."""
    texts = {
        "whole": ACCESS,
        "cut": ACCESS.partition(SECRET_KEY)[0] + SECRET_KEY,
        "bare": ACCESS.replace(f"'{SECRET_KEY}'", SECRET_KEY),
        "doubled": ACCESS.replace(f"'{SECRET_KEY}'", f"'{SECRET_KEY}' '{SECRET_KEY}"),
    }
    said = []
    for name, text in texts.items():
        file = folder / name / "modelarts_config.py"
        file.parent.mkdir()
        file.write_text(text, "utf-8")
        options = ((), ("--json",), ("--save-profile", "--save-keys", "--replace"))
        said += [shell.type("config", "import", str(file), *each).output for each in options]
    return said


def broken_keys(shell: CommandLine, keys_file: Path) -> list[str]:
    """What is said of a credentials file that is not what it should be, with a secret in every place."""
    texts = (
        f"{WRONG[1]}: access_key\n",
        f"access_key: A\n{WRONG[1]}\n",
        f"access_key: A\nsecret_key: [{WRONG[1]}\n",
        f"lab:\n  {WRONG[1]}: x\n",
        f"access_key: A\nsecret_key: {WRONG[1]}\nsecret_key: {WRONG[1]}\n",
        f"- {WRONG[1]}\n",
    )
    said = []
    for text, words in itertools.product(texts, (("profiles",), ("health",), ("--debug", "jobs", "list"))):
        keys_file.write_text(text, "utf-8")
        said.append(shell.type(*words).output)
    return said


def page_texts(shell: CommandLine, session: Callable[[ConsoleProcess], Visit], run: Run) -> dict[str, bytes]:
    """What each page shows and what its web socket carried, and at the end what the console wrote itself."""
    console = ConsoleProcess.start(shell.data_dir, profile="lab", **QUICK)
    try:
        visit = session(console)
        carried: list[bytes] = []
        visit.page.on(
            "websocket", lambda socket: socket.on("framereceived", lambda frame: carried.append(_bytes(frame)))
        )
        pages = {}
        for page in PAGES:
            visit.open(f"/{page}?run={run.run_id}")
            pages[page] = visit.page.content().encode() + b"".join(carried)
            carried.clear()
        return pages | {"console's own log": console.said.encode()}
    finally:
        console.kill()


def _bytes(frame: str | bytes) -> bytes:
    return frame.encode() if isinstance(frame, str) else frame
