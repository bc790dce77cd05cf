"""The counts, as Prometheus' own parser reads them; never a memory's text (promise 6)."""

from prometheus_client.parser import text_string_to_metric_families

from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside
from tests.serve.conftest import Api


def read(api: Api) -> dict[tuple[str, ...], float]:
    """Each sample by its name and the values of its labels."""
    told = api.get("/metrics")
    assert told.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = {}
    for family in text_string_to_metric_families(told.text):
        for sample in family.samples:
            found[sample.name, *sample.labels.values()] = sample.value
    return found


def test_the_counts_are_those_of_the_home(api: Api) -> None:
    api.remember("nobody reads this in a graph")
    api.remember("my key is AKIA" + "Q3EGRIZ7TQ2LMNB4")
    before = read(api)
    api.remember("nor this")
    api.get("/v1/agents/sky/search", q="this")
    after = read(api)

    short = ("skymem_memories", "sky", "short")
    assert after[short] == before[short] + 1
    size = ("skymem_memory_bytes", "sky", "short")
    assert after[size] > before[size]
    assert after["skymem_rag_pending", "sky"] == 0
    assert sum(value for name, value in after.items() if name[0] == "skymem_redacted_total") == 1
    assert after["skymem_daemon_up",] == 0
    assert after["skymem_alarms",] == 0


def test_they_hold_no_text(api: Api) -> None:
    api.remember("zanzibar", tags=["quokka"])

    told = api.get("/metrics").text

    assert "zanzibar" not in told
    assert "quokka" not in told


def test_a_job_and_a_violation_are_counted(api: Api) -> None:
    home = Outside(HomePaths(api.home))
    assert home.done("promote")["ok"]
    found = read(api)

    assert found["skymem_job_last_success", "promote"] == 1
    assert found["skymem_job_last_run_timestamp_seconds", "promote"] > 1_700_000_000
    assert found["skymem_job_last_duration_seconds", "promote"] >= 0


def test_an_alarm_is_counted_by_its_id_and_whose_it_is(api: Api) -> None:
    stray = api.home / "memory/sky/notes.jsonl"
    stray.write_text("{}\n")
    assert read(api)["skymem_alarm", "sky", "unread_growth"] == 1
    ready = api.get("/health/ready").json()
    assert [(one["id"], one["agent"]) for one in ready["alarms"]] == [("unread_growth", "sky")]
    stray.unlink()
    assert read(api)["skymem_alarms",] == 0
