"""Files as the two inference tools write them."""

import json
from collections.abc import Mapping

COMMON = """{
    "Benchmark Duration": {"total": "19890.5 ms"}, "Total Requests": {"total": 8}, "Failed Requests": {"total": %d},
    "Success Requests": {"total": 8}, "Concurrency": {"total": 0.9981}, "Max Concurrency": {"total": 4},
    "Request Throughput": {"total": "0.4021 req/s"}, "Total Input Tokens": {"total": 12009},
    "Total generated tokens": {"total": 2303}, "Input Token Throughput": {"total": "603.7 token/s"},
    "Output Token Throughput": {"total": "%s token/s"}, "Total Token Throughput": {"total": "719.5 token/s"}
}"""

TABLE = """Performance Parameters,Stage,Average,Min,Max,Median,P75,P90,P99,N
E2EL,total,2048.5 ms,1500.0 ms,2700.0 ms,2040.0 ms,2300.0 ms,2500.0 ms,2690.0 ms,8
TTFT,total,51.2 ms,40.0 ms,70.0 ms,50.0 ms,60.0 ms,65.0 ms,69.5 ms,8
TPOT,total,10.5 ms,9.0 ms,12.0 ms,10.4 ms,11.0 ms,11.5 ms,11.9 ms,8
InputTokens,total,1501.1,1500,1502,1501,1501,1502,1502,8
OutputTokenThroughput,total,112.5 token/s,100.0 token/s,120.0 token/s,112.0 token/s,115.0 token/s,,,8
"""


def service(throughput: float = 115.78, failed: int = 0) -> Mapping[str, str]:
    """By name, what AISBench/benchmark writes about one model and dataset."""
    folder = "20260302_101530/performances/vllm-api-stream-chat"
    return {f"{folder}/gsm8k.json": COMMON % (failed, throughput), f"{folder}/gsm8k.csv": TABLE}


def offline(throughput: float = 407.166, batch: int = 8) -> Mapping[str, str]:
    """What ais_bench writes about an offline model."""
    times = {"min": 2.1, "max": 3.9, "mean": 2.456, "median": 2.4, "percentile(99%)": 3.8, "count": 100}
    content = {
        "filesinfo": {"0": {"infiles": ["a.bin"] * 200, "outfiles": []}},
        "args": ["/opt/ais_bench/__main__.py", "--model", "./resnet50_bs8.om", f"--batchsize={batch}", "--debug", "1"],
        "NPU_compute_time": times, "H2D_latency": times, "D2H_latency": times, "throughput": throughput, "pid": 7,
    }  # fmt: skip
    return {"result/2026_03_02-10_15_30_summary.json": json.dumps(content)}
