"""The register: what it says is durable, what it owes Chroma is known, what can't be is damage."""

import sqlite3
from pathlib import Path

import pytest

from skymem.engine.register import Entry, Register, RegisterDamageError
from skymem.errors import DiskError
from skymem.stores.files import Files


@pytest.fixture
def register(tmp_path: Path) -> Register:
    """One with two memories of two and one pieces."""
    made = Register(tmp_path / "register.db", Files())
    with made.writing():
        made.add_rows(0, [b"a", b"b", b"c"], [1, 2, 3])
        made.put([Entry("x", 1, "d", [0, 1]), Entry("y", 2, "d", [2])])
    return made


def test_what_chroma_is_owed_is_what_it_was_not_given(register: Register) -> None:
    owed = register.owed(10)
    register.stored(owed[:2])
    left = register.owed(10)
    with register.writing():
        register.put([Entry("x", 2, "e", [0])])

    assert [(one.id, one.number, one.collection) for one in owed] == [
        ("x", 0, 1),
        ("x", 1, 1),
        ("y", 0, 2),
    ]
    assert [one.id for one in left] == ["y"]
    assert register.gone(10) == [(1, "x#0"), (1, "x#1")]
    assert sorted(one.id for one in register.owed(10)) == ["x", "y"]
    assert register.counts() == (0, 2)


def test_a_piece_that_came_back_is_not_to_be_forgotten(register: Register) -> None:
    register.stored(register.owed(10))
    with register.writing():
        register.remove(["x"])
        register.put([Entry("x", 1, "d", [0])])
    register.stored(register.owed(10))

    assert register.gone(10) == [(1, "x#1")]


def test_a_transaction_that_fails_changes_nothing(register: Register) -> None:
    def fail() -> None:
        with register.writing():
            register.put([Entry("z", 1, "d", [2])])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert register.counts() == (1, 1)


def test_lost_rows_take_their_memories_along_and_change_the_epoch(register: Register) -> None:
    epoch = register.epoch
    register.lose_rows([1])

    assert register.counts() == (0, 1)
    assert register.rows_of([b"a", b"b", b"c"]) == {b"a": 0, b"c": 2}
    assert register.epoch != epoch


def test_it_is_read_again_after_a_kill_as_it_was(register: Register, tmp_path: Path) -> None:
    again = Register(tmp_path / "register.db", Files())

    assert again.counts() == (1, 1)
    assert again.epoch == register.epoch
    assert (tmp_path / "register.db").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "register.db-wal").stat().st_mode & 0o777 == 0o600


def test_one_of_another_format_is_damage(register: Register, tmp_path: Path) -> None:
    register.close()
    database = sqlite3.connect(tmp_path / "register.db")
    database.execute("PRAGMA user_version = 99")
    database.close()

    with pytest.raises(RegisterDamageError):
        Register(tmp_path / "register.db", Files())


def test_a_disk_that_refuses_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "register.db").mkdir()
    with pytest.raises(DiskError):
        Register(tmp_path / "register.db", Files())
