"""How much faster our transfers are than the naive way, at 20 ms per request, both in the same run."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from obs import ObsClient

from aisbench_core.cloud.obs.objects import ObsStore
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile, Settings
from tests.bench.quick_obs import LATENCY_S
from tests.contract.region import sandbox_region
from tests.sandbox_process import SandboxProcess

FILES = 500
FILE_BYTES = 8000
RANKS = 512
TRANSFERS = Settings().transfers
ROUNDS = 3
KEYS = {"access_key": "bench-access-key", "secret_key": "bench-secret-key"}


@pytest.fixture(scope="module")
def quick() -> Iterator[str]:
    """The address of an OBS that costs next to nothing."""
    command = [sys.executable, "-m", "tests.bench.quick_obs"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """500 files of 8 kB in one directory."""
    directory = tmp_path / "code"
    directory.mkdir()
    for number in range(FILES):
        (directory / f"{number:03}.py").write_bytes(f"{number:08}".encode() * (FILE_BYTES // 8))
    return sorted(directory.iterdir())


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str, float, float], float]:
    """Prints one line of the table; gives the ratio."""

    def line(what: str, naive: float, ours: float) -> float:
        with capsys.disabled():
            sys.stdout.write(f"\n{what:58} naive {naive:7.2f} s   ours {ours:6.2f} s   {naive / ours:5.1f} x")
        return naive / ours

    return line


def seconds(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def naive_client(server: str, access_key: str = KEYS["access_key"], secret_key: str = KEYS["secret_key"]) -> ObsClient:
    return ObsClient(access_key_id=access_key, secret_access_key=secret_key, server=server)


def store_at(server: str) -> ObsStore:
    profile = Profile.model_validate(
        {"name": "bench", "region": "bench", "project_id": "bench", "obs_server": server, "bucket": "bench"}
    )
    return ObsStore(profile, Credentials.model_validate(KEYS), TRANSFERS, 60.0)


def test_uploading_500_files_is_20_times_faster_than_the_sdk_uploading_the_directory(
    quick: str, files: list[Path], tell: Callable[[str, float, float], float]
) -> None:
    store = store_at(quick)
    pairs = [(f"/bench/ours/{file.name}", file) for file in files]

    naive = seconds(lambda: naive_client(quick).putFile("bench", "naive", str(files[0].parent)))
    ours = min(seconds(lambda: store.put_many(pairs, lambda _done, _total: None)) for _ in range(ROUNDS))

    assert store.read(pairs[-1][0]) == files[-1].read_bytes()
    assert tell(f"upload {FILES} files x 8 kB, +{LATENCY_S * 1000:.0f} ms, vs putFile(dir)", naive, ours) >= 20


def test_reading_512_rank_files_is_20_times_faster_than_one_by_one(
    quick: str, tmp_path: Path, tell: Callable[[str, float, float], float]
) -> None:
    store = store_at(quick)
    keys = [f"out/throughput_{rank}.json" for rank in range(RANKS)]
    client = naive_client(quick)
    (tmp_path / "rank").write_bytes(b"123.456")
    store.put_many([(f"/bench/{key}", tmp_path / "rank") for key in keys], lambda _done, _total: None)

    naive = seconds(lambda: [client.getObject("bench", key, loadStreamInMemory=True) for key in keys])
    ours = min(seconds(lambda: store.read_many([f"/bench/{key}" for key in keys])) for _ in range(ROUNDS))

    assert len(store.read_many([f"/bench/{key}" for key in keys])) == RANKS
    assert tell(f"read {RANKS} rank files, +{LATENCY_S * 1000:.0f} ms, vs one by one", naive, ours) >= 20


def test_the_sandbox_gains_too_as_far_as_one_core_can_serve(
    sandbox: SandboxProcess, files: list[Path], tell: Callable[[str, float, float], float]
) -> None:
    sandbox.latency(obs_ms=LATENCY_S * 1000)
    region = sandbox_region(sandbox)
    store = ObsStore(region.profile, region.credentials, TRANSFERS, 60.0)
    client = naive_client(sandbox.obs_url, *sandbox.keys)
    pairs = [(f"/{sandbox.bucket}/ours/{file.name}", file) for file in files]

    naive = seconds(lambda: client.putFile(sandbox.bucket, "naive", str(files[0].parent)))
    ours = min(seconds(lambda: store.put_many(pairs, lambda _done, _total: None)) for _ in range(ROUNDS))
    keys = [f"ours/{file.name}" for file in files]
    read_naive = seconds(lambda: [client.getObject(sandbox.bucket, key, loadStreamInMemory=True) for key in keys])
    read_ours = min(seconds(lambda: store.read_many([path for path, _ in pairs])) for _ in range(ROUNDS))

    assert tell(f"upload {FILES} files to the sandbox, +20 ms", naive, ours) >= 4
    assert tell(f"read {FILES} files of the sandbox, +20 ms", read_naive, read_ours) >= 8
