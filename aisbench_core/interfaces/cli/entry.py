"""The entry point of the command line: all commands, and how their errors are reported."""

import logging
import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from aisbench_core.base.console_log import NAME, ConsoleLogFormatter
from aisbench_core.base.errors import AisbenchError, disk_error
from aisbench_core.base.private_files import make_private_folder, private_umask
from aisbench_core.interfaces.cli import (
    following,
    installation,
    launching,
    login,
    region,
    runs,
    schedules,
    serving,
    upstream,
)
from aisbench_core.interfaces.cli.accounts import audit, people, sessions
from aisbench_core.interfaces.cli.annotations import commands as annotations
from aisbench_core.interfaces.cli.api import serving as api_serving
from aisbench_core.interfaces.cli.api import tokens
from aisbench_core.interfaces.cli.core import Invocation
from aisbench_core.interfaces.cli.display import print_message
from aisbench_core.interfaces.cli.exit_codes import OUR_ERROR, exit_code
from aisbench_core.interfaces.cli.logs import commands as logs
from aisbench_core.interfaces.cli.logs import files
from aisbench_core.interfaces.cli.maintenance import backups, cleaning, warehouse
from aisbench_core.interfaces.cli.maintenance.ledger import commands as ledger
from aisbench_core.interfaces.cli.maintenance.ledger import run_folders, upgrading
from aisbench_core.interfaces.cli.regression import commands as regression
from aisbench_core.interfaces.cli.results import exporting, importing, results, scaling, validity
from aisbench_core.interfaces.cli.series import commands as series
from aisbench_core.interfaces.cli.spending import budgets
from aisbench_core.interfaces.cli.spending import commands as spending
from aisbench_core.interfaces.cli.summaries import mindinsight, scalars, tensorboard

TRACEBACK_HINT = "set AISBENCH_DEBUG=1 to see the traceback"


class _Commands(click.Group):
    """The commands, and the one place where their errors become a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """In the order of the work; click would sort by name."""
        return list(self.commands)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run with a private umask; `obj` knows the user's own, for the files that a command writes on request."""
        if isinstance(sys.stdout, TextIOWrapper):  # names of files are printed with the bytes that they have
            sys.stdout.reconfigure(errors="surrogateescape")
        with private_umask() as users:
            return super().main(*args, **{"obj": Invocation(users), **extra})

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except AisbenchError as error:
            print_message(f"error: {error}")
            ctx.exit(exit_code(error))
        # Click turns these into exit codes.
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            if isinstance(error, OSError) and (full := disk_error(error, Path("the answer"))):
                print_message(f"error: {full}")
                _discard_stdout()
                ctx.exit(OUR_ERROR)
            print_message(f"internal error: {type(error).__name__}; {_log_traceback()}")
            ctx.exit(OUR_ERROR)


def _discard_stdout() -> None:
    """Python flushes stdout again when it exits; on a full disk that would fail with a traceback of its own."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--debug", is_flag=True, envvar="AISBENCH_DEBUG", help="Show tracebacks; same as AISBENCH_DEBUG=1.")
@click.option("--local", is_flag=True, help="Run the command on this machine, although AISBENCH_SERVER is set.")
@click.version_option(package_name="aisbench-console", prog_name="aisbench")
def main(debug: bool, local: bool) -> None:  # read when something fails, and before a command runs
    """Configure, launch, follow and compare AISBench training benchmarks on ModelArts.

    Results go to stdout, messages to stderr. RUN is a run id or a unique prefix of one. Settings come from
    aisbench.yaml and AISBENCH_* variables; keys are never passed as arguments. With AISBENCH_SERVER, commands run on
    that server, with the token of `aisbench login` or AISBENCH_TOKEN.

    Exit codes: 0 success, 1 internal error, 2 invalid input (or refused by the cloud), 3 cloud or server unavailable,
    4 the run failed, 5 regression found, 6 not enough data to detect one, 7 not identical, 8 a result is invalid,
    9 held until somebody approves it, 130 interrupted.
    """


for _command in (
    launching.run, launching.preflight, launching.spec, launching.clone, launching.diff, launching.reproduce,
    upstream.config, upstream.workload,
    following.follow, runs.runs, runs.show, scalars.scalars, tensorboard.tensorboard,
    mindinsight.mindinsight, runs.stop, runs.priority, runs.collect,
    cleaning.clean, annotations.rename, annotations.note, annotations.tag,
    series.series, schedules.schedule, runs.jobs, region.region, region.algorithms, following.notify, logs.logs,
    files.files, following.explain,
    upstream.system, importing.import_results, importing.imports, results.leaderboard, results.compare, scaling.scaling,
    spending.spending, budgets.budget, budgets.approve, budgets.decline,
    regression.regress, regression.baseline, exporting.export, exporting.report, validity.validate, validity.ruleset,
    exporting.sql, exporting.mlflow, warehouse.warehouse, results.views, backups.backup, backups.restore,
    upgrading.upgrade, ledger.ledger, run_folders.run_folders,
    installation.workloads, installation.profiles, installation.health, installation.doctor, people.people, audit.audit,
    tokens.token, sessions.session, login.login, login.logout, login.whoami, serving.serve, api_serving.api,
):  # fmt: skip
    main.add_command(_command)


def _log_traceback() -> str:
    """Append the traceback to the log file, and say where. It may hold private values, so it is not printed."""
    from aisbench_core.config.settings import load_settings

    try:
        folder = load_settings().data_dir
        make_private_folder(folder)
        file = folder / NAME
        handler = logging.FileHandler(file, encoding="utf-8")
    except Exception:  # whatever keeps us from writing must not hide the bug
        return TRACEBACK_HINT
    handler.setFormatter(ConsoleLogFormatter())
    logger = logging.getLogger("aisbench.cli")
    logger.propagate = False  # the root logger would print the traceback to stderr
    logger.addHandler(handler)
    # Only the command: arguments may hold private values.
    logger.error("aisbench %s failed", " ".join(sys.argv[1:2]), exc_info=True)
    logger.removeHandler(handler)
    try:
        handler.close()
    except OSError:  # a full disk is noticed only when the file is closed
        return TRACEBACK_HINT
    return f"the traceback is in {file}"
