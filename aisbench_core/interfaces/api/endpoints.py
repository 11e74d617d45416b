"""Every endpoint of the API."""

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus

from aisbench_core.interfaces.api import commands, evidence, launching, region, results, runs, spending, tables, tokens
from aisbench_core.interfaces.api.cursors import PageQuery
from aisbench_core.interfaces.api.endpoint import Endpoint
from aisbench_core.interfaces.api.idempotency import KEY
from aisbench_core.interfaces.api.launching import LaunchRequest
from aisbench_core.interfaces.api.run import (
    annotations,
    approvals,
    curves,
    deletions,
    explanations,
    files,
    preflight,
    ranges,
)
from aisbench_core.interfaces.api.series import changes, comparison, reports, schedules
from aisbench_core.interfaces.commands.records import MEDIA_TYPE
from aisbench_core.interfaces.commands.request import MOST_BODY, CommandRequest, InputRequest
from aisbench_core.model import Run
from aisbench_core.store.ledger.deletions import Deletion
from aisbench_core.store.signing.heads import SignedHead
from aisbench_core.warehouse.values.compared import Comparison
from aisbench_core.warehouse.values.exports import MEDIA_TYPES

LAUNCHED = (HTTPStatus.CREATED, HTTPStatus.OK)

_table = partial(Endpoint, media_type=tables.MEDIA_TYPE, exclusive=True)

