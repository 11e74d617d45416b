"""Trains one weight on every card's own sample; the gradients are summed over all cards, by msrun or by rank table."""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.abspath(__file__)


def from_rank_table():
    """Tell MindSpore's cluster who this process is; the first card starts the scheduler beside itself."""
    with open(os.environ["RANK_TABLE_FILE"]) as file:
        table = json.load(file)
    assert table["status"] == "completed", table
    first = table["server_list"][0]["server_id"]
    os.environ.update(
        MS_WORKER_NUM=os.environ["RANK_SIZE"],
        MS_SCHED_HOST=first,
        MS_SCHED_PORT=os.environ["MA_TORCHRUN_MASTER_PORT"],
        MS_NODE_ID=os.environ["RANK_ID"],
    )
    if os.environ["RANK_ID"] == "0":
        subprocess.Popen([sys.executable, HERE, "--schedule"], env={**os.environ, "MS_ROLE": "MS_SCHED"})
    os.environ["MS_ROLE"] = "MS_WORKER"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train_url")
    parser.add_argument("--schedule", action="store_true")
    arguments = parser.parse_args()
    if "MS_ROLE" not in os.environ:
        from_rank_table()

    import mindspore
    from mindspore import Parameter, Tensor, communication, nn, ops

    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    communication.init("mccl")
    if arguments.schedule or os.environ["MS_ROLE"] == "MS_SCHED":
        return
    rank, size = communication.get_rank(), communication.get_group_size()

    class Line(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = Parameter(Tensor([0.0], mindspore.float32), name="weight")

        def construct(self, x):
            return ops.mul(self.weight, x)

    line, everybody = Line(), ops.AllReduce()
    loss = mindspore.value_and_grad(
        lambda x, y: ops.square(ops.sub(line(x), y)).mean(), None, mindspore.ParameterTuple([line.weight])
    )
    # Tensors only: this release was built for NumPy 1, and meets NumPy 2 wherever Python's numbers come in.
    x, y = Tensor([rank + 1.0], mindspore.float32), Tensor([3.0 * (rank + 1)], mindspore.float32)
    step = Tensor([0.02 / size], mindspore.float32)
    for _ in range(50):
        _, (gradient,) = loss(x, y)
        line.weight.set_data(ops.sub(line.weight, ops.mul(step, everybody(gradient))))
    with open(os.path.join(arguments.train_url, f"weight_{rank}_of_{size}.json"), "w") as file:
        file.write(str(round(float(line.weight.asnumpy()[0]), 3)))


if __name__ == "__main__":
    main()
