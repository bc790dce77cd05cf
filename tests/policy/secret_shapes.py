"""Secrets in the shapes real ones have, and texts that only look like it.

Each secret is put together when it is asked for: no file of this repository holds one, whole.
"""

import base64
import random
import string
from collections.abc import Callable
from typing import Final

_ALNUM: Final = string.ascii_letters + string.digits
_HEX: Final = "0123456789abcdef"


def letters(count: int, of: str = _ALNUM, seed: int = 7) -> str:
    """So many letters, always the same, and with a digit and a letter among the first."""
    chance = random.Random(seed * 1000 + count)
    return "".join(chance.choice(of) for _ in range(count - 2)) + of[-1] + of[0]


def _jwt() -> str:
    parts = ['{"alg":"HS256","typ":"JWT"}', '{"sub":"u-17","iat":1699999995}']
    spelled = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join([*spelled, letters(43, _ALNUM + "-_")])


def _pem() -> str:
    kind = "RSA PRIVATE" + " KEY"
    body = "\n".join(letters(64, _ALNUM + "+/", seed) for seed in range(4))
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"


def _basic() -> str:
    return base64.b64encode(f"deploy:{letters(14)}".encode()).decode()


Case = tuple[str, str, Callable[[], str], str]
"""What it is, the kind it is told as, the secret, and a text with `{}` where it stands."""

SECRETS: Final[tuple[Case, ...]] = (
    ("AWS access key", "aws-access-key",
     lambda: "AK" + "IA" + letters(16, "ABCDEFGHJKLMNPQR234567"),
     "The old access key {} is still used by the backup."),
    ("AWS secret key", "aws-secret-key", lambda: letters(40, _ALNUM + "/+"),
     "aws_secret_access_key = {}"),
    ("GitHub token", "github-token", lambda: "gh" + "p_" + letters(36), "clone with {} as user"),
    ("GitHub fine-grained token", "github-token",
     lambda: "github" + "_pat_" + letters(22) + "_" + letters(59), "use {}, it expires in May"),
    ("GitLab token", "gitlab-token", lambda: "gl" + "pat-" + letters(20), "CI pushes with {}."),
    ("Slack bot token", "slack-token",
     lambda: "xo" + "xb-" + letters(12, "123456789") + "-" + letters(24), "bot: {}"),
    ("Slack webhook", "slack-webhook",
     lambda: "T" + letters(9) + "/B" + letters(9) + "/" + letters(24),
     "posts to https://hooks.slack.com/services/{}"),
    ("Stripe key", "stripe-key", lambda: "sk" + "_live_" + letters(24), "charge with {} (live)"),
    ("OpenAI key", "openai-key", lambda: "sk" + "-proj-" + letters(48), "OPENAI_API_KEY={}"),
    ("Anthropic key", "anthropic-key", lambda: "sk" + "-ant-api03-" + letters(93, _ALNUM + "-_"),
     "the key is {}"),
    ("Google API key", "google-api-key", lambda: "AI" + "za" + letters(35, _ALNUM + "_-"),
     "maps load with ?key={}&v=3"),
    ("PEM private key", "private-key", _pem, "Host key:\n{}\nkeep it"),
    ("JWT", "jwt", _jwt, "curl -H 'X-Session: {}' https://api.example.org"),
    ("npm token", "npm-token", lambda: "np" + "m_" + letters(36), "//registry/:_authToken={}"),
    ("PyPI token", "pypi-token", lambda: "pyp" + "i-AgE" + letters(120, _ALNUM + "-_"),
     "twine upload -u __token__ -p {}"),
    ("Telegram bot token", "telegram-token",
     lambda: letters(9, "123456789") + ":AA" + letters(33), "the bot answers under {}"),
    ("Twilio key", "twilio-key", lambda: "S" + "K" + letters(32, _HEX), "sms through {}"),
    ("SendGrid key", "sendgrid-key", lambda: "S" + "G." + letters(22) + "." + letters(43),
     "mail goes out with {}"),
    ("password in a URL", "url-password", lambda: letters(14),
     "postgres://app:{}@db.internal:5432/app is the primary"),
    ("basic auth header", "basic-auth", _basic, "Authorization: Basic {}"),
    ("bearer header", "bearer-token", lambda: letters(40, _ALNUM + "-_"),
     "curl -H 'Authorization: Bearer {}'"),
    ("Azure storage key", "azure-storage-key", lambda: letters(86, _ALNUM + "+/") + "==",
     "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=x"),
    ("Azure client secret", "azure-client-secret", lambda: "aB1" + "8Q~" + letters(34),
     "the app signs in with {} until June"),
    ("DigitalOcean token", "digitalocean-token", lambda: "do" + "p_v1_" + letters(64, _HEX),
     "doctl auth init -t {}"),
    ("Hugging Face token", "huggingface-token", lambda: "h" + "f_" + letters(34), "login {}"),
    ("Vault token", "vault-token", lambda: "hv" + "s." + letters(90, _ALNUM + "-_"), "unseal: {}"),
    ("password that is told", "secret-value", lambda: "Tr0ub" + "4dor&3", "The password is {}."),
    ("password in a .env", "secret-value", lambda: "hunt" + "er2", "DB_PASSWORD={}"),
    ("key of no known issuer", "secret-value", lambda: letters(32), 'api_key = "{}"'),
    ("client secret in YAML", "secret-value", lambda: letters(28), "client_secret: {}"),
)  # fmt: skip

