"""Every endpoint of the API."""

from collections.abc import Sequence
from http import HTTPStatus

from aisbench_core.api import launching, region, results, runs, series, tokens
from aisbench_core.api.endpoint import Endpoint
from aisbench_core.api.launching import KEY, LaunchRequest
from aisbench_core.model import Engine, PoolQueue, PricedFlavor, Quota, Run
from aisbench_core.warehouse.answers.compared import Comparison
from aisbench_core.warehouse.exports import MEDIA_TYPES

ENDPOINTS: Sequence[Endpoint] = (
    Endpoint("GET", "/token", "Whose token this is, and what it may do", tokens.show_token, tokens.OwnToken),
    Endpoint("GET", "/runs", "Runs, newest first", runs.list_runs, runs.RunListing, runs.RunsQuery),
    Endpoint(
        "POST", "/runs", "Launch a run, once per key", launching.launch, Run, body=LaunchRequest, headers=(KEY,),
        statuses=(HTTPStatus.CREATED, HTTPStatus.OK),
    ),
    Endpoint("GET", "/runs/{run_id}", "One run: spec, state, progress, result", runs.show_run, runs.RunDetails),
    Endpoint("POST", "/runs/{run_id}/stop", "Stop a run", launching.stop, Run),
    Endpoint("GET", "/runs/{run_id}/events", "Events of a run", runs.run_events, runs.EventPage, runs.EventsQuery),
    Endpoint("GET", "/runs/{run_id}/logs", "Nodes with a log, and its size", runs.list_logs, list[runs.LogSize]),
    Endpoint(
        "GET", "/runs/{run_id}/logs/{node:int}", "A node's log, whole or a range of bytes", runs.read_log,
        media_type="application/octet-stream", headers=(runs.RANGE,),
        statuses=(HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE),
    ),
    Endpoint("GET", "/events", "Events of all runs and series", runs.all_events, runs.EventPage, runs.EventsQuery),
    Endpoint("GET", "/series", "Series, newest first", series.list_series, series.SeriesListing, series.SeriesQuery),
    Endpoint("GET", "/series/{series_id}", "One series: cells, statistics", series.show_series, series.SeriesDetails),
    Endpoint(
        "GET", "/leaderboard", "Configurations by throughput", results.leaderboard, results.Leaderboard,
        results.LeaderboardQuery,
    ),
    Endpoint("GET", "/compare", "Runs against the first", results.compare, Comparison, results.CompareQuery),
    Endpoint(
        "GET", "/regress", "Regression verdicts on the newest runs", results.regress, results.GroupRegressions,
        results.RegressQuery,
    ),
    Endpoint(
        "GET", "/export", "All runs of a query as a file", results.export, query=results.ExportQuery, exclusive=True,
        media_type=", ".join(MEDIA_TYPES.values()),
    ),
    Endpoint("GET", "/region/flavors", "Instance types", region.flavors, list[PricedFlavor], region.RegionQuery),
    Endpoint("GET", "/region/engines", "Preset images", region.engines, list[Engine], region.RegionQuery),
    Endpoint("GET", "/region/pools", "Pools, their queues", region.pools, list[PoolQueue] | None, region.RegionQuery),
    Endpoint("GET", "/region/quotas", "Quotas", region.quotas, list[Quota] | None, region.RegionQuery),
)  # fmt: skip
