"""A stand-in of ascend-fd: takes and returns what its SDK reference documents, for a few of its codes.

As the real one it reports invalid arguments instead of raising them, has its texts in Chinese, prints while it works,
and writes its logs to the home directory."""

from pathlib import Path
from typing import Any

KNOWN = {
    "AISW_PyTorch_Train_25": ("synchronize_and_free_events", "PyTorch", "同步释放事件失败"),
    "AISW_CANN_ERRMSG_Custom_04": ("get socket timeout", "CANN", "建链超时"),
    "AISW_TRACEBACK_ValueError": ("ValueError", "Python", "Python调用栈异常"),
}
NOTHING = {"code": "NORMAL_OR_UNSUPPORTED", "cause_zh": "故障事件分析模块无结果"}


def parse_knowledge_graph(input_log_list: list[Any]) -> tuple[list[Any], list[str]]:
    """`(results, err_msg_list)`: a result for each server, with its root causes by device and code."""
    print("The parse job starts. Please wait.")
    home = Path.home() / ".ascend_faultdiag"
    home.mkdir(exist_ok=True)
    (home / "ascend_faultdiag_operation.log").write_text("parse")
    errors = [
        f"Empty value not allowed for input_log_list[{index}].log_items[0].log_lines"
        for index, log in enumerate(input_log_list)
        if not log["log_items"][0]["log_lines"]
    ]
    if errors:
        return [], errors
    return [_parsed(log["log_domain"]["server"], log["log_items"][0]) for log in input_log_list], []


def _parsed(server: str, item: dict[str, Any]) -> dict[str, Any]:
    assert item["item_type"] == "TrainLog"
    causes: dict[str, Any] = {}
    for line in item["log_lines"]:
        for code, (text, _, _) in KNOWN.items():
            if text in line and code not in causes:
                event = {"event_code": code, "key_info": line, "occur_time": item["modification_time"]}
                causes[code] = {"code": code, "events_attribute": [event], "chains": {}}
    device = {"analyze_success": True, "error": "None", "root_causes": causes}
    return {"server": server, "fault": [{"parse_version": "26.1.0", "response": {"Unknown": device}}]}


def diag_knowledge_graph(input_log_list: list[Any]) -> tuple[list[Any], list[str]]:
    """`(results, err_msg_list)`: a report for each server."""
    return [_report(parsed) for parsed in input_log_list], []


def _report(parsed: dict[str, Any]) -> dict[str, Any]:
    codes = parsed["fault"][0]["response"]["Unknown"]["root_causes"]
    faults = [_fault(code, parsed["server"]) for code in codes] or [NOTHING]
    return {"analyze_success": True, "version_info": {}, "note": "", "fault": faults}


def _fault(code: str, server: str) -> dict[str, Any]:
    _, component, cause = KNOWN[code]
    return {
        "code": code,
        "component": component,
        "module": component,
        "cause_zh": cause,
        "description_zh": f"{cause}的说明",
        "suggestion_zh": ["1. 检查训练脚本；", "2. 联系华为工程师处理；"],
        "class": "Software",
        "fault_source": [f"{server} device-Unknown"],
        "fault_chains": [],
    }
