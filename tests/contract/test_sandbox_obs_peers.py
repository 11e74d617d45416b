"""Clients that nobody here wrote, as they come: each operation is served, or refused in words that name it.

`make test-clients` installs them, and prints how many of each client's checks were served."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.sandbox_process import SandboxProcess

pytestmark = pytest.mark.frameworks

CLIENTS = Path(__file__).parents[2] / ".clients"
SCRIPTS = Path(__file__).parents[1] / "clients"
PATIENCE = 300
NAMES_ITSELF = re.compile(r"NotImplemented|\?\w+ is not implemented|x-amz-[a-z-]+ out|Conditions on a PUT")
REFUSED: Mapping[str, frozenset[str]] = {
    "aws_sdk.mjs": frozenset(
        {"condition on a put", "encryption", "attributes", "Policy", "Cors", "Encryption", "Website", "Logging"}
        | {"Tagging", "Replication", "OwnershipControls"}
    ),
    "minio.mjs": frozenset({"Policy", "Encryption", "Notification"}),
    "minio_python.py": frozenset(
        {f"bucket {name}" for name in ("policy", "encryption", "notification", "tags", "replication")} | {"object lock"}
    ),
}
RCLONE = """[peer]
type = s3
provider = {provider}
endpoint = {endpoint}
access_key_id = {access}
secret_access_key = {secret}
{more}
"""
# (provider, options): how people configure rclone for OBS. HuaweiOBS names the bucket in the host, which is asked for
# as of a proxy, because this machine does not resolve it.
REMOTES = {
    "Other": "force_path_style = true",
    "Other, signature 2": "v2_auth = true",
    "HuaweiOBS": "region = cn-north-4\nforce_path_style = false",
}
RCLONE_COMMANDS = """
mkdir peer:{bucket}
copy {tree} peer:{bucket}/t --s3-chunk-size 5M --s3-upload-cutoff 6M
check {tree} peer:{bucket}/t
lsf -R peer:{bucket}
copyto peer:{bucket}/t/a.txt peer:{bucket}/copy.txt
copyto peer:{bucket}/t/large peer:{bucket}/largecopy --s3-copy-cutoff 5M
moveto peer:{bucket}/copy.txt peer:{bucket}/moved.txt
cat peer:{bucket}/moved.txt
size peer:{bucket}
lsjson -M peer:{bucket}/t
touch peer:{bucket}/t/a.txt
link peer:{bucket}/t/a.txt
settier STANDARD_IA peer:{bucket}/t/a.txt
backend versioning peer:{bucket} Enabled
sync {tree}/d peer:{bucket}/t
lsf peer:{bucket}/t --s3-versions
cleanup peer:{bucket}
backend list-multipart-uploads peer:{bucket}
backend cleanup-hidden peer:{bucket}
purge peer:{bucket}
"""
S3CMD_COMMANDS = """
mb s3://{bucket}
ls
put {tree}/a.txt {tree}/large s3://{bucket}/x/ --multipart-chunk-size-mb=5
sync {tree}/ s3://{bucket}/t/ --multipart-chunk-size-mb=5
ls -r s3://{bucket}
du s3://{bucket}
info s3://{bucket}
info s3://{bucket}/x/a.txt
get s3://{bucket}/x/large {tree}.back
cp s3://{bucket}/x/a.txt s3://{bucket}/y
mv s3://{bucket}/y s3://{bucket}/z
modify --add-header=x-amz-meta-run:7 s3://{bucket}/z
setacl --acl-public s3://{bucket}/z
setacl --acl-private s3://{bucket}/z
signurl s3://{bucket}/z +60
multipart s3://{bucket}
expire s3://{bucket} --expiry-days=3 --expiry-prefix=tmp/
getlifecycle s3://{bucket}
dellifecycle s3://{bucket}
settagging s3://{bucket}/z a=b
gettagging s3://{bucket}/z
del s3://{bucket}/z
setversioning s3://{bucket} enable
setversioning s3://{bucket} disable
! settagging s3://{bucket} a=b
! setpolicy {tree}/a.txt s3://{bucket}
! accesslog s3://{bucket}
! ws-info s3://{bucket}
del -r -f s3://{bucket}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files to move: small ones, one with an odd name, and one that goes in parts."""
    folder = tmp_path / "tree"
    (folder / "d").mkdir(parents=True)
    (folder / "a.txt").write_text("hi\n", "utf-8")
    (folder / "d" / "文 b+&.txt").write_text("there\n", "utf-8")
    (folder / "large").write_bytes(os.urandom(1 << 20) * 12)
    return folder


