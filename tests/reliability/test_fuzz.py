"""Every parser of what people and other programs write, with damaged inputs for a minute each.

A parser may give a value, findings, or an error of ours; anything else is a bug, and so is one input that takes
seconds."""

import io
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from openpyxl import Workbook

from aisbench_core.base.documents import parse_document, parse_yaml
from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.config.settings import HOME, Profile
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.domain.authoring.specfile import from_yaml, to_yaml
from aisbench_core.domain.results.record import read_record, write_record
from aisbench_core.domain.results.train_result_info import read_block
from aisbench_core.domain.rulesets.ruleset import Ruleset
from aisbench_core.exchange.readers.reading import columns_of_stream, read_stream
from aisbench_core.exchange.upstream.configs.reading import read_document as read_config
from aisbench_core.exchange.upstream.configs.reading import read_pre_start, read_shell
from aisbench_core.running.systems.reading import read_fields as read_system
from tests import records as a
from tests.foreign_files import KINDS, Kind, failure
from tests.reliability.outcomes import campaign
from tests.series_bench import PROFILE
from tests.unit.old_logs import BERT, BERT_BLOCK, RESNET
from tests.unit.upstream_files import ACCESS, session

SECONDS = 60.0
DATABASE_SECONDS = 180.0  # each file is read in a process of its own
SLOW_SECONDS = 5.0
SEED = 20261122
ODD = (
    *("\0", "\x1e", "\x1c\x1c", "\u2028", "\ufeff", "\U0001f600", "\r", "\t" * 50),
    *("1e999", "-0", "NaN", "0.\x1e ", "{}", "[[", "%s", "=1+1", '"', "'", "\\"),
)


@dataclass(frozen=True)
class Target:
    """A parser, and inputs that it takes whole."""

    parse: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def results_in(name: str) -> Callable[[bytes], object]:
    return lambda content: (
        list(read_stream(io.BytesIO(content), name)),
        list(columns_of_stream(io.BytesIO(content), name)),
    )


def of_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda content: read(content.decode("utf-8", "replace"))


def config(name: str, read: Callable[[list[ConfigFile]], object]) -> Callable[[bytes], object]:
    return lambda content: read([ConfigFile(name, content)])


def workbook() -> bytes:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in TABLE.decode().splitlines():
        sheet.append(row.split(","))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


TABLE = (
    b"model,framework version,nodes,cards,throughput,accuracy,end\nresnet50,r1.8,1,8,8000.5,0.77,2022-07-12 15:29:13\n"
)
RULES = HOME / "aisbench_core" / "domain" / "rulesets" / "aisbench-1.yaml"
TARGETS = {
    "result block": Target(of_text(lambda text: read_block(text, UTC)), (BERT_BLOCK.encode(),)),
    "logs": Target(results_in("run.log"), (BERT.encode(), RESNET.encode())),
    "CSV tables": Target(results_in("old.csv"), (TABLE,)),
    "Excel tables": Target(results_in("old.xlsx"), (workbook(),)),
    "upstream configurations": Target(
        config("modelarts_config.py", read_config),
        tuple((ACCESS + session(name)).encode() for name in ("session_config", "session_config_v2")),
    ),
    "config.sh": Target(
        of_text(read_shell), (b"export RANK_SIZE=8\nexport TRAIN_DATA_PATH=/a/b\nif [ 1 ]; then\nX=$Y\nfi\n",)
    ),
    "ma-pre-start.sh": Target(
        of_text(read_pre_start), (b"#!/bin/bash\nexport ASCEND_GLOBAL_LOG_LEVEL=3\npip install a.whl\n",)
    ),
    "specs": Target(of_text(from_yaml), (to_yaml(a.spec()).encode(),)),
    "profiles": Target(
        of_text(
            lambda text: parse_document(
                Profile, {"name": "lab", **parse_yaml(text, "the profile")}, make_verbatim("the profile")
            )
        ),
        (PROFILE.encode(),),
    ),
    "rulesets": Target(
        of_text(lambda text: parse_document(Ruleset, parse_yaml(text, "the ruleset"), make_verbatim("the ruleset"))),
        (RULES.read_bytes(),),
    ),
    "system descriptions": Target(
        config("system.json", read_system), (json.dumps({"system_name": "a", "memory": 5}).encode(),)
    ),
}


def damaged(rng: random.Random, seed: bytes) -> bytes:
    """The seed after a few random changes: bytes flipped, parts cut, doubled or moved, and odd texts put in."""
    content = bytearray(seed)
    for _ in range(rng.randint(1, 6)):
        at, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        match rng.randrange(6):
            case 0 if content:
                content[at % len(content)] = rng.randrange(256)
            case 1:
                del content[at : min(end, at + 40)]
            case 2:
                content[at:at] = content[at : min(end, at + 200)]
            case 3:
                content[at:at] = rng.choice(ODD).encode("utf-8", "surrogatepass")
            case 4:
                content[at:at] = bytes([rng.choice(b"0123456789.,:;{}[]()<>'\"= \n")]) * rng.randint(1, 300)
            case _:
                content[at : at + 5] = content[end : end + 30]
    return bytes(content)


def fuzz(target: Target, seconds: float) -> int:
    """How many damaged inputs the parser met; raises what it raised, with the input's number."""
    rng, number, end = random.Random(SEED), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        number += 1
        content = damaged(rng, rng.choice(target.seeds))
        begun = time.monotonic()
        try:
            target.parse(content)
        except AisbenchError:
            pass
        except Exception as error:
            raise AssertionError(f"input {number} {content[:2000]!r}") from error
        assert time.monotonic() - begun < SLOW_SECONDS, f"input {number} took long: {content[:2000]!r}"
    return number


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_end_in_values_findings_or_errors_of_ours(name: str) -> None:
    target = TARGETS[name]
    for seed in target.seeds:
        target.parse(seed)
    with campaign(f"Damaged {name}", __file__) as row:
        row.repetitions = f"{fuzz(target, SECONDS):,} inputs"
        row.outcome = "no unexpected error, none slow"


def test_damaged_records_end_in_errors_of_ours(tmp_path: Path) -> None:
    files = tmp_path / "record.json", tmp_path / "metrics.jsonl", tmp_path / "events.jsonl"
    write_record(a.record(), *files)

    def read(content: bytes) -> None:
        files[0].write_bytes(content)
        read_record(*files)

    with campaign("Damaged record.json", __file__) as row:
        row.repetitions = f"{fuzz(Target(read, (files[0].read_bytes(),)), SECONDS):,} inputs"
        row.outcome = "no unexpected error, none slow"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_damaged_databases_end_in_runs_or_errors_of_ours(kind: Kind, tmp_path: Path) -> None:
    good = tmp_path / "good"
    kind.make(good)
    with campaign(f"Damaged {kind.name}", __file__) as row:
        seed, end = 0, time.monotonic() + DATABASE_SECONDS
        while time.monotonic() < end:
            with TemporaryDirectory(dir=tmp_path) as folder:
                assert not failure(kind, good, seed, Path(folder)), f"seed {seed}"
            seed += 1
        row.repetitions = f"{seed:,} files"
        row.outcome = "no unexpected error, none slow, no file of this machine read"
