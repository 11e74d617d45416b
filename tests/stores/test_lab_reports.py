"""The lab's reports: numbered, complete, authorised by a second person, and never changed."""

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from aisbench_core.base.errors import AisbenchError, ConfigError, NotAllowed, ResultError, RunNotFound, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Settings
from aisbench_core.exchange.lab_reports.service import CONTENT
from aisbench_core.exchange.report.details import LabDetails, parse_details, parse_details_text
from aisbench_core.exchange.report.disclosure import read_disclosure
from aisbench_core.exchange.report.words import ReportLanguage
from aisbench_core.model import Actor, Event, Level, Role, RunState, WayIn
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.store.ledger.deletions import Deletion, DeletionLedger
from aisbench_core.store.signing.public_key import PublicKey
from aisbench_core.store.signing.statements import open_envelope
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import TESTER, named

PREPARER, OTHER = named("eve"), named("leo")
LEAD = Actor("lea", Role.LEAD.included, WayIn.CONSOLE)
ENGINEER = Actor("bob", Role.ENGINEER.included, WayIn.CONSOLE)
STATED: dict[str, Any] = {"laboratory_name": "Lab 3", "laboratory_address": "1 Long Road"}
HOSTILE = '"><script>alert(\'x\')</script> {{ 7 * 7 }} <style id="fonts"></style> url(http://example.com/x)'


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """A console with a series of five runs by ann, of which one failed, and one run of no series."""
    core = open_core(Settings(data_dir=tmp_path / "data"), clock=lambda: a.T0 + timedelta(days=9))
    runs = a.records([8000.0, 8100.0, 8050.0, 8070.0], "again")
    failed = a.record("again-4", with_result=False, state=RunState.FAILED, created_at=a.T0 + timedelta(days=1))
    of_series = [
        replace(each, run=replace(each.run, series_id="s-1", series_index=n + 1))
        for n, each in enumerate([*runs, failed])
    ]
    core.warehouse.record_many([*of_series, a.record("alone")])
    for record in of_series:
        core.ledger.add(record.run)
    return core


def details(**stated: Any) -> LabDetails:
    return parse_details(STATED | stated)


def text_of(page: str) -> str:
    body = page.partition("</style>\n</head>")[2]
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


def page_of(core: Core, number: int, language: ReportLanguage = ReportLanguage.EN) -> str:
    return text_of(core.lab_reports.show(number, language))


def test_a_report_is_about_every_attempt_of_the_series_of_its_runs(core: Core) -> None:
    launched = a.record("again-5", state=RunState.FAILED, created_at=a.T0 + timedelta(days=2)).run
    deleted = replace(launched, series_id="s-1", series_index=6)
    core.ledger.add(deleted)
    deletion = Deletion("again-5", a.T0, "mia", "typed by mistake")
    DeletionLedger(core.ledger).add(deletion, Event("again-5", a.T0, "cli", Level.INFO, Message("deleted")))

    report = core.lab_reports.issue(["again-0"], details(), PREPARER)

    content = json.loads(core.lab_reports.read_files(report.number)[CONTENT])
    assert content["run_ids"] == [f"again-{n}" for n in range(5)]
    assert [each["run_id"] for each in content["attempts"]] == [f"again-{n}" for n in range(6)]
    said = page_of(core, report.number)
    assert "again-4: failed" in said
    assert "again-5: failed (deleted by mia: typed by mistake)" in said


def test_each_of_the_46_items_is_stated_or_has_a_reason_in_both_languages(core: Core) -> None:
    report = core.lab_reports.issue(["again-0"], details(statements={33: "within the reference's band"}), PREPARER)

    items = read_disclosure()
    assert [item.number for item in items] == list(range(1, 47))
    content = json.loads(core.lab_reports.read_files(report.number)[CONTENT])
    for item, disclosed in zip(items, content["disclosure"], strict=True):
        assert bool(disclosed["stated"] or disclosed["section"]) != bool(disclosed["reason"]), item.number
    english, chinese = (page_of(core, report.number, each) for each in (ReportLanguage.EN, ReportLanguage.ZH))
    for item in items:
        assert f" {item.number} {item.title} {item.asked_by} " in english
        assert f" {item.number} {item.title_zh} {item.asked_by} " in re.sub(r"\s+", " ", chinese)
    assert "Convergence against the reference M within the reference's band" in english
    assert "not stated, because power was not measured" in english
    assert "The results relate only to the items tested." in english
    assert "结果仅与被测对象有关" in chinese


