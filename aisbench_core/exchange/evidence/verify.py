"""Verifies an evidence bundle with nothing but Python 3.8: python3 -I -S verify.py bundle.zip [FINGERPRINT]."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import math
import re
import struct
import sys
import zlib
from functools import partial
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple

ENVELOPE, PAYLOAD_TYPE = "statement.json", "application/vnd.in-toto+json"
STATEMENT_TYPE, PREDICATE_TYPE = "https://in-toto.io/Statement/v1", "urn:aisbench:evidence:1"
LARGEST, MOST_ENTRIES = 2**30, 65_000  # bytes and entries of a bundle
LOCAL, CENTRAL, END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s4H2LH")
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # of Ed25519
D = -121665 * pow(121666, P - 2, P) % P
_parse_json = partial(json.loads, parse_int=lambda text: int(text[:40]), parse_constant=int)
NEARLY = (1 - 1e-9, 1 + 1e-9)  # sums in another order differ in the last digits
DECISIVE = ("record_sha256", "ruleset_id", "validity", "failed_checks", "warned_checks")
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, csv.Error)


class Mismatch(NamedTuple):
    """A sentence about a bundle: its template and its values."""

    template: str
    values: dict[str, Any]


def iter_zip(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """The only zip file of these entries, which are not compressed: its parts, each with what it belongs to."""
    directory, offset = [], 0
    for name, content in files:
        path, size = name.encode("utf-8", "surrogateescape"), len(content)
        fixed = (20, 0x800, 0, 0, 0x21, zlib.crc32(content), size, size, len(path), 0)
        yield from ((name, LOCAL.pack(b"PK\3\4", *fixed) + path), (name, content))
        directory.append((name, CENTRAL.pack(b"PK\1\2", 20, *fixed, 0, 0, 0, 0, offset) + path))
        offset += LOCAL.size + len(path) + size
    yield from directory
    count, length = len(directory), sum(len(part) for _, part in directory)
    yield "the zip directory", END.pack(b"PK\5\6", 0, 0, count, count, length, offset, 0)


def _read_zip(data: bytes) -> tuple[dict[str, bytes], list[Mismatch]]:
    files: list[tuple[str, bytes]] = []
    position = 0
    while data[position : position + 4] == b"PK\3\4" and len(files) < MOST_ENTRIES and position + 30 < len(data):
        *_, size, length, _ = LOCAL.unpack_from(data, position)
        start = position + LOCAL.size + length
        files.append((data[start - length : start].decode("utf-8", "surrogateescape"), data[start : start + size]))
        position = start + size
    names, position = [name for name, _ in files], 0
    for name, part in iter_zip(files):
        if not data.startswith(part, position):
            return dict(files), [Mismatch("the zip file has other bytes at {file} than a bundle", {"file": name})]
        position += len(part)
    is_whole = position == len(data) and names == [*sorted({*names} - {ENVELOPE}), ENVELOPE]
    more = Mismatch("the zip file has more in it than a bundle, or in another order", {})
    return dict(files), [] if is_whole else [more]


def _decode_point(text: bytes) -> tuple[int, ...]:
    sign, y = divmod(int.from_bytes(text, "little"), 2**255)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or sign > 1 or (x == 0 and sign):
        raise ValueError("not a point")
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P  # and the same point times any factor


def _add_points(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    a, b = (one[1] - one[0]) * (other[1] - other[0]) % P, (one[1] + one[0]) * (other[1] + other[0]) % P
    c, d = 2 * one[3] * other[3] * D % P, 2 * one[2] * other[2] % P
    return (b - a) * (d - c) % P, (d + c) * (b + a) % P, (d - c) * (d + c) % P, (b - a) * (b + a) % P


def _multiply_point(times: int, point: tuple[int, ...]) -> tuple[int, ...]:
    total = _multiply_point(times >> 1, _add_points(point, point)) if times else (0, 1, 1, 0)
    return _add_points(total, point) if times & 1 else total


def is_signed(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether an Ed25519 signature (RFC 8032) is right. Raises ValueError if it, or the key, cannot be one."""
    base, key, nonce = map(_decode_point, ((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"), public, signature[:32]))
    hashed = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    scalar, (a, b, c, _) = int.from_bytes(signature[32:], "little"), _add_points(nonce, _multiply_point(hashed, key))
    x, y, z, _ = _multiply_point(scalar % ORDER, base)
    return len(public + signature) == 96 and scalar < ORDER and (x * c - a * z) % P == 0 == (y * c - b * z) % P


def to_canonical(value: object) -> bytes:
    """JSON with sorted keys and without blanks."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _read_statement(envelope: bytes) -> tuple[dict[str, Any], str]:
    outer = _parse_json(envelope)
    payload, signature = (base64.b64decode(text) for text in (outer["payload"], outer["signatures"][0]["sig"]))
    statement = _parse_json(payload)
    wire = b"\0\0\0\x0bssh-ed25519\0\0\0 " + base64.b64decode(statement["predicate"]["key"][12:])[19:]
    fingerprint = "SHA256:" + base64.b64encode(hashlib.sha256(wire).digest()).decode().rstrip("=")
    sealed = [{"keyid": fingerprint, "sig": base64.b64encode(signature).decode()}]
    exact = {"payload": base64.b64encode(payload).decode(), "payloadType": PAYLOAD_TYPE, "signatures": sealed}
    predicate = {**statement["predicate"], "key": "ssh-ed25519 " + base64.b64encode(wire).decode()}
    said = {**statement, "_type": STATEMENT_TYPE, "predicateType": PREDICATE_TYPE, "predicate": predicate}
    is_exact = (to_canonical(exact), to_canonical(said)) == (envelope, payload)  # no bit of it says nothing
    sealed_bytes = b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)
    if not is_exact or not is_signed(wire[19:], signature, sealed_bytes):
        raise ValueError("not signed")
    return statement, fingerprint


def _compute_share(t: float, df: int) -> float:
    angle, odd = math.atan(t / math.sqrt(df)), df % 2  # of Student's t within ±t: Abramowitz and Stegun, 26.7.3 and 4
    total, term = 0.0, math.cos(angle) if odd else 1.0
    for factor in range(1 + odd, df, 2):
        total, term = total + term, term * factor / (factor + 1) * math.cos(angle) ** 2
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def _compute_run(row: dict[str, str], record: Any, raw: dict[str, str], checks: Any) -> dict[str, Any]:
    run, result, imported = record["run"], record["result"] or {"rank_results": []}, record["imported"] or {}
    failed, warned = (";".join(each["id"] for each in checks if each["level"] == level) for level in ("fail", "warn"))
    best = row["validity"] if imported and row["validity"] in ("claimed", "verified") else "valid"
    is_whole = bool(record["result"]) and run["state"] == "completed"
    best = "incomplete" if not is_whole else "invalid" if failed else "set_aside" if row["set_aside"] else best
    raw = raw if is_whole else {}  # not every file of another one holds a number
    cells: dict[str, Any] = {"failed_checks": failed, "warned_checks": warned, "validity": best}
    ranks = {(each["server"], each["rank"]): each["throughput"] for each in result["rank_results"]}
    if not ranks or imported.get("carried"):
        return cells  # an import, or a log, reports no more than a sum
    files = [(re.fullmatch(r"(?:([0-9]+)/)?throughput_([0-9]+)\.json", name), text) for name, text in raw.items()]
    read = {(int(match[1] or 0), int(match[2])): float(text) for match, text in files if match} if raw else ranks
    accuracies = [float(text) for name, text in raw.items() if name.startswith("accuracy")]
    cells.update({"accuracy": math.fsum(accuracies) / len(accuracies)} if accuracies and row["accuracy"] else {})
    values = [value for value in read.values() if 1e-100 <= value <= 1e100]
    alone = 1 if run["spec"]["mode"] == "cluster" else len({server for server, _ in read})
    total = math.fsum(values) / alone if len(values) == len(read) == result["ranks_expected"] else None
    cells.update(state=run["state"], ranks_found=len(values), throughput_cluster=total)
    if total and row["node_count"] and row["cards_per_node"]:
        of_node = total / int(row["node_count"]) if run["spec"]["mode"] == "cluster" else total
        cells.update(throughput_per_node=of_node, throughput_per_card=of_node / int(row["cards_per_node"]))
    return cells


def _compute_series(row: dict[str, str], runs: list[dict[str, str]]) -> dict[str, Any]:
    counted = [run for run in runs if run["validity"] in ("valid", "claimed", "verified")]
    cells: dict[str, Any] = {"runs_total": len(runs), "runs_valid": len(counted)}
    for column in ("_per_node", "_per_card", "_cluster"):
        values = sorted(float(run["throughput" + column]) for run in counted if run["throughput" + column])
        middle = values[(len(values) - 1) // 2 : len(values) // 2 + 1]
        cells["median" + column.replace("_cluster", "")] = math.fsum(middle) / len(middle) if middle else None
    count = len(values)  # of the last column
    if values:
        cells.update(mean=math.fsum(values) / count, best=values[-1])
    if count > 1:
        cells["sd"] = sd = math.sqrt(math.fsum((value - cells["mean"]) ** 2 for value in values) / (count - 1))
        if row["ci95_low"] and sd:
            high, scale = float(row["ci95_high"]), cells["mean"] * math.sqrt(count) / sd
            least, most = (_compute_share(math.log(high * way / cells["mean"]) * scale, count - 1) for way in NEARLY)
            cells.update(ci95_low=cells["mean"] ** 2 / high, ci95_high=high if least < 0.95 < most else None)
    return cells


def _check_audit(audit: dict[str, Any], files: dict[str, bytes]) -> Iterator[Mismatch]:
    sealed, number, sha256, before = {}, 0, "", [[audit["previous"]], *audit["segment"]]
    for number, ((last, *_), (sha256, *told)) in enumerate(zip(before, audit["segment"]), audit["first"]):
        if told and sha256 != hashlib.sha256(json.dumps([number, *told, last], sort_keys=True).encode()).hexdigest():
            yield Mismatch("audit.json: entry {number} does not follow from the one before it", {"number": number})
        sealed.update({act["object"]: act["after"] for act in told[1:] if act["change"].startswith("seal.")})
    if audit["head"].split(" ")[0] != f"{number}:{sha256}":
        yield Mismatch("audit.json: the last entry is not the signed head", {})
    for run_id, after in sealed.items():
        if hashlib.sha256(files.get(f"runs/{run_id}/record.json", b"")).hexdigest() not in after:
            yield Mismatch("audit.json: the record of run {run} is not the one that was sealed", {"run": run_id})


def _recompute_values(files: dict[str, bytes], predicate: dict[str, Any]) -> Iterator[Mismatch]:
    yield from _check_audit(_parse_json(files["audit.json"]), files)
    tables = (io.StringIO(files[name].decode(), newline="") for name in ("runs.csv", "series.csv"))
    runs, series = (list(csv.DictReader(table)) for table in tables)
    hashes = [hashlib.sha256("\x1f".join(row[name] for name in DECISIVE).encode()).hexdigest() for row in runs]
    report_id = "AISB-" + hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()[:12].upper()
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    checks, wanted = _parse_json(files["checks.json"]), []
    keys = [tuple(row[key] for key in predicate["group_keys"]) for row in runs + series]
    key_of = dict(zip((row["run_id"] for row in runs), keys))
    for row in runs:
        early = predicate["failed_early"] if row["validity"] == "incomplete" else {}  # in the row of another run
        groups.setdefault(key_of[early.get(row["run_id"], row["run_id"])], []).append(row)
        folder = "runs/" + row["run_id"] + "/"
        record, raw = (_parse_json(files.get(folder + name, b"{}")) for name in ("record.json", "result_files.json"))
        wanted.append(("runs.csv", row["run_id"], row, _compute_run(row, record, raw, checks[row["run_id"]])))
    for row, key in zip(series, keys[len(runs) :]):
        wanted.append(("series.csv", row["best_run_id"], row, _compute_series(row, groups.pop(key))))
    wanted += [("runs.csv", row["run_id"], row, {"report_id": report_id}) for row in runs]
    if groups or report_id.encode() not in files["report.html"]:
        yield Mismatch("series.csv or report.html is about other runs than runs.csv", {})
    for file, what, row, cells in wanted:
        for column, right in cells.items():
            found, is_number = row[column], isinstance(right, (int, float))
            if not math.isclose(float(found or "nan"), right, abs_tol=1e-9) if is_number else found != (right or ""):
                values = {"file": file, "column": column, "what": what, "found": found, "right": right}
                yield Mismatch("{file}: {column} of {what} is {found}, and {right} by the raw files", values)
    for run_id in sorted(set(predicate["recorded"]) - {row["run_id"] for row in runs}):
        yield Mismatch("run {run} was left out of its series", {"run": run_id})


def check_bundle(data: bytes) -> tuple[list[Mismatch], str, dict[str, Any], dict[str, bytes]]:
    """Problems, the fingerprint of the key that signed, what it stated, and the files."""
    files, problems = _read_zip(data)
    try:
        statement, fingerprint = _read_statement(files.get(ENVELOPE, b""))
        signed = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    except UNREADABLE:
        return [*problems, Mismatch("{file} is damaged, or signed otherwise", {"file": ENVELOPE})], "", {}, files
    found = {name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name != ENVELOPE}
    problems += [Mismatch("{file} is missing", {"file": name}) for name in sorted(signed.keys() - found.keys())]
    problems += [Mismatch("{file} was added", {"file": name}) for name in sorted(found.keys() - signed.keys())]
    changed = [name for name in found if found[name] != signed.get(name, found[name])]
    problems += [Mismatch("{file} differs from what was signed", {"file": name}) for name in changed]
    try:
        problems += _recompute_values(files, statement["predicate"])
    except UNREADABLE as error:
        problems.append(Mismatch("the values cannot be recomputed: {why}", {"why": ascii(error)[:200]}))
    return problems, fingerprint, statement["predicate"], files


def main(path: str, key: str = "") -> int:
    """Check a file, print what was found, and return the exit code."""
    problems, fingerprint, predicate, _ = check_bundle(Path(path).read_bytes())
    lines = [ascii(template.format(**values))[1:-1] for template, values in problems]
    lines += ["it was not signed by the key " + key] if key not in ("", fingerprint) else []
    signer = f"signed for {predicate.get('made_by')!a} with the key {fingerprint or '?'}"
    print(*lines or ["every file is as it was signed, and every value follows from the raw files"], signer, sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
