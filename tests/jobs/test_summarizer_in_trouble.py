"""Row X7: a server that fails, stalls or costs too much leaves its group to quotations."""

import threading
from typing import Any

import pytest

from skymem.errors import InterruptedRunError
from skymem.jobs import llm
from skymem.jobs.llm import ChatSummarizer
from skymem.model.rules import SummarizerRules
from skymem.policy.summary import checked, extractive
from tests.jobs.chatting import (
    GROUP,
    QUOTATIONS,
    Answer,
    Handler,
    Server,
    rules,
    server,
    texts,
)

__all__ = ["server"]


def _huge(request: Handler, body: dict[str, Any]) -> None:
    del body
    request.reply(b" " * (llm.ANSWER_BYTES_MAX + 1))


def _hang_up(request: Handler, body: dict[str, Any]) -> None:
    del body
    request.close_connection = True
    request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")


def _elsewhere(request: Handler, body: dict[str, Any]) -> None:
    del body
    request.send_response(302)
    request.send_header("Location", "http://127.0.0.1:9/v1/chat/completions")
    request.send_header("Content-Length", "0")
    request.end_headers()


FORM = "summarizer: the answer is not of the form that was asked for"
FAILURES = [
    ("500", lambda r, _: r.reply(b"{}", 500), "summarizer: the server answered 500"),
    ("401", lambda r, _: r.reply(b"{}", 401), "summarizer: the server answered 401"),
    ("400 twice", lambda r, _: r.reply(b"{}", 400), "summarizer: the server answered 400"),
    ("redirect", _elsewhere, "summarizer: the server answered 302"),
    ("garbage", lambda r, _: r.reply(b"\xff\xfe<html>"), FORM),
    ("nothing", lambda r, _: r.reply(b""), FORM),
    ("a list", lambda r, _: r.reply(b"[]"), FORM),
    ("nested", lambda r, _: r.reply(b"[" * 100_000), FORM),
    ("no choices", lambda r, _: r.reply(b'{"choices": []}'), FORM),
    ("no content", lambda r, _: r.say(None), FORM),
    ("prose", lambda r, _: r.say("Sure! The user prefers tea."), FORM),
    ("no list", lambda r, _: r.say('{"statements": "tea"}'), FORM),
    ("a stream", lambda r, _: r.reply(b"data: {}\n\n", kind="text/event-stream"), FORM),
    (
        "cut",
        lambda r, _: r.say('{"statements": [', finish="length"),
        "summarizer: the answer did not fit the budget of tokens",
    ),
    ("too long", _huge, "summarizer: the answer is too long"),
    ("hangs up", _hang_up, "summarizer: RemoteProtocolError"),
]


@pytest.mark.parametrize(
    ("answer", "reason"), [case[1:] for case in FAILURES], ids=[case[0] for case in FAILURES]
)
def test_a_failure_leaves_its_group_to_quotations_and_says_why(
    server: Server, answer: Answer, reason: str
) -> None:
    server.answer = answer
    summarizer = ChatSummarizer(rules(server))
    found = checked(GROUP, summarizer.summarize)

    assert texts(found) == texts(extractive(GROUP)) == QUOTATIONS
    assert summarizer.degraded == (reason,)
    assert server.requests


def test_a_server_that_is_not_there_costs_nothing(server: Server) -> None:
    there = rules(server)
    server.server_close()
    summarizer = ChatSummarizer(there)

    assert texts(checked(GROUP, summarizer.summarize)) == QUOTATIONS
    assert summarizer.degraded == ("summarizer: ConnectError",)


@pytest.mark.parametrize("endpoint", ["http://[", "nothing", "http://\udcff/", ""])
def test_an_endpoint_that_is_none_costs_nothing(endpoint: str) -> None:
    summarizer = ChatSummarizer(SummarizerRules(endpoint, "tiny"))

    assert texts(checked(GROUP, summarizer.summarize)) == QUOTATIONS
    assert len(summarizer.degraded) == 1


