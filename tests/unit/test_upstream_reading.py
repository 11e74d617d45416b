"""Reading a modelarts_config.py: as data, in every spelling that people use, and never by running it."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aisbench_core.base.errors import ConfigError
from aisbench_core.domain.authoring.config_file import MOST_BYTES, ConfigFile
from aisbench_core.exchange.upstream.configs.contents import Document, Hints
from aisbench_core.exchange.upstream.configs.reading import read_document
from aisbench_core.exchange.upstream.configs.service import interpret_document
from aisbench_core.model import Level
from tests.unit.upstream_files import SECRET_KEY, WORKLOADS, config, document, line_of, one, said


def value(found: Document, key: str, name: str = "access_config") -> object:
    """One value of the document."""
    return found.dicts[name].entries[key].value


@pytest.mark.parametrize(
    "text",
    [
        "access_config = {'server': 'obs.example', 'region_name': 'r1'}",
        "access_config = dict(server='obs.example', region_name='r1')",
        "access_config = ed({'server': 'obs.example', 'region_name': 'r1'})",
        "from easydict import EasyDict as Box\naccess_config = Box({'server': 'obs.example', 'region_name': 'r1'})",
        "from easydict import EasyDict\naccess_config = EasyDict({'server': 'obs.example'}, region_name='r1')",
        "import easydict\naccess_config = easydict.EasyDict(dict(server='obs.example', region_name='r1'))",
        "access_config: dict = {'server': 'obs' '.example', 'region_name': 'r' + '1'}",
        "access_config = {\n\t'server':\t'obs.' +\n\t\t'ex' + 'ample',\n\t'region_name': r'r1',\n}\n",
        "    access_config = {\n        'server': 'obs.example',\n        'region_name': 'r1',\n    }\n",
    ],
)
def test_a_dict_is_read_however_it_is_written(text: str) -> None:
    found = document(text)

    assert (value(found, "server"), value(found, "region_name")) == ("obs.example", "r1")
    assert found.findings == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "gb18030", "utf-16"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_a_file_is_read_in_every_encoding_that_editors_write(encoding: str, ending: str) -> None:
    text = "# 认证信息\naccess_config = {\n    'server': '昇腾',\n}\n".replace("\n", ending)

    found = document(text.encode(encoding))

    assert value(found, "server") == "昇腾"
    assert found.dicts["access_config"].entries["server"].line == 3


def test_nothing_in_the_file_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    code = f"open({str(mark)!r}, 'w').write('x')"
    text = f"import os\n{code}\naccess_config = {{'server': {code}, 'region_name': (lambda: {code})()}}\n"

    found = document(text)

    assert not mark.exists()
    assert [each.line for each in said(found, "config.literal")] == [3, 3]
    assert one(found, "config.code").line == 2


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("os.environ['SERVER']", "a subscript"),
        ("os.getenv('SERVER')", "a call"),
        ("BASE", "a name"),
        ("BASE + 'x'", "a calculation"),
        ("'a' * 9", "a calculation"),
        ("'%s' % 'x'", "a calculation"),
        ("f'{BASE}'", "an f-string"),
        ("'a' if x else 'b'", "a condition"),
        ("b'bytes'", "of type bytes"),
        ("...", "of type ellipsis"),
        ("-'x'", "an expression"),
        ("'\\ud800'", "text that is not valid Unicode"),
        ("{'a', 'b'}", "an expression"),
    ],
)
def test_what_is_no_literal_is_named_with_its_line_and_its_key(written: str, kind: str) -> None:
    found = document(f"access_config = {{\n    'region_name': 'r1',\n    'server': {written},\n}}\n")

    finding = one(found, "config.literal")

    assert (finding.line, finding.field, finding.level) == (3, "access_config.server", Level.ERROR)
    assert kind in finding.message
    assert value(found, "region_name") == "r1"


def test_a_key_that_code_computes_only_warns_and_is_not_repeated() -> None:
    text = f"access_config = {{\n    'access_key': os.environ['AK'],\n    'secret_access_key': '{SECRET_KEY}' + x,\n}}"

    found = document(text)

    assert [(each.line, each.level) for each in said(found, "config.literal-key")] == [
        (2, Level.WARNING), (3, Level.WARNING)
    ]  # fmt: skip
    assert SECRET_KEY not in str(found.findings)


@pytest.mark.parametrize(
    "statement",
    [
        "session_config.job_name = 'other'",
        "session_config['job_name'] = 'other'",
        "session_config.update({'job_name': 'other'})",
        "session_config |= {'job_name': 'other'}",
        "if True:\n    session_config = {}",
        "del session_config['job_name']",
    ],
)
def test_code_that_would_change_a_dict_is_an_error(statement: str) -> None:
    text = f"{config()}\n{statement}\n"

    finding = one(document(text), "config.literal")

    assert (finding.field, finding.line) == ("session_config", line_of(text, statement.split("\n")[0]))


def test_other_code_is_named_and_changes_nothing() -> None:
    text = f'"""Our configuration."""\nBASE = "/b/"\n{config()}\nprint(session_config)\n'

    found = document(text)

    assert [each.line for each in said(found, "config.code")] == [2, line_of(text, "print(")]
    assert len(found.dicts) == 3


@pytest.mark.parametrize(
    "text",
    [
        "access_config = {\n 'server': 'one',\n 'server': 'two',\n}",
        "access_config = dict(\n server='one',\n server='two')",
        "access_config = ed({\n 'server': 'one'},\n server='two')",
    ],
)
def test_a_key_given_twice_is_named_with_both_lines(text: str) -> None:
    finding = one(document(text), "config.duplicate")

    assert (finding.line, finding.field) == (3, "access_config.server")
    assert "first in line 2" in finding.message
    assert value(document(text), "server") == "two"


def test_a_dict_given_twice_is_named_with_both_lines() -> None:
    finding = one(document("access_config = {'server': 'one'}\naccess_config = {'server': 'two'}"), "config.duplicate")

    assert (finding.line, finding.field) == (2, "access_config")
    assert "first in line 1" in finding.message


def test_an_unknown_key_is_named_and_forgotten() -> None:
    found = document(f"access_config = {{\n 'server': 'x',\n 'password': '{SECRET_KEY}',\n}}")

    finding = one(found, "config.unknown")

    assert (finding.line, finding.field) == (3, "access_config.password")
    assert SECRET_KEY not in repr(found)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("access_config = {**x}", "unpacking"), ("access_config = {1: 2}", "a key"), ("access_config = dict([])", "lit")],
)
def test_a_dict_that_is_more_than_pairs_is_named(text: str, kind: str) -> None:
    finding = one(document(text), "config.literal")

    assert (finding.line, finding.field) == (1, "access_config")
    assert kind in finding.message


def test_something_else_in_the_place_of_a_dict_is_named() -> None:
    finding = one(document("\naccess_config = ['x']"), "config.type")

    assert (finding.line, finding.field, finding.message) == (2, "access_config", "must be a dict")


SPLINTERS = [
    "'",
    '"',
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    "#",
    "\\",
    "\n",
    "\t",
    "\0",
    "ed(",
    "None",
    "1",
    "**x",
    "f'",
]
"""What a careless hand leaves in a file."""

UNREADABLE: Mapping[str, tuple[str | bytes, str]] = {
    "no comma": ("access_config = {\n 'server': 'x'\n 'region_name': 'y'\n}", "line 3: invalid syntax"),
    "no brace": ("x = 1\naccess_config = {'server': 'x',\n", "line 2: '{' was never closed"),
    "Chinese comma": ("access_config = {\n 'server': 'x'，\n}", "line 2: invalid character"),
    "no quote": ("access_config = {\n 'server': 'x\n}", "line 2: unterminated string"),
    "tabs and blanks": ("if 1:\n\tx = 1\n        y = 2\n", "line 3"),
    "NUL": ("access_config = \0", "NUL character"),
    "a long number": ("access_config = {'server': " + "9" * 5000 + "}", "line 1"),
    "brackets": ("access_config = " + "[" * 100_000, "nested"),
    "signs": ("access_config = " + "-" * 100_000 + "1", "nested"),
    "a long sum": ("access_config = {'server': " + "'a' + " * 40_000 + "'b'}", "nested"),
    "deep lists": ("access_config = {\n'server': " + "[" * 40 + "]" * 40 + "}", "line 2: access_config.server"),
    "another program": ("print('hello')", "assigns none of access_config"),
    "nothing": ("", "assigns none of access_config"),
    "10 MB": ("access_config = {'server': '" + "x" * 10_000_000 + "'}", f"allowed: {MOST_BYTES:,}"),
    "no text": (b"\xff\x00\xfe\x81", "neither UTF-8 nor GBK"),
    "half of UTF-16": (b"\xff\xfe\x00", "neither UTF-8 nor GBK"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_file_that_cannot_be_read_says_where_and_why(what: str) -> None:
    text, expected = UNREADABLE[what]

    with pytest.raises(ConfigError) as refused:
        document(text)

    assert expected in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_full_width_comma_comes_with_advice() -> None:
    with pytest.raises(ConfigError, match="full-width punctuation"):
        document("access_config = {'server': 'x'，}")


def test_an_error_in_the_file_does_not_repeat_what_stands_there() -> None:
    with pytest.raises(ConfigError) as refused:
        document(f"access_config = {{'secret_access_key': '{SECRET_KEY}")

    assert SECRET_KEY not in str(refused.value)


def test_keys_are_masked_in_every_text_of_the_document() -> None:
    file = ConfigFile("modelarts_config.py", config().encode())

    assert SECRET_KEY not in repr(file)
    assert SECRET_KEY not in repr(read_document([file]))


def test_comments_above_and_behind_a_parameter_belong_to_it() -> None:
    items = """[
        # 第一行
        # 第二行
        # {'name': 'old', 'value': '1'},
        {'name': 'a', 'value': '1'},  # 行尾
        {'name': 'b',
         'value': '2'},
    ]"""
    found = document(f"session_config_v2 = {{\n 'parameters': {items}}}")

    parameters = value(found, "parameters", "session_config_v2")

    assert isinstance(parameters, tuple)
    assert [each.comment for each in parameters] == ["第一行 第二行 行尾", ""]


@given(st.lists(st.tuples(st.integers(0, 4000), st.sampled_from(SPLINTERS) | st.text(max_size=3)), max_size=4))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_a_damaged_file_is_read_or_refused_and_never_more(splinters: list[tuple[int, str]]) -> None:
    text = config()
    for place, splinter in splinters:
        text = text[:place] + splinter + text[place + len(splinter) :]

    with suppress(ConfigError):  # anything else is a bug
        assert interpret_document(document(text.encode("utf-8", "surrogatepass")), WORKLOADS, Hints()).findings


@pytest.mark.parametrize("names", [[], ["config.sh"], ["a.py", "b.py"], ["a.py", "a.sh", "b.sh"]], ids="+".join)
def test_one_configuration_is_read_at_a_time(names: list[str]) -> None:
    files = [ConfigFile(name, b"access_config = {}") for name in names]

    with pytest.raises(ConfigError, match=r"expected one modelarts_config\.py"):
        read_document(files)
