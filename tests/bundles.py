"""Consoles that make evidence bundles of generated runs, without a cloud."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aisbench_core.base.clock import utc_now
from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import write_whole
from aisbench_core.config.settings import Settings
from aisbench_core.domain.results.record import write_record
from aisbench_core.domain.rulesets.ruleset import Rulesets
from aisbench_core.exchange.evidence import verify
from aisbench_core.exchange.evidence.making import Bundles
from aisbench_core.exchange.report import pdf
from aisbench_core.exchange.report.reports import Reports
from aisbench_core.model import Mode, RunRecord, RunState
from aisbench_core.running.time_stamps import TimeStamps
from aisbench_core.store.audit.audit import Audit
from aisbench_core.store.audit.audit_heads import AuditHeads
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.seals.comparing import SealComparing
from aisbench_core.store.seals.service import Seals
from aisbench_core.store.signing.heads import Heads
from aisbench_core.store.signing.private_key import KeyFile, PrivateKey
from aisbench_core.store.signing.service import SigningKeys
from aisbench_core.store.signing.statements import sign_statement
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.actors import TESTER

FILE, RAW, LOG = "runs/run-1/record.json", "runs/run-1/result_files.json", "runs/run-2/logs/worker-0.log"
"""Files of the bundle of `make_console`."""

RUNS = ("run-0", "run-1", "run-2", "slow", "failed")

Files = dict[str, bytes]

AT = datetime(2026, 3, 2, tzinfo=UTC)


def make_key(seed: int = 1) -> PrivateKey:
    """A key of its own for each seed."""
    return PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32))


def refuse_cloud(*_: object) -> NoReturn:
    """A region that nobody has keys for."""
    raise ConfigError(Message("no keys"))


@dataclass
class EvidenceConsole:
    """A console's stores in a folder."""

    folder: Path
    key: PrivateKey
    at: datetime = AT
    print_page: Callable[[str], bytes] = pdf.print_page
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.folder / "ledger.sqlite3")
        self.folders = RunFolders(self.folder / "runs")
        self.warehouse = Warehouse(self.folder / "warehouse.duckdb")
        self.audit = Audit(self.ledger, 0, utc_now, AuditHeads(self.folder / "heads.json", ""))
        self.seals = Seals(self.ledger, self.folders, self.audit, utc_now)
        key_file = self.folder / "signing-key.pem"
        write_whole(key_file, self.key.to_pem())
        self.keys = SigningKeys(KeyFile(key_file), self.ledger, self.audit, utc_now)
        self.heads = Heads(self.ledger, self.audit, self.keys)

    @property
    def bundles(self) -> Bundles:
        """What makes its bundles."""
        return Bundles(
            folders=self.folders,
            warehouse=self.warehouse,
            reports=Reports(self.warehouse, lambda: self.at),
            rulesets=Rulesets(),
            ledger=self.ledger,
            comparing=SealComparing(self.ledger, self.folders, lambda _: None, are_all_here=True),
            keys=self.keys,
            heads=self.heads,
            stamps=TimeStamps(self.settings),
            connect=refuse_cloud,
            clock=lambda: self.at,
            print_page=self.print_page,
        )

    def record(self, records: Sequence[RunRecord]) -> None:
        """Record runs with the files that their jobs wrote, and seal their folders."""
        for record in records:
            folder = self.folders.path(record.run.run_id)
            write_record(record, folder.record, folder.metrics, folder.events)
            if record.result and not record.imported:
                folder.result_files.write_text(json.dumps(written_files(record)))
            folder.log(0).parent.mkdir(exist_ok=True)
            folder.log(0).write_text("step 1\nstep 2\n")
        self.seals.seal_recorded([record.run.run_id for record in records], TESTER)
        self.warehouse.record_many(records)

    def make(self, *names: str) -> bytes:
        """The bundle of runs or series."""
        target = BytesIO()
        self.bundles.write(names, target, TESTER)
        return target.getvalue()


def make_console(folder: Path) -> EvidenceConsole:
    """A console with three good runs, a slow and a failed one."""
    console = EvidenceConsole(folder, make_key())
    console.record(a.records([8000.0, 8100.0, 8250.0]))
    console.record([a.record("slow", throughputs=[1000.0] * 7 + [500.0], framework_version="r1.11")])
    console.record([a.record("failed", with_result=False, state=RunState.FAILED)])
    return console


def written_files(record: RunRecord) -> dict[str, str]:
    """The result files of a job that left this record."""
    result, single = record.result, record.run.spec.mode is Mode.SINGLE_SERVER
    if result is None:
        return {}
    files = {
        f"{each.server}/throughput_{each.rank}.json"
        if single
        else f"throughput_{each.rank}.json": f"{each.throughput!r}\n"
        for each in result.rank_results
    }
    if result.info.accuracy is not None:
        files["accuracy.json"] = f"{result.info.accuracy}"
    return files


def find_problems(data: bytes) -> list[str]:
    """What is wrong with a bundle, in sentences."""
    return [template.format(**values) for template, values in verify.check_bundle(data)[0]]


def write_zip(files: Files) -> bytes:
    """A zip file like that of a bundle, of any files in any order."""
    return b"".join(part for _, part in verify.iter_zip(files.items()))


def sign_again(files: Files, seed: int = 1, **changes: Any) -> bytes:
    """A bundle of these files, signed by whoever has this key; `changes`: of what is stated."""
    predicate = {**verify.check_bundle(write_zip(files))[2], **changes}
    key = make_key(seed)
    subject = [
        {"name": name, "digest": {"sha256": hashlib.sha256(content).hexdigest()}}
        for name, content in sorted(files.items())
        if name != verify.ENVELOPE
    ]
    statement = {
        "_type": verify.STATEMENT_TYPE,
        "predicateType": verify.PREDICATE_TYPE,
        "subject": subject,
        "predicate": {**predicate, "key": str(key.public)},
    }
    envelope = sign_statement(verify.to_canonical(statement), key.sign).encode()
    rest = sorted(item for item in files.items() if item[0] != verify.ENVELOPE)
    return write_zip({**dict(rest), verify.ENVELOPE: envelope})
