"""The core of the AISBench console: authoring, running, collecting and comparing training benchmarks.

For notebooks and programs of others: `aisbench_core.open_warehouse()`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aisbench_core.warehouse.open.frames import OpenWarehouse

__all__ = ["open_warehouse"]


def open_warehouse(path: str | Path | None = None) -> "OpenWarehouse":
    """The results as pandas DataFrames, read-only: of a file (a warehouse, a snapshot), or of the settings' warehouse.

    To be closed, or used in `with`. Safe beside a running console. Raises ConfigError when there is no such file, or
    when the settings cannot be used."""
    from aisbench_core.errors import ConfigError
    from aisbench_core.messages import Message
    from aisbench_core.settings import load_settings
    from aisbench_core.storage import warehouse_place
    from aisbench_core.warehouse.open.frames import OpenWarehouse

    if path is None:
        return OpenWarehouse(warehouse_place(load_settings()))
    if not Path(path).is_file():
        raise ConfigError(
            Message("{path} is no file", path=path),
            Message("name a warehouse or a snapshot, or nothing for the settings' warehouse"),
        )
    return OpenWarehouse(Path(path), foreign=True)
