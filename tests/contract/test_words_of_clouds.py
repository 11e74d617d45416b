"""What was asked of a cloud is told in Chinese, through the adapters that ask."""

import json

import pytest

from aisbench_core.base.errors import CloudError
from aisbench_core.base.messages import in_chinese
from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
from tests.contract.answering import answering
from tests.contract.region import Region


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/all-buckets-are-mine/none", "读取 /all-buckets-are-mine/none：OBS（"),
        ("all", "读取 all：'all' 不是 OBS 路径（请写成"),
    ],
)
def test_what_was_asked_of_obs_is_named(place: Region, path: str, told: str) -> None:
    with pytest.raises(CloudError) as raised:
        place.objects.read(path)

    assert in_chinese(raised.value.sentence).startswith(told)


def test_what_modelarts_says_stays_as_it_is(place: Region) -> None:
    said = json.dumps({"error_code": "ModelArts.2775", "error_msg": "RuntimeError: none"})

    with answering(lambda _asked, _sent: (404, said.encode())) as gateway:
        profile = place.profile.model_copy(update={"modelarts_endpoint": gateway.url})
        with pytest.raises(CloudError) as raised:
            ModelArtsV2(profile, place.credentials, 5.0).detail("running")

    told = in_chinese(raised.value.sentence)
    assert told.startswith(f"查询作业 running：ModelArts（{gateway.url}）拒绝了请求：RuntimeError: none [")
    assert told.endswith("（作业已被删除，或位于其他项目或区域）")
