"""What is being written is nobody else's to sweep away or to replace, and no link leads out of its place."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from shoal.table.files import atomic
from shoal.table.files.atomic import UNFINISHED, atomic_directory, atomic_file, locked, sweep
from shoal.vocabulary.errors import FileError

Writing = Callable[[Path], AbstractContextManager[Path]]


@pytest.mark.parametrize("writing", [atomic_file, atomic_directory])
def test_what_is_being_written_is_not_swept_away(tmp_path: Path, writing: Writing) -> None:
    left = tmp_path / f".out{UNFINISHED}left"
    left.touch()
    with writing(tmp_path / "out") as temporary:
        assert not left.exists()
        sweep(tmp_path / "out")
        assert temporary.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("writing", [atomic_file, atomic_directory])
def test_what_another_swept_away_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writing: Writing
) -> None:
    swept = []

    def locked_too_late(path: Path, *, wait: bool = True) -> AbstractContextManager[None]:
        if not swept and wait:
            swept.append(path)
            sweep(tmp_path / "out")
        return locked(path, wait=wait)

    monkeypatch.setattr(atomic, "locked", locked_too_late)
    with writing(tmp_path / "out") as temporary:
        assert temporary != swept[0]
        assert not swept[0].exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_directory_that_another_run_wrote_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="was written by another run meanwhile"), atomic_directory(tmp_path / "out"):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").touch()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["theirs"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("wait", [True, False])
def test_no_link_is_followed_to_a_lock(tmp_path: Path, wait: bool) -> None:
    (tmp_path / "theirs").touch()
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "link", wait=wait):
        pass


def test_a_link_under_the_name_of_something_left_behind_leads_to_nothing_taken_away(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "kept").touch()
    (tmp_path / f".out{UNFINISHED}link").symlink_to(tmp_path / "theirs")
    sweep(tmp_path / "out")
    assert (tmp_path / "theirs" / "kept").exists()
