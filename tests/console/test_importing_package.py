"""A package in the import dialog of New run: looked at, asked about, made a workload, opened as a draft."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.store.ledger.ledger import Ledger
from tests.console.conftest import OpenPage, newest, texts
from tests.unit.upstream_files import ACCESS_KEY, LOCAL, SECRET_KEY, config
from tests.upstream_package import NAME, OTHER, files, job, member, packed, write_folder

WORKLOAD = "train_mindspore_resnet_r1_8"
FULL = config(LOCAL, job(out_base_url="'/zgwtest/out/'", inputs="'/zgwtest/imagenet/'"))


def upload(app: AppTest, content: bytes, name: str = f"{NAME}.tar.gz") -> AppTest:
    """Choose an archive in the dialog."""
    app.button(key="import").click().run()
    app.file_uploader[0].set_value([(name, content, "application/gzip")])
    return app.run()


def own(data_dir: Path) -> list[str]:
    """What lies in the folder of the user's own workloads."""
    folder = data_dir / "workloads"
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


def facts(app: AppTest, table: int = 0) -> dict[str, str]:
    """A table of the dialog."""
    return dict(app.dataframe[table].value.set_index("Setting")["Value"])


def test_an_uploaded_package_becomes_a_workload_and_a_draft_of_it(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("configure"), packed(files(FULL)))

    assert not app.exception
    assert facts(app)["Framework version"] == "r1.8"
    assert facts(app)["Code"].startswith("Files: 3, ")
    app.button(key="import-make").click().run()

    assert own(data_dir) == [WORKLOAD]
    text = Ledger(data_dir / "ledger.sqlite3").draft(str(app.query_params["draft"]))
    assert text is not None
    spec = from_yaml(text)
    assert (spec.workload, spec.parameters["own_rate"], spec.code_dir) == (WORKLOAD, 0.5, "")
    assert newest(app.selectbox, "spec.workload").value == WORKLOAD


def test_nothing_of_a_package_is_kept_before_a_person_says_so(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("configure"), packed(files(FULL)))
    app.button(key="import-again").click().run()

    assert own(data_dir) == []
    assert not (data_dir / "profiles" / "cn-north-4.yaml").exists()
    assert app.file_uploader


def test_keys_of_a_package_are_nowhere_before_a_person_agrees(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("configure"), packed(files(FULL)))
    app.button(key="import-save").click().run()
    shown = "\n".join([repr(app.session_state), texts(app), str(facts(app, 1)), app.code[0].value])
    app.button(key="import-make").click().run()

    kept = "".join(file.read_bytes().decode("latin-1") for file in data_dir.rglob("*") if file.is_file())
    assert (data_dir / "profiles" / "cn-north-4.yaml").exists()
    for secret in (ACCESS_KEY, SECRET_KEY):
        assert secret not in shown
        assert secret not in kept


def test_keys_of_a_package_are_written_when_a_person_agrees(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("configure"), packed(files(FULL)))
    app.checkbox(key="import-keys").check().run()

    app.button(key="import-save").click().run()

    assert SECRET_KEY in (data_dir / "credentials.yaml").read_text()


def test_a_package_on_this_machine_is_read_where_it_lies(open_page: OpenPage, data_dir: Path, tmp_path: Path) -> None:
    folder = write_folder(tmp_path, OTHER)
    app = open_page("configure")
    app.button(key="import").click().run()

    app.text_input(key="import-place").set_value(str(folder)).run()
    app.text_input(key="import-workload-name").set_value("mine").run()
    app.button(key="import-make").click().run()

    assert own(data_dir) == ["mine"]
    assert open_page("configure").selectbox(key="spec.workload").value == "quickstart_digits"  # it stays the first
    assert (folder / "code" / "code" / "train.py").exists()


def test_the_same_package_again_uses_the_workload_that_is_there(open_page: OpenPage, data_dir: Path) -> None:
    upload(open_page("configure"), packed(files(FULL))).button(key="import-make").click().run()

    app = upload(open_page("configure"), packed(files(FULL)))
    assert f"{WORKLOAD.replace('_', chr(92) + '_')} was created from the same code" in app.info[0].value
    app.button(key="import-make").click().run()

    assert own(data_dir) == [WORKLOAD]
    assert newest(app.selectbox, "spec.workload").value == WORKLOAD


def test_another_package_of_the_same_name_needs_another_name(open_page: OpenPage, data_dir: Path) -> None:
    upload(open_page("configure"), packed(files(FULL))).button(key="import-make").click().run()

    app = upload(open_page("configure"), packed(files(FULL, extra="changed")))
    assert "there is another workload" in texts(app)
    assert not app.code
    app.text_input(key="import-workload-name").set_value("second").run()
    app.button(key="import-make").click().run()

    assert own(data_dir) == ["second", WORKLOAD]


def test_a_boot_file_that_nothing_tells_is_asked_for(open_page: OpenPage, data_dir: Path) -> None:
    text = config(LOCAL, job(boot_file="''"))
    app = upload(open_page("configure"), packed(files(text)), f"{OTHER}.tar.gz")
    assert not app.code

    app.selectbox(key="import-boot").set_value("train.py").run()
    app.button(key="import-make").click().run()

    assert own(data_dir) == ["train_pytorch_gpt_r2_1"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (packed(files(), (member("./code/code/../../../evil.py"), b"x")), "points outside the package"),
        (b"no archive", "not a readable .tar.gz archive"),
    ],
)
def test_a_package_that_must_not_be_unpacked_says_why(
    open_page: OpenPage, data_dir: Path, content: bytes, sentence: str
) -> None:
    app = upload(open_page("configure"), content)

    assert not app.exception
    assert sentence in app.error[0].value.replace("\\", "")
    assert own(data_dir) == []
    assert app.file_uploader


def test_a_place_without_a_package_says_so(open_page: OpenPage, tmp_path: Path) -> None:
    app = open_page("configure")
    app.button(key="import").click().run()

    app.text_input(key="import-place").set_value(str(tmp_path / "nowhere.tar.gz")).run()

    assert "cannot be read" in app.error[0].value