HARMLESS: Final = (
    "The API key belongs in the environment, never in a memory; ask Hobbs for the password.",
    "Rotate every secret and token each quarter: the password policy wants 14 letters.",
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b fixes the race in the swap",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "request 550e8400-e29b-41d4-a716-446655440000 took 40 ms",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "set OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx before the first run",
    "the docs use AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "AKIAEXAMPLEEXAMPLEEX is no key",
    "api_key = os.environ['SERVICE_API_KEY']",
    "password: ${DB_PASSWORD}, token: {{ vault.token }}, secret: <your-secret>",
    "export GITHUB_TOKEN=$GITHUB_PAT; the variable STRIPE_SECRET_KEY is read at start",
    "https://example.org/login?next=/settings/tokens#password",
    "postgres://app:password@localhost/app is the default of the tutorial",
    "max_tokens=4096 and token: 128k context; tokens: 12000 a minute",
    "memory 4f2a9c0d7e61b8aa33c19f20 supersedes 01b2c3d4e5f60718293a4b5c",
    "the secret is to write things down early; the key: patience",
    "password: required, at least 8 characters; secret_name: db-credentials",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4x0Zq5m7mZ2k3o7hH2j9d1Yw2o8QnQ3c5x9v2b1n0m sky@home",
    "-----BEGIN CERTIFICATE----- is public; a BEGIN PRIVATE KEY block is not",
    "def get_token(api_key: str, password: str = '') -> Token: raise KeyError(token)",
    "Bearer tokens and Basic auth are described in chapter 3; sk-learn and hf_hub are packages",
    "the task-runner sk-test-suite-for-integration-of-everything passes; key_id=key_2024_01",
    "eyJ is how every JWT begins; SG. and AIza are how others do; npm_config_registry is a setting",
    "token expired 2026-11-28T10:00:00Z; access token: expired; the auth token was revoked",
    "ein Passwort, un mot de passe, una contraseña, パスワード: say none of them in a memory",
    "version 10.4.2-rc1 of secret-manager; secret: projects/42/secrets/db/versions/7",
    "git clone ssh://git@host:2222/repo.git and https://user@host/x; see s3://bucket/key@v2",
)  # fmt: skip

PERSONAL: Final = (
    ("email", "ada.lovelace@" + "mail.example.com", "write to {} about it"),
    ("phone", "+49 170 " + "1234 567", "call {} after six"),
    ("iban", "DE89 3704 0044 " + "0532 0130 00", "pay to {} please"),
    ("card", "4111 1111 " + "1111 1111", "the card {} is for tests"),
)
NOT_PERSONAL: Final = (
    "DE00 1234 5678 9012 3456 11 is no account", "4111 1111 1111 1112 is no card",
    "1699999995.123456 is a time, 20251108123456789 as well", "user@host and @sky are no addresses",
)  # fmt: skip