def test_limits_have_uncertainty_decision_rule_and_risk_beside_them(core: Core) -> None:
    limits = [
        {"quantity": "throughput_cluster", "at_least": 7900},
        {"quantity": "throughput_per_card", "at_least": 2e4},
    ]

    report = core.lab_reports.issue(["again-0"], details(requirements=limits), PREPARER)

    content = json.loads(core.lab_reports.read_files(report.number)[CONTENT])
    found = {row["quantity"]: row for row in content["uncertainty"]}
    assert found["throughput_cluster"]["conformity"] == "pass"
    assert found["throughput_cluster"]["risk"] < 0.025
    assert found["throughput_per_card"]["conformity"] == "fail"
    assert found["throughput_cluster"]["clock"] is None
    said = page_of(core, report.number)
    assert "pass if the value − U is at least the limit" in said
    assert "± " in said


def test_only_a_second_lead_authorises_and_the_signature_is_verified_without_us(core: Core) -> None:
    report = core.lab_reports.issue(["again-0"], details(), LEAD)
    launcher = Actor("ann", frozenset(Role), WayIn.CONSOLE)
    for actor in (LEAD, launcher, ENGINEER):
        with pytest.raises(NotAllowed):
            core.lab_reports.authorise(report.number, actor)
    assert "not authorised" in page_of(core, report.number)

    done = core.lab_reports.authorise(report.number, OTHER)

    assert (done.authorised_by, core.lab_reports.is_signed(done)) == ("leo", True)
    envelope = json.loads(done.envelope)
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    key = load_ssh_public_key(str(core.signing_keys.get_public_key()).encode())
    assert isinstance(key, Ed25519PublicKey)
    signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed)
    statement = json.loads(payload)
    hashes = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    assert hashes == {
        f"1/{name}": hashlib.sha256(content).hexdigest() for name, content in core.lab_reports.read_files(1).items()
    }
    assert statement["predicate"]["authorised_by"] == "leo"
    said = page_of(core, report.number)
    assert "· leo" in said
    assert "Signature of the console valid" in said
    with pytest.raises(ConfigError, match="authorised already"):
        core.lab_reports.authorise(report.number, named("zoe"))


def test_no_flipped_bit_of_an_authorisation_verifies(core: Core) -> None:
    core.lab_reports.issue(["alone"], details(), PREPARER)
    envelope = core.lab_reports.authorise(1, OTHER).envelope
    key = core.signing_keys.get_public_key()
    assert open_envelope(envelope, key)

    raw = envelope.encode()
    for bit in range(0, 8 * len(raw), 7):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        assert open_envelope(changed.decode("latin-1"), key) is None, bit
    assert open_envelope(envelope, PublicKey(bytes(32))) is None


def test_an_amendment_has_a_number_of_its_own_and_the_old_report_says_so(core: Core) -> None:
    core.lab_reports.issue(["again-0"], details(), PREPARER)
    before = core.lab_reports.read_files(1)

    amended = core.lab_reports.amend(1, "the address was wrong", PREPARER, details(laboratory_address="2 Short Road"))

    assert (amended.number, amended.amends) == (2, 1)
    assert core.lab_reports.read_files(1) == before
    assert "AMENDED BY REPORT 2" in page_of(core, 1)
    assert "Amends report 1: the address was wrong" in page_of(core, 2)
    assert "2 Short Road" in page_of(core, 2)
    with pytest.raises(ConfigError, match="amended by report 2"):
        core.lab_reports.amend(1, "again", PREPARER)
    with pytest.raises(ConfigError, match="amended by report 2"):
        core.lab_reports.authorise(1, OTHER)


