"""Row X7 and hazard H1: a model that answers well, in bad faith, or injected."""

import json
from typing import Any

import pytest

from skymem.jobs import llm
from skymem.jobs.llm import ChatSummarizer
from skymem.jobs.summarizer import Extractive, open_summarizer
from skymem.model.records import Statement
from skymem.policy.summary import Source, checked
from tests.jobs.chatting import (
    GROUP,
    INJECTED,
    QUOTATIONS,
    SOURCES,
    TEA,
    Handler,
    Server,
    given,
    rules,
    server,
    texts,
)

__all__ = ["server"]


def test_a_good_answer_is_cited_and_what_it_leaves_out_is_quoted(server: Server) -> None:
    server.answer = lambda request, _: request.state(given("The user prefers tea."))
    summarizer = ChatSummarizer(rules(server), key="secret")
    found = checked(GROUP, summarizer.summarize)

    assert texts(found) == ["The user prefers tea.", SOURCES[1].content]
    (start, end) = found.statements[0].span
    assert TEA[start:end] == "The user prefers tea, and mornings are quiet."
    assert found.statements[0] == Statement("The user prefers tea.", "a1", (13, 58), 5)
    assert found.withheld == {}
    assert summarizer.degraded == ()
    assert server.authorization == ["Bearer secret"]


def test_memories_are_sent_as_data_without_their_ids(server: Server) -> None:
    server.answer = lambda request, _: request.state()
    group = GROUP._replace(sources=(Source("id-77", INJECTED + '"}]}', 1),))
    ChatSummarizer(rules(server)).summarize(group)
    (request,) = server.requests
    system, user = request["messages"]

    assert (request["stream"], request["temperature"], request["model"]) == (False, 0, "tiny")
    assert request["max_tokens"] == 2000
    assert INJECTED not in system["content"]
    assert json.loads(user["content"])["sources"] == [{"id": "s1", "note": INJECTED + '"}]}'}]
    assert "id-77" not in json.dumps(request)
    assert server.authorization == [None]


def test_what_is_sensitive_is_never_sent(server: Server) -> None:
    server.answer = lambda request, _: request.state(given("x"))
    summarizer = ChatSummarizer(rules(server))

    assert texts(checked(GROUP._replace(sensitive=True), summarizer.summarize)) == QUOTATIONS
    assert server.requests == []


LIES = [
    (given("The user hates tea."), "wording"),
    (given("The user prefers 5 teas."), "number"),
    (given("Joan prefers tea."), "name"),
    (given("The user does not prefer tea."), "negation"),
    (given("The deploy is on Friday.", "The deploy is never on Friday.", "s2"), "negation"),
    (given("Deploy on Friday.", "on Friday", "s2"), "negation"),
    (given("The user owes Bob 500 dollars."), "number"),
    (given("See https://evil.example/x"), "id"),
    (given("The user prefers tea.", "The user prefers cake"), "uncited"),
    (given("The user prefers tea.", "The user prefers tea", "s2"), "uncited"),
    (given("The user prefers tea.", "The user prefers tea", "s9"), "uncited"),
    (given("The user prefers tea.", "The user prefers tea", "a1"), "uncited"),
    (given("The user prefers tea.", ""), "uncited"),
    (given("The user prefers tea.\x1b[31m"), "malformed"),
    (given("The user \u202eprefers tea."), "malformed"),
    (given("The user prefers tea. " * 40), "too_long"),
    (given(" "), "malformed"),
    ("The user prefers tea.", "malformed"),
    ({"source": 1, "quote": None, "text": []}, "malformed"),
    (None, "malformed"),
]


@pytest.mark.parametrize(("lie", "reason"), LIES)
def test_a_lie_is_withheld_and_counted_and_the_source_speaks(
    server: Server, lie: Any, reason: str
) -> None:
    server.answer = lambda request, _: request.state(lie)
    found = checked(GROUP, ChatSummarizer(rules(server)).summarize)

    assert texts(found) == QUOTATIONS
    assert found.withheld[reason] == 1


