"""One page in a process of its own: `… page_rerun FOLDER PAGE REGION` prints ms per rerun, and MB."""

import os
import re
import statistics
import sys
import time
from pathlib import Path

from streamlit.testing.v1 import AppTest

ENTRY = Path(__file__).parents[2] / "pages" / "_ui" / "entry.py"
RERUNS = 7


def main(folder: str, page: str, region: str) -> None:
    os.environ["AISBENCH_DATA_DIR"] = folder
    app = AppTest.from_file(str(ENTRY), default_timeout=120).run()
    app.switch_page(f"../{page}")
    app.query_params["region"] = region
    app.run()
    durations = []
    for _ in range(RERUNS):
        start = time.perf_counter()
        app.run()
        durations.append((time.perf_counter() - start) * 1000)
        if app.exception:
            raise SystemExit(str(app.exception))
    # getrusage would tell what the process held that started this one.
    [most] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("utf-8"))
    print(statistics.median(durations), int(most) / 1000)


if __name__ == "__main__":
    main(*sys.argv[1:])
