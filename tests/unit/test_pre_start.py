"""The script that the console puts beside a boot file, run by a real bash: it does what was asked, and nothing else."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aisbench_core.domain.authoring import pre_start
from aisbench_core.model import CannLevel, MindSporeLevel, RunSpec

BASH = shutil.which("bash") or "/bin/bash"
SHELLCHECK = Path(sys.executable).with_name("shellcheck")
CANN = "Ascend-cann-nnae_5.0.2.1_linux-aarch64.run"
MINDSPORE = "mindspore_ascend-1.3.0-cp37-cp37m-linux_aarch64.whl"
PROTOBUF = "protobuf-3.20.1-cp37-cp37m-linux_aarch64.whl"
ALL = {"cann": f"/p/{CANN}", "mindspore": f"/p/{MINDSPORE}", "protobuf": f"/p/{PROTOBUF}"}

HOSTILE = (
    "two words", "it's", 'say "x"', "$(touch owned)", "`touch owned`", "a\nb", "-rf", "--help", "模型", "a;touch owned",
    "*", "?", "[a]", "{a,b}", "~", "!x", "\\", "\\n", "a&b", "a|b", "a>b", "#x", "$HOME", "%s", "a\tb", "'", '"',
)  # fmt: skip
NAMES = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12
).filter(lambda name: name == name.strip() and name not in (".", ".."))
VARIABLES = {
    "SINGLESERVER_MODE",
    "ASCEND_GLOBAL_LOG_LEVEL",
    "GLOG_v",
    "ASCEND_GLOBAL_EVENT_ENABLE",
    "ASCEND_SLOG_PRINT_TO_STDOUT",
}


@dataclass(frozen=True)
class Ran:
    """What a shell that took the script in did: programs with their arguments, variables, exit code, what it said."""

    calls: list[list[str]]
    variables: dict[str, str]
    code: int
    said: str


class Node:
    """A directory with the code as a node has it, and programs that only write down how they were called."""

    def __init__(self, base: Path, spec: RunSpec, own: str | None = None) -> None:
        self.base, self.spec = base, spec
        self.code = base / "job" / Path(spec.code_dir).name
        self.script = self.code / pre_start.get_sibling_path(spec, pre_start.SCRIPT)
        self.script.parent.mkdir(parents=True)
        (self.script.parent / pre_start.FOLDER).mkdir()
        for name in pre_start.map_packages(spec):
            self.program(self.code / name)
        self.script.write_text(pre_start.build_script(spec, with_own=own is not None), "utf-8", newline="")
        if own is not None:
            (self.code / pre_start.get_sibling_path(spec, pre_start.OWN)).write_text(own, "utf-8")
        (base / "bin").mkdir()
        self.program(base / "bin" / "python")
        self.program(base / "bin" / "id", "echo 0\n", quiet=True)

    def program(self, file: Path, does: str = "", *, quiet: bool = False) -> None:
        """A program that notes its name and arguments, and then does something."""
        note = "" if quiet else f"printf '%s\\0' \"$0\" \"$@\" $'\\x01' >> '{self.base}/calls'\n"
        file.write_text(f"#!{BASH}\n{note}{does}", "utf-8")
        file.chmod(0o755 if file.parent == self.base / "bin" else 0o644)  # packages come without the right to run

    def run(self, taking_it_in: str = '. "$0"', **environment: str) -> Ran:
        """Let bash take the script in, as the platform does, and look at its variables afterwards."""
        everything = f"cd {str(self.base / 'job')!r} && {taking_it_in}\nenv -0 > '{self.base}/variables'\n"
        path = os.pathsep.join([str(self.base / "bin"), os.defpath])
        done = subprocess.run(
            [BASH, "-c", everything, str(self.script)],
            capture_output=True, check=False, env={"PATH": path, "LANG": "C.UTF-8", **environment}, timeout=60,
        )  # fmt: skip
        return Ran(self._calls(), self._variables(), done.returncode, (done.stdout + done.stderr).decode())

    def _calls(self) -> list[list[str]]:
        file = self.base / "calls"
        calls: list[list[str]] = [[]]
        for word in file.read_bytes().decode().split("\0")[:-1] if file.exists() else []:
            if word == "\x01":
                calls.append([])
            else:
                calls[-1].append(word)
        return calls[:-1]

    def _variables(self) -> dict[str, str]:
        file = self.base / "variables"
        pairs = file.read_bytes().decode().split("\0")[:-1] if file.exists() else []
        found = dict(pair.split("=", 1) for pair in pairs)
        return {name: found[name] for name in VARIABLES if name in found}

    def files(self) -> set[Path]:
        """Every file there is but for what the programs write down."""
        return {file for file in self.base.rglob("*") if file.name not in ("calls", "variables")}


def spec_of(**answers: Any) -> RunSpec:
    return RunSpec.model_validate({"workload": "w", "code_dir": "/c/code", "boot_file": "train.py", **answers})


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def pip(*files: Path) -> list[str]:
    return ["-m", "pip", "install", "--disable-pip-version-check", "--", *map(str, files)]


# --- what runs ----------------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    names=st.lists(NAMES, min_size=3, max_size=3, unique=True),
    folders=st.tuples(NAMES, NAMES),
    cann=st.sampled_from([*CannLevel, None]),
    mindspore=st.sampled_from([*MindSporeLevel, None]),
    switches=st.tuples(st.sampled_from([True, False, None]), st.sampled_from([True, False, None])),
    mode=st.sampled_from(["cluster", "single_server"]),
)
@example(list(HOSTILE[:3]), (HOSTILE[3], HOSTILE[5]), CannLevel.NONE, MindSporeLevel.FATAL, (True, False), "cluster")
@example(list(HOSTILE[3:6]), (HOSTILE[6], HOSTILE[8]), None, None, (None, None), "single_server")
@example(list(HOSTILE[6:9]), (HOSTILE[9], HOSTILE[6]), CannLevel.DEBUG, None, (False, None), "single_server")
@settings(max_examples=40, derandomize=True, deadline=None)
def test_whatever_files_and_directories_are_called_exactly_they_are_installed_and_exactly_these_variables_set(
    names: list[str],
    folders: tuple[str, str],
    cann: CannLevel | None,
    mindspore: MindSporeLevel | None,
    switches: tuple[bool | None, bool | None],
    mode: str,
) -> None:
    spec = spec_of(
        code_dir=f"/c/{folders[0]}",
        boot_file=f"{folders[1]}/train.py",
        update=dict(zip(("protobuf", "mindspore", "cann"), (f"/p/{name}" for name in names), strict=True)),
        log_levels={"cann": cann, "mindspore": mindspore, "events": switches[0], "stdout": switches[1]},
        mode=mode,
    )
    with tempfile.TemporaryDirectory() as folder:
        node = Node(Path(folder), spec)
        before = node.files()

        ran = node.run()

        packages = [node.script.parent / "run" / name for name in names]
        assert ran.code == 0, ran.said
        assert ran.calls == [
            [str(Path(folder, "bin", "python")), *pip(*packages[:2])],
            [str(packages[2]), "--upgrade", "--quiet"],
        ]
        assert ran.variables == spec.variables
        assert node.files() == before


@pytest.mark.parametrize(
    "taking_it_in",
    [
        '. "$0"',
        'cd "$(dirname "$0")" && . ./ma-pre-start.sh',
        'cd "$(dirname "$0")" && PATH=.:$PATH && . ma-pre-start.sh',
        'eval "$(cat "$0")"',
        'cd / && eval "$(cat "$0")"',
    ],
)
def test_packages_are_found_however_the_platform_takes_the_script_in(place: Path, taking_it_in: str) -> None:
    node = Node(place, spec_of(boot_file="deep/train.py", update={"cann": f"/p/{CANN}"}))

    ran = node.run(taking_it_in, MA_JOB_DIR=str(place / "job"))

    assert [Path(call[0]).resolve() for call in ran.calls] == [(node.script.parent / "run" / CANN).resolve()]
    assert ran.code == 0, ran.said


def test_the_interpreter_that_the_platform_names_installs_the_wheels(place: Path) -> None:
    node = Node(place, spec_of(update={"mindspore": f"/p/{MINDSPORE}"}))
    node.program(place / "bin" / "image python")

    ran = node.run(MA_SCRIPT_INTERPRETER=str(place / "bin" / "image python"))

    assert [call[0] for call in ran.calls] == [str(place / "bin" / "image python")]


def test_who_is_not_root_installs_cann_as_root_and_is_never_asked_for_a_password(place: Path) -> None:
    node = Node(place, spec_of(update={"cann": f"/p/{CANN}"}))
    node.program(place / "bin" / "id", "echo 1000\n", quiet=True)
    node.program(place / "bin" / "sudo", 'shift\n"$@"\n')
    package = str(node.code / "run" / CANN)

    ran = node.run()

    sudo = str(place / "bin" / "sudo")
    assert ran.calls == [
        [sudo, "-n", "chmod", "+x", "--", package],
        [sudo, "-n", package, "--upgrade", "--quiet"],
        [package, "--upgrade", "--quiet"],
    ]


@pytest.mark.parametrize("fails", ["python", CANN])
def test_a_package_that_cannot_be_installed_ends_the_job_with_its_name(place: Path, fails: str) -> None:
    node = Node(place, spec_of(update=ALL), own="touch too-late\n")
    node.program(place / "bin" / fails if fails == "python" else node.code / "run" / fails, "exit 7\n")

    ran = node.run()

    assert ran.code == 1
    assert (CANN if fails == CANN else MINDSPORE) in ran.said
    assert "would not measure the requested software" in ran.said
    assert not list(place.rglob("too-late"))


# --- the person's own script --------------------------------------------------------------------------


def test_the_own_script_runs_after_the_packages_and_the_specs_levels_win(place: Path) -> None:
    own = 'printf "%s\\0" own "$GLOG_v" $\'\\x01\' >> "$NOTES"\nexport GLOG_v=0 ASCEND_SLOG_PRINT_TO_STDOUT=1\n'
    node = Node(place, spec_of(update=ALL, log_levels={"mindspore": "fatal"}), own)

    ran = node.run(NOTES=str(place / "calls"))

    assert [call[0].rpartition("/")[2] for call in ran.calls] == ["python", CANN, "own"]
    assert ran.calls[-1] == ["own", "3"]
    assert ran.variables == {"GLOG_v": "3", "ASCEND_SLOG_PRINT_TO_STDOUT": "1"}


def test_an_own_script_that_exits_keeps_the_specs_variables_and_its_code(place: Path) -> None:
    node = Node(place, spec_of(mode="single_server"), own='trap "env -0 > $NOTES" EXIT\nexit 4\n')

    ran = node.run(NOTES=str(place / "variables"))

    assert ran.code == 4
    assert ran.variables == {"SINGLESERVER_MODE": "True"}


# --- when, and how it is written ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "needed"),
    [
        ({}, False),
        ({"environments": {"GLOG_v": "1"}}, False),
        ({"mode": "single_server"}, True),
        ({"log_levels": {"events": False}}, True),
        ({"update": {"cann": f"/p/{CANN}"}}, True),
        ({"mode": "single_server", "boot_file": "", "image_url": "i", "command": "c"}, False),
    ],
)
def test_a_script_is_written_only_where_the_spec_asks_for_something_in_it(
    answers: dict[str, Any], needed: bool
) -> None:
    assert pre_start.is_needed(spec_of(**answers)) is needed


@pytest.mark.parametrize("with_own", [True, False])
@pytest.mark.parametrize("boot_file", ["train.py", "deep er/it's $(here)/train.py"])
@pytest.mark.parametrize(
    "answers",
    [
        {"mode": "single_server"},
        {"log_levels": {"cann": "none", "mindspore": "error", "events": True, "stdout": False}},
        {"update": {"cann": ALL["cann"]}},
        {"update": {"mindspore": ALL["mindspore"], "protobuf": ALL["protobuf"]}},
        {"update": ALL, "mode": "single_server", "log_levels": {"cann": "debug"}},
    ],
)
def test_shellcheck_has_nothing_to_say(answers: dict[str, Any], boot_file: str, with_own: bool, place: Path) -> None:
    file = place / "ma-pre-start.sh"
    file.write_text(pre_start.build_script(spec_of(**answers, boot_file=boot_file), with_own=with_own), "utf-8")

    said = subprocess.run([SHELLCHECK, "--norc", file], capture_output=True, text=True, check=False)

    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
