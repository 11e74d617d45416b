"""What a passport costs a job: processor time of the capture, with tools and files as on a real node."""

import json
import subprocess
import sys
from pathlib import Path

from tests.unit.test_passport import OUTPUTS
from tests.unit.test_reporter_passport import REPORTER, put_tool

CAPTURE = """
import json, sys, time
import aisbench_passport
stored = []
began, spent = time.monotonic(), time.process_time()
aisbench_passport.start(0, lambda name, text: stored.append(text))
print(json.dumps([time.monotonic() - began, time.process_time() - spent, len(stored[0])]))
"""


def test_a_node_with_many_packages_variables_and_a_large_file_is_captured_within_a_second(tmp_path: Path) -> None:
    put_tool(tmp_path / "tools", "npu-smi", OUTPUTS["npu_24_910b4"]["tools"])
    for number in range(600):
        (tmp_path / "site" / f"package_{number}-1.{number}.dist-info").mkdir(parents=True)
    lines = "".join(f"layer_{number}: {{width: {number}, note: 'some words of it'}}\n" for number in range(4500))
    (tmp_path / "model.yaml").write_text(lines, "utf-8")
    environment = {f"NCCL_OPTION_{number}": "x" * 200 for number in range(200)}
    paths = {"PATH": f"{tmp_path / 'tools'}:/usr/bin:/bin", "PYTHONPATH": f"{REPORTER}:{tmp_path / 'site'}"}

    done = subprocess.run(
        [sys.executable, "-c", CAPTURE, "--config=model.yaml"], cwd=tmp_path, env=environment | paths,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    wall, processor, size = json.loads(done.stdout)

    print(f"passport: {wall:.3f} s, {processor:.3f} s of processor, {size:,} characters")
    assert processor < 1.0
    assert wall < 1.0
