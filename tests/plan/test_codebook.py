import polars as pl

from shoal.plan.codebook import codebook
from shoal.table.files.table import Table
from shoal.table.schema import Column, Schema


def test_every_column_in_the_words_of_the_plan() -> None:
    schema = Schema(
        {
            "age": {"role": "quasi-identifier", "decimals": 0},
            "ill": {"role": "confidential", "level": "nominal", "label": "Illness"},
        }
    )
    frame = pl.DataFrame({"age": [30, 40], "ill": [1, 2]})
    table = Table(
        frame=frame,
        labels={"ill": "Illness"},
        value_labels={"ill": {1: "flu", 2: "none"}},
        title="People",
        measures={"ill": "nominal"},
        missing_codes={"age": [99], "ill": [2]},  # of which one stands for a cell
    )
    content = codebook(schema, table, 2, 7)
    assert (content["version"], content["records"]) == (7, 2)
    assert content["title"] == "People"
    of_age = {
        "missing codes": [99],
        "measure": None,
        "role": "quasi-identifier",
        "level": None,
        "label": None,
        "decimals": 0,
    }
    of_ill = {"missing codes": None, "measure": "nominal", "role": "confidential", "level": "nominal"}
    of_ill |= {"label": "Illness", "decimals": None}
    assert content["columns"] == [
        {"name": "age", "type": "Int64", "values": None, **of_age},
        {"name": "ill", "type": "Int64", "values": {"1": "flu", "2": "none"}, **of_ill},
    ]


def test_every_key_is_explained_as_the_plan_explains_it() -> None:
    """What the codebook says of a key is what the model's docstring, and with it the page of the plan, says."""
    schema = Schema({"age": "other"})
    content = codebook(schema, Table(frame=pl.DataFrame({"age": [1]})), 1, 7)
    assert set(content["keys"]) == set(content["columns"][0])
    assert content["keys"]["role"] == "What an intruder or an analyst does with it."
    for key in set(content["keys"]) & set(Column.model_fields):
        words = " ".join((Column.__doc__ or "").split())
        assert content["keys"][key] in words
