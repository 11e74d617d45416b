"""Records of development versions: their keys get the names of today, and say why a run was stopped."""

import json

import pytest

from aisbench_core.base.messages import Message
from aisbench_core.base.messages.stored import to_json
from aisbench_core.domain.results.record import dump_record, parse_outline
from aisbench_core.maintenance.upgrading.run_folders import rename_keys
from aisbench_core.model import RunState, StopCause, StopKind
from tests import records as a

CAUSES = {
    Message("stopped by {who}", who="ann"): StopCause(StopKind.PERSON, "ann"),
    Message("stopped by the search: {search_reason}", search_reason="slow"): StopCause(StopKind.SEARCH, "slow"),
    Message("no sign of life for {stalled_minutes} minutes", stalled_minutes=75): StopCause(StopKind.STALL, 75),
}


def former(record: dict[str, object], detail: str) -> bytes:
    """A record's file as development versions wrote it."""
    run = {**record["run"], "detail": detail, "detail_data": to_json(detail)}  # type: ignore[dict-item]  # an object
    run["verdict"] = run.pop("final_state")
    del run["stop_cause"]
    return json.dumps({**record, "run": run, "remarks": {"changes": []}}).encode()


@pytest.mark.parametrize("sentence", CAUSES, ids=lambda sentence: CAUSES[sentence].kind)
def test_a_record_says_why_its_run_was_stopped(sentence: Message) -> None:
    record = json.loads(dump_record(a.record("r-1", state=RunState.STOPPED)))

    found = parse_outline(rename_keys(former(record, sentence))).run

    assert (found.stop_cause, found.detail) == (CAUSES[sentence], sentence)


def test_a_record_of_today_stays_as_it_is() -> None:
    content = dump_record(a.record("r-1"))

    assert rename_keys(content) == content


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"run": null}', b'{"run": {"verdict": ""}, "a": NaN'])
def test_a_damaged_record_stays_as_it_is(content: bytes) -> None:
    assert rename_keys(content) == content


def test_what_an_import_said_has_the_name_of_today() -> None:
    imported = a.imported("i-1")
    record = json.loads(dump_record(imported))
    said = record["imported"].pop("details")
    record["imported"]["told"] = [*said, "host: node-1"]

    found = parse_outline(rename_keys(former(record, ""))).imported

    assert found is not None
    assert found.details == (*said, "host: node-1")
