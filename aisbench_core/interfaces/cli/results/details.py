"""The file with what a lab states in its report."""

from pathlib import Path

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.exchange.report.details import LabDetails, parse_details_text


def read_details(file: Path) -> LabDetails:
    """The details in a YAML file. Raises ConfigError, and SpecError with a problem per field."""
    try:
        return parse_details_text(file.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(Message("{file} cannot be read: {why}", file=file.name, why=error.strerror)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(Message("{file} is not UTF-8 text", file=file.name), Message("save it as UTF-8")) from error
