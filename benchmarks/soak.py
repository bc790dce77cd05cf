"""A home under load and misfortune: `python -m benchmarks.soak [--minutes 10] [--seed N]`.

Shells, the Python API, the HTTP API and an MCP client write for two agents, the daemon runs every
job within seconds, commands of all kinds are run at random; daemon, its runs, engine, API, commands
and writers are killed, lines are damaged, the daemon is told to end and to reload, and its clocks
are set. In the end every entry that was acknowledged must be in one place, and what was erased in
none, recall must find what was promoted, a backup must hold it all, the daemon must not have grown,
and nothing may be left lying about. Prints what it did; ends with 1, and with what, when anything
was wrong.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import soak_check
from benchmarks.soak_commands import Commands
from benchmarks.soak_doors import Served
from benchmarks.soak_keeper import SCHEDULE, Keeper, killed
from benchmarks.soak_writers import AGENTS, SEATS, Writers
from skymem import app
from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside, wait_until

TICK_SECONDS = 0.1
PROGRESS_SECONDS = 10.0
CALM_FROM_SECONDS = 100.0
"""A longer soak leaves the daemon itself alone in its middle third: one that lives but for half a
minute can't show whether it grows."""

LONG_SECONDS = 300.0
GROWTH_BYTES_MAX = 10_000_000
RECALLED = 20
ORPHAN_SECONDS = 180.0
"""For runs whose daemon was killed: `index` goes on until all is embedded. A training, which may
ask the engine for minutes, is told to end."""

LATE_SECONDS = 60.0  # for acts that a busy machine has not come to
SPARE_RUNS = 10
CALM_SECONDS = 3.0
"""With its clocks put right and nothing amiss any more, before the daemon is told to end."""

EVERY_SECONDS = {
    "kill child": 6.0,
    "kill engine": 20.0,
    "kill daemon": 20.0,
    "end daemon": 30.0,
    "kill API": 17.0,
    "kill writer": 10.0,
    "kill command": 12.0,
    "set clock": 9.0,
    "reload": 8.0,
    "damage line": 5.0,
}
"""How far apart misfortunes are, on average; in a short soak each comes once or twice too."""

RULES = """\
short_term_max_lines: {most}
agents: {{hobbs: {{promote_threshold: 0.6}}}}
share: [{{from: sky, to: [hobbs], kinds: [decision]}}]
compress: {{older_than: 30s}}
merge: {{after: 20s}}
budget: {{per_run: 90%}}
prune: {{older_than: 40s, importance_below: 0.5, superseded_after: 5s}}
"""
"""Every job is to have something to do within half a minute, and prune to do it all, however late
a busy machine lets it come."""

ON_THE_DAEMON = ("kill daemon", "end daemon")


