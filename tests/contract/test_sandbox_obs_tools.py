"""Programs that nobody here wrote, against the sandbox's OBS: the AWS command line, s5cmd, DuckDB and DuckLake."""

# ruff: noqa: S608 - DuckDB takes places only as part of a statement, and these are the tests' own

import filecmp
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.sandbox_process import SandboxProcess

FILES = 1050
"""More than a listing and a request to delete hold."""
BIN = Path(sys.executable).parent
PATIENCE = 300


def grow_tree(folder: Path, files: int) -> Path:
    """Many files in folders, some of them empty, some with names that need to be encoded."""
    for number in range(files):
        file = folder / "tree" / f"d{number % 30}" / f"f {number} & 文.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number} " * (number % 50))
    return folder / "tree"


def run(sandbox: SandboxProcess, program: str, *arguments: object) -> str:
    """What the program printed; it must end well."""
    access, secret = sandbox.keys
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "LC_ALL": "C.UTF-8",
        "AWS_ACCESS_KEY_ID": access,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_DEFAULT_REGION": "sandbox",
        "AWS_ENDPOINT_URL": sandbox.obs_url,
        "S3_ENDPOINT_URL": sandbox.obs_url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    command = [str(BIN / program), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def same(one: Path, two: Path) -> bool:
    """Whether both folders hold the same names and bytes."""
    names = sorted(file.relative_to(one) for file in one.rglob("*") if file.is_file())
    if names != sorted(file.relative_to(two) for file in two.rglob("*") if file.is_file()):
        return False
    _, other, broken = filecmp.cmpfiles(one, two, map(str, names), shallow=False)
    return not other and not broken


@pytest.mark.parametrize(("files", "pages"), [(60, 1), pytest.param(FILES, 2, marks=pytest.mark.exhaustive)])
def test_aws_s3_sync_moves_a_tree_of_many_files_both_ways(
    sandbox: SandboxProcess, tmp_path: Path, files: int, pages: int
) -> None:
    tree = grow_tree(tmp_path, files)
    there, back = f"s3://{sandbox.bucket}/tree", tmp_path / "back"

    run(sandbox, "aws", "s3", "sync", tree, there, "--only-show-errors")
    run(sandbox, "aws", "s3", "sync", there, back, "--only-show-errors")
    sandbox.forget_requests()
    again = run(sandbox, "aws", "s3", "sync", tree, there)

    assert same(tree, back)
    assert again == ""
    assert sandbox.requests()["obs"] == {"LIST": pages}  # nothing had changed


def test_aws_s3_makes_lists_copies_and_removes(sandbox: SandboxProcess, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(os.urandom(1 << 20) * 20)  # in parts
    one = f"s3://{sandbox.bucket}/one"

    run(sandbox, "aws", "s3", "mb", "s3://another")
    run(sandbox, "aws", "s3", "cp", large, one, "--metadata", "run=7", "--only-show-errors")
    told = json.loads(run(sandbox, "aws", "s3api", "head-object", "--bucket", sandbox.bucket, "--key", "one"))
    run(sandbox, "aws", "s3", "mv", one, "s3://another/two", "--only-show-errors")
    listed = run(sandbox, "aws", "s3", "ls", "s3://another/", "--recursive")
    run(sandbox, "aws", "s3", "cp", "s3://another/two", tmp_path / "back", "--only-show-errors")
    run(sandbox, "aws", "s3", "rb", "s3://another", "--force")

    assert listed.split()[2:] == [str(large.stat().st_size), "two"]
    assert (told["Metadata"], told["ETag"].endswith('-3"')) == ({"run": "7"}, True)
    assert filecmp.cmp(large, tmp_path / "back", shallow=False)


def test_s5cmd_copies_a_tree_both_ways_and_removes_it(sandbox: SandboxProcess, tmp_path: Path) -> None:
    tree = grow_tree(tmp_path, FILES)
    there, back = f"s3://{sandbox.bucket}/five", tmp_path / "back"
    (tree / "large").write_bytes(os.urandom(1 << 20) * 12)

    run(sandbox, "s5cmd", "cp", "--part-size", 5, f"{tree}/", f"{there}/")
    run(sandbox, "s5cmd", "cp", "--part-size", 5, f"{there}/*", f"{back}/")
    again = run(sandbox, "s5cmd", "sync", "--size-only", f"{tree}/", f"{there}/")
    listed = run(sandbox, "s5cmd", "ls", f"{there}/")
    run(sandbox, "s5cmd", "rm", f"{there}/*")

    assert same(tree, back)
    assert again == ""
    assert len(listed.splitlines()) == 31
    assert sandbox.requests()["obs"]["POST"] >= 2 + 2  # a multipart upload, and two pages to delete


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the extensions that were installed as packages: nothing is downloaded."""
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
        for name in ("httpfs", "ducklake"):
            spec = importlib.util.find_spec(f"duckdb_extension_{name}")
            assert spec
            assert spec.origin
            (file,) = Path(spec.origin).parent.glob(f"extensions/v{duckdb.__version__}/{name}.duckdb_extension")
            connection.load_extension(str(file))
        yield connection


def keep_secret(duck: duckdb.DuckDBPyConnection, sandbox: SandboxProcess, host: str, style: str) -> None:
    access, secret = sandbox.keys
    endpoint = f"{host}:{sandbox.obs_url.rpartition(':')[2]}"
    duck.execute(
        f"CREATE OR REPLACE SECRET obs (TYPE s3, KEY_ID '{access}', SECRET '{secret}', ENDPOINT '{endpoint}', "
        f"URL_STYLE '{style}', USE_SSL false, REGION 'cn-north-4')"
    )


@pytest.mark.parametrize(("host", "style"), [("127.0.0.1", "path"), ("localhost", "vhost")])
def test_duckdb_reads_and_writes_tables_on_obs(
    sandbox: SandboxProcess, duck: duckdb.DuckDBPyConnection, host: str, style: str
) -> None:
    keep_secret(duck, sandbox, host, style)
    place = f"s3://{sandbox.bucket}/data"

    duck.execute(
        f"COPY (SELECT i, i % 3 AS k FROM range(200_000) t(i)) TO '{place}/runs' (FORMAT parquet, PARTITION_BY (k))"
    )
    duck.execute(f"COPY (SELECT i, '文' AS name FROM range(1000) t(i)) TO '{place}/one.csv' (HEADER)")

    parts = f"read_parquet('{place}/runs/*/*.parquet', hive_partitioning = true)"
    assert duck.execute(f"SELECT k, count(*), sum(i) FROM {parts} GROUP BY k ORDER BY k").fetchall() == [
        (remainder, len(range(remainder, 200_000, 3)), sum(range(remainder, 200_000, 3))) for remainder in range(3)
    ]
    assert duck.execute(f"SELECT max(i), any_value(name) FROM '{place}/one.csv'").fetchone() == (999, "文")
    with pytest.raises(duckdb.HTTPException, match="404"):
        duck.execute(f"SELECT * FROM '{place}/none.parquet'")


def test_duckdb_writes_one_large_file_in_parts(sandbox: SandboxProcess, duck: duckdb.DuckDBPyConnection) -> None:
    keep_secret(duck, sandbox, "127.0.0.1", "path")
    target = f"s3://{sandbox.bucket}/large.csv"

    duck.execute("SET s3_uploader_max_filesize = '60GB'")
    duck.execute(f"COPY (SELECT i, repeat('x', 100) AS x FROM range(300_000) t(i)) TO '{target}'")

    assert duck.execute(f"SELECT count(*), sum(i) FROM '{target}'").fetchone() == (300_000, sum(range(300_000)))


def test_ducklake_keeps_its_tables_on_obs(
    sandbox: SandboxProcess, duck: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    keep_secret(duck, sandbox, "127.0.0.1", "path")
    duck.execute(f"ATTACH 'ducklake:{tmp_path / 'catalogue'}' AS lake (DATA_PATH 's3://{sandbox.bucket}/lake/')")
    duck.execute("CREATE TABLE lake.runs AS SELECT i AS id, i * 2 AS x FROM range(50_000) t(i)")

    duck.execute("INSERT INTO lake.runs SELECT i, 0 FROM range(50_000, 90_000) t(i)")
    duck.execute("DELETE FROM lake.runs WHERE id % 2 = 0")
    duck.execute("UPDATE lake.runs SET x = -1 WHERE id < 101")

    left = range(1, 90_000, 2)
    expected = sum(-1 if id_ < 101 else id_ * 2 if id_ < 50_000 else 0 for id_ in left)
    assert duck.execute("SELECT count(*), sum(x) FROM lake.runs").fetchone() == (len(left), expected)
    assert duck.execute("SELECT count(*) FROM lake.runs AT (VERSION => 1)").fetchone() == (50_000,)
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    assert duck.execute("SELECT count(*), sum(x) FROM lake.runs").fetchone() == (len(left), expected)
    duck.execute("DETACH lake")