ENDPOINTS: Sequence[Endpoint] = (
    Endpoint("GET", "/token", "Whose token this is, and what it may do", tokens.show_token, tokens.OwnToken),
    Endpoint("GET", "/evidence/head", "The head of the audit, signed", evidence.show_head, SignedHead),
    Endpoint("GET", "/runs", "Runs, newest first", runs.list_runs, runs.RunListing, runs.RunsQuery),
    Endpoint(
        "POST", "/runs", "Launch a run, once per key", launching.launch_run, Run, body=LaunchRequest, headers=(KEY,),
        statuses=LAUNCHED,
    ),
    Endpoint("GET", "/runs/{run_id}", "One run: spec, state, progress, result", runs.show_run, runs.RunDetails),
    Endpoint(
        "DELETE", "/runs/{run_id}", "Delete an ended run", deletions.delete_run, Deletion, deletions.ReasonQuery,
    ),
    Endpoint("POST", "/runs/{run_id}/stop", "Stop a run", launching.stop_run, Run),
    Endpoint("POST", "/runs/{run_id}/approve", "Let a held run begin", approvals.approve_run, Run),
    Endpoint(
        "POST", "/runs/{run_id}/decline", "End a held run before it begins", approvals.decline_run, Run,
        body=approvals.DeclineRequest,
    ),
    Endpoint("POST", "/runs/{run_id}/collect", "Collect a failed run's results again", launching.collect_run, Run),
    Endpoint(
        "GET", "/runs/{run_id}/explanation", "Why a run failed or hangs", explanations.explain_run,
        explanations.ExplanationReport,
    ),
    Endpoint(
        "GET", "/runs/{run_id}/annotations", "Name, tags, note, and their changes", annotations.show_annotations,
        annotations.RunAnnotations,
    ),
    Endpoint(
        "PUT", "/runs/{run_id}/name", "Name a run", annotations.rename_run, annotations.RunAnnotations,
        body=annotations.NameRequest,
    ),
    Endpoint(
        "PUT", "/runs/{run_id}/note", "Write a run's note", annotations.write_note, annotations.RunAnnotations,
        body=annotations.NoteRequest,
    ),
    Endpoint(
        "PUT", "/runs/{run_id}/set-aside", "Leave a run out of statistics", annotations.set_run_aside,
        annotations.RunAnnotations, body=annotations.ReasonRequest,
    ),
    Endpoint(
        "POST", "/runs/{run_id}/tags", "Add and remove tags", annotations.change_tags, annotations.RunAnnotations,
        body=annotations.TagsRequest,
    ),
    Endpoint("GET", "/runs/{run_id}/events", "Events of a run", runs.run_events, runs.EventPage, PageQuery),
    Endpoint("GET", "/runs/{run_id}/logs", "Nodes with a log, its size", runs.list_logs, runs.LogListing, PageQuery),
    Endpoint(
        "GET", "/runs/{run_id}/logs/{node:number}", "A node's log, whole or a range of bytes", runs.read_log,
        media_type="application/octet-stream", headers=(ranges.RANGE,), statuses=ranges.STATUSES,
    ),
    Endpoint("GET", "/runs/{run_id}/files", "Files of a run's folder", files.list_files, files.FileListing, PageQuery),
    Endpoint(
        "GET", "/runs/{run_id}/files/{file:path}", "A file, whole or a range of bytes", files.read_file,
        media_type=files.MEDIA_TYPE, headers=(ranges.RANGE, files.IF_RANGE), statuses=files.FILE_STATUSES,
    ),
    Endpoint(
        "GET", "/runs/{run_id}/curves", "Curves of a run's event files", curves.show_curves, curves.CurveListing,
        curves.CurvesQuery,
    ),
    Endpoint(
        "GET", "/runs/{run_id}/training", "Throughput, loss and steps in the log", curves.show_training,
        curves.TrainingPoints, curves.TrainingQuery,
    ),
    Endpoint("GET", "/events", "Events of all runs and series", runs.all_events, runs.EventPage, PageQuery),
    Endpoint(
        "POST", "/preflight", "Check a spec: findings, fixes, cost", preflight.preflight_spec,
        preflight.PreflightReport, body=preflight.PreflightRequest,
    ),
    Endpoint("GET", "/series", "Series, newest first", reports.list_series, reports.SeriesListing, reports.SeriesQuery),
    Endpoint(
        "POST", "/series", "Launch a series, once per key", changes.launch_series, reports.SeriesDetails,
        body=changes.SeriesRequest, headers=(KEY,), statuses=LAUNCHED,
    ),
    Endpoint(
        "POST", "/series/plan", "Rows, findings, time and cost of a plan", changes.plan_series, changes.PlanReport,
        body=changes.PlanRequest,
    ),
    Endpoint(
        "GET", "/series/{series_id}", "One series: plan, cells, statistics, trials", reports.show_series,
        reports.SeriesDetails, reports.MetricQuery,
    ),
    Endpoint(
        "GET", "/series/{series_id}/comparison", "A series against an earlier one", comparison.compare_series,
        comparison.SeriesComparisonReport, comparison.BaselineQuery,
    ),
    Endpoint(
        "POST", "/series/{series_id}/approve", "Let a held series go on", approvals.approve_series,
        reports.SeriesDetails,
    ),
    Endpoint(
        "POST", "/series/{series_id}/decline", "Cancel the cells of a held series", approvals.decline_series,
        reports.SeriesDetails, body=approvals.DeclineRequest,
    ),
    Endpoint("POST", "/series/{series_id}/stop", "Stop a series", changes.stop_series, reports.SeriesDetails),
    Endpoint(
        "POST", "/series/{series_id}/rerun", "Run cells without a valid result again", changes.rerun_series,
        reports.SeriesDetails,
    ),
    Endpoint(
        "PUT", "/series/{series_id}/budget", "Change a series' budget", changes.set_series_budget,
        reports.SeriesDetails, body=changes.BudgetRequest,
    ),
    Endpoint(
        "GET", "/schedules", "Schedules by name", schedules.list_schedules, schedules.ScheduleListing,
        schedules.SchedulesQuery,
    ),
    Endpoint(
        "GET", "/schedules/{name}", "One schedule: next times, series, outcomes", schedules.show_schedule,
        schedules.ScheduleDetails,
    ),
    Endpoint(
        "PUT", "/schedules/{name}", "Add or change a schedule", schedules.put_schedule, schedules.ScheduleDetails,
        body=schedules.ScheduleRequest, statuses=LAUNCHED,
    ),
    Endpoint(
        "POST", "/schedules/{name}/pause", "Pause a schedule", schedules.pause_schedule, schedules.ScheduleDetails
    ),
    Endpoint(
        "POST", "/schedules/{name}/resume", "Resume a schedule", schedules.resume_schedule, schedules.ScheduleDetails
    ),
    Endpoint(
        "DELETE", "/schedules/{name}", "Remove a schedule", schedules.remove_schedule, media_type="",
        statuses=(HTTPStatus.NO_CONTENT,),
    ),
    Endpoint(
        "GET", "/spending", "What runs cost, by currency", spending.show_spending, spending.SpendingPage,
        spending.SpendingParameters,
    ),
    Endpoint(
        "GET", "/spending/csv", "The same as CSV, with all rows", spending.spending_csv, media_type=spending.CSV,
        query=spending.SpendingFilters,
    ),
    Endpoint(
        "GET", "/inference", "Results of inference by rank", results.list_inference, results.InferencePage, PageQuery,
    ),
    Endpoint("GET", "/inference/csv", "The same as CSV", results.inference_csv, media_type=spending.CSV),
    Endpoint(
        "GET", "/leaderboard", "Configurations by throughput", results.show_leaderboard, results.Leaderboard,
        results.LeaderboardQuery,
    ),
    Endpoint("GET", "/compare", "Runs against the first", results.compare_runs, Comparison, results.CompareQuery),
    Endpoint(
        "GET", "/regress", "Regression verdicts on the newest runs", results.find_regressions, results.GroupRegressions,
        results.RegressQuery,
    ),
    Endpoint(
        "GET", "/export", "All runs of a query as a file", results.export_runs, query=results.ExportQuery,
        media_type=", ".join(MEDIA_TYPES.values()), exclusive=True,
    ),
    _table("GET", "/warehouse/runs", "Runs as Arrow: `v_runs`", tables.fetch_runs, query=tables.RunFilters),
    _table(
        "GET", "/warehouse/leaderboard", "Leaderboard as Arrow: `v_groups`", tables.fetch_groups,
        query=tables.RowFilters,
    ),
    _table("GET", "/warehouse/scaling/{run_id}", "Scaling of a run as Arrow", tables.fetch_scaling),
    _table(
        "GET", "/warehouse/history/{run_id}", "A run and those before it as Arrow", tables.fetch_history,
        query=tables.HistoryQuery,
    ),
    _table("GET", "/warehouse/regions", "Regions with results as Arrow", tables.list_regions),
    _table("GET", "/warehouse/views", "Views, columns, units as Arrow", tables.describe_views),
    _table("POST", "/warehouse/sql", "A SELECT over all views, as Arrow", tables.query_views, body=tables.SqlRequest),
    Endpoint("GET", "/region/flavors", "Instance types", region.list_flavors, region.FlavorListing, region.RegionQuery),
    Endpoint("GET", "/region/engines", "Preset images", region.list_engines, region.EngineListing, region.RegionQuery),
    Endpoint("GET", "/region/pools", "Pools, their queues", region.list_pools, region.PoolListing, region.RegionQuery),
    Endpoint("GET", "/region/quotas", "Quotas", region.list_quotas, region.QuotaListing, region.RegionQuery),
    Endpoint(
        "POST", "/commands", "Run a command of `aisbench`", commands.run_command, body=CommandRequest, headers=(KEY,),
        media_type=MEDIA_TYPE, most_body=MOST_BODY,
    ),
    Endpoint(
        "POST", "/commands/{command_id}/input", "Answer what a running command asks", commands.answer_command,
        commands.CommandId, body=InputRequest,
    ),
    Endpoint(
        "POST", "/commands/{command_id}/interrupt", "Interrupt a running command", commands.interrupt_command,
        commands.CommandId,
    ),
)  # fmt: skip
