"""Numbers as a cell shows them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.extractors.number_format import BUILT_IN, formatted, general

ACCOUNT = '_-* #,##0.00\\ "€"_-;-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-'
DAY = 45365.378472222219  # 14 March 2024, 09:05


@pytest.mark.parametrize(
    ("value", "code", "wanted"),
    [
        (0.0375, "0.00%", "3.75%"), (0.5, "0%;-0%", "50%"), (-0.5, "0%;-0%", "-50%"),
        (0.125, "0.00", "0.13"), (2.5, "0", "3"), (1234.5, "#,##0.00", "1,234.50"),
        (1234567, "#,##0", "1,234,567"), (-1234.5, "#,##0.00;(#,##0.00)", "(1,234.50)"),
        (1999.99, '"$"#,##0.00_);("$"#,##0.00)', "$1,999.99"),
        (1234.5, "#,##0.00\\ [$€-407];[Red]-#,##0.00\\ [$€-407]", "1,234.50 €"),
        (-1234.5, "#,##0.00\\ [$€-407];[Red]-#,##0.00\\ [$€-407]", "-1,234.50 €"),
        (1234.5, "[$CHF-807]\\ #,##0.00", "CHF 1,234.50"), (1234.5, "£#,##0", "£1,235"),
        (-50, ACCOUNT, "-50.00 €"), (0, ACCOUNT, "- €"), (50, ACCOUNT, "50.00 €"),
        (12345678, '0.0,,"M"', "12.3M"), (1500, '0.0,"k"', "1.5k"), (1234, "00000", "01234"),
        (4915112345, "(000) 000-0000", "(491) 511-2345"), (123456789, "000-00-0000", "123-45-6789"),
        (12345.678, "0.00E+00", "1.23E+04"), (2.5, "# ?/?", "2 1/2"), (0.25, "# ?/4", "1/4"),
        (5, '[>=10]"many";[<10]"few"', "few"), (50, '[>=10]"many";[<10]"few"', "many"),
        (7, '"No. "0', "No. 7"),
        (7, 'General" pcs"', "7 pcs"), (7, "@", "7"), (3.0, "General", "3"),
        (0.1 + 0.2, "General", "0.3"), (1e20, "General", "1E+20"), (0.00012, "General", "0.00012"),
        (12.0, "0.##", "12"), (12.5, "0.0#", "12.5"), (0, "#", ""), (0.5, ".00", ".50"),
        (DAY, "dd.mm.yyyy", "14.03.2024"), (DAY, "yyyy-mm-dd h:mm", "2024-03-14 9:05"),
        (DAY, "d. mmmm yyyy", "14. March 2024"), (DAY, "ddd d-mmm-yy", "Thu 14-Mar-24"),
        (DAY, "[$-407]dddd, d/m/yy", "Thursday, 14/3/24"), (DAY, "h:mm AM/PM", "9:05 AM"),
        (0.75, "hh:mm:ss", "18:00:00"), (0.5, "h AM/PM", "12 PM"), (1.5, "[h]:mm", "36:00"),
        (1 / 24, "[mm]:ss", "60:00"), (DAY, "mm:ss", "05:00"), (1, "yyyy-mm-dd", "1900-01-01"),
        (61, "yyyy-mm-dd", "1900-03-01"), (-1, "yyyy-mm-dd", "-1"), (1e9, "yyyy", "1000000000"),
    ],
)  # fmt: skip
def test_a_number_is_shown_as_its_format_says(value: float, code: str, wanted: str) -> None:
    assert formatted(value, code) == wanted


@pytest.mark.parametrize(
    ("number", "value", "wanted"),
    [
        (9, 0.25, "25%"), (14, DAY, "2024-03-14"), (15, DAY, "14-Mar-24"), (17, DAY, "Mar-24"),
        (22, DAY, "2024-03-14 09:05"), (31, DAY, "2024-03-14"), (37, -5, "(5)"), (44, 5, "$5.00"),
        (46, 1.25, "30:00:00"), (49, 5, "5"), (4, 1234.5, "1,234.50"),
    ],
)  # fmt: skip
def test_formats_with_a_number_are_known(number: int, value: float, wanted: str) -> None:
    assert formatted(value, BUILT_IN[number]) == wanted


def test_days_may_be_counted_from_1904() -> None:
    assert formatted(43903, "yyyy-mm-dd", is_1904=True) == "2024-03-14"


@given(st.floats(), st.text(alphabet='0#?.,%/;[]$-€"\\_*@EGeneralymdhs+: AMP<>=1', max_size=40))
def test_any_format_gives_a_text(value: float, code: str) -> None:
    assert isinstance(formatted(value, code), str)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_a_number_without_a_format_keeps_its_value(value: float) -> None:
    assert float(general(value)) == pytest.approx(value, rel=1e-14, abs=1e-15)
