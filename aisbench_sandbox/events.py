"""The platform's events of a job, in the manual's two languages and its order."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LANGUAGES = ("zh-cn", "en-us")

_Texts = tuple[str, str, str]

# kind: (level, Simplified Chinese, English); the fields in braces are the event's facts. The Chinese texts are those of
# the training guide, 4.3, the English ones follow the examples of the API reference.
_JOB: Mapping[str, _Texts] = {
    "created": ("Info", "训练作业创建成功", "Training job is created."),
    "queued": (
        "Info",
        "训练作业已排队，正在等待资源分配",
        "Training job is queued and waiting for resource allocation.",
    ),
    "queue_failed": (
        "Error",
        "训练作业排队失败：重新下发后排队超过{longest}秒",
        "Training job failed to queue: it waited longer than {longest} s after its restart.",
    ),
    "running": ("Info", "训练作业开始运行", "Training job is running."),
    "completed": ("Info", "训练作业运行成功", "Training job is completed."),
    "failed": ("Error", "训练作业运行失败", "Training job failed."),
    "preempted": ("Warning", "训练作业被抢占", "Training job is preempted."),
    "hanged": (
        "Warning",
        "系统检测到您的作业疑似卡死，请及时前往作业详情界面查看并处理",
        "The job is suspected to be suspended. Go to the job details page to check and handle it.",
    ),
    "restarted": ("Warning", "训练作业已重启", "Training job is restarted."),
    "interrupted": (
        "Error",
        "训练作业运行失败：沙箱进程已停止，作业进程随之结束",
        "Training job failed: the sandbox stopped while the job was running.",
    ),
    "terminated": ("Info", "训练作业已被手动终止", "Training job is terminated manually."),
    "timed_out": (
        "Info",
        "训练作业已被终止（最大运行时长：{hours}h）",
        "Training job is terminated (maximum running time: {hours}h).",
    ),
}

# Events of one task, without the task's name; if the facts have `seconds`, the time used is added.
_TASK: Mapping[str, _Texts] = {
    "precheck_started": ("Info", "训练环境预检中", "Checking the training environment."),
    "precheck_done": ("Info", "预检完成", "Environment check finished."),
    "precheck_failed": ("Error", "检查失败。发现错误：{reason}", "Check failed. Error found: {reason}"),
    "code_started": ("Info", "训练代码下载中", "Downloading training code."),
    "code_done": ("Info", "训练代码下载完成", "Download training code finished."),
    "code_failed": ("Error", "训练代码下载失败，失败原因：{reason}", "Download training code failed. Cause: {reason}"),
    "input_started": ("Info", "训练输入下载中", "Downloading training input."),
    "input_done": (
        "Info",
        "训练输入（参数名称：{name}）下载完成",
        "Download training input(parameter name: {name}) finished.",
    ),
    "input_failed": (
        "Error",
        "训练输入（参数名称：{name}）下载失败，失败原因：{reason}",
        "Download training input(parameter name: {name}) failed. Cause: {reason}",
    ),
    "requirements_started": (
        "Info",
        "正在安装Python依赖包，导入文件：{file}",
        "Installing Python packages. Import file: {file}",
    ),
    "requirements_done": (
        "Info",
        "Python依赖包安装完成，导入文件：{file}",
        "Python packages installed. Import file: {file}",
    ),
    "task_started": ("Info", "训练任务开始运行", "training started."),
    "task_finished": ("Info", "训练任务运行结束，退出码 {code}", "Training finished. Exit code {code}."),
    "output_started": ("Info", "训练输出上传中", "Uploading training output."),
    "output_done": (
        "Info",
        "训练输出（参数名称：{name}）上传完成",
        "Upload training output(parameter name: {name}) finished.",
    ),
    "output_failed": (
        "Error",
        "训练输出（参数名称：{name}）上传失败，失败原因：{reason}",
        "Upload training output(parameter name: {name}) failed. Cause: {reason}",
    ),
}
# Events of Kubernetes, which are English in both languages (API reference: their source is K8S).
_PULLED = "[Pod: {pod}] Pulled: Container image {image} already present on machine"
_POD: Mapping[str, _Texts] = {"image_pulled": ("Info", _PULLED, _PULLED)}
# Training guide 4.3: `[worker-0] [耗时： 秒] …`.
_TIME_USED = ("[耗时：{seconds}秒]", "[time used: {seconds}s]")


@dataclass(frozen=True, slots=True)
class PlatformEvent:
    """An event of a job; `at` is in ms since the epoch.

    `facts` fill in the text; a task's event has `task` among them, and `seconds` when something took time."""

    at: int
    kind: str
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def level(self) -> str:
        """Info, Warning or Error; a task that ends with a non-zero code is an error."""
        # The API reference's example shows such an event as an error.
        if self.kind == "task_finished" and self.facts["code"] != "0":
            return "Error"
        return self._texts[0]

    @property
    def source(self) -> str:
        """Job, Task or K8S."""
        return "Job" if self.kind in _JOB else "K8S" if self.kind in _POD else "Task"

    def message(self, language: str) -> str:
        """The text in `zh-cn` or `en-us`."""
        number = LANGUAGES.index(language)
        return (self._format_start(number) + self._texts[1 + number]).format(**self.facts)

    @property
    def _texts(self) -> _Texts:
        return {**_JOB, **_POD, **_TASK}[self.kind]

    def _format_start(self, language: int) -> str:
        if self.source != "Task":
            return ""
        return "[{task}]" + (_TIME_USED[language] if "seconds" in self.facts else "") + " "
