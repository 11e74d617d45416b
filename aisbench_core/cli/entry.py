"""The entry of the command line: every command, and what becomes of an error."""

import logging
import os
import sys
from pathlib import Path
from typing import Any

import click

from aisbench_core.cli import doctor, listings, serving
from aisbench_core.cli.core import log_file
from aisbench_core.cli.exit_codes import OUR_ERROR, exit_code
from aisbench_core.cli.results import (
    exporting,
    importing,
    imports,
    mlflow,
    regression,
    results,
    saved_views,
    scaling,
    sql,
    validity,
    warehouse,
)
from aisbench_core.cli.runs import (
    annotations,
    clones,
    configs,
    following,
    jobs,
    launching,
    logs,
    packages,
    reproducing,
    runs,
    systems,
)
from aisbench_core.cli.series import commands
from aisbench_core.cli.shown import talk
from aisbench_core.errors import AisbenchError, disk_error
from aisbench_core.private_files import private_umask


class _Commands(click.Group):
    """The commands, and the one place where their errors become a sentence and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """In the order of the work, not of the alphabet."""
        return list(self.commands)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run for the owner alone; what a person has written to a file gets the rights that the person's files get."""
        with private_umask() as usual:
            return super().main(*args, **{"obj": usual, **extra})

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except AisbenchError as error:
            talk(f"error: {error}")
            ctx.exit(exit_code(error))
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            if isinstance(error, OSError) and (full := disk_error(error, Path("the answer"))):
                talk(f"error: {full}")
                _drop_the_answer()
                ctx.exit(OUR_ERROR)
            talk(f"internal error: {type(error).__name__}; {_written_down()}")
            ctx.exit(OUR_ERROR)


def _drop_the_answer() -> None:
    """What could not be written is not tried once more when Python ends, which would tell of it in words of its own."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--debug", is_flag=True, envvar="AISBENCH_DEBUG", help="Show tracebacks (or set AISBENCH_DEBUG=1).")
@click.version_option(package_name="aisbench-console", prog_name="aisbench")
def main(debug: bool) -> None:  # read by _Commands when something fails
    """Author, launch, follow, stop, collect and compare AISBench training benchmarks on ModelArts.

    The answer is printed to stdout, everything else to stderr. RUN is a run's id, or a beginning of it that no other
    run shares. Settings come from aisbench.yaml and AISBENCH_* variables; keys are never arguments.

    Exit codes: 0 done, 1 our error, 2 your input (also when the cloud refuses it), 3 cloud unavailable, 4 the run
    itself failed, 5 a regression was found, 6 not enough data to look for one, 7 not identical, 8 a result is
    not valid, 130 interrupted.
    """


for _command in (
    launching.run,
    launching.preflight,
    launching.spec,
    clones.clone,
    clones.diff,
    reproducing.reproduce,
    configs.config,
    packages.workload,
    following.follow,
    runs.runs,
    runs.show,
    runs.stop,
    runs.collect,
    annotations.note,
    annotations.tag,
    commands.series,
    jobs.jobs,
    logs.logs,
    systems.system,
    importing.import_results,
    imports.imports,
    results.leaderboard,
    results.compare,
    scaling.scaling,
    regression.regress,
    regression.baseline,
    exporting.export,
    exporting.report,
    validity.validate,
    validity.ruleset,
    sql.sql,
    mlflow.mlflow,
    warehouse.warehouse,
    saved_views.views,
    listings.workloads,
    listings.profiles,
    listings.health,
    doctor.doctor,
    serving.serve,
):
    main.add_command(_command)


def _written_down() -> str:
    """Append the traceback to the log file, and say so. It may hold values of a person, so it is not printed."""
    try:
        file = log_file()
        handler = logging.FileHandler(file, encoding="utf-8")
    except Exception:  # whatever keeps us from writing must not hide the bug
        return "set AISBENCH_DEBUG=1 to see the traceback"
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("aisbench.cli")
    logger.propagate = False
    logger.addHandler(handler)
    logger.error("aisbench %s failed", " ".join(sys.argv[1:2]), exc_info=True)
    logger.removeHandler(handler)
    try:
        handler.close()
    except OSError:
        return "set AISBENCH_DEBUG=1 to see the traceback"
    return f"the traceback is in {file}"