@pytest.mark.parametrize("drips", [True, False])
def test_a_slow_server_holds_a_run_up_no_longer_than_the_deadline(
    server: Server, *, drips: bool
) -> None:
    over = threading.Event()
    came = threading.Event()

    def slow(request: Handler, body: dict[str, Any]) -> None:
        del body
        came.set()
        if drips:
            request.send_response(200)
            request.send_header("Content-Length", "1000")
            request.end_headers()
        while not over.wait(0.02):
            if drips:
                request.wfile.write(b" ")
                request.wfile.flush()

    server.answer = slow
    summarizer = ChatSummarizer(rules(server, deadline_seconds=0.5))
    try:
        found = checked(GROUP, summarizer.summarize)
        checked(GROUP, summarizer.summarize)
        for _ in range(llm.FAILURES_MAX):
            summarizer.summarize(GROUP)
    finally:
        over.set()

    assert came.wait(60)
    assert texts(found) == QUOTATIONS
    assert summarizer.degraded == ("summarizer: no answer within 0.5 s",)
    assert len(server.requests) == 1


def test_all_calls_of_a_run_share_one_deadline(server: Server) -> None:
    clock = [100.0]

    def answer(request: Handler, body: dict[str, Any]) -> None:
        del body
        clock[0] += 40
        request.state()

    server.answer = answer
    summarizer = ChatSummarizer(rules(server), now=lambda: clock[0])
    for _ in range(4):
        summarizer.summarize(GROUP)

    assert len(server.requests) == 2
    assert summarizer.degraded == ("summarizer: no answer within 60 s",)


def test_the_budget_of_tokens_is_kept_whatever_the_server_says_it_used(server: Server) -> None:
    told = iter([{"completion_tokens": 1500}, {"completion_tokens": -5}, {}])
    server.answer = lambda request, _: request.state("x" * 1800, usage=next(told))
    summarizer = ChatSummarizer(rules(server))
    for _ in range(3):
        summarizer.summarize(GROUP)

    assert [request["max_tokens"] for request in server.requests] == [2000, 500]
    assert summarizer.degraded == ("summarizer: the budget of 2000 tokens is used up",)


UNREADABLE = [
    ("told", lambda r, _: r.say(None, usage={"completion_tokens": 1960}), [2000]),
    ("no choices", lambda r, _: r.reply(b'{"usage": {"completion_tokens": 1500}}'), [2000, 500]),
    ("by its length", lambda r, _: r.say("x" * 6000), [2000, 499]),
    ("a stream", lambda r, _: r.reply(b"data: {}\n\n" * 800), [2000]),
    ("hangs up", _hang_up, [2000]),
    ("too long", _huge, [2000]),
    ("refused", lambda r, _: r.reply(b"x" * 8000, 429), [2000, 2000, 2000]),
]


@pytest.mark.parametrize(
    ("answer", "allowed"), [case[1:] for case in UNREADABLE], ids=[case[0] for case in UNREADABLE]
)
def test_an_answer_that_is_of_no_use_is_counted_too(
    server: Server, answer: Answer, allowed: list[int]
) -> None:
    server.answer = answer
    summarizer = ChatSummarizer(rules(server))
    for _ in range(2 if len(allowed) < 3 else 9):
        summarizer.summarize(GROUP)

    assert [request["max_tokens"] for request in server.requests] == allowed


def test_a_refusal_that_was_not_about_the_form_changes_no_later_call(server: Server) -> None:
    answers = iter([400, 400, 200])

    def answer(request: Handler, body: dict[str, Any]) -> None:
        del body
        request.reply(b'{"choices": []}', next(answers))

    server.answer = answer
    summarizer = ChatSummarizer(rules(server))
    summarizer.summarize(GROUP)
    summarizer.summarize(GROUP)

    assert ["max_tokens" in request for request in server.requests] == [True, False, True]


def test_a_signal_ends_the_wait_for_an_answer(server: Server) -> None:
    over, came = threading.Event(), threading.Event()

    def slow(request: Handler, body: dict[str, Any]) -> None:
        del request, body
        came.set()
        over.wait(60)

    server.answer = slow
    told = rules(server, deadline_seconds=3600.0)
    summarizer = ChatSummarizer(told, stop=lambda: "SIGTERM" if came.is_set() else "")
    try:
        with pytest.raises(InterruptedRunError):
            summarizer.summarize(GROUP)
    finally:
        over.set()


def test_after_some_failures_the_run_goes_on_without_it(server: Server) -> None:
    server.answer = lambda request, _: request.reply(b"{}", 503)
    summarizer = ChatSummarizer(rules(server))
    for _ in range(9):
        summarizer.summarize(GROUP)

    assert len(server.requests) == llm.FAILURES_MAX
    assert summarizer.degraded == (
        "summarizer: the server answered 503",
        "summarizer: given up after 3 failures",
    )