def run(sandbox: SandboxProcess, *command: object, **more: str) -> subprocess.CompletedProcess[str]:
    access, secret = sandbox.keys
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LC_ALL": "C.UTF-8", **more}
    environment |= {"ACCESS": access, "SECRET": secret}
    arguments = list(map(str, command))
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)


def count(client: str, outcomes: Sequence[str]) -> None:
    """Print what people want to know: with `-s` it is seen."""
    print(f"\n{client}: {outcomes.count('passed')} checks passed, {outcomes.count('refused')} refused by name")


@pytest.mark.parametrize("script", REFUSED)
def test_a_library_is_served_or_refused_in_words_that_name_the_request(
    sandbox: SandboxProcess, tree: Path, script: str
) -> None:
    program: tuple[object, ...] = (CLIENTS / "python/bin/python", SCRIPTS / script)
    if script.endswith(".mjs"):  # Node looks for packages beside the script
        shutil.copytree(SCRIPTS, CLIENTS / "node", dirs_exist_ok=True)
        program = ("node", CLIENTS / "node" / script)

    done = run(sandbox, *program, sandbox.obs_url, tree / "large")
    checks = [json.loads(line) for line in done.stdout.splitlines()]

    count(script, [each["outcome"] for each in checks])
    assert done.returncode == 0, done.stderr
    assert [each for each in checks if each["outcome"] == "failed"] == []
    assert {each["check"] for each in checks if each["outcome"] == "refused"} == REFUSED[script]
    assert [each for each in checks if each["outcome"] == "refused" and not NAMES_ITSELF.search(each["why"])] == []


@pytest.mark.parametrize("remote", REMOTES)
def test_rclone_is_served_with_each_provider(sandbox: SandboxProcess, tree: Path, remote: str) -> None:
    access, secret = sandbox.keys
    is_by_host = remote == "HuaweiOBS"
    endpoint = "http://obs.sandbox" if is_by_host else sandbox.obs_url
    facts = {"provider": remote.partition(",")[0], "endpoint": endpoint, "access": access, "secret": secret}
    config = tree.parent / "rclone.conf"
    config.write_text(RCLONE.format(**facts, more=REMOTES[remote]), "utf-8")
    rclone = ("rclone", "--config", config, "--retries", "1", "--low-level-retries", "1", "-q")

    outcomes = []
    for line in RCLONE_COMMANDS.format(bucket="of-rclone", tree=tree).strip().splitlines():
        done = run(sandbox, *rclone, *shlex.split(line), **({"http_proxy": sandbox.obs_url} if is_by_host else {}))
        assert (done.returncode, done.stderr) == (0, ""), line
        outcomes.append("passed")

    count(f"rclone, {remote}", outcomes)


@pytest.mark.parametrize("signature", ["", "--signature-v2"])
def test_s3cmd_is_served_with_both_signatures(sandbox: SandboxProcess, tree: Path, signature: str) -> None:
    access, secret = sandbox.keys
    host = sandbox.obs_url.removeprefix("http://")
    common = (f"--access_key={access}", f"--secret_key={secret}", f"--host={host}", f"--host-bucket={host}")
    s3cmd = (CLIENTS / "python/bin/s3cmd", "-c", os.devnull, *common, "--no-ssl", "-q", *signature.split())

    outcomes = []
    for line in S3CMD_COMMANDS.format(bucket="of-s3cmd", tree=tree).strip().splitlines():
        is_refused = line.startswith("!")
        done = run(sandbox, *s3cmd, *shlex.split(line.lstrip("! ")))
        assert bool(done.returncode) is is_refused, (line, done.stderr)
        assert not is_refused or re.search(r"501 \(NotImplemented\): \w+ /\{bucket\}\?\w+ is not impl", done.stderr)
        outcomes.append("refused" if is_refused else "passed")

    count(f"s3cmd {signature or '--signature-v4'}", outcomes)
    assert (tree.parent / "tree.back").read_bytes() == (tree / "large").read_bytes()
