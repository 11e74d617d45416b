"""Packages as people have them from the upstream tool: built in a test, unpacked or packed, whole or hostile."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tests.unit.upstream_files import LOCAL, config, session

NAME = "train_huawei_train_mindspore_resnet-Ais-Benchmark-Stubs-aarch64-1.0-r1.8_modelarts"
OTHER = "train_acme_train_pytorch_gpt-Ais-Benchmark-Stubs-x86_64-1.0-r2.1_modelarts"
ENGINE = "mindspore_1.8.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64"

PARAMETERS = """[
        # 训练轮数
        {'name': 'epoch_size', 'value': '5'},
        {'name': 'enable_modelarts', 'value': 'True'},
        {'name': 'config_path', 'value': 'resnet50_imagenet2012_Boost_config.yaml'},
        # 自定义参数
        {'name': 'own_rate', 'value': '0.5'},
        {'name': 'own_word', 'value': 'true'},
    ]"""

TRAIN = '''"""Writes what upstream's training code writes, by moxing and by plain files."""
import argparse
import os

import moxing as mox

parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
known, rest = parser.parse_known_args()
rank, size = int(os.environ["RANK_ID"]), int(os.environ["RANK_SIZE"])
mox.file.write(os.path.join(known.train_url, "throughput_%d.json" % rank), str(100.5 + rank))
if rank == 0:
    with open(os.path.join(known.train_url, "ranksize.json"), "w") as file:
        file.write(str(size))
    mox.file.write(os.path.join(known.train_url, "accuracy.json"), "0.77")
print("trained with", sorted(rest))
'''


def job(**changes: str) -> str:
    """The V2 dict of a package's configuration. `changes`: another text for the value of a key, as Python."""
    values = {
        "parameters": PARAMETERS,
        "code_dir": "'/zgwtest/resnet/'",
        "boot_file": "'/zgwtest/resnet/train.py'",
        "framework_version": repr(ENGINE),
        "inputs": "''",
        "out_base_url": "''",
    }
    return session("session_config_v2", **{**values, **changes})


def files(text: str = "", access: str = LOCAL, **more: str) -> dict[str, bytes]:
    """What a package holds, by path. `text`: the configuration; `more`: other files of the code."""
    code = {"train.py": TRAIN, "src/net.py": "", "ma-pre-start.sh": "export GLOG_v=3\n", **more}
    return {
        "ais-bench-stubs": b"\x7fELF",
        "README.md": b"",
        "code/config.json": b"{}",
        "code/config/modelarts_config.py": (text or config(access, job())).encode(),
        "code/config/config.sh": b"export PYTHON_COMMAND=python3.7\n",
        **{f"code/code/{name}": content.encode() for name, content in code.items()},
    }


def packed(contents: Mapping[str, bytes], *extra: tuple[tarfile.TarInfo, bytes], root: str = ".") -> bytes:
    """A .tar.gz of these files, and of members that no tool would make."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in contents.items():
            _add(archive, tarfile.TarInfo(f"{root}/{name}"), content)
        for member, content in extra:
            _add(archive, member, content)
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    """One entry of an archive."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def write_archive(folder: Path, name: str = NAME, contents: Mapping[str, bytes] | None = None) -> Path:
    """A package as a file."""
    file = folder / f"{name}.tar.gz"
    file.write_bytes(packed(contents or files()))
    return file


def write_folder(folder: Path, name: str = NAME, contents: Mapping[str, bytes] | None = None) -> Path:
    """The same unpacked."""
    for path, content in (contents or files()).items():
        place = folder / name / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder / name


def _add(archive: tarfile.TarFile, info: tarfile.TarInfo, content: bytes) -> None:
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))
