"""`config show` tells where each value came from; `config check` tells all that is wrong."""

import json
from pathlib import Path

import pytest

from skymem.config.effective import check_home_config, effective_rules, effective_schedule
from skymem.errors import ConfigurationError

SHIPPED = Path(__file__).parents[2]


def test_each_rule_comes_with_its_line_or_as_default(tmp_path: Path) -> None:
    path = tmp_path / "retention_rules.yaml"
    path.write_text(
        "torn_after: 90s\npromote_threshold: 0.5\n"
        "agents:\n  hobbs:\n    short_term_max_lines: 100\n"
        "engine:\n  idle: 90s\n  threads: 1\n"
    )
    shown = json.loads(json.dumps(effective_rules(path)))
    sections = {"compress", "merge", "prune", "trash", "budget", "kinds", "documents", "tenants"}
    sections |= {"scratchpad", "preferences", "playbooks", "secrets", "trust", "share"}
    sections |= {"conversation", "patterns", "api", "promote", "importance", "alarms"}
    assert sections < shown.keys()
    assert shown["agents"]["hobbs"].pop("promote") == shown["promote"]
    assert {name: value for name, value in shown.items() if name not in sections} == {
        "promote_threshold": {"value": 0.5, "source": "retention_rules.yaml:2"},
        "short_term_max_lines": {"value": 5000, "source": "default"},
        "access": {"value": "private", "source": "default"},
        "line_max": {"value": "1MiB", "source": "default"},
        "torn_after": {"value": "90s", "source": "retention_rules.yaml:1"},
        "restore_grace": {"value": "30d", "source": "default"},
        "recall_log": {"value": True, "source": "default"},
        "engine": {
            "backend": {"value": "onnx", "source": "default"},
            "model": {"value": "all-MiniLM-L6-v2", "source": "default"},
            "threads": {"value": 1, "source": "retention_rules.yaml:8"},
            "batch_size": {"value": 32, "source": "default"},
            "chunks_max": {"value": 64, "source": "default"},
            "idle": {"value": "90s", "source": "retention_rules.yaml:7"},
            "download": {"value": False, "source": "default"},
            "recent": {"value": True, "source": "default"},
            "remote": {"value": "none", "source": "default"},
        },
        "agents": {
            "hobbs": {
                "promote_threshold": {"value": 0.5, "source": "retention_rules.yaml:2"},
                "short_term_max_lines": {"value": 100, "source": "retention_rules.yaml:5"},
            }
        },
    }


def test_each_entry_comes_with_the_lines_of_its_values(tmp_path: Path) -> None:
    path = tmp_path / "schedule.yaml"
    path.write_text(
        "timezone: UTC\nevery:\n  - name: rotate\n    minutes: 2.5\n    enabled: false\n"
        "  - name: promote\n    daily: 6:45\n    jitter: 90s\n"
        '  - name: night\n    job: rotate\n    cron: "@daily"\n'
    )
    shown = json.loads(json.dumps(effective_schedule(path)))
    assert shown["timezone"] == {"value": "UTC", "source": "schedule.yaml:1"}
    rotate, promote, night = shown["every"]
    assert rotate == {
        "name": {"value": "rotate", "source": "schedule.yaml:3"},
        "job": {"value": "rotate", "source": "default"},
        "minutes": {"value": 2.5, "source": "schedule.yaml:4"},
        "jitter": {"value": "0s", "source": "default"},
        "timeout": {"value": "30m", "source": "default"},
        "enabled": {"value": False, "source": "schedule.yaml:5"},
    }
    assert promote["daily"] == {"value": "06:45", "source": "schedule.yaml:7"}
    assert promote["jitter"] == {"value": "90s", "source": "schedule.yaml:8"}
    assert night["job"] == {"value": "rotate", "source": "schedule.yaml:10"}
    assert night["cron"] == {"value": "@daily", "source": "schedule.yaml:11"}


def test_a_file_with_a_fault_shows_no_values_that_are_not_in_force(tmp_path: Path) -> None:
    (tmp_path / "retention_rules.yaml").write_text("promote_threshold: 2\n")
    (tmp_path / "schedule.yaml").write_text("every: 5\n")
    with pytest.raises(ConfigurationError, match="is not in 0 to 1"):
        effective_rules(tmp_path / "retention_rules.yaml")
    with pytest.raises(ConfigurationError, match="must be a list"):
        effective_schedule(tmp_path / "schedule.yaml")


def test_the_shipped_files_have_no_problem() -> None:
    assert check_home_config(SHIPPED) == []


def test_the_problems_of_both_files_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "retention_rules.yaml").write_text("x: 1\npromote_threshold: 2\n")
    (tmp_path / "schedule.yaml").write_text("every: 5\n")
    problems = check_home_config(tmp_path)
    assert [(problem.file, problem.line, problem.column) for problem in problems] == [
        ("retention_rules.yaml", 1, 1),
        ("retention_rules.yaml", 2, 20),
        ("schedule.yaml", 1, 8),
    ]
    assert problems[2].as_json() == {
        "file": "schedule.yaml", "line": 1, "column": 8, "message": problems[2].message,
    }  # fmt: skip


def test_a_home_without_its_files_has_a_problem_for_each(tmp_path: Path) -> None:
    problems = check_home_config(tmp_path / "nowhere")
    assert [problem.file for problem in problems] == ["retention_rules.yaml", "schedule.yaml"]
    assert all("there is no such file" in problem.message for problem in problems)
