"""What a cloud refuses is told in Chinese, but for what the cloud itself says and for names."""

import pytest

from aisbench_core.base.errors import CloudError
from aisbench_core.base.messages import Message, in_chinese
from aisbench_core.cloud.refusals import TABLE, Refusals
from aisbench_core.config.credentials import Credentials

REFUSALS = Refusals("OBS", "https://all", Credentials.model_validate({"access_key": "AK", "secret_key": "SK"}))
LOOKING = Message("get job {job_id}", job_id="running")


def unreachable(text: str) -> CloudError:
    return REFUSALS.unreachable(LOOKING, OSError(text))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            REFUSALS.make_refusal(LOOKING, 404, "NoSuchKey", "none", "failed"),
            "查询作业 running：OBS（https://all）拒绝了请求：none [HTTP 404, NoSuchKey, request failed]"
            "（请检查路径；名称区分大小写）",
        ),
        (
            REFUSALS.make_refusal(LOOKING, 429, "", "ValueError: all", ""),
            "查询作业 running：OBS（https://all）拒绝了请求：ValueError: all [HTTP 429]"
            "（请求过多；运行会自动重试；其他操作请稍后再试）",
        ),
        (
            unreachable("Connection refused"),
            "查询作业 running：无法连接 OBS（https://all）：该地址没有服务在监听（请检查配置档案中的地址；沙箱是否在运行？）",
        ),
        (
            unreachable("field required"),
            "查询作业 running：OBS（https://all）连接失败：field required（运行会自动重试；其他操作请稍后再试）",
        ),
        (
            REFUSALS.unreachable(LOOKING, ConnectionError(Message("the process of the SDK has ended"))),
            "查询作业 running：OBS（https://all）连接失败：SDK 进程已结束（运行会自动重试；其他操作请稍后再试）",
        ),
        (
            REFUSALS.make_unavailable(LOOKING, 200, "none"),
            "查询作业 running：OBS（https://all）的响应格式异常：none [HTTP 200]（请检查配置档案中的地址和代理）",
        ),
        (
            REFUSALS.make_unavailable(LOOKING, None, "<html><title>all</title>"),
            "查询作业 running：OBS（https://all）的响应格式异常：标题为“all”的网页（请检查配置档案中的地址和代理）",
        ),
    ],
)
def test_an_error_of_the_cloud_is_told_in_chinese(error: CloudError, told: str) -> None:
    assert in_chinese(error.sentence) == told


def test_every_refusal_says_in_chinese_what_to_do() -> None:
    assert [row.hint for row in TABLE if in_chinese(row.hint).isascii()] == []
