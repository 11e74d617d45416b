"""The platform's messages about a job, in the manual's two languages."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LANGUAGES = ("zh-cn", "en-us")

# kind: (level, source, Simplified Chinese, English); the fields in braces are the event's facts.
_MESSAGES = {
    "created": ("Info", "Job", "训练作业创建成功", "Training job is created."),
    "queued": (
        "Info",
        "Job",
        "训练作业已排队，正在等待资源分配",
        "Training job is queued and waiting for resource allocation.",
    ),
    "running": ("Info", "Job", "训练作业开始运行", "Training job is running."),
    "completed": ("Info", "Job", "训练作业运行成功", "Training job is completed."),
    "failed": ("Error", "Job", "训练作业运行失败", "Training job failed."),
    "interrupted": (
        "Error",
        "Job",
        "训练作业运行失败：沙箱进程已停止，作业进程随之结束",
        "Training job failed: the sandbox stopped while the job was running.",
    ),
    "terminated": ("Info", "Job", "训练作业已被手动终止", "Training job is terminated manually."),
    "timed_out": (
        "Info",
        "Job",
        "训练作业已被终止（最大运行时长：{hours}h）",
        "Training job is terminated (maximum running time: {hours}h).",
    ),
    "code_started": ("Info", "Task", "[{task}] 训练代码下载中", "[{task}] Downloading training code."),
    "code_done": (
        "Info",
        "Task",
        "[{task}][耗时：{seconds}秒] 训练代码下载完成",
        "[{task}][time used: {seconds}s] Download training code finished.",
    ),
    "code_failed": (
        "Error",
        "Task",
        "[{task}] 训练代码下载失败，失败原因：{reason}",
        "[{task}] Download training code failed. Cause: {reason}",
    ),
    "input_started": ("Info", "Task", "[{task}] 训练输入下载中", "[{task}] Downloading training input."),
    "input_done": (
        "Info",
        "Task",
        "[{task}][耗时：{seconds}秒] 训练输入（参数名称：{name}）下载完成",
        "[{task}][time used: {seconds}s] Download training input(parameter name: {name}) finished.",
    ),
    "input_failed": (
        "Error",
        "Task",
        "[{task}] 训练输入（参数名称：{name}）下载失败，失败原因：{reason}",
        "[{task}] Download training input(parameter name: {name}) failed. Cause: {reason}",
    ),
    "task_started": ("Info", "Task", "[{task}] 训练任务开始运行", "[{task}] training started."),
    "task_finished": (
        "Info",
        "Task",
        "[{task}] 训练任务运行结束，退出码 {code}",
        "[{task}] Training finished. Exit code {code}.",
    ),
    "output_done": (
        "Info",
        "Task",
        "[{task}][耗时：{seconds}秒] 训练输出（参数名称：{name}）上传完成",
        "[{task}][time used: {seconds}s] Upload training output(parameter name: {name}) finished.",
    ),
}


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that the platform says about a job; `at` is in ms since the epoch."""

    at: int
    kind: str
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def level(self) -> str:
        """Info, Warning or Error; a task that ends with another code than 0 is an error."""
        if self.kind == "task_finished" and self.facts["code"] != "0":
            return "Error"
        return _MESSAGES[self.kind][0]

    @property
    def source(self) -> str:
        """Job or Task."""
        return _MESSAGES[self.kind][1]

    def message(self, language: str) -> str:
        """The text in `zh-cn` or `en-us`."""
        return _MESSAGES[self.kind][2 + LANGUAGES.index(language)].format(**self.facts)
