"""Pickers on New run: directories, pools and engines of the region, asked for when a picker is opened."""

from pathlib import Path

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.model import RunSpec
from aisbench_core.store.ledger.ledger import Ledger
from tests.console.conftest import OWN_DRAFT, OpenPage
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient

POOL = "pool-aisb-0123456789abcdef0123456789abcdef"
INPUT = "browse-inputs.data_url"


@pytest.fixture
def client(sandbox: SandboxProcess, data_dir: Path) -> TrainingClient:
    """A region that answers, with a pool and two datasets; its profile is `lab`."""
    (data_dir / "profiles").mkdir()
    (data_dir / "profiles" / "lab.yaml").write_text(yaml.safe_dump({**sandbox.profile, "name": "lab"}), "utf-8")
    sandbox.admin("PUT", "capacity", {"pools": [{"name": POOL, "flavor": "modelarts.kat1.8xlarge", "nodes": 4}]})
    client = TrainingClient(sandbox)
    client.put("sets/cifar10/data.bin", "12345")
    client.put("sets/imagenet/train/part-1", "1")
    return client


def opened(app: AppTest, picker: str) -> AppTest:
    app.session_state[picker] = True
    return app.run()


def click(app: AppTest, beginning: str) -> AppTest:
    return next(each for each in app.button if (each.key or "").startswith(beginning)).click().run()


def draft(data_dir: Path) -> RunSpec:
    stored = Ledger(data_dir / "ledger.sqlite3").draft(OWN_DRAFT)
    assert stored
    return from_yaml(stored)


def test_a_closed_picker_asks_nothing(client: TrainingClient, open_page: OpenPage, sandbox: SandboxProcess) -> None:
    assert client
    app = open_page("configure", profile="lab")
    sandbox.forget_requests()

    app.run()

    assert sum(sum(counts.values()) for counts in sandbox.requests().values()) == 0


def test_a_directory_is_found_and_fills_the_input(
    client: TrainingClient, open_page: OpenPage, sandbox: SandboxProcess, data_dir: Path
) -> None:
    assert client
    app = opened(open_page("configure", profile="lab"), INPUT)
    bucket = f"/{sandbox.bucket}/"

    click(app, f"{INPUT}-to-{bucket}sets/")
    click(app, f"{INPUT}-to-{bucket}sets/imagenet/")
    click(app, f"{INPUT}-to-{bucket}sets/-")  # up
    click(app, f"{INPUT}-to-{bucket}sets/cifar10/")
    assert "data.bin" in next(caption.value for caption in app.caption if "Objects" in caption.value).replace("\\", "")
    click(app, f"{INPUT}-use")

    assert [(each.name, each.path) for each in draft(data_dir).inputs] == [("data_url", f"{bucket}sets/cifar10/")]
    assert not app.session_state[INPUT]
    assert not app.exception


def test_a_pool_and_an_engine_fill_their_fields(client: TrainingClient, open_page: OpenPage, data_dir: Path) -> None:
    assert client
    app = opened(open_page("configure", profile="lab"), "choose-pool_id")

    click(app, "choose-pool_id-0")
    opened(app, "choose-engine")
    label = next(each for each in app.button if each.key == "choose-engine-0").label
    click(app, "choose-engine-0")

    spec = draft(data_dir)
    assert spec.pool_id == POOL
    assert f"{spec.engine_name} {spec.engine_version}" == label.replace("\\", "")


def test_an_image_is_found_by_its_organisation_and_fills_the_field(
    client: TrainingClient, open_page: OpenPage, data_dir: Path
) -> None:
    assert client
    picker = "choose-image_url"
    app = opened(open_page("configure", profile="lab"), picker)

    click(app, f"{picker}-to-sandbox-team")
    click(app, f"{picker}-up")
    click(app, f"{picker}-to-sandbox-team")
    click(app, f"{picker}-to-bench/resnet")
    click(app, f"{picker}-to-v2")

    assert draft(data_dir).image_url == "sandbox-team/bench/resnet:v2"
    assert not app.session_state[picker]
    assert not app.exception


def test_a_registry_that_refuses_is_said_in_the_picker(
    client: TrainingClient, open_page: OpenPage, sandbox: SandboxProcess
) -> None:
    assert client
    sandbox.faults({"service": "modelarts", "path": "manage", "status": 403, "code": "SVCSTG.SWR.4030001"})

    app = opened(open_page("configure", profile="lab"), "choose-image_url")

    assert any("SWR at" in error.value.replace("\\", "") for error in app.error)
    assert not app.exception


def test_a_region_that_does_not_answer_is_said_in_the_picker(open_page: OpenPage) -> None:
    app = opened(open_page("configure"), INPUT)

    assert any("nothing is listening there" in error.value for error in app.error)
    assert not app.exception
