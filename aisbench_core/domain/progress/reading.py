"""What one line of a log says of a training."""

from dataclasses import dataclass, field


@dataclass(slots=True)  # not frozen: thousands are made of one addition to a log
class Reading:
    """What one match says; None is not said. `offset`: bytes from the start of the text.

    `epoch`: from 1. A step beside an epoch is one of that epoch, and so are `steps`; without an epoch, of the training
    (`whole`, as the reporter's, and `is_global` say so where both are known). A line with an epoch and no step ends the
    epoch, unless it `begins` it. `epochs_done`: of the training, with a fraction. `throughput`: of the whole job in the
    workload's unit; of samples and tokens each of the whole job or of one card; `mean_tokens_per_s`: since the training
    began. `batch`: samples of the whole job per step. `tokens`: the same, or since the training began (`tokens_done`).
    `mfu`, a fraction, and `tflops` of a card: as the framework counts them. `interval_s`: seconds since the line before
    of this style; `elapsed_s`: since the training began; `left_s`: until it ends. `is_bar`: of a progress bar, which
    may count anything; `is_named` if its description says that it trains. `is_before`: of the step that the next line
    names. `style`: what the line was read by; those of one style count alike."""

    offset: int
    step: int | None = None
    steps: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    epochs_done: float | None = None
    loss: float | None = None
    throughput: float | None = None
    card_throughput: float | None = None
    samples_per_s: float | None = None
    card_samples_per_s: float | None = None
    tokens_per_s: float | None = None
    card_tokens_per_s: float | None = None
    mean_tokens_per_s: float | None = None
    step_s: float | None = None
    interval_s: float | None = None
    left_s: float | None = None
    elapsed_s: float | None = None
    memory_gb: float | None = None
    mfu: float | None = None
    tflops: float | None = None
    batch: float | None = None
    tokens: float | None = None
    tokens_done: float | None = None
    grad_norm: float | None = None
    learning_rate: float | None = None
    stage: str = ""
    whole: bool = False
    begins: bool = False
    is_global: bool = False
    is_bar: bool = False
    is_named: bool = False
    is_before: bool = False
    style: str = field(default="", compare=False)

    @property
    def has_position(self) -> bool:
        """Whether it says where the training is."""
        return any(value is not None for value in (self.step, self.epoch, self.epochs_done))
