"""What no module of the product does: evaluate text, start a shell, load objects, draw secrets that can be guessed."""

import ast
from collections.abc import Iterator

import pytest

from tests.source_tree import HOME, files_of, lines_of, nodes_of, path_of, product

EVALUATE = {"eval", "exec", "compile", "__import__"}
LOAD_OBJECTS = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle"}

RANDOM: dict[str, str] = {
    "aisbench_core/exchange/importing/demo.py": "the demo's numbers, the same each time",
    "aisbench_core/running/series/sampler.py": "which values a search tries, the same for the same seed",
    "aisbench_sandbox/engine/ports.py": "where the search for a free port begins",
    "aisbench_sandbox/obs/responses.py": "ids of requests",
}
"""Modules with randomness that anybody may guess, and what it decides."""

WEAK: dict[str, str] = {
    "aisbench_sandbox/modules/moxing/client.py": "the signature that OBS prescribes, HMAC-SHA1",
    "aisbench_sandbox/obs/auth.py": "the signature that OBS prescribes, HMAC-SHA1",
    "aisbench_sandbox/obs/forms.py": "the signature that OBS prescribes, HMAC-SHA1",
    "aisbench_sandbox/obs/signed_urls.py": "the signature that OBS prescribes, HMAC-SHA1",
}
"""Modules that use MD5 or SHA-1 for more than checksums, and why."""


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call of the product, with where it stands."""
    for file in product():
        for node in nodes_of(file, ast.Call):
            yield f"{path_of(file)}:{node.lineno}", node


def imported() -> Iterator[tuple[str, str]]:
    """Every module that the product imports, with who does."""
    for file in product():
        for node in nodes_of(file, ast.Import):
            yield from ((path_of(file), name.name.split(".")[0]) for name in node.names)
        for source in nodes_of(file, ast.ImportFrom):
            yield path_of(file), (source.module or "").split(".")[0]


def _name(function: ast.expr) -> str:
    """`os.system` or `system`; empty for what is no name. Writing out each expression takes a second."""
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
    return ""


def _argument(call: ast.Call, name: str) -> object:
    found = [each.value for each in call.keywords if each.arg == name]
    return found[0].value if found and isinstance(found[0], ast.Constant) else None


def test_no_text_is_evaluated() -> None:
    found = {where for where, call in calls() if isinstance(call.func, ast.Name) and call.func.id in EVALUATE}

    assert found == set()


def test_no_program_is_started_through_a_shell() -> None:
    shells = {where for where, call in calls() if _argument(call, "shell")}
    systems = {
        where for where, call in calls() if _name(call.func) in ("os.system", "os.popen", "subprocess.getoutput")
    }

    assert shells | systems == set()


def test_no_objects_are_loaded_from_files() -> None:
    assert {who for who, module in imported() if module in LOAD_OBJECTS} == set()


def test_what_nobody_may_guess_is_drawn_from_the_system() -> None:
    assert {who for who, module in imported() if module == "random"} == set(RANDOM)


def test_md5_and_sha_1_protect_nothing() -> None:
    weak = {
        where.partition(":")[0]
        for where, call in calls()
        if _name(call.func) in ("hashlib.md5", "hashlib.sha1", "md5", "sha1", "hashlib.new")
        and _argument(call, "usedforsecurity") is not False
    }
    signing = {
        where.partition(":")[0]
        for where, call in calls()
        if _name(call.func) in ("hmac.new", "hmac.digest")
        and ("sha1" in ast.unparse(call) or "md5" in ast.unparse(call))
    }

    assert weak | signing == set(WEAK)


@pytest.mark.parametrize("storage", ["localStorage", "sessionStorage", "indexedDB", "document.cookie"])
def test_no_script_of_ours_stores_anything_in_the_browser(storage: str) -> None:
    files = [*files_of("pages"), *HOME.glob("pages/**/*.js"), *HOME.glob("aisbench_core/exchange/report/templates/*")]

    assert len(files) > 50
    assert {path_of(file) for file in files if any(storage in line for line in lines_of(file))} == set()
