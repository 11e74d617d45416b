"""The decoder of pytorch_llm_pretrain: as large as its namesakes, causal, and alike however it is distributed."""

import os
import re
import subprocess
import sys

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.llm.flops import Recomputation
from aisbench_core.domain.llm.memory import estimate_memory
from aisbench_core.domain.llm.model_shape import ModelShape

CODE = HOME / "workloads" / "pytorch_llm_pretrain" / "code"
REPORTER = HOME / "workloads" / "_reporter"
START = """
import argparse, torch
from decoder import Decoder
from sizes import SIZES, Size
tiny = Size(2, 32, 4, 2, 8, 64, 50, True, 16, 4, 1e-2)
torch.manual_seed(3)
"""

pytestmark = pytest.mark.torch


def ask(script: str) -> str:
    """What a script prints that finds the workload's modules, in a process of its own, as in a job."""
    paths = {"PYTHONPATH": f"{CODE}{os.pathsep}{REPORTER}", "PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", START + script]
    done = subprocess.run(command, env=paths, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_sizes_have_as_many_weights_as_the_models_that_they_are_named_after() -> None:
    script = """
with torch.device("meta"):
    print({name: sum(each.numel() for each in Decoder(size).parameters()) for name, size in SIZES.items()})
"""
    assert ask(script) == str({"nano": 525_056, "0.6B": 596_049_920, "1.7B": 1_720_574_976, "8B": 8_190_735_360})


def test_a_token_is_predicted_from_those_before_it_and_each_of_them_matters() -> None:
    script = """
model, tokens = Decoder(tiny).eval(), torch.randint(1, 50, (1, 16))
def differs(place):
    changed = tokens.clone()
    changed[0, place] = 0
    return (model(changed) - model(tokens)).abs().amax(-1)[0] > 1e-6
print([bool(differs(8)[:8].any()), bool(differs(8)[8:].all()), bool(differs(0).all())])
"""
    assert ask(script) == "[False, True, True]"


def test_the_distance_of_tokens_decides_what_they_see_of_each_other_and_not_their_place() -> None:
    """Which is what a rotary embedding is for."""
    script = """
from decoder import Attention
attention = Attention(tiny)
heads = torch.randn(1, 4, 1, 8).expand(1, 4, 16, 8)
scores = attention._rotate(heads) @ attention._rotate(heads).transpose(-1, -2)
print(*[torch.allclose(scores[..., 3, 1], other, atol=1e-5) for other in (scores[..., 9, 7], scores[..., 3, 2])])
"""
    assert ask(script) == "True False"


def test_heads_that_share_keys_attend_like_whole_heads_with_those_keys_repeated() -> None:
    script = """
from decoder import Attention
attention, states = Attention(tiny), torch.randn(2, 16, 32)
whole = Attention(tiny._replace(kv_heads=4))
whole.load_state_dict(attention.state_dict() | {
    f"{name}.weight": getattr(attention, name).weight.unflatten(0, (2, 8)).repeat_interleave(2, 0).flatten(0, 1)
    for name in ("keys", "values")
})
print(torch.allclose(attention(states), whole(states), atol=1e-6))
"""
    assert ask(script) == "True"


def test_recomputation_changes_no_gradient() -> None:
    script = """
def gradients(recompute):
    torch.manual_seed(3)
    model = Decoder(tiny, recompute=recompute)
    model(torch.arange(16)[None]).logsumexp(-1).sum().backward()
    return torch.cat([each.grad.flatten() for each in model.parameters()])
print(torch.equal(gradients(False), gradients(True)))
"""
    assert ask(script) == "True"


ALONE = """
import os, tempfile
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", train_url=tempfile.mkdtemp())
import torch.distributed as dist
from checkpoints import Checkpoint
from ranks import Place
from training import Training
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
def make(**changes):
    given = {"seed": 1, "parallel": "ddp", "micro_batch": 4, "recomputation": "none"} | changes
    arguments = argparse.Namespace(**given, train_url=os.environ["train_url"], resume=True, checkpoint_dir="")
    training = Training(SIZES["nano"]._replace(layers=1, sequence=16), Place(), torch.device("cpu"), arguments)
    training.make_batches(0)
    return training, Checkpoint(training, Place(), arguments)
"""


@pytest.mark.parametrize(("first", "second"), [("ddp", "ddp"), ("fsdp2", "fsdp2"), ("ddp", "fsdp2")])
def test_a_training_goes_on_from_a_checkpoint_as_if_nothing_had_happened(first: str, second: str) -> None:
    script = f"""{ALONE}
whole, checkpoint = make(parallel={first!r})
for step in (1, 2, 3):
    whole.train(step)
checkpoint.save()
resumed, checkpoint = make(parallel={second!r})
seen = checkpoint.is_seen_by_all()
checkpoint.load(3)
losses = [[training.train(step) for step in (4, 5, 6)] for training in (whole, resumed)]
fresh = make(parallel={second!r})[0].train(4)
checkpoint.remove()
print(seen, checkpoint.folder.exists())
print(max(abs(again / once - 1) for once, again in zip(*losses)) < {1e-6 if first == second else 1e-3})
print(abs(fresh / losses[0][0] - 1) > 0.01)
"""
    assert ask(script).splitlines() == ["True False", "True", "True"]


def test_the_micro_batch_changes_the_speed_and_not_what_is_learnt() -> None:
    script = f"""{ALONE}
ways = [make(micro_batch=size)[0] for size in (1, 16)]
losses = [[training.train(step) for training in ways] for step in (1, 2, 3)]
print(max(abs(one / other - 1) for one, other in losses) < 1e-3)
"""
    assert ask(script) == "True"


def test_a_micro_batch_that_does_not_divide_the_global_batch_is_refused_by_name() -> None:
    script = f"""{ALONE}
try:
    make(micro_batch=3)
except ValueError as error:
    print(error)
"""
    assert ask(script) == "micro_batch 3 x 1 ranks = 3 does not divide the global batch of 16 sequences"


def test_a_pytorch_without_fsdp2_says_which_parameter_needs_it() -> None:
    script = f"""{ALONE}
import torch.distributed.fsdp
del torch.distributed.fsdp.fully_shard
try:
    make(parallel="fsdp2")
except ValueError as error:
    print(error)
"""
    assert re.fullmatch(
        r"parallel=fsdp2 needs PyTorch 2\.6 or newer, and this is [0-9.]+(\+[a-z0-9.]+)?; use ddp", ask(script)
    )


@pytest.mark.parametrize("recomputation", [Recomputation.NONE, Recomputation.FULL])
def test_what_a_layer_keeps_for_its_backward_pass_is_what_preflight_counts(recomputation: Recomputation) -> None:
    script = f"""
def count(layers):
    size = Size(layers, 256, 4, 2, 64, 768, 1024, True, 512, 4, 1e-2)
    model = Decoder(size, recompute={recomputation is Recomputation.FULL}).bfloat16()
    weights = {{each.untyped_storage().data_ptr() for each in model.parameters()}}
    kept, tensors = {{}}, []
    def keep(tensor):
        storage = tensor.untyped_storage()
        tensors.append(tensor)  # so that no other one gets its place
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(torch.randint(0, 1024, (1, 512)))
    return sum(kept.values()) / 512
print((count(4) - count(2)) / 2)
"""
    shapes = [ModelShape(layers=n, hidden=256, heads=4, kv_heads=2, head_dim=64, ffn=768, vocab=1024) for n in (4, 2)]
    more, fewer = (estimate_memory(shape, 1, recomputation, 1).activations for shape in shapes)

    assert float(ask(script)) == pytest.approx((more - fewer) / 2, rel=0.05)


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("--data_url=/cache/c4", "--data_url is not read, because tokens are made from the seed; leave the input out"),
        ("--micro_batch=0", "--micro_batch must be at least 1, and it is 0"),
        ("--resume=yes", "argument --resume: must be True or False, and it is 'yes'"),
    ],
)
def test_an_argument_that_cannot_be_followed_is_refused_by_name(argument: str, says: str) -> None:
    script = f"import sys\nimport pretrain\nsys.argv = ['pretrain.py', '--train_url=.', {argument!r}]\n"

    refused = ask(
        f"{script}import io\nsys.stderr = sys.stdout\ntry:\n    pretrain.main()\nexcept SystemExit:\n    pass"
    )

    assert refused.endswith(says)
