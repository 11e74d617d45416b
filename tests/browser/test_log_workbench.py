"""The log workbench in a browser: what a log says is shown as it was typed, and a search leads to its lines."""

import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.console_process import ConsoleProcess
from tests.browser.visit import OpenWindow

HOSTILE = (
    "<script>document.title = 'owned'</script> <img src=x onerror=alert(1)>",
    "![picture](http://example.com/x.png) [link](http://example.com) http://example.com",
    ":material/home: :red[red] $x^2$ `code` **bold** &lt;b&gt;",
)


def failed_run(console: ConsoleProcess) -> str:
    """A run of two nodes that really fails, whose logs then say what nobody should."""
    code = console.data_dir / "broken"
    code.mkdir()
    (code / "train.py").write_text("import sys; print('[rank1]: ValueError: loss is NaN', flush=True); sys.exit(3)\n")
    words = ("run", "quickstart_digits", "--nodes", "2", "--set", f"code_dir={code}", "--set", "boot_file=train.py")
    command = [str(Path(sys.executable).with_name("aisbench")), *words, "--wait"]
    environment = os.environ | {"AISBENCH_DATA_DIR": str(console.data_dir)}
    run_id = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()
    with (console.data_dir / "runs" / run_id / "logs" / "worker-1.log").open("a") as log:
        log.write("".join(f"{line}\n" for line in HOSTILE) + "\x1b[31mWARNING slow\x1b[0m\n")
    return run_id


def test_a_log_is_text_and_a_search_leads_to_its_lines(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    run_id = failed_run(console)

    visit.open(f"/live?run={run_id}&find=example&first_errors=1")

    log = visit.page.get_by_role("log", name="Log", exact=True)
    for line in (*HOSTILE, "WARNING slow"):
        expect(log).to_contain_text(line)
    assert log.locator("script, img, a, code, b, strong").count() == 0
    expect(visit.page.get_by_text("Matching lines: 1, in 1 of 2 logs.")).to_be_visible()
    errors = visit.page.get_by_role("log", name="First error of each rank")
    expect(errors).to_contain_text(re.compile(r"node \d, rank 1"))
    hits = visit.page.get_by_role("log", name="Search the log")
    assert hits.locator("mark").all_inner_texts() == ["example"] * 3

    hits.get_by_role("link", name="1").click()

    expect(visit.page).to_have_url(re.compile(r"node=1&offset=\d+"))
    expect(visit.page.locator(".log-focus")).to_have_text(HOSTILE[1])
    expect(visit.page.get_by_role("button", name="Latest")).to_be_visible()
    with visit.page.expect_download() as download:
        visit.page.get_by_role("link", name="Download").click()
    assert download.value.path().read_text().endswith("WARNING slow\x1b[0m\n")
    assert visit.troubles() == []
