"""What is wrong with values: pydantic's own sentences, in both languages, and ours beside them."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field, StrictBool, ValidationError

from aisbench_core.base.documents import Address, parse_document, parse_private, parse_yaml, read_private
from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message, in_chinese
from aisbench_core.base.value_errors import value_error
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.data_folder import prepare_data_folder
from aisbench_core.config.settings import Folder, Settings, load_profile, load_settings
from aisbench_core.model import Frozen, note_error, tag_error


def refuse(text: str) -> str:
    raise ValueError(text)


class Values(Frozen):
    """One field for each kind of complaint."""

    text: Annotated[str, Field(min_length=2, max_length=3, pattern="^all$")] = "all"
    number: Annotated[float, Field(ge=1, le=1_000_000, allow_inf_nan=False)] = 1
    share: Annotated[float, Field(gt=0, lt=0.5)] = 0.1
    count: int = 1
    flag: bool = True
    strict: StrictBool = True
    names: tuple[str, ...] = ()
    table: Annotated[dict[str, int], Field(min_length=1)] = Field(default_factory=lambda: {"one": 1})
    folder: Folder = Path()
    address: Address = ""
    foreign: Annotated[str, AfterValidator(refuse)] = ""


WRONG: list[tuple[str, Any, str]] = [
    ("text", 3, "应为文本"),
    ("text", "a", "至少 2 个字符"),
    ("text", "allx", "最多 3 个字符"),
    ("text", "abc", "应符合模式 ^all$"),
    ("number", "all", "应为数值，而文本不是数值"),
    ("number", [], "应为数值"),
    ("number", "nan", "应为有限的数值"),
    ("number", 0, "应大于或等于 1"),
    ("number", 10_000_000, "应小于或等于 1000000"),
    ("share", 0, "应大于 0"),
    ("share", 1, "应小于 0.5"),
    ("count", "all", "应为整数，而文本不是整数"),
    ("count", 1.5, "应为整数，不能有小数部分"),
    ("count", [], "应为整数"),
    ("flag", "all", "应为 true 或 false"),
    ("strict", "all", "应为 true 或 false"),
    ("names", 1, "应为列表"),
    ("table", 1, "应为键值对"),
    ("table", {}, "键值对至少有 1 项，实际为 0 项"),
    ("folder", "~nobody-of-that-name/x", "值有误：指向未知用户的主目录"),
    ("address", "all", "必须以 https:// 开头，例如 https://all"),
    ("foreign", "none", "值有误：none"),
]


@pytest.mark.parametrize(("field", "value", "chinese"), WRONG)
def test_what_pydantic_says_of_a_value_is_a_sentence(field: str, value: object, chinese: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Values.model_validate({field: value})
    error = caught.value.errors()[0]

    said = value_error(error)

    assert said == error["msg"][0].lower() + error["msg"][1:]
    assert in_chinese(said) == chinese


def test_what_pydantic_says_seldom_stays_as_it_says_it() -> None:
    said = value_error({"type": "multiple_of", "loc": (), "msg": "Input should be a multiple of 3", "input": 1})

    assert said == in_chinese(said) == "input should be a multiple of 3"


def private(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "running.yaml"
    file.write_text(text, "utf-8")
    file.chmod(mode)
    return file


ERRORS: list[tuple[Callable[[Path], object], str]] = [
    (
        lambda _: parse_document(
            Values, {"text": "abc", "all": 1}, Message("profile {name} ({file})", name="all", file="x")
        ),
        "配置档案 all（x）：text：应符合模式 ^all$（实际为 'abc'）；all：不是已知的键；允许：text, number, share, "
        "count, flag, strict, names, table, folder, address, foreign",
    ),
    (
        lambda _: parse_private(Credentials, {"s3cret": 1}, Message("credentials ({source})", source="all")),
        "凭据（all）：document：有 1 个未知的键；允许：access_key, secret_key, security_token, source",
    ),
    (lambda _: parse_yaml("- none", "all"), "all 必须由 `键: 值` 行组成，实际为 list"),
    (lambda _: parse_yaml("none: 1\nnone: 2", "all"), "all 不是 YAML：第 2 行：键 'none' 重复（首次在第 1 行）"),
    (lambda _: parse_yaml("a: *all", "all"), "all 不是 YAML：第 1 行：不接受别名（*name）"),
    (lambda _: parse_yaml("a: " + "1" * 1_000_001, "all"), "all 不是 YAML：有 1000004 个字符；允许：1000000"),
    (lambda here: read_private(here / "none"), "凭据文件 none 无法读取：No such file or directory"),
    (
        lambda here: read_private(private(here, "a: 1", 0o644)),
        "凭据文件 running.yaml 可被他人读取（权限 0644）（请执行 chmod 600 running.yaml）",
    ),
    (
        lambda here: read_private(private(here, "s3cret: [")),
        "running.yaml 不是含有密钥的 YAML（第 1 行）（请检查文件各行；此处不显示任何内容，因为其中可能含有密钥）",
    ),
    (
        lambda here: load_profile(Settings(data_dir=here), "all"),
        "没有名为 'all' 的配置档案；已有：无（请用 `make run` 或 `aisbench-sandbox` 启动沙箱，"
        "或编写 data/profiles/<name>.yaml）",
    ),
    (
        lambda here: load_settings({"AISBENCH_SETTINGS": str(private(here, "port: none"))}),
        "设置（running.yaml 和 AISBENCH_* 变量）：port：应为整数，而文本不是整数（实际为 'none'）",
    ),
    (
        lambda here: prepare_data_folder(Settings(data_dir=private(here, "") / "all")),
        "{here}/running.yaml/all 不能用作数据目录：Not a directory（请将 AISBENCH_DATA_DIR 设为其他目录）",
    ),
]


@pytest.mark.parametrize(("do", "chinese"), ERRORS)
def test_what_is_wrong_with_a_document_is_said_in_chinese(
    do: Callable[[Path], object], chinese: str, tmp_path: Path
) -> None:
    with pytest.raises(AisbenchError) as caught:
        do(tmp_path)

    assert in_chinese(caught.value.sentence) == chinese.replace("{here}", str(tmp_path))


def test_what_is_wrong_with_remarks_is_said_in_chinese() -> None:
    assert in_chinese(tag_error("x" * 65)) == "最多 64 个字符，实际 65 个"
    assert in_chinese(tag_error("a,b")) == "不能包含逗号和分号，它们用于分隔标签"
    assert in_chinese(note_error("a\x07")) == "不能包含控制字符"
