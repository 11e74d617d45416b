"""A change of a group that was announced before fingerprints covered the whole spec is no news."""

from datetime import timedelta

from aisbench_core.base.messages import Message
from aisbench_core.model import News, NewsKind, Notice
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.flow.following import Bench
from tests.flow.test_notifications import bench, channel, hook, save
from tests.receivers import Hook

__all__ = ["bench", "hook"]  # fixtures


def test_a_change_told_under_the_first_id_of_its_group_is_not_told_again(bench: Bench, hook: Hook) -> None:
    save(bench, channel(hook.url, events=["regression"]))
    warehouse = bench.core.warehouse
    warehouse.record_many(a.records([9000.0, 9010.0, 8990.0, 9005.0], "old"))
    new = [
        a.record(f"new-{day}", throughputs=[(8000.0 + day) / 8] * 8, framework_version="r1.11",
                 created_at=a.T0 + timedelta(days=day))
        for day in range(1, 6)
    ]  # fmt: skip
    warehouse.record_many(new)
    first_id = first_trend_id(warehouse)
    told = News(
        f"regression:{first_id}:new-1", NewsKind.REGRESSION, "new-2", bench.clock(), Message("Regression"),
        Message("told"), {},
    )  # fmt: skip
    notice = Notice("before", "new-2", "completed", bench.clock(), Message("told"))
    bench.core.notifications.outbox.fill(notice, [("gone", told)])
    bench.core.ledger.add(new[-1].run)
    bench.core.ledger.announce(Notice.from_ended(new[-1].run))

    for _ in range(3):
        bench.tick()

    assert hook.events() == []


def first_trend_id(warehouse: Warehouse) -> str:
    rows = warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows
    [(first, today)] = warehouse.trends.find_first_ids(rows).items()
    assert first != today == rows[0].group.id
    return first
