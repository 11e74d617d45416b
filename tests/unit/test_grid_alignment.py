"""Tables below each other: their columns have the same room, which holds what any of them shows."""

from pages._ui.grid.alignment import SPARK, align_tables
from pages._ui.grid.values import Align, CellPart, GridCell, GridColumn, GridRow, Spark


def rooms(*tables: tuple[list[GridColumn], list[GridCell]]) -> list[list[int]]:
    """The room of each table's columns; a table has one row with one cell per column."""
    built = [
        (columns, [GridRow("r", "r", {column.key: cell for column, cell in zip(columns, cells, strict=True)})])
        for columns, cells in tables
    ]
    return [[column.room for column in columns] for columns, _ in align_tables(built)]


def test_a_column_has_in_every_table_the_room_that_the_widest_one_needs() -> None:
    columns = [GridColumn("a", "A"), GridColumn("b", "B")]
    wide = GridCell("97 %", parts=(CellPart("✓"), CellPart("target 95 %")))

    first, second = rooms((columns, [GridCell("x"), wide]), (columns, [GridCell("a longer text"), GridCell("1")]))

    assert first == second
    assert first[0] > rooms((columns, [GridCell("x"), wide]))[0][0]


def test_decimals_that_stand_below_each_other_and_curves_have_room() -> None:
    number, curve = GridColumn("n", "N", Align.RIGHT), GridColumn("c", "C")
    drawn = GridCell(spark=Spark((1.0, 2.0), (1.0, 2.0), "curve"))

    (whole, _), (both, room) = rooms(
        ([number, curve], [GridCell("14,964"), GridCell()]), ([number, curve], [GridCell("465.11"), drawn])
    )

    assert whole == both
    assert room == SPARK


def test_chinese_letters_are_twice_as_wide_and_a_column_that_is_cut_needs_no_more() -> None:
    chinese, cut = GridColumn("z", "准确率"), GridColumn("k", "K", width=50)

    ((wide, most),) = rooms(([chinese, cut], [GridCell("abc"), GridCell("x" * 99)]))

    assert wide == rooms(([GridColumn("z", "abcdef")], [GridCell()]))[0][0]
    assert most == 50
