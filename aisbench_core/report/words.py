"""The report's words in English and Chinese, side by side."""

from collections.abc import Mapping
from enum import StrEnum

from aisbench_core.chinese import in_chinese
from aisbench_core.model import FIELDS
from aisbench_core.report.field_words import FIELD_WORDS
from aisbench_core.report.markup import Markup, element, joined

MOST_RUNS = 200
"""More make a book, which nobody prints."""


class ReportLanguage(StrEnum):
    """What a report is written in."""

    EN = "en"
    ZH = "zh"
    BOTH = "both"


WORDS: Mapping[str, tuple[str, str]] = {
    "title": ("AI server training benchmark: test report", "人工智能服务器训练性能测试报告"),
    "rehearsal": ("REHEARSAL – NOT A MEASUREMENT", "演练 – 非测量结果"),
    "rehearsal_long": (
        "These runs are rehearsals. None of these numbers is a measurement.",
        "以下运行均为演练，所有数值都不是测量结果。",
    ),
    "synthetic": ("synthetic data: accuracy is not a measurement", "合成数据：准确率不是测量结果"),
    "identification": ("Identification", "标识"),
    "report_id": ("Report", "报告编号"),
    "test_id": ("Test id", "测试编号"),
    "submitter": ("Laboratory / submitter", "实验室 / 提交方"),
    "created_by": ("Tested by", "测试人员"),
    "scenario": ("Scenario", "场景"),
    "division": ("Division", "组别"),
    "region": ("Region", "区域"),
    "period": ("Tested from – to (UTC)", "测试起止时间（UTC）"),
    "written": ("Report written (UTC)", "报告生成时间（UTC）"),
    "runs": ("Runs", "运行数"),
    "runs_valid": ("of them valid", "其中有效"),
    "ruleset_id": ("Ruleset", "规则集"),
    "origin": ("Origin", "来源"),
    "signature": ("Date, name, signature", "日期、姓名、签名"),
    "results": ("Results", "测试结果"),
    "run_id": ("Run", "运行"),
    "model_name": ("Model, framework", "模型、框架"),
    "size": ("Nodes × cards", "节点 × 卡"),
    "throughput_cluster": ("Throughput", "吞吐量"),
    "throughput_per_node": ("per node", "每节点"),
    "throughput_per_card": ("per card", "每卡"),
    "throughput_reported": ("reported", "上报值"),
    "accuracy": ("Accuracy", "准确率"),
    "platform_duration_s": ("Duration", "时长"),
    "validity": ("Validity", "有效性"),
    "valid": ("valid", "有效"),
    "claimed": ("claimed, unverified", "声称，未核实"),
    "invalid": ("invalid", "无效"),
    "incomplete": ("incomplete", "不完整"),
    "statistics": ("Statistics over the valid runs", "有效运行的统计"),
    "configuration": ("Configuration", "配置"),
    "runs_required": ("required", "要求"),
    "n": ("n", "n"),
    "median": ("Median", "中位数"),
    "mean": ("Mean", "均值"),
    "olympic_mean": ("Olympic mean", "去极值均值"),
    "sd": ("SD", "标准差"),
    "cv_pct": ("CV", "变异系数"),
    "ci95": ("95 % interval of the mean", "均值的 95 % 置信区间"),
    "efficiency_pct": ("Scaling efficiency", "扩展效率"),
    "dropped_run_ids": ("Left out of the olympic mean", "去极值均值未计入"),
    "charts": ("Charts", "图表"),
    "chart_runs": ("Throughput of each run", "各运行的吞吐量"),
    "chart_runs_legend": (
        "Bars: valid runs dark, others light. Line and band: mean of the group and its 95 % interval.",
        "条形：有效运行为深色，其余为浅色。竖线与色带：该组均值及其 95 % 置信区间。",
    ),
    "chart_scaling": ("Throughput over nodes", "吞吐量随节点数的变化"),
    "chart_scaling_legend": (
        "Dots: median of the valid runs. Dashed: ideal from the smallest node count.",
        "圆点：有效运行的中位数。虚线：以最小节点数为基准的理想值。",
    ),
    "chart_ranks": ("Throughput of each card", "各卡的吞吐量"),
    "chart_ranks_legend": (
        "Strokes: cards; long stroke: their median. The axis does not begin at 0.",
        "短线：各卡；长线：其中位数。坐标轴不从 0 开始。",
    ),
    "nodes": ("Nodes", "节点数"),
    "system": ("Tested system", "被测系统"),
    "not_stated": ("Not stated", "未说明"),
    "parameters": ("Hyperparameters", "超参数"),
    "model": ("Model", "模型"),
    "workload": ("Workload", "工作负载"),
    "framework": ("Framework", "框架"),
    "engine_version": ("Image", "镜像"),
    "accelerator": ("Accelerator", "加速器"),
    "flavor": ("Flavor", "规格"),
    "pool_type": ("Pool", "资源池"),
    "mode": ("Mode", "模式"),
    "dataset_name": ("Data set", "数据集"),
    "throughput_definition": ("Throughput is defined as", "吞吐量定义"),
    "throughput_aggregation": ("Formula", "计算公式"),
    "measurements": ("Times, power and utilisation", "时间、功耗与利用率"),
    "created_at_utc": ("Launched (UTC)", "启动时间（UTC）"),
    "queue_s": ("Queue", "排队"),
    "prepare_s": ("Preparation", "准备"),
    "dataload_s": ("Data loading", "数据加载"),
    "proc_s": ("Training", "训练"),
    "total_s": ("Total", "总计"),
    "average_power_w": ("Mean power", "平均功率"),
    "max_power_w": ("Max. power", "最大功率"),
    "energy": ("Energy", "能耗"),
    "npu_util_avg_pct": ("Utilisation", "利用率"),
    "rank_cv_pct": ("CV over cards", "卡间变异系数"),
    "checks": ("Validity checks", "有效性检查"),
    "check": ("Check", "检查项"),
    "level": ("Result", "结论"),
    "expected": ("Expected", "要求"),
    "found": ("Found", "实测"),
    "evidence": ("Evidence", "依据"),
    "ok": ("ok", "通过"),
    "warn": ("warning", "警告"),
    "fail": ("failed", "未通过"),
    "series_checks": ("Rules about series", "系列规则检查"),
    "series_verdict": ("Series", "系列"),
    "counts": ("counts", "可合并统计"),
    "counts_not": ("does not count", "不可合并统计"),
    "no_checks": ("nothing was checked", "未做检查"),
    "hashes": ("Hashes (SHA-256)", "哈希值（SHA-256）"),
    "spec_sha256": ("Spec", "运行规格"),
    "code_sha256": ("Code", "代码"),
    "dataset_sha256": ("Data set", "数据集"),
    "record_sha256": ("Record", "记录"),
    "data_sha256": ("Data of this report", "本报告的数据"),
    "data_sha256_how": (
        "SHA-256 over the rows of runs and groups, the descriptions, checks and cards that this report shows, as JSON "
        "with sorted keys. Two reports on the same runs have the same.",
        "对本报告所含的运行与分组行、系统说明、检查项和各卡数值（按键排序的 JSON）计算的 SHA-256。"
        "对相同运行生成的报告，该值相同。",
    ),
}


class Speaker:
    """Says words in the report's language; in both, English first."""

    def __init__(self, language: ReportLanguage) -> None:
        self.language = language

    def __call__(self, key: str) -> Markup:
        """A word of the report."""
        return self._said(*WORDS[key])

    def plain(self, key: str) -> str:
        """The same as text without markup, for titles and charts."""
        english, chinese = WORDS[key]
        by_language = {ReportLanguage.EN: english, ReportLanguage.ZH: chinese}
        return by_language.get(self.language, english if english == chinese else f"{english} {chinese}")

    def field(self, name: str) -> Markup:
        """The title of a field of the system description."""
        return self._said(FIELDS[name].title or name, FIELD_WORDS[name])

    def sentence(self, english: str) -> Markup:
        """What the core says, such as what a check found."""
        return self._said(english, in_chinese(english))

    def _said(self, english: str, chinese: str) -> Markup:
        if self.language is ReportLanguage.EN or english == chinese:
            return joined(english)
        in_chinese = element("span", chinese, lang="zh")
        return in_chinese if self.language is ReportLanguage.ZH else joined(english, " ", in_chinese)
