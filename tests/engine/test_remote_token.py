"""Who gets the token: a server that has proved its name, and nobody else (row R14)."""

from pathlib import Path

import pytest

from tests.engine.chroma_server import ChromaServer, Proxy, make_certificate
from tests.engine.conftest import Bench
from tests.engine.remote_bench import degraded, impatient, server, sizes, use, whole

__all__ = ["impatient", "server"]

TOKEN = "t0ken-of-the-house"


def test_a_token_goes_over_tls_to_a_server_of_our_own_authority(
    bench: Bench, server: ChromaServer, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    token.chmod(0o600)
    certificate = make_certificate(tmp_path)
    with Proxy(server, TOKEN, certificate) as proxy:
        use(bench, proxy.url, token_file=str(token), ca_file=str(certificate[0]))
        bench.put(range(300))
        bench.settle()
        whole_there = sizes(server)
        told = [degraded(bench, 200)]
        token.write_text("another")  # as where a token is changed on the one side first
        told.append(degraded(bench, 200))
        bench.tend_until(lambda: proxy.turned_away > 2, "it tries again")
        told.append(bench.seen()["problems"])
        proxy.token = "another"
        bench.tend_until(lambda: whole(bench), "the new token is read")
        told.append(degraded(bench, 200))
    held = [path.read_bytes() for path in bench.paths.root.rglob("*") if path.is_file()]

    refused = (
        f"the Chroma server {proxy.url} refuses the token, or wants one (token_file, token_env)"
    )
    assert whole_there == [0, 300]
    assert told == [[], [refused], [refused], []]
    assert TOKEN.encode() not in bytes(proxy.sent) + b"".join(held)


def test_a_token_of_the_environment_is_sent(
    bench: Bench, server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(server, TOKEN) as proxy:
        use(bench, proxy.url, token_env="TOKEN_OF_OURS")
        bench.put(range(30))
        bench.tend_until(lambda: bench.seen()["away"], "it is noticed")
        reason = degraded(bench, 3)
        asked = len(proxy.paths)
        monkeypatch.setenv("TOKEN_OF_OURS", TOKEN)
        bench.tend_until(lambda: whole(bench), "it is filled")

    (told,) = reason
    assert told.endswith("reached: the engine was started without the variable TOKEN_OF_OURS")
    assert asked == 0, "nothing is sent without the token"
    assert proxy.turned_away == 0


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("open to others", "is open to others (chmod 600 "),
        ("empty", "is empty"),
        ("gone", "No such file or directory"),
        ("two words", "what should be its token is not one word of ASCII"),
        ("a directory", "is no regular file"),
    ],
)
def test_a_token_file_that_is_no_good_is_told_before_anything_is_sent(
    bench: Bench, server: ChromaServer, tmp_path: Path, how: str, reason: str
) -> None:
    token = tmp_path / "token"
    token.write_text({"empty": "\n", "two words": f"Bearer {TOKEN}"}.get(how, TOKEN))
    token.chmod(0o640 if how == "open to others" else 0o600)
    if how in ("gone", "a directory"):
        token.unlink()
    if how == "a directory":
        token.mkdir(mode=0o700)
    with Proxy(server, TOKEN) as proxy:
        use(bench, proxy.url, token_file=str(token))
        bench.put(range(10))
        bench.tend_until(lambda: bench.seen()["away"], "it is noticed")
        (told,) = degraded(bench, 3)

    assert reason in told
    assert TOKEN not in told
    assert proxy.paths == []


@pytest.mark.parametrize("how", ["not of ours", "of another name", "no file", "no TLS"])
def test_who_can_not_prove_to_be_the_server_gets_no_token(
    bench: Bench, server: ChromaServer, tmp_path: Path, how: str
) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o400)
    certificate = make_certificate(tmp_path)
    with Proxy(server, TOKEN, None if how == "no TLS" else certificate) as proxy:
        url = proxy.url.replace("http:", "https:")
        url = url.replace("127.0.0.1", "localhost") if how == "of another name" else url
        trusted = {"not of ours": None, "no file": str(tmp_path / "none.pem")}
        ca_file = trusted.get(how, str(certificate[0]))
        use(bench, url, token_file=str(token), ca_file=ca_file)
        bench.put(range(10))
        bench.tend_until(lambda: bench.seen()["away"], "it is noticed")
        (told,) = degraded(bench, 3)

    expected = {
        "not of ours": "its certificate is not trusted (self-signed certificate)",
        "of another name": "its certificate is not trusted (Hostname mismatch",
        "no file": f"ca_file {tmp_path / 'none.pem'}: No such file or directory",
        "no TLS": "no TLS with it (",
    }
    assert told.startswith(f"the Chroma server {url} can't be reached: {expected[how]}")
    assert proxy.paths == []
