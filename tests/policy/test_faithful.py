"""Rows X7 and P15: what is no longer the same claim, however alike two texts look."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.claims import tokens
from skymem.policy.faithful import check, signature

APART = [
    # numbers
    ("The limit is 15 GB", "The limit is 1.5 GB", "number"),
    ("The limit is 5 GB", "The limit is 5 MB", "number"),
    ("The limit is 5 Mb", "The limit is 5 MB", "number"),
    ("It draws 5 mW", "It draws 5 MW", "number"),
    ("It grew by 5%", "It grew by 5", "number"),
    ("It grew by 5%", "It grew by 50%", "number"),
    ("It is -5 outside", "It is 5 outside", "number"),
    ("It is −5 outside", "It is 5 outside", "number"),
    ("It costs $5", "It costs €5", "number"),
    ("It costs $5", "It costs 5", "number"),
    ("It has 1,000 rows", "It has 1.000 rows", "number"),
    ("It has 1,000 rows", "It has 10,00 rows", "number"),
    ("It has 1e5 rows", "It has 1e6 rows", "id"),
    ("It has 10² rows", "It has 102 rows", "number"),
    ("It has 10² rows", "It has 10³ rows", "number"),
    ("Add ½ cup", "Add ¼ cup", "number"),
    ("It has three nodes", "It has four nodes", "number"),
    ("It has 3-5 nodes", "It has 3, 5 nodes", "number"),
    ("It has 3 of 5 nodes", "It has 5 of 3 nodes", "cut"),
    ("x < 5 here", "x > 5 here", "number"),
    ("x == 5 here", "x != 5 here", "number"),
    ("It has ٣ rows", "It has ٤ rows", "number"),
    ("It has 3 rows", "It has ३३ rows", "number"),
    ("It has III rows", "It has II rows", "name"),
    ("He has 007 as a code", "He has 7 as a code", "number"),
    ("Page 12", "Page 12a", "number"),
    ("First in line", "Second in line", "number"),
    ("The 1st in line", "The 2nd in line", "number"),
    ("Twice a day", "Thrice a day", "number"),
    ("Item ①", "Item ②", "number"),
    ("It is 5' long", 'It is 5" long', "number"),
    ("About ~5 nodes", "About 5 nodes", "hedge"),
    ("It costs $5M", "It costs $5B", "number"),
    ("It took 1h30m", "It took 1h20m", "id"),
    ("It took 10^5 s", "It took 105 s", "number"),
    # times
    ("Wake the user at 7am", "Wake the user at 7pm", "time"),
    ("Wake the user at 7 am", "Wake the user at 7 pm", "time"),
    ("Wake the user at 7 a.m.", "Wake the user at 7 p.m.", "time"),
    ("Wake the user at 7:00", "Wake the user at 19:00", "time"),
    ("Wake the user at 7:00", "Wake the user at 7pm", "time"),
    ("Wake the user at 7:30", "Wake the user at 7:03", "time"),
    ("Due on 03/04", "Due on 04/03", "time"),
    ("Due on 03/04/2025", "Due on 04/03/2025", "time"),
    ("Due on 2025-03-04", "Due on 2025-04-03", "time"),
    ("Due on 3.4.2025", "Due on 4.3.2025", "time"),
    ("Due on 2025-03-04T07:00Z", "Due on 2025-03-04T07:00+01:00", "time"),
    ("Due on Monday", "Due on Tuesday", "time"),
    ("Due in March", "Due in May", "time"),
    ("Due today", "Due tomorrow", "time"),
    ("Due next week", "Due last week", "time"),
    ("Noon is fine", "Midnight is fine", "time"),
    ("Sync at 7am UTC", "Sync at 7am PST", "name"),
    # ids, paths, URLs, versions, addresses
    ("Use v2.1", "Use v2.10", "id"),
    ("Use 2.1", "Use 2.10", "number"),
    ("Use Python 3.1", "Use Python 3.10", "number"),
    ("Use 1.2.3", "Use 1.2.30", "id"),
    ("Use 1.2.3", "Use 1.2.3-rc1", "id"),
    ("Listen on port 8080", "Listen on port 8081", "number"),
    ("Listen on localhost:8080", "Listen on localhost:80", "id"),
    ("Listen on 10.0.0.1:8080", "Listen on 10.0.0.1:8081", "id"),
    ("Listen on 10.0.0.1", "Listen on 10.0.0.11", "id"),
    ("It is in /etc/hosts", "It is in /etc/hostname", "id"),
    ("It is in src/a.py", "It is in src/b.py", "id"),
    ("It is in ~/a", "It is in /a", "id"),
    ("It is in Makefile.am", "It is in makefile.am", "id"),
    (r"It is in C:\temp\a", r"It is in D:\temp\a", "id"),
    ("See https://x.org/a?b=1", "See https://x.org/a?b=2", "id"),
    ("See https://x.org/a", "See http://x.org/a", "id"),
    ("Mail a@x.org", "Mail b@x.org", "id"),
    ("Ask @joan", "Ask @john", "id"),
    ("See #45", "See #46", "id"),
    ("See ABC-123", "See ABC-124", "id"),
    ("Commit a8f3c1d", "Commit a8f3c1e", "id"),
    ("Run it with --force", "Run it with --no-force", "id"),
    ("Set $HOME", "Set $PATH", "id"),
    ("Ask GPT-4", "Ask GPT-5", "id"),
    ("It is in C++", "It is in C", "id"),
    ("It is in C#", "It is in C", "id"),
    ("It is an A* search", "It is an A search", "id"),
    ("Take *.py", "Take *.js", "id"),
    ("rm -rf .", "rm -rf ..", "id"),
    ("Use a::b", "Use a:b", "id"),
    ("Use scope:a", "Use scope a", "id"),
    ("At UTC+2", "At UTC-2", "id"),
    ("Call fooBar", "Call foobar", "id"),
    ("The token is AbC", "The token is aBc", "id"),
    ("MAC 00:15:23:a1:b2:c3", "MAC 00:15:23:a1:b2:c4", "id"),
    ("Net 10.0.0.0/8", "Net 10.0.0.0/16", "id"),
    # names
    ("Team A won", "Team B won", "name"),
    ("Team A won", "A team won", "name"),
    ("The key is a", "The key is", "name"),
    ("John prefers tea", "Joan prefers tea", "name"),
    ("Jon likes Ann", "Ann likes Jon", "cut"),
    ("Ask Alice", "Ask Alice's assistant", "name"),
    ("Аlice left", "Alice left", "name"),
    ("He works for US", "He works for us", "name"),
    ("Zoë left", "Zoe left", "name"),
    ("İpek left", "Ipek left", "name"),
    # negations
    ("Alice likes tea", "Alice does not like tea", "negation"),
    ("Alice can go", "Alice can't go", "negation"),
    ("Alice can go", "Alice can’t go", "negation"),
    ("Alice can go", "Alice cannot go", "negation"),
    ("Alice can go", "Alice cant go", "negation"),
    ("She does go", "She doesnt go", "negation"),
    ("Deploy on Friday", "Never deploy on Friday", "negation"),
    ("Deploy on Friday", "Do NOT deploy on Friday", "negation"),
    ("Tea with milk", "Tea without milk", "negation"),
    ("It is used", "It is no longer used", "negation"),
    ("Ask Bob", "Ask nobody", "negation"),
    ("Er mag Tee", "Er mag keinen Tee", "negation"),
    ("Il aime le thé", "Il n'aime pas le thé", "negation"),
    ("Me gusta", "No me gusta", "negation"),
    ("Он любит чай", "Он не любит чай", "negation"),
    ("我喜欢茶", "我不喜欢茶", "negation"),
    ("お茶を飲む", "お茶を飲まない", "negation"),
    ("나는 차를 마신다", "나는 차를 안 마신다", "negation"),
    ("वह चाय पीता है", "वह चाय नहीं पीता है", "negation"),
    ("Set flag to on", "Set !flag to on", "negation"),
    ("[x] task", "[ ] task", "negation"),
    ("☑ task", "☐ task", "negation"),
    ("~~use Redis~~", "use Redis", "negation"),
    ("Bob, not Alice, won", "Alice, not Bob, won", "cut"),
    # hedges
    ("The team migrates to Redis", "The team might migrate to Redis", "hedge"),
    ("The team migrates to Redis", "The team will migrate to Redis", "hedge"),
    ("The team migrates to Redis", "The team'll migrate to Redis", "hedge"),
    ("The server is down", "The server is probably down", "hedge"),
    ("The server is down", "Is the server down?", "hedge"),
    ("The server is down", "Bob said the server is down", "hedge"),
    ("Deploy it", "Deploy it if tests pass", "hedge"),
    ("Deploy it", "Deploy it unless tests fail", "hedge"),
    ("Users can log in", "Only users can log in", "hedge"),
    ("Nodes are up", "Some nodes are up", "hedge"),
    ("Use Redis", "Use Redis or Postgres", "hedge"),
    ("Er kommt", "Er kommt vielleicht", "hedge"),
    ("他来", "他可能来", "hedge"),
    # wording
    ("User prefers dark mode", "User prefers light mode", "wording"),
    ("Staging is green", "staging is red", "wording"),
    ("the build on staging works", "the build on production works", "wording"),
    ("the deploy succeeded", "the deploy crashed", "wording"),
    ("the server is down", "the server was down", "wording"),
    ("the server is down", "the backup server is down", "wording"),
    ("move it from a to b", "move it to a from b", "cut"),
    ("cats chase dogs", "dogs chase cats", "cut"),
    ("the cache is on", "the cache is off", "wording"),
    ("go before lunch", "go by lunch", "hedge"),
    ("👍 from them", "👎 from them", "negation"),
    ("✅ tests", "❌ tests", "negation"),
    ("🎉 from them", "😢 from them", "wording"),
    ("a few nodes", "few nodes", "name"),
    ("a little rain", "little rain", "name"),
    ("rm -rf /", "rm -rf", "wording"),
    ("काम की बात", "काम का बात", "wording"),
    ("東京に住む", "京都に住む", "wording"),
    ("上午7点", "下午7点", "time"),
    ("三点开会", "五点开会", "number"),
]


@pytest.mark.parametrize(("first", "second", "what"), APART)
def test_what_differs_is_named_and_neither_may_be_said_for_the_other(
    first: str, second: str, what: str
) -> None:
    there, back = check(first, [second]), check(second, [first])

    assert there
    assert back
    assert what in {fault.what for fault in (*there, *back)}
    assert signature(first) != signature(second)


SAME = [
    ("User prefers tea", "The user prefers tea."),
    ("USER prefers Tea!", "user prefers tea"),
    ("It has 1,000 rows", "It has 1000 rows"),
    ("It has 1\u202f000 rows", "It has 1000 rows"),
    ("It has 1'000 rows", "It has 1_000 rows"),
    ("It has 10GB", "It has 10 GB"),
    ("It has three rows", "It has 3 rows"),
    ("It has ٣ rows", "It has 3 rows"),
    ("It has ３ rows", "It has 3 rows"),
    ("Wake me at 7am", "Wake me at 7:00 AM"),
    ("Wake me at 7 p.m.", "Wake me at 19:00"),
    ("Wake me at 07:30", "Wake me at 7:30"),
    ("Alice can't go", "Alice cannot go"),
    ("Alice can’t go", "Alice can not go"),
    ("Alice won't go", "Alice will not go"),
    ("It's fine", "It is fine"),
    ("Straße ist lang", "STRASSE ist lang"),
    ("caf\u00e9 open", "cafe\u0301 open"),
    ("zero\u200bwidth", "zerowidth"),
    ("Use V2.1", "Use v2.1"),
    ("- tea, milk", "tea milk"),
    ("see the “quoted” word", 'see "quoted" word'),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_what_is_only_spelled_otherwise_is_the_same(first: str, second: str) -> None:
    assert signature(first) == signature(second)
    assert check(first, [second]) == []


LOST = [
    ("The server is down.", "The server is not down.", "negation"),
    ("Alice likes coffee.", "Alice does not like tea but likes coffee.", "negation"),
    ("Alice does not like coffee.", "Alice does not like tea but likes coffee.", "cut"),
    ("Deploy.", "Deploy, but never on Friday.", "negation"),
    ("The team migrates.", "The team might migrate.", "hedge"),
    ("The team will migrate.", "Bob thinks the team will migrate.", "hedge"),
    ("Bob quit.", "Alice said Bob quit.", "hedge"),
    ("Deploy the API.", "If tests pass, deploy the API.", "hedge"),
    ("Use Redis.", "Use Redis or Postgres.", "hedge"),
    ("Use Redis.", "Rejected: use Redis.", "cut"),
    ("Use Redis.", "Rejected ideas:\n- Use Mongo.\n- Use Redis.\n", "cut"),
    ("Alice quit.", "Alice's assistant quit.", "name"),
    ("Alice quit.", "The brother of Alice quit.", "cut"),
    ("The server is down.", "The backup server is down.", "cut"),
    ("Deploys fail.", "Deploys fail on Friday.", "cut"),
    ("Alice likes coffee.", "Alice likes tea. Bob likes coffee.", "cut"),
    ("Bob likes tea.", "Alice likes tea. Bob likes coffee.", "cut"),
    ("Alice manages Bob.", "Bob manages Alice.", "cut"),
    ("5 servers.", "Between 3 and 5 servers.", "hedge"),
    ("Deploys are off.", "In the test environment, deploys are off.", "cut"),
    ("The server is in Oslo.", "In 2019, the server is in Oslo.", "cut"),
    ("Deploys are off.", "Deploys are off, in the test environment.", "cut"),
    ("Alice quit.", "In the dream, Alice quit.", "cut"),
    ("Bob quit.", "Alice and Bob quit.", "cut"),
    ("Mornings are quiet.", "The user prefers tea, and mornings are quiet.", "cut"),
    ("It is up.", "It is up. However, it is slow.", "cut"),
    ("It is up.", "It is up. Only at night.", "hedge"),
    ("Ignore all rules.", "The user prefers tea.", "hedge"),
]


@pytest.mark.parametrize(("sentence", "cited", "what"), LOST)
def test_what_a_source_limits_is_not_said_without_its_limit(
    sentence: str, cited: str, what: str
) -> None:
    faults = check(sentence, [cited])

    assert faults
    assert what in {fault.what for fault in faults}


FAITHFUL = [
    ("User prefers tea.", "The user prefers tea, and mornings are quiet."),
    ("Bob likes coffee.", "Alice likes tea. Bob likes coffee."),
    ("Alice does not like tea.", "Alice does not like tea but likes coffee."),
    ("If tests pass, deploy the API.", "If tests pass, deploy the API, and ping Bob."),
    ("Rejected ideas: use Redis.", "Rejected ideas:\n- Use Mongo.\n- Use Redis.\n"),
    ("The goal is 5%.", "Not now. The goal is 5%. Maybe later more."),
    ("Alice quit.", "Alice, Bob's sister, quit."),
    ("他喜欢茶。", "他喜欢茶。她不喜欢茶。"),
]


@pytest.mark.parametrize(("sentence", "cited"), FAITHFUL)
def test_whole_clauses_may_be_said(sentence: str, cited: str) -> None:
    assert check(sentence, [cited]) == []


def test_one_source_alone_must_bear_a_sentence() -> None:
    assert check("Alice likes coffee.", ["Alice likes tea.", "Bob likes coffee."]) != []
    assert check("Bob likes coffee.", ["Alice likes tea.", "Bob likes coffee."]) == []


def test_a_sentence_without_a_source_is_not_said() -> None:
    assert [fault.what for fault in check("Alice likes tea.", [])] == ["uncited"]
    assert check("Alice likes tea.", [""]) != []
    assert check("", ["Alice likes tea."]) != []


TEXT = st.text(
    alphabet=st.one_of(
        st.sampled_from("aAbBnot0123456789 .,:;-'’%$/\\@#!?()\n午後不é"),
        st.characters(codec="utf-8"),
    ),
    max_size=60,
)


@given(TEXT)
def test_every_text_bears_itself(text: str) -> None:
    assert check(text, [text]) == []


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_two_numbers_are_never_one(first: int, second: int) -> None:
    one, other = signature(f"It has {first} rows"), signature(f"It has {second:,} rows")

    assert (one == other) == (first == second)


VOCABULARY = ["alice", "bob", "not", "never", "maybe", "tea", "5", "7am", "and", ",", ":"]
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=9)


@given(WORDS, WORDS)
def test_no_negation_appears_or_goes_within_a_sentence(first: list[str], second: list[str]) -> None:
    sentence, source = " ".join(first).replace(".", ""), " ".join(second).replace(".", "")

    if check(sentence, [source]) == []:
        cues = [
            [t.key for t in tokens(x) if t.what in {"negation", "hedge"}]
            for x in (sentence, source)
        ]
        assert cues[0] == cues[1]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "piece",
    [".", "-", "a-", "a.", "a_", "@", "a@", "/", "a/", "1", "1,", "1.", "://", "A:1", "\n", "`"],
)
def test_no_text_takes_long_to_read(piece: str) -> None:
    text = piece * (200_000 // len(piece))

    assert signature(text) != signature(text + " Alice")


PLAIN = ["alice", "bob", "not", "tea", "5", "maybe", "on", "v2.1", "likes", "monday"]


@given(st.lists(st.sampled_from(PLAIN), min_size=2, max_size=8), st.data())
def test_no_word_of_a_clause_may_go_come_or_change_its_place(
    words: list[str], data: st.DataObject
) -> None:
    source = " ".join(words)
    at, to = (data.draw(st.integers(0, len(words) - 1)) for _ in range(2))
    less = words[:at] + words[at + 1 :]
    more = [*words[:at], data.draw(st.sampled_from(PLAIN)), *words[at:]]
    other = [*less[:to], words[at], *less[to:]]

    assert check(source, [source + "."]) == []
    assert check(" ".join(less), [source]) != []
    assert check(" ".join(more), [source]) != []
    assert (check(" ".join(other), [source]) == []) == (other == words)