@dataclass
class Soak:
    """One home, and everybody who is let loose on it."""

    outside: Outside
    scratch: Path
    seconds: float
    seed: int
    chance: random.Random = field(init=False)
    did: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    acknowledged: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        home = self.outside.paths.root
        app.init_home(home)
        most = 200 if self.seconds >= CALM_FROM_SECONDS else 30  # a short soak is to rotate too
        (home / "retention_rules.yaml").write_text(RULES.format(most=most))
        self.keeper = Keeper(self.outside, self.scratch, self.chance)
        self.keeper.start()
        self.served = Served(home, self.scratch / "api.log")
        self.writers = Writers(home, self.scratch, self.seed)
        self.commands = Commands(home, self.scratch, self.chance, self.writers.one_of)
        self.keeper.meanwhile = self.look
        self.acts: dict[str, Callable[[], bool]] = {
            "kill child": self.keeper.kill_child,
            "kill engine": self.keeper.kill_engine,
            "kill daemon": self.keeper.kill,
            "end daemon": self.keeper.end_and_start,
            "kill API": self.served.kill,
            "kill writer": lambda: self.writers.kill_one(self.chance.choice([*SEATS])),
            "kill command": lambda: self.commands.kill_one(bad=self.keeper.bad),
            "set clock": self.keeper.set_clock,
            "reload": self.keeper.reload,
            "damage line": self.damage_line,
        }

    def run(self) -> None:
        """Let everyone loose, then have all of them end.

        A command about an agent is refused before anybody has written to it.
        """
        for directory in (self.outside.paths.agent(name).directory for name in AGENTS):
            wait_until(directory.is_dir, f"{directory} is there", LATE_SECONDS)
        begun = time.monotonic()
        pace = {name: min(mean, self.seconds / 4) for name, mean in EVERY_SECONDS.items()}
        due = {name: begun + self.chance.uniform(0.3, 1.2) * mean for name, mean in pace.items()}
        told = begun
        while not self.is_over((now := time.monotonic()) - begun):
            self.keeper.look()
            self.look()
            for name in [name for name, at in due.items() if at <= now]:
                if name in ON_THE_DAEMON and self.is_calm(now - begun):
                    continue
                # What could not be done, as nobody was there, is tried again soon.
                done = self.acts[name]()
                self.did[name] += done
                wait = self.chance.uniform(0.3, 1.7) * pace[name] if done else 0.3
                due[name] = time.monotonic() + wait
            if now - told >= PROGRESS_SECONDS:
                told = now
                self.tell(now - begun)
            time.sleep(TICK_SECONDS)
        self.stop()

    def look(self) -> None:
        """See to the API, and to the command that runs."""
        self.served.look()
        self.commands.look(bad=self.keeper.bad)

    def damage_line(self) -> bool:
        """Half a line, as no writer of ours leaves one: it is to be set aside as it is."""
        agent = self.outside.paths.agent(self.chance.choice(AGENTS))
        if not agent.directory.is_dir():
            return False
        half = b'{"ts": 1, "content": "half a line (damaged-%d)\n' % self.did["damage line"]
        with agent.short_term.open("ab", buffering=0) as stream:
            stream.write(half)
        return True

    def is_over(self, seconds: float) -> bool:
        """Whether the time is up; a busy machine gets more until each act has happened."""
        if seconds < self.seconds:
            return False
        return all(self.did[name] for name in self.acts) or seconds > self.seconds + LATE_SECONDS

    def is_long(self) -> bool:
        """Whether every job has surely had something to do."""
        return self.seconds >= LONG_SECONDS

    def is_calm(self, seconds: float) -> bool:
        """Whether the daemon is left alone now."""
        third = self.seconds / 3
        return self.seconds >= CALM_FROM_SECONDS and third < seconds < 2 * third

    def stop(self) -> None:
        """Let everyone finish what they are at."""
        self.keeper.meanwhile = lambda: None
        self.wrong += self.writers.stop()
        self.commands.wait()
        self.served.end()
        self.keeper.write_schedule(SCHEDULE.format(index=2))
        for name in ("memory_rotate_check", "index"):
            self.outside.done("resume", name)
        self.keeper.set_ahead()
        until = time.monotonic() + CALM_SECONDS
        while time.monotonic() < until:
            self.keeper.look()
            time.sleep(TICK_SECONDS)
        self.keeper.end()
        self.end_standby()
        self.end_trainings()
        deadline = time.monotonic() + ORPHAN_SECONDS
        while left := self.processes():
            if time.monotonic() > deadline:
                self.wrong.append(f"still there after {ORPHAN_SECONDS:.0f} s: {left}")
                return
            time.sleep(TICK_SECONDS)

    def processes(self) -> dict[int, str]:
        """Whoever has the home on its command line, but for the engine."""
        found = {}
        engine = self.outside.engine_pid()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:  # it has ended
                continue
            if str(self.outside.paths.root) in words and int(entry.name) != engine:
                found[int(entry.name)] = " ".join(words)
        return found

    def end_standby(self) -> None:
        """End what keeps recall at hand for hooks: by itself it stays for a quarter of an hour."""
        for pid, words in self.processes().items():
            if "skymem.hooks" in words:
                killed(pid)

    def end_trainings(self) -> None:
        """SIGTERM to those that a killed daemon left behind."""
        for pid, words in self.processes().items():
            if "--scheduled train" in words:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)

    def close(self) -> None:
        """Leave nobody behind, whatever happened."""
        self.writers.close()
        self.commands.kill()
        self.end_standby()
        self.served.close()
        self.keeper.close()
        self.outside.close()

    def tell(self, seconds: float) -> None:
        """How far it is."""
        done = ", ".join(f"{count} × {name}" for name, count in sorted(self.did.items()))
        written = len(self.writers.acknowledged())
        print(
            f"{seconds:4.0f} s: {written:,} written, "
            f"{sum(self.commands.counts.values())} commands, {done}, "
            f"{len(self.keeper.wrong) + len(self.commands.wrong)} wrong",
            flush=True,
        )

    def judge(self) -> str:
        """Look at what is left; returns the summary."""
        self.wrong += soak_check.last_runs(self.outside)
        self.acknowledged = {**self.writers.acknowledged(), **self.commands.written}
        maybe = self.writers.maybe() | self.commands.maybe
        read = soak_check.places(self.outside)
        sums = soak_check.balance(read, self.acknowledged, maybe, self.commands.erased)
        home = self.outside.paths
        for each in (self.keeper, self.served, self.commands, sums):
            self.wrong += each.wrong
        self.wrong += soak_check.set_aside(self.outside, self.did["damage line"])
        self.wrong += soak_check.fsck(self.outside)
        self.wrong += soak_check.backup(self.outside, self.scratch)
        self.wrong += soak_check.doctor(self.outside)
        self.wrong += soak_check.index(self.outside)
        count = RECALLED if self.seconds >= CALM_FROM_SECONDS else RECALLED // 4
        self.wrong += soak_check.recall(self.outside, read.active(), self.chance, count)
        self.wrong += [f"never happened: {name}" for name in self.acts if not self.did[name]]
        self.wrong += [
            f"nothing is in {tier}"
            for tier in ("long_term", "archive", *(("trash", "made") if self.is_long() else ()))
            if not read.tiers[tier]
        ]
        self.wrong += soak_check.ran(
            self.keeper.log, round(self.seconds / 10), round(self.seconds) + self.may_run_more()
        )
        self.outside.end_engine()
        logs = (self.keeper.log, self.served.log, self.commands.errors, home.engine_log)
        self.wrong += soak_check.logs(*logs)
        self.wrong += soak_check.strays(self.outside)
        self.wrong += self.grown()
        return self.summary(read, sums)

    def may_run_more(self) -> int:
        """How often an entry may run beside its pace: at a start, a jump of the clocks, by hand."""
        by_hand = self.commands.counts["trigger"]
        starts = self.keeper.counts["starts"]
        return by_hand + starts + self.did["set clock"] + self.did["reload"] + SPARE_RUNS

    def grown(self) -> list[str]:
        """Whether the daemon takes more and more memory."""
        return [
            f"the daemon grew by {growth:,} bytes {when}"
            for growth, when in zip(
                self.keeper.rss_growth(), ("in all", "in its life"), strict=True
            )
            if growth >= GROWTH_BYTES_MAX
        ]

    def summary(self, read: soak_check.Places, sums: soak_check.Balance) -> str:
        """One line of counts."""
        done = ", ".join(f"{self.did[name]} × {name}" for name in self.acts)
        codes = ", ".join(f"{what}: {n}" for what, n in sorted(self.commands.codes.items()))
        all_growth, life_growth = self.keeper.rss_growth()
        longest = ", ".join(f"{verb} {took:.1f} s" for verb, took in self.commands.longest.items())
        print(f"commands by what they ended with: {codes}\nthe longest of each: {longest}")
        return (
            f"soak of {self.seconds:.0f} s, seed {self.seed}: {len(self.acknowledged):,} written, "
            f"{read.tiers['long_term']:,} promoted, {read.tiers['archive']:,} archived, "
            f"{sum(self.commands.counts.values())} commands, {done}; "
            f"{sums.lost} lost, {sums.doubled} doubled; "
            f"daemon: {all_growth / 1e6:+.1f} MB, {life_growth / 1e6:+.1f} MB in its longest life, "
            f"silent for {self.keeper.longest_silence:.1f} s and ending for "
            f"{self.keeper.longest_stop:.1f} s at most; {len(self.wrong)} wrong"
        )


def main() -> int:
    """Soak, and say how it went."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true", help="leave the home where it is")
    spoken = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("SKYMEM_")]:
        del os.environ[name]  # it says of another home, or that there is to be no engine
    seed = random.randrange(10_000) if spoken.seed is None else spoken.seed
    scratch = Path(tempfile.mkdtemp(prefix="skymem-soak-"))
    home = scratch / "home"
    print(f"soak of {spoken.minutes:g} min, seed {seed}, home {home}", flush=True)
    outside = Outside(HomePaths(home))
    soak = Soak(outside, scratch, spoken.minutes * 60, seed)
    try:
        soak.run()
        summary = soak.judge()
    finally:
        soak.close()
    for what in soak.wrong:
        print(f"wrong: {what}")
    print(summary)
    if soak.wrong or spoken.keep:
        print(f"the home and the logs are left in {scratch}")
    else:
        shutil.rmtree(scratch)
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
