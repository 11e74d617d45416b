"""What ARCHITECTURE.md promises about the code: which part may import which."""

from collections.abc import Iterator, Mapping

import pytest

from tests.import_graph import folder_circles, module_arrows
from tests.source_tree import HOME, PRODUCT, SANDBOX, files_of, imports, is_inside, lies_in, path_of, product

LAYERS: Mapping[str, tuple[str, ...]] = {
    "aisbench_core": (
        *("interfaces", "wiring", "maintenance", "exchange", "running", "people", "warehouse", "store"),
        *("domain", "cloud", "config", "model", "base"),
    ),
    "aisbench_core.warehouse": (
        *("limited_exports", "facade", "maintenance", "open", "store", "exporting", "answers", "records"),
        *("validity", "queries", "tables", "measures", "values"),
    ),
}
"""The parts of a folder, from the top: each imports only what stands behind it."""

ONLY: Mapping[str, tuple[str, ...]] = {
    "aisbench_sandbox": (SANDBOX, "aisbench_core.base.private_files"),
    "pages/_ui/shell": (PRODUCT, "pages._ui.shell"),
    "aisbench_core/warehouse": tuple(f"aisbench_core.{name}" for name in ("warehouse", "domain", "model", "base")),
    "aisbench_core/domain/statistics": tuple(
        f"aisbench_core.{name}" for name in ("domain.statistics", "model", "base")
    ),
}
"""Parts that need little of the project, and what of it they may import."""

CLOUD = ("aisbench_core.cloud",)
ADAPTERS = tuple(f"{CLOUD[0]}.{name}" for name in ("modelarts_package", "modelarts_v1", "modelarts_v2", "obs", "swr"))
WITHOUT_CLOUD = ("pages", "aisbench_core/interfaces", "aisbench_core/people")


@pytest.mark.parametrize("folder", LAYERS)
def test_a_layer_imports_only_what_is_below_it(folder: str) -> None:
    height = {part: number for number, part in enumerate(LAYERS[folder])}
    rising = {
        f"{module} imports {other}"
        for module, part, other, its_part in _arrows_inside(folder)
        if height[part] > height[its_part]
    }

    assert rising == set()


def test_the_folders_and_modules_of_a_folder_form_no_circle() -> None:
    assert folder_circles() == []


@pytest.mark.parametrize("part", ONLY)
def test_a_part_that_needs_little_imports_no_more(part: str) -> None:
    ours = (PRODUCT, SANDBOX, "pages", "app")
    used = {(path_of(file), name) for file in files_of(part) for name in imports(file) if is_inside(name, ours)}

    assert {(file, name) for file, name in used if not is_inside(name, ONLY[part])} == set()


def test_only_the_folder_of_clouds_knows_adapters_and_few_parts_know_a_cloud_at_all() -> None:
    outside = [file for file in product() if not lies_in(file, ("aisbench_core/cloud",))]
    with_adapters = {path_of(file) for file in outside for name in imports(file) if is_inside(name, ADAPTERS)}
    with_cloud = {path_of(file) for file in outside for name in imports(file) if is_inside(name, CLOUD)}

    assert with_adapters == set()
    assert {name for name in with_cloud if lies_in(HOME / name, WITHOUT_CLOUD)} == set()


def _arrows_inside(folder: str) -> Iterator[tuple[str, str, str, str]]:
    """Each import between two parts of a folder: the module, the part that it is in, the imported one, and its part."""
    start = f"{folder}."
    for module, imported in module_arrows().items():
        for other in imported:
            if module.startswith(start) and other.startswith(start):
                part, its_part = (name.removeprefix(start).split(".")[0] for name in (module, other))
                if part != its_part:
                    yield module, part, other, its_part
