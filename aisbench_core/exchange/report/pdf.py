"""The report as PDF: the same page, printed by WeasyPrint, so that nobody needs a browser for it."""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.formats import clip_text
from aisbench_core.base.messages import Message

_CHINESE = re.compile("[\u4e00-\u9fff]")


def check_printing() -> None:
    """Raises ConfigError if this machine cannot print: without WeasyPrint, or without Pango."""
    try:
        import weasyprint  # noqa: F401  # takes half a second and the system's Pango
    except ImportError as error:
        raise ConfigError(
            Message("a report as PDF needs the package weasyprint: {why}", why=error),
            Message("pip install 'aisbench-console[pdf]', or print the HTML report in a browser"),
        ) from error
    except OSError as error:  # cffi found no library
        raise ConfigError(
            Message("a report as PDF needs Pango, which cannot be loaded: {why}", why=str(error).splitlines()[0]),
            Message("Debian and Ubuntu: apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"),
        ) from error


def print_page(page: str) -> bytes:
    """A report's page on A4. Raises ConfigError as `check` does, and on Chinese letters in names that neither the
    report's fonts nor the machine's have."""
    check_printing()
    from weasyprint import HTML
    from weasyprint.urls import URLFetcher

    # The page holds its fonts and loads nothing; if a value in it could make it do so, printing it must not.
    with _missing_letters() as missing:
        content: bytes = HTML(string=page, url_fetcher=URLFetcher(allowed_protocols=("data",))).write_pdf()
    if chinese := _CHINESE.findall("".join(missing)):
        letters = clip_text("".join(dict.fromkeys(chinese)), 40)
        raise ConfigError(
            Message("no font on this machine has these letters of the report's names: {letters}", letters=letters),
            Message("install a Chinese font (Debian and Ubuntu: apt-get install fonts-wqy-microhei)"),
        )
    return content


@contextmanager
def _missing_letters() -> Iterator[list[str]]:
    """Letters that no font has: WeasyPrint says so in its log only."""
    found: list[str] = []
    thread = threading.get_ident()

    class Collector(logging.Handler):
        """Of this thread only, because other people print at the same time."""

        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == thread and record.msg.startswith(".notdef") and isinstance(record.args, tuple):
                found.append(str(record.args[0]))

    collector = Collector(logging.WARNING)
    logger = logging.getLogger("weasyprint")
    logger.addHandler(collector)
    try:
        yield found
    finally:
        logger.removeHandler(collector)
