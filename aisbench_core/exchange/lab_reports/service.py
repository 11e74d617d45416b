"""Issues reports of the lab, and keeps what was decided of each."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC
from typing import Any

from aisbench_core.base.errors import ConfigError, NotAllowed, Problem, ResultError, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change, note_values
from aisbench_core.domain.rulesets.ruleset import Rulesets
from aisbench_core.exchange.lab_reports.attempts import ReportedRuns, complete_runs
from aisbench_core.exchange.report import pdf
from aisbench_core.exchange.report.details import LabDetails, parse_details
from aisbench_core.exchange.report.lab_section import LabInput, LabSection
from aisbench_core.exchange.report.reports import Reports, plain_content, render_page, render_template
from aisbench_core.exchange.report.view import ReportView
from aisbench_core.exchange.report.words import ReportLanguage
from aisbench_core.model import REASON_LETTERS, Actor, Clock, canonical_json
from aisbench_core.store.ledger.issued_reports import IssuedReport, IssuedReportLedger
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.signing.public_key import PublicKey
from aisbench_core.store.signing.service import SigningKeys
from aisbench_core.store.signing.statements import build_statement, open_envelope, sign_statement
from aisbench_core.warehouse.facade import Warehouse

CONTENT = "content.json"
AUTHORISATION = "https://github.com/aisbench/console/report-authorisation/v1"

LANGUAGES = (ReportLanguage.EN, ReportLanguage.ZH)

_FONTS, _STATUS = '<style id="fonts"></style>', '<div id="status"></div>'
_TRIES = 20  # at a number that others take meanwhile


@dataclass(frozen=True, slots=True)
class LabReports:
    """Reports that are numbered, stored and never changed. Threads may share it."""

    reports: Reports
    warehouse: Warehouse
    ledger: Ledger
    rulesets: Rulesets
    keys: SigningKeys
    clock: Clock

    @property
    def stored(self) -> IssuedReportLedger:
        """The reports in the ledger."""
        return IssuedReportLedger(self.ledger)

    def draft(self, run_ids: Sequence[str], details: LabDetails, language: ReportLanguage, ruleset_id: str = "") -> str:
        """The page as it would be issued, without a number. Raises as `issue` does."""
        found = complete_runs(run_ids, self.warehouse, self.ledger)
        given = self._build_input(found, details, ruleset_id)
        view = self.reports.build_view(found.run_ids, language, ruleset_id, lab=given)
        return render_page(view, language, full=False)

    @permitted
    def issue(self, run_ids: Sequence[str], details: LabDetails, actor: Actor, ruleset_id: str = "") -> IssuedReport:
        """Prepare a numbered report about these runs and all others of their series.

        Raises RunNotFound, and SpecError on too many runs or runs of several kinds."""
        return self._store(run_ids, details, actor, ruleset_id)

    @permitted
    def amend(self, number: int, reason: str, actor: Actor, details: LabDetails | None = None) -> IssuedReport:
        """Issue a report anew, under a new number that refers to this one; `details`: by default as before."""
        before, reason = self.stored.get(number), _require_reason(reason)
        content = json.loads(self.read_files(number)[CONTENT])
        details = details or parse_details(content["details"])
        return self._store(
            content["run_ids"], details, actor, content["ruleset_id"], amends=before.number, reason=reason
        )

    @permitted
    def authorise(self, number: int, actor: Actor) -> IssuedReport:
        """Authorise a report of others. Raises NotAllowed for whoever prepared it or launched one of its runs."""
        report, files = self.stored.get(number), self.read_files(number)
        if actor.name in report.involved:
            raise NotAllowed(
                Message("{who} prepared report {number} or launched one of its runs", who=actor.name, number=number),
                Message("ask another lead, or an admin"),
            )
        _require_standing(report)
        now = self.clock()
        predicate = {
            "number": number,
            "report_id": report.report_id,
            "prepared_by": report.prepared_by,
            "authorised_by": actor.name,
            "authorised_at": now.astimezone(UTC).isoformat(timespec="seconds"),
        }
        hashes = {f"{number}/{name}": _hash_bytes(content) for name, content in files.items()}
        envelope = sign_statement(build_statement(AUTHORISATION, hashes, predicate), self.keys.sign)
        if not self.stored.authorise(number, now, actor.name, envelope):
            _require_standing(self.stored.get(number))
        note_values(report.content_sha256, hashlib.sha256(envelope.encode()).hexdigest())
        log_change(actor, f"report {number} authorised")
        return self.stored.get(number)

    @permitted
    def withdraw(self, number: int, reason: str, actor: Actor) -> IssuedReport:
        """Withdraw a report, which stays readable and says so."""
        report, reason = self.stored.get(number), _require_reason(reason)
        if not self.stored.withdraw(number, self.clock(), actor.name, reason):
            raise _withdrawn_error(report)
        note_values(report.content_sha256, reason)
        log_change(actor, f"report {number} withdrawn")
        return self.stored.get(number)

    def read_files(self, number: int) -> dict[str, bytes]:
        """The stored files of a report by name. Raises ResultError if they are not what was issued."""
        report, files = self.stored.get(number), self.stored.files(number)
        content = files.get(CONTENT, b"")
        changed = [CONTENT] if _hash_bytes(content) != report.content_sha256 else []
        hashes = json.loads(content)["files"] if not changed else {}
        changed += [
            name for name in {*hashes, *files} - {CONTENT} if _hash_bytes(files.get(name, b"")) != hashes.get(name)
        ]
        if changed:
            raise ResultError(
                Message("report {number} was changed after it was issued: {files}", number=number,
                        files=", ".join(sorted(changed))),
                Message("compare the ledger with a backup"),
            )  # fmt: skip
        return files

    def is_signed(self, report: IssuedReport) -> bool:
        """Whether a key of this console signed the authorisation of what is stored."""
        keys = [PublicKey.parse(key.public_key) for key in self.keys.list_keys() if key.is_ours]
        statement = next(filter(None, (open_envelope(report.envelope, key) for key in keys)), None)
        if statement is None:
            return False
        signed = {each["name"]: each["digest"]["sha256"] for each in json.loads(statement)["subject"]}
        return signed.get(f"{report.number}/{CONTENT}") == report.content_sha256

    def show(self, number: int, language: ReportLanguage) -> str:
        """The page of a report, marked with what was decided of it since. Raises ConfigError and ResultError."""
        if language not in LANGUAGES:
            raise ConfigError(Message("an issued report is in English or Chinese"), Message("use --lang en or zh"))
        report, page = self.stored.get(number), self.read_files(number)[f"report-{language}.html"].decode()
        status = render_template(
            "status.html.jinja", stored=report, is_signed=self.is_signed(report), language=language.value
        )
        fonts = f"<style>\n{render_template('fonts.css.jinja')}</style>"
        return page.replace(_FONTS, fonts, 1).replace(_STATUS, status, 1)

    def print_pdf(self, number: int, language: ReportLanguage) -> bytes:
        """The same page as PDF. Raises also ConfigError where the machine lacks what prints it."""
        return pdf.print_page(self.show(number, language))

    def _store(
        self,
        run_ids: Sequence[str],
        details: LabDetails,
        actor: Actor,
        ruleset_id: str,
        *,
        amends: int | None = None,
        reason: str = "",
    ) -> IssuedReport:
        found, now = complete_runs(run_ids, self.warehouse, self.ledger), self.clock()
        given = replace(self._build_input(found, details, ruleset_id), amends=amends or 0, reason=reason)
        for _ in range(_TRIES):
            given = replace(given, number=self.stored.next_number())
            pages = {}
            for language in LANGUAGES:
                view = self.reports.build_view(found.run_ids, language, ruleset_id, lab=given)
                pages[f"report-{language}.html"] = render_page(view, language, full=False).encode()
            issued = {"prepared_by": actor.name, "prepared_at": now.astimezone(UTC).isoformat(timespec="seconds")}
            content = _build_content(view, pages, issued | {"ruleset_id": ruleset_id})
            report = IssuedReport(
                given.number, view.report_id, details.customer_name or details.laboratory_name, _hash_bytes(content),
                found.launched_by | {actor.name}, now, actor.name, amends, reason,
            )  # fmt: skip
            if self.stored.add(report, {CONTENT: content, **pages}):
                note_values("", report.content_sha256)
                log_change(actor, f"report {report.number} on {len(found.run_ids)} runs issued")
                return self.stored.get(report.number)
        raise ConfigError(Message("other reports took the number {number}", number=given.number), Message("try again"))

    def _build_input(self, found: ReportedRuns, details: LabDetails, ruleset_id: str) -> LabInput:
        rows = self.warehouse.runs.find_rows(found.run_ids).values()
        ids = dict.fromkeys([ruleset_id] if ruleset_id else [row.ruleset_id for row in rows if row.ruleset_id])
        rulesets = [self.rulesets.get(each) for each in ids]
        methods = tuple((each.title, each.edition, each.source) for each in rulesets)
        return LabInput(details, found.attempts, found.clock_ahead_s, methods)


def _build_content(view: ReportView, pages: Mapping[str, bytes], issued: Mapping[str, object]) -> bytes:
    """All that the pages say, for programs, and the hashes of the pages."""
    lab = view.lab
    if lab is None:
        raise TypeError("a view without a lab's part")
    content: dict[str, Any] = {
        **issued,
        "number": lab.given.number,
        "report_id": view.report_id,
        "data_sha256": view.data_sha256,
        "amends": lab.given.amends or None,
        "reason": lab.given.reason,
        "run_ids": [run.cells["run_id"] for run in view.runs],
        "details": lab.given.details.model_dump(mode="json", exclude_none=True),
        "methods": lab.given.methods,
        "attempts": [asdict(each) | {"fate": str(each.fate)} for each in lab.given.attempts],
        "uncertainty": _list_budgets(lab),
        "disclosure": [
            {
                "number": each.item.number, "title": each.item.title, "stated": each.stated, "section": each.section,
                "reason": "" if each.is_stated else each.item.reason,
            }
            for each in lab.disclosure
        ],
        "content": plain_content(lab.reported),
        "software": lab.software,
        "files": {name: _hash_bytes(page) for name, page in pages.items()},
    }  # fmt: skip
    return canonical_json(content).encode()


def _list_budgets(lab: LabSection) -> list[dict[str, object]]:
    rule = lab.given.details.decision_rule
    return [
        {
            "model": row.cells["model_name"], "node_count": row.cells["node_count"],
            "fingerprint": row.cells["fingerprint"], "quantity": row.quantity, "unit": row.unit, "runs": row.count,
            **asdict(row.found), "expanded": row.found.expanded, "limit": row.limit, "decision_rule": rule,
            "conformity": row.statement and row.statement.verdict, "risk": row.statement and row.statement.risk,
        }
        for row in lab.budgets
    ]  # fmt: skip


def _hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _require_reason(reason: str) -> str:
    reason = " ".join(reason.split())
    if not reason or len(reason) > REASON_LETTERS or not reason.isprintable():
        problem = Problem("reason", Message("must have 1 to {most} printable characters", most=REASON_LETTERS))
        raise SpecError(Message("report"), [problem])
    return reason


def _require_standing(report: IssuedReport) -> None:
    """Raise ConfigError unless the report waits for an authorisation."""
    if report.withdrawn_at:
        raise _withdrawn_error(report)
    if report.amended_by:
        raise ConfigError(
            Message("report {number} was amended by report {later}", number=report.number, later=report.amended_by),
            Message("authorise that one"),
        )
    if report.authorised_at:
        raise ConfigError(
            Message("report {number} is authorised already, by {who}", number=report.number, who=report.authorised_by)
        )


def _withdrawn_error(report: IssuedReport) -> ConfigError:
    return ConfigError(
        Message("report {number} was withdrawn", number=report.number), Message("issue or amend another one")
    )
