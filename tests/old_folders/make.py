"""Makes a data folder with the code of an earlier commit, by its own command line.

`python tests/old_folders/make.py COMMIT [NAME]` needs the commit's dependencies. Runs of `quickstart_digits` are real;
one run and one series stay active. Commands that the commit does not have are reported and left out."""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
SMALL = ("--cards", "2", "--param", "epochs=3", "--profile", "sandbox")
LONG = ("--cards", "2", "--param", "epochs=3000", "--profile", "sandbox")
SANDBOX_SECONDS = 60.0
TABLE = """model,framework,framework version,nodes,cards per node,throughput,accuracy,time
ResNet-50,MindSpore,2.2,1,8,1234.5,0.761,2022-07-13 13:24:43
ResNet-50,MindSpore,2.2,2,8,2400.5,0.762,2022-07-14 13:24:43
"""


class OldCode:
    """The code of a commit, its data folder and its sandbox."""

    def __init__(self, commit: str, folder: Path) -> None:
        self.code, self.data = folder / "code", folder / "data"
        archive = subprocess.run(
            ["git", "archive", commit], cwd=HERE.parents[1], check=True, capture_output=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(self.code, filter="data")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AISBENCH_")},
            "PYTHONPATH": str(self.code), "AISBENCH_DATA_DIR": str(self.data), "AISBENCH_PROFILE": "sandbox",
        }  # fmt: skip

    def start_sandbox(self) -> "subprocess.Popen[bytes]":
        command = ["aisbench_sandbox", "--data", str(self.data / "sandbox"), "--modelarts-port", "0", "--obs-port", "0"]
        process = subprocess.Popen([sys.executable, "-m", *command], cwd=self.code, env=self.environment)
        profile = self.data / "sandbox" / "profile.yaml"
        end = time.monotonic() + SANDBOX_SECONDS
        while not profile.exists():
            assert time.monotonic() < end, "the sandbox wrote no profile"
            time.sleep(0.2)
        (self.data / "profiles").mkdir()
        shutil.copy(profile, self.data / "profiles" / "sandbox.yaml")
        return process

    def run(self, *arguments: str) -> str:
        """What a command prints; empty if it fails."""
        command = [sys.executable, "-m", "aisbench_core.interfaces.cli", *arguments]
        found = subprocess.run(
            command, cwd=self.code, env=self.environment, capture_output=True, text=True, timeout=300, check=False
        )
        if found.returncode:
            print("LEFT OUT", " ".join(arguments), found.stderr[-300:], file=sys.stderr)
        return "" if found.returncode else found.stdout.strip()

    def run_and_stop(self) -> None:
        """A run whose job is stopped while it runs."""
        command = [sys.executable, "-m", "aisbench_core.interfaces.cli", "run", "quickstart_digits", *LONG, "--wait"]
        with subprocess.Popen(command, cwd=self.code, env=self.environment) as process:
            while process.poll() is None:
                time.sleep(2)
                for run in json.loads(self.run("runs", "--json"))["runs"]:
                    if run["state"] == "running":
                        self.run("stop", run["run_id"])

    def fill(self) -> None:
        """Three runs that completed, one that was stopped; a run, a series and a schedule that go on; and what people
        made."""
        table = self.code / "results.csv"
        table.write_text(TABLE)
        first, second = (self.run("run", "quickstart_digits", *SMALL, "--wait").split()[0] for _ in range(2))
        self.run("run", "quickstart_digits", *SMALL, "--set", "environments.OMP_NUM_THREADS=none", "--wait")
        self.run_and_stop()
        self.run("note", first, "with new cables")
        self.run("tag", first, "+good", "+cold")
        self.run("rename", second, "second try")
        self.run("baseline", "mark", first)
        self.run("import", str(table), "--workload", "mindspore_resnet", "--definition", "unknown")
        self.run("import", str(table))
        self.run("system", "edit", first, "division=open", "test_id=t-7")
        self.run("token", "create", "monitoring")
        self.run("budget", "set", "person", "100", "CNY", "--name", "ann")
        self.run("budget", "set", "everybody", "1000", "CNY")
        self.run("people", "set-role", "ann", "admin")
        self.run("schedule", "add", "nightly", "quickstart_digits", "--cron", "0 3 * * *", *SMALL)
        self.run("run", "quickstart_digits", *SMALL)
        self.run("series", "run", "quickstart_digits", *SMALL, "--nodes", "1", "--repeats", "2")

    def pack(self, target: Path) -> None:
        """Without the sandbox, whose objects are no part of a data folder."""
        with tarfile.open(target, "w:xz") as tar:
            for path in sorted(self.data.rglob("*")):
                inside = path.relative_to(self.data)
                if (
                    inside.parts[0] != "sandbox"
                    and path.is_file()
                    and inside.name not in ("console.log", "follower.lock")
                ):
                    tar.add(path, str(inside))


def main(commit: str, name: str = "") -> None:
    with tempfile.TemporaryDirectory() as folder:
        old = OldCode(commit, Path(folder))
        sandbox = old.start_sandbox()
        try:
            old.fill()
        finally:
            sandbox.terminate()
            sandbox.wait()
        old.pack(HERE / f"{name or commit}.tar.xz")


if __name__ == "__main__":
    main(*sys.argv[1:])
