"""Writes the documents that are made from the code: `make docs`.

`make bench` and `make reliability` write those that hold figures."""

from collections.abc import Callable
from pathlib import Path

from tests import module_index
from tests.contract import conformance
from tests.source_tree import HOME
from tests.unit import (
    test_access,
    test_api_docs,
    test_cli_help,
    test_column_docs,
    test_diagnosis_docs,
    test_docs,
    test_doctor_document,
    test_modelarts_docs,
    test_preflight,
    test_progress_docs,
    test_security_docs,
    test_system_docs,
    test_upstream_docs,
    test_upstream_parity,
    test_validity_docs,
)

DOCUMENTS: tuple[tuple[Path, Callable[[], str]], ...] = (
    (module_index.PAGE, module_index.document),
    (conformance.PAGE, conformance.document),
    (test_access.DOCUMENT, test_access.document),
    (test_api_docs.DOCUMENT, test_api_docs.document),
    (test_cli_help.DOCUMENT, test_cli_help.document),
    (test_column_docs.DOCUMENT, test_column_docs.document),
    (test_diagnosis_docs.DOCUMENT, test_diagnosis_docs.document),
    (test_docs.SETTINGS, test_docs.document),
    (test_doctor_document.DOCUMENT, test_doctor_document.document),
    (test_modelarts_docs.DOCUMENT, test_modelarts_docs.document),
    (test_modelarts_docs.GUIDE.whole_page, test_modelarts_docs.GUIDE.whole),
    (test_preflight.DOCUMENT, test_preflight.document),
    (test_progress_docs.DOCUMENT, test_progress_docs.document),
    (test_security_docs.DOCUMENT, test_security_docs.document),
    (test_security_docs.LIST, test_security_docs.whole_list),
    (test_system_docs.DOCUMENT, test_system_docs.document),
    (test_upstream_docs.DOCUMENT, test_upstream_docs.document),
    (test_upstream_parity.DOCUMENT, test_upstream_parity.document),
    (test_upstream_parity.MANUALS.whole_page, test_upstream_parity.MANUALS.whole),
    (test_validity_docs.DOCUMENT, test_validity_docs.document),
)
"""Each document with its text, or a part of it, as the code would write it; a test of each says when they differ."""


def main() -> None:
    """Write every document, and print the names of those that changed."""
    for file, document in DOCUMENTS:
        before, text = file.read_text("utf-8") if file.exists() else None, document()
        if text != before:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
            print(file.relative_to(HOME))


if __name__ == "__main__":
    main()
