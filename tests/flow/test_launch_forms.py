"""How the manuals and people start a training in an image of their own: each form runs as it stands.

From the guide *ModelArts Model Training* (3.4, 4.1, 4.5, 7.6, 7.7), the specification for start commands of custom
images, and scripts that people publish. Forms that need PyTorch, MPI or MindSpore are in test_boot_torch.py,
test_boot_mpi.py and test_frameworks.py; preset engines in test_sandbox_boot.py."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aisbench_sandbox.engine.node.container import Containers, why_no_containers
from tests.flow.test_sandbox_boot import custom_image
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient

ENV = "/home/ma-user/anaconda3/envs/python-3.7.10"
HOME = "/home/ma-user/modelarts/user-job-dir/code"
FILES = {
    "train.py": """
import json, os, sys
print("trained", *sys.argv[1:], "MINE=" + os.environ.get("MINE", ""))
sys.exit(int(os.environ.get("FAILS_WITH", "0")))
""",
    "package/__init__.py": "",
    "package/__main__.py": "print('trained as a module')\n",
    "run.sh": '#!/bin/bash\nset -euo pipefail\ncd "$(dirname "$0")"\npython train.py "$@"\n',
    "env.sh": "export MINE=sourced\n",
    # 7.7, without the framework that the manual's script starts
    "ascend.sh": """#!/bin/bash
MASTER_HOST="$VC_WORKER_HOSTS"
MASTER_ADDR="${VC_WORKER_HOSTS%%,*}"
ma_vj_name=`echo ${MA_VJ_NAME} | sed 's:ma-job:modelarts-job:g'`
task_plog_path=${MA_LOG_DIR}/${ma_vj_name}/worker-${VC_TASK_INDEX}
mkdir -p ${task_plog_path}
export ASCEND_PROCESS_LOG_PATH=${task_plog_path}
echo hello > ${task_plog_path}/plog.log
CMD="${ANACONDA_DIR}/envs/${ENV_NAME}/bin/python ${MA_JOB_DIR}/code/train.py \\
    --nnodes=$MA_NUM_HOSTS --node_rank=$VC_TASK_INDEX --nproc_per_node=$MA_NUM_GPUS --master_addr=$MASTER_ADDR
"
echo $CMD
$CMD
""",
    # the specification for custom images: template 2 becomes template 1
    "ranks.py": """
import json, os, time
path = os.path.join(os.environ["RANK_TABLE_FILE"], "jobstart_hccl.json")
while (table := json.load(open(path)))["status"] != "completed":
    time.sleep(0.1)
servers = table["group_list"][0]["instance_list"]
ranks = [device for server in servers for device in server["devices"]]
print("trained on", table["group_list"][0]["device_count"], "of", len(ranks))
""",
}
PARAMETERS = [{"name": "lr", "value": "0.1"}]


@dataclass(frozen=True)
class Form:
    """A start command, and what it must print. `code`: with which it ends; `more`: of the request's algorithm."""

    command: str
    printed: str = "trained"
    code: int = 0
    flavor: str = "sandbox.cpu.1card"
    more: Mapping[str, Any] = field(default_factory=dict)