def test_a_withdrawn_report_stays_and_is_marked_and_audited(core: Core) -> None:
    core.lab_reports.issue(["again-0"], details(), PREPARER)

    core.lab_reports.withdraw(1, "node 3 was throttled", OTHER)

    assert re.search("WITHDRAWN .*, leo: node 3 was throttled", page_of(core, 1))
    assert "node 3 was throttled" in page_of(core, 1, ReportLanguage.ZH)
    with pytest.raises(ConfigError, match="withdrawn"):
        core.lab_reports.withdraw(1, "again", OTHER)
    with pytest.raises(ConfigError, match="withdrawn"):
        core.lab_reports.authorise(1, named("zoe"))
    entries = core.audit.entries(AuditQuery(change="report."), TESTER)
    hashes = {hashlib.sha256(core.lab_reports.read_files(1)[CONTENT]).hexdigest()}
    assert {entry.act.after for entry in entries if entry.act.change == "report.issue"} == hashes
    assert next(entry.act.object for entry in entries if entry.act.change == "report.withdraw") == "1"


def test_a_changed_page_is_named(core: Core) -> None:
    core.lab_reports.issue(["alone"], details(), PREPARER)
    other = core.lab_reports.issue(["again-0"], details(), PREPARER)
    with core.ledger.transaction() as con:
        [files] = con.execute("select files from issued_reports where number = ?", [other.number]).fetchone()
        page = json.loads(files)["report-en.html"]
        mixed = json.loads(con.execute("select files from issued_reports where number = 1").fetchone()["files"])
        con.execute(
            "update issued_reports set files = ? where number = 1", [json.dumps(mixed | {"report-en.html": page})]
        )

    with pytest.raises(ResultError, match=r"report 1 was changed after it was issued: report-en\.html"):
        core.lab_reports.show(1, ReportLanguage.ZH)


def test_what_people_type_is_text_in_a_report(core: Core) -> None:
    hostile = details(customer_name=HOSTILE, item_ids=[HOSTILE], statements={1: HOSTILE})

    report = core.lab_reports.issue(["alone"], hostile, PREPARER)
    core.lab_reports.withdraw(report.number, HOSTILE, OTHER)

    page = core.lab_reports.show(report.number, ReportLanguage.EN)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 4
    assert page.count('<style id="fonts">') == 0
    assert "49" not in re.findall(r"alert\(&#39;x&#39;\)&lt;/script&gt; (\S+)", page)


@pytest.mark.parametrize(
    ("text", "field", "says"),
    [
        ("laboratory_address: x", "laboratory_name", "field required"),
        ('laboratory_name: "a\\u202Eb"', "laboratory_name", "control characters"),
        (f"customer_name: AKIA{'IOSFODNN7EXAMPLE'}", "customer_name", "key or a password"),
        ("statements: {47: x}", "statements", "1 to 46"),
        ("requirements: [{quantity: speed, at_least: 1}]", "requirements.0.quantity", "throughput_cluster"),
        ("requirements: [{quantity: accuracy, at_least: .nan}]", "requirements.0.at_least", "finite"),
        ("received_on: soon", "received_on", "date"),
        ("laboratory: x", "laboratory", "not a known key"),
    ],
)
def test_a_wrong_field_is_named_and_no_secret_repeated(text: str, field: str, says: str) -> None:
    with pytest.raises(SpecError) as error:
        parse_details_text(text)

    problem = next(each for each in error.value.problems if each.field == field)
    assert says in str(problem.message)
    assert "AKIA" not in str(error.value)


def test_unknown_runs_and_missing_reasons_are_refused(core: Core) -> None:
    with pytest.raises(RunNotFound):
        core.lab_reports.issue(["nobody"], details(), PREPARER)
    core.lab_reports.issue(["alone"], details(), PREPARER)
    for reason in ("", " \n", "x\x1b[31m"):
        with pytest.raises(SpecError):
            core.lab_reports.withdraw(1, reason, OTHER)
    with pytest.raises(ConfigError, match="there is no report 7"):
        core.lab_reports.show(7, ReportLanguage.EN)
    with pytest.raises(AisbenchError, match="English or Chinese"):
        core.lab_reports.show(1, ReportLanguage.BOTH)
