"""Makes evidence bundles: all that a claim about runs rests on, in one signed file that a stranger can verify."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import IO

from aisbench_core.base.errors import AisbenchError, ConfigError, Problem, ResultError, RunNotFound, SpecError
from aisbench_core.base.formats import format_size
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import Connect
from aisbench_core.domain.access import permitted
from aisbench_core.domain.results.record import read_record
from aisbench_core.domain.rulesets.ruleset import Rulesets
from aisbench_core.exchange.evidence import verify
from aisbench_core.exchange.report import pdf
from aisbench_core.exchange.report.reports import Reports
from aisbench_core.exchange.report.words import MAX_RUNS, ReportLanguage
from aisbench_core.model import Actor, Clock, Run, RunRecord, canonical_json
from aisbench_core.model.columns import GROUP_KEYS
from aisbench_core.running.run_files import dump_series
from aisbench_core.running.time_stamps import TimeStamps
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.series import SeriesLedger
from aisbench_core.store.run_folders import run_paths
from aisbench_core.store.run_folders.cache import is_plain, names_in
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.seals.comparing import SealComparing
from aisbench_core.store.signing.heads import Heads
from aisbench_core.store.signing.service import SigningKeys
from aisbench_core.store.signing.statements import sign_statement
from aisbench_core.warehouse.exporting.schemas import build_data_package
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import ExportTable
from aisbench_core.warehouse.values.saved import BOARD, COMPARISON, to_query

MOST_CODE = 64 * 1024 * 1024  # bytes of one code

VERIFIER = Path(verify.__file__)

_BULKY = (FolderPart.LOGS, FolderPart.SUMMARIES)

Load = Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was written: its runs, bytes, the key that signed it, and what could not come along, by file."""

    run_ids: tuple[str, ...]
    size: int
    fingerprint: str
    absent: Mapping[str, Message]


@dataclass(slots=True)
class _Contents:
    """The files of a bundle, read when they are written, and what is stated of them."""

    files: dict[str, Load] = field(default_factory=dict)
    absent: dict[str, Message] = field(default_factory=dict)
    failed_early: Mapping[str, str] = field(default_factory=dict)

    def add(self, name: str, content: bytes) -> None:
        """Add what is in memory."""
        self.files[name] = lambda: content


