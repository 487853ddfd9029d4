"""YAML texts of plans: one text a content, however often it is written."""

from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from shoal.plan.lines import dump_yaml


def test_contents_that_python_takes_for_equal_have_their_own_texts() -> None:
    for _ in range(2):
        texts = [dump_yaml({"a": value}) for value in (1, True, 1.0, "1", None)]
        assert texts == ["{a: 1}\n", "{a: true}\n", "{a: 1.0}\n", "{a: '1'}\n", "{a: null}\n"]


def test_the_order_of_keys_and_the_marks_of_a_text_stay() -> None:
    for _ in range(2):
        assert dump_yaml({"a": 1, "b": [2, 3]}) != dump_yaml({"b": [2, 3], "a": 1})
        assert dump_yaml({"a": "x"}) == "{a: x}\n"
        assert dump_yaml({"a": DoubleQuotedScalarString("x")}) == 'a: "x"\n'


def test_more_contents_than_are_kept() -> None:
    for _ in range(2):
        assert [dump_yaml([number]) for number in range(200)] == [f"[{number}]\n" for number in range(200)]
