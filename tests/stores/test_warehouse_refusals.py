"""What a warehouse refuses is said in Chinese, and names of files, runs and views stay as they are."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import in_chinese
from aisbench_core.config.settings import Settings
from aisbench_core.domain.rulesets.ruleset import Rulesets
from aisbench_core.exchange.mlflow.store import open_store
from aisbench_core.exchange.report.reports import Reports
from aisbench_core.exchange.report.words import ReportLanguage
from aisbench_core.maintenance.storage import warehouse_location
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store.warehouse_file import make_busy_error, translate_error
from tests import records as a

NOW = datetime(2026, 3, 9, tzinfo=UTC)


def raised(refuse: Callable[[], object]) -> str:
    with pytest.raises(AisbenchError) as error:
        refuse()
    return in_chinese(error.value.sentence)


def stored(folder: Path) -> Warehouse:
    warehouse = Warehouse(folder / "all.duckdb")
    warehouse.record(a.record("running"))
    return warehouse


def of_somebody_else(folder: Path) -> None:
    with duckdb.connect(str(folder / "none")) as con:
        con.execute("create table schema_version (running INTEGER)")
    with Warehouse(folder / "none").cursor():
        pass


def no_store(folder: Path) -> None:
    (folder / "all").write_bytes(b"SQLite format 3\0")
    with open_store(folder / "all"):
        pass


@pytest.mark.parametrize(
    ("refuse", "expected"),
    [
        (of_somebody_else, "{folder}/none 是其他程序的数据库（请将其移走，或指定另一个数据仓库文件）"),
        (
            lambda folder: stored(folder).runs.compare(["running"]),
            "对比：runs：必须是 2 至 32 次不同的运行（实际为 1）",
        ),
        (lambda folder: stored(folder).runs.compare(["running", "all"]), "数据仓库中没有这些运行：all"),
        (
            lambda folder: Reports(stored(folder), lambda: NOW).write(["none"], ReportLanguage.ZH),
            "没有这些运行：none（可用 aisbench runs 列出已有的运行）",
        ),
        (
            lambda _: Rulesets().get("running"),
            "没有规则集 'running'；已有：aisbench/1, gbt-45087-2024, ",
        ),
        (
            lambda _: warehouse_location(Settings(warehouse="ducklake:mysql:running")),
            "不支持此类团队数据仓库（请写成 ducklake:postgres:host=db.example.com dbname=aisbench user=aisbench 或 "
            "ducklake:postgres:postgresql://user@host/dbname）",
        ),
        (no_store, "无法作为 SQLite 数据库读取："),
    ],
)
def test_a_refusal_is_said_in_chinese(refuse: Callable[[Path], object], expected: str, tmp_path: Path) -> None:
    assert raised(lambda: refuse(tmp_path)).startswith(expected.format(folder=tmp_path))


def test_what_duckdb_says_stays_as_it_is_beside_our_advice() -> None:
    told = translate_error(Path("all"), duckdb.IOException("running: No space left on device"))

    assert in_chinese(told.sentence) == (
        "数据仓库 all 无法使用：running: No space left on device（请释放空间后重试；未保存任何内容）"
    )
    assert in_chinese(make_busy_error(Path("all"), "4711").sentence) == "数据仓库 all 正被 进程 4711 使用（请稍后重试）"
    assert in_chinese(make_busy_error(Path("none")).sentence) == "数据仓库 none 正被 其他人 使用（请稍后重试）"
