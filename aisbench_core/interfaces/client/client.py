"""Calls the REST API of a console (docs/api.md) with a token."""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aisbench_core.interfaces.client.connection import ApiProblem, Connection, Json, part_of, with_query

if TYPE_CHECKING:
    import pyarrow as arrow

ENDED = ("completed", "failed", "stopped")
SERIES_ENDED = ("completed", "completed with failures", "stopped")


class Client(Connection):
    """A console's API. Reads, and launches, which have a key, are tried again when the server is busy or out of reach.

    Every method raises ApiProblem."""

    # --- runs ---------------------------------------------------------------------------------------------

    def runs(self, state: tuple[str, ...] = (), text: str = "") -> Iterator[Json]:
        """All runs, newest first, page by page as they are needed."""
        return self._items("/runs", {"state": state, "text": text})

    def run(self, run_id: str) -> Json:
        """One run: `run`, `result` and more; imported ones have no `run`."""
        return self.get(f"/runs/{part_of(run_id)}")

    def launch(self, spec: Mapping[str, Any], profile: str = "", key: str = "") -> Json:
        """Launch a run, once: also if it is tried again. `key`: a random value, to launch once over several calls."""
        headers = {"Idempotency-Key": key or secrets.token_urlsafe(24)}
        return self._json("POST", "/runs", {"spec": dict(spec), "profile": profile}, headers)

    def stop(self, run_id: str) -> Json:
        """Request the end of a run."""
        return self._json("POST", f"/runs/{part_of(run_id)}/stop")

    def wait(self, run_id: str, poll_seconds: float = 5.0) -> Json:
        """The run when it has ended, as `run` answers it; or held, because an approval can take days."""
        while (shown := self.run(run_id))["run"] and shown["run"]["state"] not in (*ENDED, "held"):
            time.sleep(poll_seconds)
        return shown

    def approve(self, run_id: str) -> Json:
        """Let a held run begin."""
        return self._json("POST", f"/runs/{part_of(run_id)}/approve", repeatable=False)

    def decline(self, run_id: str, reason: str = "") -> Json:
        """End a held run before it begins."""
        return self._json("POST", f"/runs/{part_of(run_id)}/decline", {"reason": reason}, repeatable=False)

    def collect(self, run_id: str) -> Json:
        """Collect a failed run's results once more."""
        return self._json("POST", f"/runs/{part_of(run_id)}/collect", repeatable=False)

    def check(
        self, spec: Mapping[str, Any], profile: str = "", *, online: bool = False, hours: float | None = None
    ) -> Json:
        """Preflight: `can_launch`, `findings`, the `spec` that would be launched, and the `cost` of some hours."""
        body = {"spec": dict(spec), "profile": profile, "online": online, "hours": hours}
        return self._json("POST", "/preflight", body)

    def explain(self, run_id: str) -> Json:
        """Why a run failed or hangs."""
        return self.get(f"/runs/{part_of(run_id)}/explanation")

    def annotations(self, run_id: str) -> Json:
        """A run's name, tags and note, with all changes."""
        return self.get(f"/runs/{part_of(run_id)}/annotations")

    def rename(self, run_id: str, name: str) -> Json:
        """Name a run; an empty name brings the default back."""
        return self._json("PUT", f"/runs/{part_of(run_id)}/name", {"name": name})

    def note(self, run_id: str, note: str, since: str | None = None) -> Json:
        """Replace a run's note. `since`: `noted_at` of the note that was read; None if there was none."""
        return self._json("PUT", f"/runs/{part_of(run_id)}/note", {"note": note, "since": since})

    def set_aside(self, run_id: str, reason: str) -> Json:
        """Leave a run out of statistics, for a reason; with an empty one it counts again."""
        return self._json("PUT", f"/runs/{part_of(run_id)}/set-aside", {"reason": reason})

    def delete(self, run_id: str, reason: str) -> Json:
        """Delete an ended run, for a reason; its record stays."""
        return self._json("DELETE", with_query(f"/runs/{part_of(run_id)}", {"reason": reason}))

    def tag(self, run_id: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Json:
        """Add and remove tags of a run."""
        return self._json("POST", f"/runs/{part_of(run_id)}/tags", {"add": [*add], "remove": [*remove]})

    def events(self, run_id: str = "", cursor: str = "") -> Json:
        """`items` behind a cursor, of one run or of all, and `next`, the cursor for what happens later."""
        return self.get(f"/runs/{part_of(run_id)}/events" if run_id else "/events", cursor=cursor)

    def log(self, run_id: str, node: int = 0, start: int = 0) -> bytes:
        """The bytes of a node's log from an offset on; none if there are no more yet."""
        try:
            headers = {"Range": f"bytes={start}-"}
            with self._send("GET", f"/runs/{part_of(run_id)}/logs/{node}", None, headers) as reply:
                return reply.read()
        except ApiProblem as problem:
            if problem.status != 416:
                raise
            return b""

    def files(self, run_id: str) -> Iterator[Json]:
        """`name` and `size` of every file in a run's folder, by name."""
        return self._items(f"/runs/{part_of(run_id)}/files", {})

    def download(self, run_id: str, name: str, file: Path) -> None:
        """Write one of a run's files to a file here, whole or not at all."""
        self._save(f"/runs/{part_of(run_id)}/files/{part_of(name)}", file)

    def curves(self, run_id: str, tag: str = "*") -> Iterator[Json]:
        """The curves of a run's event files: `tag`, `directory`, `points` of `step` and `value`, and more."""
        return self._items(f"/runs/{part_of(run_id)}/curves", {"tag": tag})

    def training(self, run_id: str, most: int = 240) -> Json:
        """What a run's log says of the training: `points` of throughput, loss and step, over time."""
        return self.get(f"/runs/{part_of(run_id)}/training", most=most)["points"]

    # --- series and schedules -------------------------------------------------------------------------------

    def all_series(self) -> Iterator[Json]:
        """All series, newest first, page by page as they are needed."""
        return self._items("/series", {})

    def series(self, series_id: str) -> Json:
        """One series: `series` (its state and counts), `plan`, `rows` and `best`."""
        return self.get(f"/series/{part_of(series_id)}")

    def plan_series(self, plan: Mapping[str, Any], profile: str = "", *, online: bool = False) -> Json:
        """Rows, findings and the estimate of a plan, which is a mapping with a `spec`; nothing is launched."""
        return self._json("POST", "/series/plan", {"plan": dict(plan), "profile": profile, "online": online})

    def launch_series(self, plan: Mapping[str, Any], profile: str = "", key: str = "") -> Json:
        """Launch a series, once, as `launch` does with a run."""
        headers = {"Idempotency-Key": key or secrets.token_urlsafe(24)}
        return self._json("POST", "/series", {"plan": dict(plan), "profile": profile}, headers)

    def wait_series(self, series_id: str, poll_seconds: float = 15.0) -> Json:
        """The series when it has ended. One that its budget holds has not: somebody may raise it."""
        while (shown := self.series(series_id))["series"]["state"] not in SERIES_ENDED:
            time.sleep(poll_seconds)
        return shown

    def stop_series(self, series_id: str) -> Json:
        """Stop the active runs of a series, and cancel its other cells."""
        return self._json("POST", f"/series/{part_of(series_id)}/stop")

    def approve_series(self, series_id: str) -> Json:
        """Let a held series go on."""
        return self._json("POST", f"/series/{part_of(series_id)}/approve", repeatable=False)

    def decline_series(self, series_id: str, reason: str = "") -> Json:
        """Cancel what a held series has not launched yet."""
        return self._json("POST", f"/series/{part_of(series_id)}/decline", {"reason": reason}, repeatable=False)

    def rerun_series(self, series_id: str) -> Json:
        """Run all cells again that ended without a valid result."""
        return self._json("POST", f"/series/{part_of(series_id)}/rerun", repeatable=False)

    def set_series_budget(self, series_id: str, node_hours: float) -> Json:
        """Change a series' budget, so that a held one continues."""
        return self._json("PUT", f"/series/{part_of(series_id)}/budget", {"budget": node_hours})

    def compare_series(self, series_id: str, baseline: str) -> Json:
        """A series against an earlier one, row by row; `outcome` is the gravest."""
        return self.get(f"/series/{part_of(series_id)}/comparison", baseline=baseline)

    def schedules(self) -> Iterator[Json]:
        """All schedules, by name."""
        return self._items("/schedules", {})

    def schedule(self, name: str) -> Json:
        """One schedule: `schedule`, `plan`, `next_times`, `series_ids` and `events`."""
        return self.get(f"/schedules/{part_of(name)}")

    def put_schedule(
        self,
        name: str,
        plan: Mapping[str, Any],
        cron: str,
        *,
        time_zone: str = "UTC",
        weekly_hours: float | None = None,
        profile: str = "",
    ) -> Json:
        """Add a schedule, or change the one of this name. `weekly_hours`: node hours in any 7 days."""
        timing = {"cron": cron, "time_zone": time_zone, "weekly_hours": weekly_hours}
        body = {"plan": dict(plan), "profile": profile, **timing}
        return self._json("PUT", f"/schedules/{part_of(name)}", body)

    def pause_schedule(self, name: str) -> Json:
        """Launch nothing until it is resumed."""
        return self._json("POST", f"/schedules/{part_of(name)}/pause")

    def resume_schedule(self, name: str) -> Json:
        """Launch again from the next time on."""
        return self._json("POST", f"/schedules/{part_of(name)}/resume")

    def remove_schedule(self, name: str) -> None:
        """Remove a schedule; its series stay."""
        self._send("DELETE", f"/schedules/{part_of(name)}", repeatable=False).close()

    # --- results --------------------------------------------------------------------------------------------

    def leaderboard(self, **filters: Any) -> Iterator[Json]:
        """All rows, best first. Filters are the query's, such as region, model and nodes."""
        return self._items("/leaderboard", filters)

    def compare(self, *run_ids: str, by: str = "runs") -> Json:
        """2 to 32 runs against the first."""
        return self.get("/compare", run=run_ids, by=by)

    def regress(self, **filters: Any) -> Json:
        """The regression verdicts; `outcome` is that of all groups."""
        return self.get("/regress", **filters)

    def spending(self, by: str = "person", *, first: str = "", last: str = "", **filters: Any) -> Json:
        """What runs cost: `items`, `total` and `months`, each with `sums` by currency. Months are such as 2026-03."""
        query = {"by": by, "from": first, "to": last, "limit": 500, **filters}
        page = self.get("/spending", **query)
        items = [*page["items"]]
        while page["next"]:
            page = self.get("/spending", **query, cursor=page["next"])
            items += page["items"]
        return {**page, "items": items}

    def export_spending(
        self, file: Path, by: str = "person", *, first: str = "", last: str = "", **filters: Any
    ) -> None:
        """The same as a CSV file with a line for each currency, and an empty amount where no price is known."""
        self._save(with_query("/spending/csv", {"by": by, "from": first, "to": last, **filters}), file)

    def table(self, **filters: Any) -> "arrow.Table":
        """All runs of a query with typed columns; `.to_pandas()` makes a DataFrame of it."""
        with self.batches(with_query("/export", {**filters, "format": "arrow"})) as reader:
            return reader.read_all()

    @contextmanager
    def batches(self, path: str, body: object = None) -> "Iterator[arrow.RecordBatchReader]":
        """The batches of an endpoint that answers an Arrow stream; with a body it is posted."""
        from pyarrow import ArrowException, ipc  # takes longer to load than most requests

        with self._send("GET" if body is None else "POST", path, body) as reply:
            try:
                yield ipc.open_stream(reply)
            except (OSError, HTTPException, ArrowException) as error:
                raise self._half_answer() from error

    def export(self, file: Path, **filters: Any) -> None:
        """The same as a file; `format` is csv unless it is named."""
        self._save(with_query("/export", filters), file)

    # --- commands -------------------------------------------------------------------------------------------

    def start_command(self, request: Mapping[str, Any]) -> HTTPResponse:
        """Run a command of `aisbench` on the server, once: it is not tried again. The answer is a record a line."""
        return self._send_once("POST", "/commands", request, {"Idempotency-Key": secrets.token_urlsafe(24)})

    def answer_command(self, command_id: str, text: str | None, cookie: str = "") -> None:
        """Enter what a running command asks for; None where there is no more input.

        `cookie`: what a balancer set with the command's answer, so that this reaches the same server."""
        path = f"/commands/{part_of(command_id)}/input"  # sent twice, it would also answer the next question
        self._json("POST", path, {"text": text}, {"Cookie": cookie}, repeatable=False)

    def interrupt_command(self, command_id: str, cookie: str = "") -> None:
        """Interrupt a running command, as Ctrl-C does."""
        path = f"/commands/{part_of(command_id)}/interrupt"
        self._json("POST", path, None, {"Cookie": cookie}, repeatable=False)
