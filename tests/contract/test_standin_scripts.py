"""Scripts written for the package run on the stand-in: they wait by names of states, and fetch logs by its session."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.sandbox_process import SandboxProcess

SCRIPT = """
import json, sys, time
from modelarts.estimatorV2 import Estimator as EstimatorV2
from modelarts.estimator import JOB_STATE, Estimator
from modelarts.session import Session
from modelarts.train_params import InputData, OutputData, TrainingFiles

told = json.load(open(sys.argv[1]))
bucket, here = "obs://" + told["bucket"], told["here"]
Session.set_endpoint(**told["endpoints"])
session = Session(**told["keys"])
session.obs.upload_dir(here + "/code", bucket + "/" + told["name"])
start = "/" + told["bucket"] + "/" + told["name"]


def run_v1():
    flavor = Estimator.get_train_instance_types(modelarts_session=session)[0]
    engine = Estimator.get_framework_list(modelarts_session=session)[0]
    out = start + "/out/"
    job = Estimator(modelarts_session=session, code_dir=start + "/code/", boot_file=start + "/code/train.py",
                    hyperparameters=[{"label": "epochs", "value": "1"}], output_path=out, log_url=out,
                    train_instance_type=flavor, train_instance_count=1, user_command=None, **engine)
    job = job.fit(inputs=start + "/code/", wait=False, job_name=told["name"])
    while JOB_STATE[job.get_job_info()["status"]] != "JOBSTAT_COMPLETED":
        time.sleep(0.2)
    info = job.get_job_info()
    return "obs:/" + out + info["resource_id"] + "-job-" + told["name"] + "-0.log"


def run_v2():
    flavor = EstimatorV2.get_train_instance_types(session)[0]
    engine = EstimatorV2.get_framework_list(session)[0]
    files = TrainingFiles(code_dir="obs:/" + start + "/code/", boot_file="obs:/" + start + "/code/train.py")
    job = EstimatorV2(session=session, training_files=files, log_url="obs:/" + start + "/log/",
                      outputs=[OutputData(obs_path="obs:/" + start + "/out/", name="train_url")],
                      train_instance_type=flavor, train_instance_count=1, user_command=None, **engine)
    job = job.fit(inputs=[InputData(obs_path="obs:/" + start + "/code/", name="data_url")], wait=False,
                  job_name=told["name"])
    while job.get_job_info()["status"]["phase"] != "Completed":
        time.sleep(0.2)
    return "obs:/" + start + "/log/modelarts-job-" + job.get_job_info()["metadata"]["id"] + "-worker-0.log"


log = {"v1": run_v1, "v2": run_v2}[told["api"]]()
while not session.obs.is_obs_path_exists(log):
    time.sleep(0.2)
session.obs.download_file(log, here + "/job.log")
assert not session.obs.is_obs_path_exists(log + ".missing")
"""


@pytest.mark.parametrize("api", ["v1", "v2"])
def test_a_script_of_the_package_follows_its_job_to_the_log(
    api: str, sandbox: SandboxProcess, sdk_venv: Path, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("print('trained by a script')\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    place, (access_key, secret_key) = sandbox.profile, sandbox.keys
    region = {"region_name": place["region"]}
    address = place["modelarts_endpoint"]
    told = {
        "api": api,
        "name": f"script-{api}",
        "here": str(tmp_path),
        "bucket": place["bucket"],
        "keys": {"access_key": access_key, "secret_key": secret_key, "project_id": place["project_id"], **region},
        "endpoints": {
            "iam_endpoint": address,
            "modelarts_endpoint": address,
            "obs_endpoint": place["obs_server"],
            **region,
        },
    }
    (tmp_path / "told.json").write_text(json.dumps(told))

    ended = subprocess.run(
        [sdk_venv / "bin" / "python", "script.py", "told.json"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert ended.returncode == 0, ended.stderr
    assert "a scripted job pretends to train" in (tmp_path / "job.log").read_text("utf-8")
