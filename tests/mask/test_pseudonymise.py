import hmac
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.vocabulary.errors import InputError

KEY = "00112233445566778899aabbccddeeff"


def coded(ids, seed=0, **parameters):
    micro = shoal.Microdata.of(pd.DataFrame({"id": ids}), {"id": "identifier"})
    method = shoal.Pseudonymise(**parameters)
    change = method.apply(micro.records, ["id"], np.random.default_rng(seed))
    return micro.rebuild(change.records).native["id"].tolist()


def test_it_is_hmac_sha256():
    expected = hmac.new(bytes.fromhex(KEY), b"\x00ann", sha256).hexdigest()[:20]
    assert coded(["ann", "bob", "ann"], key=KEY)[::2] == [expected] * 2


@given(st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=12), st.integers(0, 99))
def test_one_person_has_one_code_across_tables(ids, seed):
    other = list(np.random.default_rng(seed).permutation(np.array(ids, dtype=object)))
    first, second = dict(zip(ids, coded(ids, key=KEY))), dict(zip(other, coded(other, seed=1, key=KEY)))
    assert first == second and len(set(first.values())) == len(set(ids))
    assert not set(first.values()) & set(coded(ids, key=KEY[::-1]))
    assert not set(first.values()) & set(coded(ids, key=KEY, purpose="other"))


def test_integers_and_text_agree_and_missing_stays_missing():
    assert coded([12, 7], key=KEY) == coded(["12", "7"], key=KEY)
    micro = shoal.Microdata.of(pd.DataFrame({"id": ["a", None]}), {"id": "identifier"})
    change = shoal.Pseudonymise(key=KEY).apply(micro.records, ["id"], np.random.default_rng(0))
    assert pd.isna(micro.rebuild(change.records).native["id"][1])


def test_without_a_key_codes_are_of_this_seed_only():
    assert coded(["a"], seed=1) == coded(["a"], seed=1) != coded(["a"], seed=2)


def test_key_file(tmp_path):
    path = tmp_path / "k"
    path.write_text(KEY + "\n")
    path.chmod(0o600)
    assert coded(["a"], key_file=str(path)) == coded(["a"], key=KEY)
    path.chmod(0o644)
    with pytest.raises(InputError, match="must be readable by its owner only; run: chmod 600"):
        coded(["a"], key_file=str(path))
    with pytest.raises(InputError, match=r"cannot be read \(No such file or directory\)"):
        coded(["a"], key_file=str(tmp_path / "none"))


def test_two_people_never_share_a_code(monkeypatch):
    monkeypatch.setattr(shoal.Pseudonymise, "_code", lambda self, identifier, key: "0" * self.length)
    with pytest.raises(InputError, match="Column 'id': two identifiers would get the same code of 20 digits"):
        coded(["ann", "bob"], key=KEY)


def test_bad_input_refused():
    with pytest.raises(InputError, match="hexadecimal digits"):
        shoal.Pseudonymise(key="not hex")
    with pytest.raises(InputError, match="at least 32 hexadecimal digits; it has 4"):
        shoal.Pseudonymise(key="beef")
    with pytest.raises(InputError, match="only one of the parameters"):
        shoal.Pseudonymise(key=KEY, key_file="f")
