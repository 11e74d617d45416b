"""Puts the console's pages and the workloads into the wheel, in a folder of its own: others have an `app`, too."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CONSOLE = ("app.py", "pages", "workloads", ".streamlit/config.toml", "constraints.txt")


class BuildWithConsole(build_py):
    """The packages, and the console beside them."""

    def run(self) -> None:
        """Build."""
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib) / "aisbench_console"
        shutil.rmtree(folder, ignore_errors=True)
        for name in CONSOLE:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if Path(name).is_dir():
                shutil.copytree(name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(name, folder / name)


setup(cmdclass={"build_py": BuildWithConsole})