@dataclass(frozen=True, slots=True)
class Bundles:
    """Makes bundles. Threads may share it."""

    folders: RunFolders
    warehouse: Warehouse
    reports: Reports
    rulesets: Rulesets
    ledger: Ledger
    comparing: SealComparing
    keys: SigningKeys
    heads: Heads
    stamps: TimeStamps
    connect: Connect
    clock: Clock
    print_page: Callable[[str], bytes] = pdf.print_page

    def list_runs(self, names: Sequence[str]) -> list[str]:
        """These runs, those that saved views show, and of each series that is named, or of which one is a run, every
        recorded run. Raises RunNotFound, and SpecError if they are too many, or a view shows no list of runs."""
        rows = dict(self.warehouse.runs.find_rows(names))
        unknown = [name for name in names if name not in rows]
        members = dict(self.warehouse.series.run_cells(unknown))
        for name in unknown:
            if not members.get(name):
                rows |= self.warehouse.runs.find_rows(self._list_view(name))
        members |= self.warehouse.series.run_cells(self.warehouse.series.find_ids(list(rows)))
        run_ids = sorted({*rows, *(run_id for cells in members.values() for run_id, _ in cells)})
        if not 1 <= len(run_ids) <= MAX_RUNS:
            problem = Problem("runs", Message("must be 1 to {most_runs}", most_runs=MAX_RUNS), str(len(run_ids)))
            raise SpecError(Message("evidence"), [problem])
        return run_ids

    def _list_view(self, name: str) -> Sequence[str]:
        views = {view.page: view for view in self.warehouse.saved_views.on() if view.name == name}
        if COMPARISON in views and BOARD not in views:
            return views[COMPARISON].address.get("ids", ())
        for view in (views[BOARD],) if BOARD in views else views.values():
            return self.reports.list_chosen(to_query(view))
        raise RunNotFound(
            Message("no run, series or saved view is called {name}", name=name),
            Message("aisbench runs, series and views list those that there are"),
        )

    @permitted
    def write(self, names: Sequence[str], target: IO[bytes], actor: Actor, *, with_logs: bool = True) -> Bundle:
        """Write the bundle of these runs and of all of their series. `with_logs`: with logs and event files.

        Raises RunNotFound, SpecError, ResultError if a file is not as it was recorded, ConfigError without a key."""
        run_ids, at = self.list_runs(names), self.clock()
        contents = self._collect(run_ids, at, with_logs)
        attempts = self._list_attempts(run_ids)
        key = self.keys.get_public_key()
        predicate = {
            "key": str(key),
            "made_at": at.astimezone(UTC).isoformat(timespec="seconds"),
            "made_by": actor.name,
            "made_with": f"aisbench {version('aisbench-console')}",
            "group_keys": [*GROUP_KEYS, "series_id"],
            "failed_early": contents.failed_early,
            "attempts": attempts,
            "recorded": [each["run_id"] for each in attempts if each["is_recorded"]],
            "absent": {name: str(reason) for name, reason in contents.absent.items()},
        }
        size = 0
        for _, part in verify.iter_zip(self._iter_entries(contents, predicate)):
            size += target.write(part)
            if size > verify.LARGEST:
                raise _too_large(size)
        return Bundle(tuple(run_ids), size, key.fingerprint, contents.absent)

    def _iter_entries(self, contents: _Contents, predicate: Mapping[str, object]) -> Iterator[tuple[str, bytes]]:
        subject = []
        for name in sorted(contents.files, key=str.encode):
            content = contents.files[name]()
            subject.append({"name": name, "digest": {"sha256": hashlib.sha256(content).hexdigest()}})
            yield name, content
        statement = {
            "_type": verify.STATEMENT_TYPE,
            "subject": subject,
            "predicateType": verify.PREDICATE_TYPE,
            "predicate": predicate,
        }
        yield verify.ENVELOPE, sign_statement(verify.to_canonical(statement), self.keys.sign).encode()

    def _collect(self, run_ids: Sequence[str], at: datetime, with_logs: bool) -> _Contents:
        contents, runs, series = _Contents(), BytesIO(), BytesIO()
        records = {run_id: self._add_folder(contents, run_id, with_logs) for run_id in run_ids}
        head, series_ids = self.heads.sign(), self.warehouse.series.find_ids(run_ids)
        try:
            head = self.stamps.add(head)
        except AisbenchError as error:
            contents.absent["the time stamp in audit.json"] = error.message
        audit = self.heads.read_segment(head, [*run_ids, *series_ids])
        contents.add("audit.json", verify.to_canonical(audit))
        contents.failed_early = self.warehouse.write_tables(run_ids, at, runs, series, head.entry)
        contents.add("runs.csv", runs.getvalue())
        contents.add("series.csv", series.getvalue())
        package = build_data_package(ExportTable.RUNS, ExportTable.SERIES)
        contents.add("datapackage.json", json.dumps(package, indent=1, ensure_ascii=False).encode())
        contents.add("verify.py", VERIFIER.read_bytes())
        rows = self.warehouse.runs.find_rows(run_ids)
        checks = {run_id: [asdict(check) for check in row.checks] for run_id, row in rows.items()}
        contents.add("checks.json", verify.to_canonical(checks))
        for ruleset_id in sorted({row.ruleset_id for row in rows.values()}):
            self._add_ruleset(contents, ruleset_id)
        for plan in self.warehouse.series.of(series_ids):
            contents.add(f"series/{plan.series_id}.json", dump_series(plan))
        self._add_code(contents, records.values())
        self._add_report(contents, run_ids)
        return contents

    def _add_folder(self, contents: _Contents, run_id: str, with_logs: bool) -> RunRecord:
        """Add the files of a run's folder. Raises ResultError if they are not as they were recorded."""
        for error in self.folders.fetch(run_id):
            raise error
        folder = self.folders.path(run_id)
        record = read_record(folder.record, folder.metrics, folder.events)
        with self.comparing.open_runs() as sealed:
            if different := sealed.compare(record, whole=with_logs).error:
                raise different
        for name in names_in(folder.path):
            if is_plain(name) and (with_logs or not any(part.holds(name) for part in _BULKY)):
                contents.files[f"runs/{run_id}/{name}"] = (folder.path / name).read_bytes
            else:
                contents.absent[f"runs/{run_id}/{name}"] = Message("left out")
        return record

    def _add_ruleset(self, contents: _Contents, ruleset_id: str) -> None:
        name = f"rulesets/{ruleset_id.replace('/', '-')}.json"
        try:
            contents.add(name, self.rulesets.get(ruleset_id).model_dump_json(indent=1).encode())
        except AisbenchError as error:
            contents.absent[name] = error.message

    def _add_report(self, contents: _Contents, run_ids: Sequence[str]) -> None:
        page = self.reports.write(run_ids, ReportLanguage.BOTH)
        contents.add("report.html", page.encode())
        try:
            contents.add("report.pdf", self.print_page(page))
        except ConfigError as error:
            contents.absent["report.pdf"] = error.message

    def _add_code(self, contents: _Contents, records: Iterable[RunRecord]) -> None:
        for sha256, run in {record.run.code_sha256: record.run for record in records if not record.imported}.items():
            if not sha256:
                continue
            try:
                files = self._fetch_code(run)
            except AisbenchError as error:
                contents.absent[f"code/{sha256}.json"] = error.message
                continue
            manifest = [[name, hashlib.sha256(content).hexdigest()] for name, content in sorted(files.items())]
            contents.add(f"code/{sha256}.json", canonical_json(manifest).encode())
            for name, content in files.items():
                contents.add(f"code/{sha256}/{name}", content)

    def _fetch_code(self, run: Run) -> dict[str, bytes]:
        """The files of a run's code by name, from where its job got them. Raises AisbenchError."""
        cloud = self.connect(run.profile, run.spec.api)
        directory = run_paths.code_path(run.spec, run.code_sha256, cloud.profile)
        sizes = {stat.path: stat.size for stat in cloud.objects.list(directory)}
        if sum(sizes.values()) > MOST_CODE:
            raise ResultError(Message("the code is larger than {most}", most=format_size(MOST_CODE)))
        found = cloud.objects.read_many(sizes)
        files = {path.removeprefix(directory): content for path, content in found.items()}
        manifest = [[name, hashlib.sha256(content).hexdigest()] for name, content in sorted(files.items())]
        if hashlib.sha256(canonical_json(manifest).encode()).hexdigest() != run.code_sha256:
            raise ResultError(Message("the code on OBS is not the one that ran"))
        return files

    def _list_attempts(self, run_ids: Sequence[str]) -> list[dict[str, object]]:
        """Every attempt of each series, launched or not, failed or not."""
        recorded, series = {*run_ids}, self.warehouse.series.find_ids(run_ids)
        return [
            {
                "series_id": attempt.series_id,
                "cell": attempt.cell,
                "number": attempt.number,
                "run_id": attempt.run_id,
                "is_cancelled": attempt.cancelled,
                "is_recorded": attempt.run_id in recorded,
            }
            for attempt in SeriesLedger(self.ledger).attempts(series)
        ]


def _too_large(size: int) -> SpecError:
    most = Message("a bundle holds up to {most}", most=format_size(verify.LARGEST))
    return SpecError(
        Message("evidence"), [Problem("runs", most, format_size(size))],
        Message("choose fewer runs, or leave out logs and event files (--without-logs)"),
    )  # fmt: skip
