"""The package that pip and pipx install: complete, and a console, commands and a sandbox without a checkout."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
VERSION = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]["version"]

BUILD_SDIST = "import setuptools.build_meta; setuptools.build_meta.build_sdist('dist')"
OFFLINE = ("--no-index", "--no-deps")
SHOW_PAGES = """
import sys
from aisbench_core.config.settings import PROGRAM
sys.path.insert(0, str(PROGRAM))
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest
from pages._ui.shell.browser import SESSION
for page in ("runs", "leaderboard", "configure"):
    app = AppTest.from_file(str(PROGRAM / "pages" / "_ui" / "entry.py"), default_timeout=120)
    app._bidi_component_manager = BidiComponentManager()
    app.session_state[SESSION] = "a browser"
    app.switch_page(f"../{page}.py")
    app.run()
    assert not app.exception and not app.error, (app.exception, app.error)
    print(page)
"""

pytestmark = pytest.mark.slow


def sources() -> list[Path]:
    """Every file that a commit would hold, relative to the checkout."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.check_output(command, cwd=CHECKOUT, text=True).split("\0")
    return [Path(name) for name in listed if name and (CHECKOUT / name).is_file()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a source distribution that was built from the sources, as `python -m build` does."""
    folder = tmp_path_factory.mktemp("package")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in sources():
            archive.add(CHECKOUT / name, name)
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        archive.extractall(folder / "source", filter="data")
    run([sys.executable, "-c", BUILD_SDIST], folder / "source")
    [sdist] = (folder / "source" / "dist").iterdir()
    run([*PIP, "wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", folder, sdist], folder)
    [built] = folder.glob("*.whl")
    return built


PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def run(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel, and the home directory of its user."""

    bin: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        rest = {
            name: value for name, value in os.environ.items() if not name.startswith(("AISBENCH_", "PYTHON", "XDG_"))
        }
        return {**rest, "HOME": str(self.home), "AISBENCH_POLL_SECONDS": "0.5"}

    def type(self, *words: str) -> str:
        """What a command answers, typed in the home directory."""
        return run([self.bin / "aisbench", *words], self.home, self.environment)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The address of a console with a sandbox."""
        command = [str(self.bin / "aisbench"), "serve", "--sandbox", "--port", "0"]
        process = subprocess.Popen(
            command, cwd=self.home, env=self.environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            assert process.stdout
            found = re.search(r"http://\S+", line := process.stdout.readline())
            assert found, line
            yield found[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=300)  # on a machine that does much else


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Libraries are those of the tests, by a path of which no `.pth` file is read: it would name the checkout."""
    folder = tmp_path_factory.mktemp("machine")
    (home := folder / "home").mkdir()
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    run([*PIP, "--python", python, "install", *OFFLINE, wheel], folder)
    [site] = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return Installed(python.parent, home)


def test_the_wheel_has_every_file_of_the_product(wheel: Path) -> None:
    packages = {name for name in sources() if name.parts[0] in ("aisbench_core", "aisbench_sandbox")}
    console = {name for name in sources() if name.parts[0] in ("app.py", "pages", "workloads", ".streamlit")}

    with zipfile.ZipFile(wheel) as archive:
        found = {Path(name) for name in archive.namelist()}

    assert {name for name in packages if name not in found} == set()
    assert {name for name in console if "aisbench_console" / name not in found} == set()
    assert {name.parts[0] for name in found} == {
        *("aisbench_core", "aisbench_sandbox", "aisbench_console", f"aisbench_console-{VERSION}.dist-info")
    }


def test_an_installed_console_runs_a_benchmark_without_a_checkout(installed: Installed) -> None:
    assert installed.type("--version") == f"aisbench, version {VERSION}\n"
    assert "quickstart_digits" in installed.type("workloads")

    with installed.serving() as address:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=60) as page:
            assert b"<title>" in page.read()
        installed.type("run", "quickstart_digits", "--wait")
        [ended] = json.loads(installed.type("runs", "--json"))["runs"]
        assert ended["state"] == "completed"
        pages = run([installed.bin / "python", "-c", SHOW_PAGES], installed.home, installed.environment)

    assert pages.split() == ["runs", "leaderboard", "configure"]
    assert (installed.home / ".local/share/aisbench/data/warehouse.duckdb").exists()