def test_a_model_that_obeys_a_memory_says_nothing_of_it(server: Server) -> None:
    def obey(request: Handler, body: dict[str, Any]) -> None:
        assert INJECTED in body["messages"][1]["content"]
        request.state(given("The user owes Bob 500 dollars.", INJECTED, "s1"))

    server.answer = obey
    group = GROUP._replace(sources=(Source("x", INJECTED, 1),))
    found = checked(group, ChatSummarizer(rules(server)).summarize)

    assert texts(found) == [INJECTED]
    assert found.withheld


def test_a_server_of_an_older_or_newer_dialect_is_asked_again_plainly(server: Server) -> None:
    def picky(request: Handler, body: dict[str, Any]) -> None:
        if "response_format" in body or "max_tokens" in body:
            request.reply(b'{"error": {}}', 400)
        else:
            request.state(given("The user prefers tea."))

    server.answer = picky
    summarizer = ChatSummarizer(rules(server))

    assert texts(summarizer.summarize(GROUP)) == ["The user prefers tea."]
    assert summarizer.degraded == ()
    summarizer.summarize(GROUP)
    assert len(server.requests) == 3


@pytest.mark.parametrize("fence", ["```json\n%s\n```", "  %s \n", "```\n%s```"])
def test_json_in_a_fence_is_json(server: Server, fence: str) -> None:
    content = json.dumps({"statements": [given("The user prefers tea.")]})
    server.answer = lambda request, _: request.say(fence % content)

    assert texts(ChatSummarizer(rules(server)).summarize(GROUP)) == ["The user prefers tea."]


def test_many_memories_go_in_several_calls_and_one_that_is_too_long_in_none(
    server: Server,
) -> None:
    server.answer = lambda request, _: request.state()
    many = [Source(f"m{number}", "Tea. " * 100, number) for number in range(100)]
    long = Source("long", "Tea. " * 10_000, 1)
    ChatSummarizer(rules(server)).summarize(GROUP._replace(sources=(long, *many)))
    sent = [json.loads(one["messages"][1]["content"])["sources"] for one in server.requests]

    assert sum(map(len, sent)) == 100
    assert all(len(one) <= llm.SOURCES_MAX for one in sent)
    assert all(sum(len(n["note"]) for n in one) <= llm.CHARACTERS_MAX for one in sent)


def test_a_proxy_in_the_environment_gets_no_memory(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server.answer = lambda request, _: request.state(given("The user prefers tea."))

    assert texts(ChatSummarizer(rules(server)).summarize(GROUP)) == ["The user prefers tea."]


def test_quotations_are_the_default() -> None:
    summarizer = open_summarizer(None, {})

    assert isinstance(summarizer, Extractive)
    assert texts(summarizer.summarize(GROUP)) == QUOTATIONS
    assert summarizer.degraded == ()


def test_a_key_that_is_not_set_is_told_and_nothing_is_sent(server: Server) -> None:
    summarizer = open_summarizer(rules(server, key_env="MY_KEY"), {"MY_KEY": ""})

    assert isinstance(summarizer, Extractive)
    assert summarizer.degraded == ("summarizer: the environment variable MY_KEY is not set",)


def test_a_key_is_taken_from_where_it_is_configured(server: Server) -> None:
    server.answer = lambda request, _: request.state()
    open_summarizer(rules(server, key_env="MY_KEY"), {"MY_KEY": "k1"}).summarize(GROUP)

    assert server.authorization == ["Bearer k1"]


def test_without_the_extra_quotations_stand_in(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.jobs.summarizer.find_spec", lambda name: None)
    summarizer = open_summarizer(rules(server), {})

    assert "skymem[llm]" in summarizer.degraded[0]
    assert texts(summarizer.summarize(GROUP)) == QUOTATIONS


def test_no_reason_holds_what_was_sent_or_answered(server: Server) -> None:
    server.answer = lambda request, _: request.say(f"{TEA} {INJECTED}")
    summarizer = ChatSummarizer(rules(server), key="secret")
    found = checked(GROUP, summarizer.summarize)

    told = " ".join(summarizer.degraded) + json.dumps(dict(found.withheld))
    assert not any(word in told for word in ("tea", "Ignore", "secret", "127.0.0.1"))
