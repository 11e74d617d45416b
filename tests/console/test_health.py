"""Health: what is stored is told with and without a profile, and a warehouse that cannot be used is named."""

import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.clock import utc_now
from aisbench_core.running.following.beats import Beats
from aisbench_core.store.ledger.database.connection import ProfileShare
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import open_core
from tests import records as a
from tests.console.conftest import OpenPage, texts


@pytest.fixture
def kept(data_dir: Path) -> Path:
    """A data folder with two results, and no profile."""
    Warehouse(data_dir / "warehouse.duckdb").record_many([a.record("one"), a.record("two")])
    shutil.rmtree(data_dir / "sandbox")
    return data_dir


def test_without_a_profile_it_says_what_is_stored_and_who_follows(open_page: OpenPage, kept: Path) -> None:
    app = open_page("health")

    assert not app.exception
    assert {metric.label: metric.value for metric in app.metric}["Results in the warehouse"] == "2"
    assert [header.value for header in app.header] == ["Follower", "Stored on this machine", "Evidence"]
    assert str(kept) in texts(app).replace("\\", "")


@pytest.mark.parametrize(("language", "said"), [("en", "Signing key"), ("zh", "签名密钥")])
@pytest.mark.usefixtures("kept")
def test_it_shows_the_signing_key_and_the_head_of_the_audit(open_page: OpenPage, language: str, said: str) -> None:
    app = open_page("health", lang=language)

    head = open_core().heads.sign()
    assert said in texts(app)
    assert head.key in texts(app)
    assert [code.value for code in app.code] == [str(head)]


@pytest.mark.parametrize(("language", "said"), [("en", "cannot be used"), ("zh", "无法使用")])
def test_a_warehouse_that_cannot_be_used_is_named_with_what_to_do(
    open_page: OpenPage, kept: Path, language: str, said: str
) -> None:
    (kept / "warehouse.duckdb").write_bytes(b"no database" * 1000)

    app = open_page("health", lang=language)

    assert not app.exception
    assert any(said in error.value for error in app.error)
    assert any("warehouse rebuild" in info.value for info in app.info)


def test_what_a_service_says_is_said_in_chinese(open_page: OpenPage) -> None:
    app = open_page("health", lang="zh")

    assert any("该地址没有服务在监听" in error.value for error in app.error)
    assert not any("nothing is listening" in error.value for error in app.error)


@pytest.mark.parametrize(("language", "said"), [("en", "can read your files"), ("zh", "可以读取您的文件")])
def test_what_a_region_warns_of_stands_there(open_page: OpenPage, data_dir: Path, language: str, said: str) -> None:
    caution = (
        "jobs of this sandbox can read your files, keys among them: they run as your own user, without containers (x)"
    )
    with (data_dir / "sandbox" / "profile.yaml").open("a") as profile:
        profile.write(f'\ncaution: "{caution}"\ncaution_zh: "此沙箱的作业可以读取您的文件"\n')

    app = open_page("health", lang=language)

    assert any(said in warning.value for warning in app.warning)


def test_followers_that_share_the_profiles_are_listed_with_theirs(open_page: OpenPage, data_dir: Path) -> None:
    ledger, now = Ledger(data_dir / "ledger.sqlite3"), utc_now()
    beats = Beats(ledger)
    beats.save("ann@host1 (process 1)", now, ProfileShare(leads=True, held=frozenset({"lab", "lab2"})))
    beats.save("ann@host2 (process 2)", now, ProfileShare(leads=False, held=frozenset()))
    beats.save(
        "ann@host3 (process 3)", now - timedelta(seconds=30), ProfileShare(leads=False, held=frozenset({"lab3"}))
    )

    page = texts(open_page("health")).replace("\\", "")

    assert "ann@host1 (process 1) follows: lab, lab2" in page
    assert "ann@host2 (process 2) follows: no active runs" in page
    assert "host3" not in page


@pytest.mark.parametrize(("language", "said"), [("en", "cannot be used"), ("zh", "无法使用")])
def test_a_team_whose_postgresql_does_not_answer_is_told(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, language: str, said: str
) -> None:
    monkeypatch.setenv("AISBENCH_LEDGER", "postgresql://bench@127.0.0.1:9/bench")
    monkeypatch.setenv("AISBENCH_WAREHOUSE", "ducklake:postgres:host=127.0.0.1 port=9 user=bench dbname=bench")
    monkeypatch.setenv("AISBENCH_WAREHOUSE_DATA", "s3://bucket/bench")

    app = open_page("health", lang=language)

    assert not app.exception
    refused = [error.value for error in app.error if said in error.value]
    assert [error for error in refused if "postgresql://bench@127.0.0.1:9/bench" in error.replace("\\", "")]
    assert [error for error in refused if "ducklake" in error]


def test_files_whose_names_are_not_utf_8_are_named_on_every_page(open_page: OpenPage, data_dir: Path) -> None:
    workload = data_dir / "workloads" / os.fsdecode("测试".encode("gbk"))
    workload.mkdir(parents=True)
    (workload / "workload.yaml").write_text("title: unfinished", "utf-8")
    profiles = data_dir / "profiles"
    profiles.mkdir()
    (profiles / os.fsdecode("上海.yaml".encode("gbk"))).write_text("region: cn-east-3", "utf-8")

    health, configure = open_page("health"), open_page("configure")

    assert "测试" in texts(health)
    for page in (health, configure):
        assert not page.exception
        assert not [error.value for error in page.error if "incident" in error.value]
