"""The entry point of the command line: all commands, and where their errors end."""

import sys
from io import TextIOWrapper
from typing import Any

import click

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.private_files import private_umask
from aisbench_core.interfaces.cli.invocation import Invocation
from aisbench_core.interfaces.cli.lazy import LazyGroup, Listed

# In the order of the work. The sentences are those that the commands' own help begins with.
COMMANDS: Listed = {
    "run": ("launching:run", "Launch a run and print its id."),
    "preflight": ("launching:preflight", "Check a spec; exit code 2 if it could not be launched."),
    "spec": ("launching:spec", "Print a spec as YAML, completed with the values of the workload's manifest."),
    "clone": ("launching:clone", "Print the spec of a run, to edit it and launch it with `aisbench run`."),
    "diff": ("launching:diff", "Show the differences between two runs or specs; exit code 7 if there are any."),
    "reproduce": (
        "launching:reproduce",
        "Check which inputs of a run are still identical, and optionally run it again.",
    ),
    "config": ("upstream:config", "Import and export configurations of ais-bench-stubs and other tools."),
    "workload": ("upstream:workload", "Create custom workloads; `aisbench workloads` lists all workloads."),
    "follow": (
        "following:follow",
        "Run a follower until interrupted: it uploads, submits, monitors and collects all runs.",
    ),
    "runs": ("runs:runs", "List runs, newest first."),
    "show": ("runs:show", "Show a run: spec, state, progress, events and result."),
    "scalars": ("summaries.scalars:scalars", "Show the curves in a run's event files, also while it runs."),
    "tensorboard": (
        "summaries.tensorboard:tensorboard",
        "Show the event files of runs in TensorBoard, until interrupted.",
    ),
    "mindinsight": (
        "summaries.mindinsight:mindinsight",
        "Start MindInsight over the files that a run wrote with MindSpore's SummaryRecord, and print its address.",
    ),
    "stop": ("runs:stop", "Stop a run."),
    "priority": (
        "runs:priority",
        "Change the priority of a run that waits in a dedicated pool: 3 is served first, and needs a permission.",
    ),
    "collect": ("runs:collect", "Collect the results of a failed run again."),
    "clean": ("maintenance.cleaning:clean", "Remove jobs, outputs, logs or folders of runs that have ended."),
    "delete": ("maintenance.cleaning:delete", "Delete ended runs, for a reason."),
    "rename": ("annotations.commands:rename", "Give a run a name, or show it."),
    "note": ("annotations.commands:note", "Set a run's note, or show it with the run's tags."),
    "set-aside": ("annotations.commands:set_aside", "Leave a run out of statistics, for a REASON."),
    "tag": ("annotations.commands:tag", "Add (+TAG) and remove (-TAG) tags of runs, or show them."),
    "series": ("series.commands:series", "Measure a spec several times, on one or more node counts."),
    "bisect": (
        "series.commands:bisect",
        "Find the first slower one between a good and a bad version, with few runs, and print the id of their series.",
    ),
    "schedule": ("schedules:schedule", "Launch series repeatedly, at the times of a cron expression."),
    "suite": ("acceptance.commands:suite", "List, print and check suites, by which pools are accepted."),
    "accept": (
        "acceptance.accepting:accept",
        "Accept a pool by a suite: print the plan with its cost and risks, ask, and launch it.",
    ),
    "acceptance": ("acceptance.accepting:acceptance", "List, show and stop acceptances."),
    "jobs": ("region_jobs:jobs", "List, clone, stop and delete jobs of a region, whoever created them."),
    "region": (
        "region:region",
        "List what a region offers (flavors, engines, images, pools, quotas), its slow nodes, and files in its store.",
    ),
    "algorithms": (
        "region:algorithms",
        "List, show, create and delete the algorithms that ModelArts keeps (API v2 only).",
    ),
    "notify": ("following:notify", "Notify people about runs by mail, chat or webhook; see docs/notifications.md."),
    "logs": ("logs.commands:logs", "Print logs, as far as they were fetched."),
    "files": (
        "logs.files:files",
        "List the files of a run's folder, or print one: its spec, record, logs, metrics and event files.",
    ),
    "explain": ("following:explain", "Explain why a run failed or hangs: first error, probable cause, what to do."),
    "system": (
        "upstream:system",
        "Show, edit, import and export system descriptions: 33 fields for reports, and the tester's configuration.",
    ),
    "import": (
        "results.importing:import_results",
        "Import existing results: logs, result folders, tables, and archives of them.",
    ),
    "imports": ("results.importing:imports", "List imports, or undo one."),
    "leaderboard": (
        "results.results:leaderboard",
        "Rank configurations by the median throughput, or another metric, of their valid runs.",
    ),
    "inference": ("results.inference:inference", "Import and rank results of inference, apart from training."),
    "compare": (
        "results.results:compare",
        "Compare 2 to 32 runs with the first: differences, metrics, and whether the runs are comparable.",
    ),
    "scaling": (
        "results.scaling:scaling",
        "Show throughput, speed-up and efficiency by node count, for runs that differ from RUN in their node count "
        "only.",
    ),
    "spending": (
        "spending.commands:spending",
        "Show what runs cost, at the prices at launch, per currency, with node hours.",
    ),
    "budget": ("spending.budgets:budget", "Limit what launches may cost before they need approval."),
    "approve": ("spending.budgets:approve", "Approve a held run or series: it begins now, whatever its budgets say."),
    "decline": ("spending.budgets:decline", "Decline a held run or series: it ends as stopped, and no job is created."),
    "regress": (
        "regression.commands:regress",
        "Test the newest runs of each group for regressions: exit code 0 none, 5 a regression, 6 not enough data.",
    ),
    "baseline": ("regression.commands:baseline", "Mark the runs that a group is compared with."),
    "export": (
        "results.exporting:export",
        "Export results for compliance reports and other programs; docs/columns.md describes the columns.",
    ),
    "report": (
        "results.exporting:report",
        "Write a printable report about the given runs, or about those that the filters select, as HTML or PDF.",
    ),
    "publish": (
        "results.publishing:publish",
        "Publish the leaderboard as a folder of pages that open without a server, and as Parquet.",
    ),
    "validate": (
        "results.validity:validate",
        "Check stored runs against a ruleset, and list failed checks and warnings with advice.",
    ),
    "ruleset": ("results.validity:ruleset", "List and print rulesets."),
    "sql": (
        "results.exporting:sql",
        "Run a SELECT on the warehouse, over the views described in docs/open.md or the tables.",
    ),
    "lab-report": (
        "results.lab_reports:lab_report",
        "Issue, authorise, amend and withdraw numbered reports of the lab.",
    ),
    "mllog": ("results.exporting:mllog", "Write a run as an MLPerf training log, for the checkers of mlperf-logging."),
    "mlflow": ("results.exporting:mlflow", "Export runs to MLflow; `aisbench import` reads an MLflow store."),
    "warehouse": ("maintenance.warehouse:warehouse", "Maintain the results warehouse."),
    "views": ("results.results:views", "List and delete views saved in the console."),
    "backup": (
        "maintenance.backups:backup",
        "Write everything that cannot be computed again to FILE, a .tar.gz; runs go on meanwhile.",
    ),
    "restore": ("maintenance.backups:restore", "Unpack a backup as the data folder, which must be missing or empty."),
    "upgrade": (
        "maintenance.ledger.upgrading:upgrade",
        "Upgrade the data folder of a development version, so that this version can use it.",
    ),
    "ledger": ("maintenance.ledger.commands:ledger", "Move the ledger into PostgreSQL."),
    "run-folders": ("maintenance.ledger.run_folders:run_folders", "Publish run folders on OBS, for several machines."),
    "workloads": ("installation:workloads", "List workloads, and warn about manifests that cannot be read."),
    "profiles": ("installation:profiles", "List profiles, and whether their keys are configured."),
    "health": (
        "installation:health",
        "Show whether the cloud answers, which process follows the runs, and how much is stored.",
    ),
    "doctor": ("installation:doctor", "Check this machine and its connection to a region, and suggest fixes."),
    "people": ("accounts.people:people", "List people, give them roles, and revoke their access."),
    "audit": ("accounts.audit:audit", "List who changed what and who signed in, the newest first."),
    "evidence": ("evidence.commands:evidence", "Sign results, so that others can verify them."),
    "verify": ("evidence.bundles:verify", "Check a bundle of evidence, and name what was changed since it was signed."),
    "token": ("api.tokens:token", "Create, list and revoke tokens, with which programs use the API."),
    "session": ("accounts.sessions:session", "List and end the sessions of people who signed in with OpenID Connect."),
    "login": ("login:login", "Check a token with a server, and store it for the commands that run there."),
    "logout": ("login:logout", "Remove the stored token of a server, by default of AISBENCH_SERVER."),
    "whoami": ("login:whoami", "Show in whose name and with which role commands run, and where."),
    "serve": ("serving:serve", "Start the console and a follower, and run them until interrupted."),
    "api": ("api.serving:api", "Serve the REST API without the console; docs/api.md lists its endpoints."),
}


class _Commands(LazyGroup):
    """The commands, and the one place where their errors become a message and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run with a private umask; `obj` knows the user's own, for the files that a command writes on request."""
        if isinstance(sys.stdout, TextIOWrapper):  # names of files are printed with the bytes that they have
            sys.stdout.reconfigure(errors="surrogateescape")
        with private_umask() as users:
            return super().main(*args, **{"obj": Invocation(users), **extra})

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        # Click turns these into exit codes.
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            from aisbench_core.interfaces.cli.failures import report_failure  # loads more than `--help` has time for

            if ctx.params["debug"] and not isinstance(error, AisbenchError):
                raise
            ctx.exit(report_failure(error))


@click.group(
    cls=_Commands,
    listed=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
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
