"""What a person changes is stored, even when the next change arrives before it was."""

import ast
from collections.abc import Iterator

from streamlit.testing.v1 import AppTest

from tests.source_tree import files_of

CALLED = ("on_change", "on_click")


def interrupted() -> None:
    """A page whose callback meets a newer change of the person, in the moment before it reads its own."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    from pages._ui.shell.callbacks import repeat_if_aborted

    stored = st.session_state.setdefault("stored", [])
    cut = st.session_state.setdefault("cut", [])

    def newer_change() -> None:
        ctx = get_script_run_ctx()
        assert ctx
        assert ctx.script_requests
        ctx.script_requests.request_rerun(RerunData())

    @repeat_if_aborted
    def store() -> None:
        if not cut:
            cut.append("once")
            newer_change()
        stored.append(st.session_state["typed"])

    st.text_input("Typed", key="typed", on_change=store)
    st.markdown(f"stored: {stored}")


def test_a_change_is_stored_when_a_newer_one_cuts_its_callback_short() -> None:
    app = AppTest.from_function(interrupted).run()

    app.text_input(key="typed").set_value("two nodes").run()

    assert app.session_state["cut"] == ["once"]
    assert app.session_state["stored"] == ["two nodes"]
    assert not app.exception


def test_every_callback_of_a_page_is_whole() -> None:
    trees = [ast.parse(path.read_text("utf-8")) for path in files_of("pages")]

    called = {name for tree in trees for name in callbacks(tree)}

    assert {"_store_change", "_save_view", "fix", "open"} <= called
    assert called - {name for tree in trees for name in whole_functions(tree)} == set()


def test_no_callback_takes_out_of_the_session_what_it_still_needs() -> None:
    """One that Streamlit aborts after that begins again without it: a draft to restore, a folder to remove."""
    trees = [ast.parse(path.read_text("utf-8")) for path in files_of("pages")]
    called = {name for tree in trees for name in (*callbacks(tree), *closing(tree))}

    assert "_clear_import" in called
    assert [
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in called and takes_a_value(node)
    ] == []


def closing(tree: ast.Module) -> Iterator[str]:
    """The functions that a module calls when a dialog is closed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "on_close":
            yield ast.unparse(node.value)


def takes_a_value(function: ast.FunctionDef) -> bool:
    """Whether it uses what it pops from the session; forgetting something is a statement of its own."""
    forgotten = {id(node.value) for node in ast.walk(function) if isinstance(node, ast.Expr)}
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func) == "st.session_state.pop" and id(node) not in forgotten
        for node in ast.walk(function)
    )


def callbacks(tree: ast.Module) -> Iterator[str]:
    """The functions that a module gives to its widgets; a text is one of Streamlit's own answers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in CALLED and not isinstance(node.value, ast.Constant):
            yield ast.unparse(node.value).split(".")[-1]
        elif isinstance(node, ast.Dict):
            named = zip(node.keys, node.values, strict=True)
            yield from (ast.unparse(value) for key, value in named if key and ast.unparse(key).strip("'") in CALLED)


def whole_functions(tree: ast.Module) -> Iterator[str]:
    """The functions of a module that are carried out whole."""
    for node in ast.walk(tree):
        decorators = map(ast.unparse, node.decorator_list) if isinstance(node, ast.FunctionDef) else ()
        if isinstance(node, ast.FunctionDef) and {"repeat_if_aborted", "report_outcome(OUTCOME)"} & set(decorators):
            yield node.name