FORMS = {
    "a Python file": Form("python ${MA_JOB_DIR}/code/train.py"),
    "python3": Form("python3 $MA_JOB_DIR/code/train.py"),
    "a shell script": Form("bash ${MA_JOB_DIR}/code/run.sh --epochs=2", "trained --epochs=2"),
    "sh": Form("sh -c 'python $MA_JOB_DIR/code/train.py'"),
    "semicolons": Form("cd $MA_JOB_DIR/code; pwd; python train.py"),
    "and": Form("cd ${MA_JOB_DIR}/code && python train.py"),
    "the conda environment of the image": Form(f"python {HOME}/train.py"),
    "an environment's Python by its path": Form(f"{ENV}/bin/python {HOME}/train.py"),
    "an environment's programs first": Form(f"export PATH={ENV}/bin:$PATH; python {HOME}/train.py"),
    "conda run": Form(f"/home/ma-user/anaconda3/bin/conda run -n python-3.7.10 python {HOME}/train.py"),
    "its libraries first": Form(
        "export LD_LIBRARY_PATH=$ANACONDA_DIR/envs/$DEFAULT_CONDA_ENV_NAME/lib:$LD_LIBRARY_PATH; "
        f"python {HOME}/train.py"
    ),
    "a script that names its environment": Form(
        "bash ${MA_JOB_DIR}/code/ascend.sh",
        "--node_rank=0 --nproc_per_node=2",
        flavor="modelarts.kat1.2xlarge",
        more={"environments": {"ENV_NAME": "PyTorch-1.11.0"}},
    ),
    "a rank table that is waited for": Form(
        "python ${MA_JOB_DIR}/code/ranks.py", "trained on 2 of 2", flavor="modelarts.kat1.2xlarge"
    ),
    "parameters": Form("python $MA_JOB_DIR/code/train.py", "trained --lr=0.1", more={"parameters": PARAMETERS}),
    "parameters of a script": Form(
        "bash $MA_JOB_DIR/code/run.sh --epochs=2", "trained --epochs=2 --lr=0.1", more={"parameters": PARAMETERS}
    ),
    "a variable of the job": Form(
        "python $MA_JOB_DIR/code/train.py", "MINE=of the job", more={"environments": {"MINE": "of the job"}}
    ),
    "a variable of the command": Form("MINE=now python $MA_JOB_DIR/code/train.py", "MINE=now"),
    "env": Form("env MINE=now python $MA_JOB_DIR/code/train.py", "MINE=now"),
    "a sourced file": Form("source $MA_JOB_DIR/code/env.sh && python $MA_JOB_DIR/code/train.py", "MINE=sourced"),
    "a shell in the shell": Form('/bin/bash -c "cd $MA_JOB_DIR/code && python train.py"'),
    "a module": Form("cd $MA_JOB_DIR/code && python -m package", "trained as a module"),
    "no buffer, and a copy of the output": Form(
        "set -o pipefail; python -u $MA_JOB_DIR/code/train.py 2>&1 | tee /tmp/out.log; wc -l < /tmp/out.log"
    ),
    "the code of a process in a pipe": Form(
        "set -o pipefail; python $MA_JOB_DIR/code/train.py | tee /tmp/out.log",
        code=7,
        more={"environments": {"FAILS_WITH": "7"}},
    ),
    "in the background": Form("nohup python $MA_JOB_DIR/code/train.py > /tmp/out.log 2>&1 & wait && cat /tmp/out.log"),
    "a container that stays for a look": Form(
        "python $MA_JOB_DIR/code/train.py || sleep 1; :", more={"environments": {"FAILS_WITH": "3"}}
    ),
    "a local code directory": Form(
        "python train.py",
        more={"local_code_dir": "/home/ma-user/mine", "working_dir": "/home/ma-user/mine/code"},
    ),
    "a code directory by its variable": Form(
        "python ${MA_JOB_DIR}/code/train.py", more={"local_code_dir": "/home/ma-user/mine"}
    ),
    "exec": Form("exec python $MA_JOB_DIR/code/train.py"),
    "a time limit": Form("timeout 60 python $MA_JOB_DIR/code/train.py"),
    "a loop over cards": Form(
        "for i in 0 1; do ASCEND_DEVICE_ID=$i MINE=$i python $MA_JOB_DIR/code/train.py & done; wait", "MINE=1"
    ),
}


def test_there_are_thirty_forms() -> None:
    assert len(FORMS) >= 30


def test_each_form_of_the_manuals_runs_as_it_stands(real_sandbox: SandboxProcess, tmp_path: Path) -> None:
    client = TrainingClient(real_sandbox)
    is_bare = bool(why_no_containers(Containers.AUTO, tmp_path))
    forms = {name: form for name, form in FORMS.items() if not (is_bare and "/home/ma-user" in form.command)}
    for name, content in FILES.items():
        client.put(f"code/{name}", content)
    jobs = {}
    for number, (name, form) in enumerate(forms.items()):
        body = custom_image(form.command, **form.more)
        body["metadata"]["name"] = f"form-{number}"
        body["spec"]["resource"]["flavor_id"] = form.flavor
        jobs[name] = client.create(body).metadata.id

    wrong = {}
    for name, form in forms.items():
        job = client.wait(jobs[name], seconds=300)
        log, codes = client.log(jobs[name]), [end.exit_code for end in job.status.task_statuses]
        if codes != [form.code] or form.printed not in log:
            wrong[name] = f"{codes}\n{log}"

    assert wrong == {}
