"""What goes over the socket: frames, greetings, errors, and requests that are checked."""

import json

import pytest

from skymem.engine.items import TEXT_CHARACTERS_MAX, Item, parts_of
from skymem.engine.operations import OPERATIONS, read_arguments
from skymem.engine.wire import (
    FRAME_BYTES_MAX,
    FrameError,
    Greeting,
    body_size,
    error_frame,
    pack,
    raise_error,
    settings_key,
    unpack,
)
from skymem.errors import (
    BusyError,
    ConfigurationError,
    DiskError,
    EngineUnavailableError,
    SkymemError,
    UsageError,
)
from skymem.model.rules import EngineRules


@pytest.mark.parametrize("text", ["plain", "\u2028 é 漢 😀", "a lone \ud800 surrogate", "\0"])
def test_every_text_comes_through_a_frame_as_it_is(text: str) -> None:
    frame = pack({"text": text})

    assert body_size(frame[:4]) == len(frame) - 4
    assert unpack(frame[4:]) == {"text": text}


def test_what_no_frame_holds_is_refused_by_both_ends() -> None:
    with pytest.raises(FrameError, match="more than a frame holds"):
        pack({"text": "x" * FRAME_BYTES_MAX})
    with pytest.raises(FrameError, match="too large"):
        body_size(b"\xff\xff\xff\xff")


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_object_is_no_frame(body: bytes) -> None:
    with pytest.raises(FrameError):
        unpack(body)


@pytest.mark.parametrize(
    "error",
    [
        BusyError("the engine", "64 requests"),
        DiskError("rag", "no room"),
        EngineUnavailableError("no model"),
        UsageError("what?"),
    ],
)
def test_an_error_arrives_as_it_was_raised(error: SkymemError) -> None:
    with pytest.raises(type(error)) as caught:
        raise_error(unpack(pack(error_frame(error))[4:]))

    assert str(caught.value) == str(error)


def test_an_error_of_another_kind_still_says_what_it_said() -> None:
    with pytest.raises(EngineUnavailableError, match="bad file"):
        raise_error(error_frame(ConfigurationError("bad file")))
    with pytest.raises(EngineUnavailableError):
        raise_error({"error": {"kind": "of tomorrow"}})


def test_how_long_an_engine_idles_is_no_other_setting_but_all_else_is() -> None:
    plain = settings_key(EngineRules())

    assert settings_key(EngineRules(idle_seconds=1)) == plain
    assert settings_key(EngineRules(threads=1)) != plain
    assert settings_key(EngineRules(model="/models/other")) != plain


def test_releases_are_ordered_by_their_numbers() -> None:
    def age(version: str, protocol: int = 1) -> object:
        return Greeting(protocol, version, "").age()

    names = ["", "0.1.0.dev3", "0.9.0", "0.10.0", "1.0.0"]
    ordered = sorted(names, key=lambda name: Greeting(1, name, "").age())
    assert ordered.index("0.9.0") < ordered.index("0.10.0") < ordered.index("1.0.0")
    assert ordered[0] == ""
    assert age("0.1.0", 1) != age("0.1.0", 2)


def test_a_greeting_of_another_time_can_still_be_read() -> None:
    found = Greeting.read({"hello": {"protocol": 9, "version": "7.0", "song": "la"}})

    assert found == Greeting(9, "7.0", "", current=True)
    with pytest.raises(FrameError):
        Greeting.read({"op": "query"})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("nothing", {}),
        ("query", {}),
        ("query", None),
        ("stats", {"agent": "../up", "sample": 1}),
        ("stats", {"agent": "sky", "sample": -1}),
        ("stats", {"agent": "sky", "sample": True}),
        ("put", {"agent": "sky", "collection": "trash", "items": []}),
        ("put", {"agent": "sky", "collection": "memory", "items": [["id", "digest"]]}),
        ("missing", {"agent": "sky", "collection": "memory", "items": [["id", 1]]}),
        ("drop", {"agent": "sky", "ids": "abc"}),
    ],
)
def test_a_request_that_is_none_is_refused(name: str, arguments: object) -> None:
    with pytest.raises(UsageError):
        read_arguments(name, arguments)


def test_items_arrive_as_items() -> None:
    given = json.loads('{"agent": "sky", "collection": "memory", "items": [["a", "d", "t"]]}')

    assert read_arguments("put", given)["items"] == [Item("a", "d", "t")]
    assert OPERATIONS["put"].change


def test_many_long_texts_go_in_several_requests_in_their_order() -> None:
    items = [Item(str(number), "d", "x" * 900_000) for number in range(5)]
    parts = parts_of(items)

    assert [[each[0] for each in part] for part in parts] == [["0", "1"], ["2", "3"], ["4"]]
    assert parts_of([]) == [[]]


def test_the_worst_of_texts_fits_a_frame_with_its_beginning_and_its_end() -> None:
    text = "\ud800" + "😀" * 3_000_000 + "end"
    ((item,),) = parts_of([Item("a", "d", text)])

    assert len(item[2]) == TEXT_CHARACTERS_MAX
    assert item[2][:2] == "\ud800😀"
    assert item[2].endswith("😀end")
    assert len(pack({"items": [item]})) < FRAME_BYTES_MAX
