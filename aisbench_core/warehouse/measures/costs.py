"""What runs cost, by currency: amounts of two currencies are never added."""

from aisbench_core.model.columns import by_field

COST = by_field()["cost"].value


def costs_where(condition: str) -> str:
    """SQL: currency and sum of the launched runs that fulfil a condition and have a cost.

    Of an imported run the costs are those of another console."""
    return f"""
        select currency, sum({COST}) as amount from runs
        where {condition} and origin = 'launched' and currency <> '' group by currency having amount is not null
        order by currency"""
