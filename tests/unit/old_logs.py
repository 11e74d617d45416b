"""Logs as upstream's tool writes them, whole and in parts."""

BERT_PATH = "/opt/test6/train_huawei_train_mindspore_bert-Ais-Benchmark-Stubs-aarch64-1.0-r1.3_modelarts-single-0711"
RESNET_PATH = (
    "/opt/test6/train_huawei_train_mindspore_resnet-Ais-Benchmark-Stubs-aarch64-1.0-r1.3_modelarts-single-0712"
)


def block(throughput: str, accuracy: str, start: str, end: str) -> str:
    """The block as upstream prints it, with all that it does not measure."""
    return f"""{{
   "accuracy" : "{accuracy}",
   "average_power" : 0,
   "dataload_end_time" : "2020-01-30 14:16:00",
   "dataload_start_time" : "2020-01-30 14:16:00",
   "efficientcy" : 0,
   "energy_consumption" : 0,
   "max_power" : 0,
   "prepare_end_time" : "2020-01-30 14:16:00",
   "prepare_start_time" : "2020-01-30 14:16:00",
   "proc_end_time" : "2020-01-30 14:16:00",
   "proc_start_time" : "2020-01-30 14:16:00",
   "resource_util_ratio" : 0,
   "throughput_ratio" : "{throughput}",
   "total_end_time" : "{end}",
   "total_start_time" : "{start}"
}}"""


def stubs(path: str, began: str, ended: str, the_block: str) -> str:
    """What ais-bench-stubs prints; its beginning is there twice, because two processes flush the same buffer."""
    begin = f"""[{began}][INFO]get ConfigInfo testid:20210126-ljp0IY, Mode:training, Model:resnet50_v1.5, Divsion:close
[{began}][INFO]ais bench stubs begin run
[{began}][INFO]workpath:{path} go testcase.
[{began}][INFO]Benchmanager::Init() enter
[{began}][INFO]Transmit_server start listen 0.0.0.0 : 9990
"""
    return f"""{begin}{begin}[{ended}][INFO]train_result_info: {the_block}

[{ended}][INFO]Transmit_server resource is released!
[{ended}][INFO]BenchManager stop done
"""


def single_server_report(throughputs: list[float], accuracies: list[float]) -> str:
    """What is printed of servers that trained alone."""
    mean = [sum(values) / len(values) for values in (throughputs, accuracies)]
    return f"""report >> throughput_list:{throughputs} average:{mean[0]}
report >> accuracy_list:{accuracies} average:{mean[1]}
2022-07-13T13:24:43 -Ais-Bench-Stubs- INFO run_eval(modelarts_run.sh:32) - run_eval called
"""


BERT_BLOCK = block("450.58182754928634", "0.7138610482215881", "2022-07-13 11:27:19", "2022-07-13 13:24:43")
BERT = single_server_report([450.77798444604605, 450.38567065252664], [0.7138142585754395, 0.7139078378677368]) + stubs(
    BERT_PATH, "2022-7-13 11:27:19", "2022-7-13 13:24:48", BERT_BLOCK
)

RESNET_BLOCK = block("14151.181727494011", "0.7706197102864583", "2022-07-12 12:19:43", "2022-07-12 15:29:13")
RESNET = single_server_report([14147.314993295107, 14155.048461692913], [0.7705078125, 0.7707316080729166]) + stubs(
    RESNET_PATH, "2022-7-12 12:19:43", "2022-7-12 15:29:18", RESNET_BLOCK
)


def modelarts(job: str = "c8e62b62-9529-4696-ba08-2969f4861a5d", ranks: int = 16, each: float = 900.5) -> str:
    """What train_modelarts.py prints of a job in cluster mode."""
    url = "obs://bucket/result/aisbench-debug2022_07_13-11_27_20/"
    lines = [
        "[DEBUG] session config:{'parameters': [], 'job_name': 'aisbench-debug', 'framework_version': "
        "'mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64', 'pool_id': None, 'train_instance_type': "
        f"'modelarts.kat1.8xlarge', 'train_instance_count': {max(1, ranks // 8)}}}",
        f"create job sucess. job_id:{job}  job name:aisbench-debug2022_07_13-11_27_20 create_time:1657682843000 "
        f"job_log_prefix:{url}modelarts-job-{job}-worker",
        *(f"waiting for task, status Running, total time: {second}(s)" for second in range(10, 60, 10)),
        f"url:{url}ranksize.json read ranksize:{ranks}",
        *(f"rankid:{rank} url:{url}throughput_{rank}.json read throughput:{each + rank}" for rank in range(ranks)),
        f"report result total_throughput : {sum(each + rank for rank in range(ranks))}",
        f"url:{url}accuracy.json read accuracy:0.7612",
        "report result accuracy:0.7612",
    ]
    return "\n".join(lines) + "\n"
