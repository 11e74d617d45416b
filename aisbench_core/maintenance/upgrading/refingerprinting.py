"""Computes the fingerprints of stored runs by the formula of today, and moves what names them: baselines, saved views.

One SELECT reads the runs in chunks and one UPDATE writes them, so that a million runs take minutes, not hours.
"""

import json
from dataclasses import fields
from typing import Any

import duckdb

from aisbench_core.model import Origin, canonical_json
from aisbench_core.model.columns import FINGERPRINTED, GROUP_KEYS
from aisbench_core.warehouse.measures.fingerprint import UNKNOWN_SPEC, fingerprint_of, image_of, not_known
from aisbench_core.warehouse.values.configurations import short_id
from aisbench_core.warehouse.values.histories import Trend

CHUNK = 20_000

_NEEDED = (
    *FINGERPRINTED,
    *GROUP_KEYS,
    *("run_id", "spec", "speed_parameters", "resolved", "not_known", "passport"),
    *("engine_version", "spec_sha256", "source", "imported_at"),
)

_OF_TREND = tuple(field.name for field in fields(Trend) if field.name != "fingerprint")

# A baseline's run ids are of one configuration; its versions count in each that its own has become.
_OF_BASELINE = f"""
    select distinct new.fingerprint from refingerprinted new join runs using (run_id)
    where new.before = ? and {" and ".join(f"{name} is not distinct from ?" for name in _OF_TREND)}
        and (? <> '' or list_contains(?::VARCHAR[], run_id))
"""

_NEW = "run_id VARCHAR, before VARCHAR, fingerprint VARCHAR, not_known VARCHAR, image VARCHAR"


def recompute_fingerprints(con: duckdb.DuckDBPyConnection) -> None:
    """Give every run its fingerprint, image and what is not known of it; take their baselines and views along.

    The hash of a record covers none of them, so that it stays valid."""
    con.execute(f"create or replace temp table refingerprinted ({_NEW})")
    last = ""
    while rows := _fetch_chunk(con, last):
        last = rows[-1]["run_id"]
        columns = zip(*map(_recompute_row, rows), strict=True)
        values = ", ".join("unnest(?::VARCHAR[])" for _ in _NEW.split(","))
        con.execute(f"insert into refingerprinted select {values}", [list(column) for column in columns])
    con.execute("""
        update runs set fingerprint = new.fingerprint, not_known = new.not_known, image = new.image
        from refingerprinted new where runs.run_id = new.run_id""")
    _move_baselines(con)
    _move_views(con)
    con.execute("drop table refingerprinted")


def _fetch_chunk(con: duckdb.DuckDBPyConnection, after: str) -> list[dict[str, Any]]:
    con.execute(f"select {', '.join(_NEEDED)} from runs where run_id > ? order by run_id limit {CHUNK}", [after])
    return [dict(zip(_NEEDED, row, strict=True)) for row in con.fetchall()]


def _recompute_row(stored: dict[str, Any]) -> tuple[str, str, str, str, str]:
    spec, speed = _load_object(stored["spec"]) or {}, _load_object(stored["speed_parameters"])
    run = stored
    if (
        run["origin"] == Origin.IMPORTED and run["spec_sha256"]
    ):  # computed where it was launched, from more than is known here
        # Schemas before 20 have none, or an empty one whatever was known.
        return run["run_id"], run["fingerprint"], run["fingerprint"], run["not_known"] or UNKNOWN_SPEC, run["image"]
    image = run["image"] if run["origin"] == Origin.IMPORTED else image_of(spec, run["engine_version"], run["resolved"])
    return run["run_id"], run["fingerprint"], fingerprint_of(run, spec, speed), not_known(run, spec, speed), image


def _move_baselines(con: duckdb.DuckDBPyConnection) -> None:
    for trend_id, grouped, field, names, *marked in con.execute("from baselines").fetchall():
        cells = json.loads(grouped)
        values = [cells["fingerprint"], *(cells[name] for name in _OF_TREND), field, json.loads(names)]
        fingerprints = [fingerprint for (fingerprint,) in con.execute(_OF_BASELINE, values).fetchall()]
        if fingerprints:
            con.execute("delete from baselines where group_id = ?", [trend_id])
        for fingerprint in fingerprints:
            moved = {**cells, "fingerprint": fingerprint}
            row = [short_id(moved), canonical_json(moved), field, names, *marked]
            con.execute("insert into baselines values (?, ?, ?, ?, ?, ?)", row)


def _move_views(con: duckdb.DuckDBPyConnection) -> None:
    """A view of one benchmark shows the largest part of what that has become."""
    con.execute("select before, mode(fingerprint) from refingerprinted where before <> fingerprint group by before")
    moved = dict(con.fetchall())
    for page, name, address in con.execute("select page, name, address from saved_views").fetchall():
        cells = json.loads(address)
        if any(benchmark in moved for benchmark in cells.get("benchmark", ())):
            text = canonical_json({**cells, "benchmark": [moved.get(one, one) for one in cells["benchmark"]]})
            con.execute("update saved_views set address = ? where page = ? and name = ?", [text, page, name])


def _load_object(text: str | None) -> dict[str, Any] | None:
    try:
        value = json.loads(text or "null")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
