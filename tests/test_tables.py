"""Tables in Markdown."""

import pytest

from lib.core.read.tables import table


def test_a_column_of_numbers_is_set_flush_right_and_words_are_not() -> None:
    found = table(("γ", "share", "phase"), [(0.5, "−.3 ± .1", "symmetric"), (0.8, "–", "")])
    assert found == "| γ | share | phase |\n| --: | --: | --- |\n| 0.5 | −.3 ± .1 | symmetric |\n| 0.8 | – |  |"


@pytest.mark.parametrize("cell", ["−6", "+0.5", ".93", "**0.35**", "(0.2)", "≤ 3", "12,000"])
def test_what_begins_with_a_number_is_one(cell: str) -> None:
    assert table(("value",), [(cell,)]).splitlines()[1] == "| --: |"


@pytest.mark.parametrize("cell", ["width 64", "at step 3", "–", "never", ""])
def test_what_does_not_is_none(cell: str) -> None:
    assert table(("value",), [(cell,)]).splitlines()[1] == "| --- |"


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells under a head of 2"):
        table(("γ", "share"), [(0.5,)])


def test_a_table_may_have_no_rows() -> None:
    assert table(("γ", "share"), []) == "| γ | share |\n| --- | --- |"
