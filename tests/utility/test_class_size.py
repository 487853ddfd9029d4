import pandas as pd
import pytest

import shoal
from utility.test_generalised import AFTER, measured


def test_sizes_of_classes_by_hand():
    """Two classes of two: 2 on average, once 2; a record cannot be told from (4 + 4)/16 of the records."""
    assert measured("class-size").value == pytest.approx(2)
    assert measured("class-size", k=2).value == pytest.approx(1)
    assert measured("class-size", kind="discernibility").value == pytest.approx(0.5)
    assert measured("class-size", after=AFTER.iloc[:2], kind="discernibility").value == pytest.approx((4 + 2 * 4) / 16)


def test_the_size_says_how_missing_cells_were_read():
    table = pd.DataFrame({"town": ["Arles", "Arles", "Arles", None]})
    spec = {"town": {"role": "quasi-identifier", "missing": "keep"}}
    blank, whole = (shoal.Microdata.of(frame, spec) for frame in (table, table.iloc[:3]))
    assert shoal.ClassSize().measure(blank, blank).sentence == (
        "The average equivalence class has size 2, a missing cell matching only a missing cell."
    )
    assert shoal.ClassSize().measure(whole, whole).sentence == "The average equivalence class has size 3."
