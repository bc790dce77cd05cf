r"""The shapes of secrets: what issuers publish of their keys' form, one row each (row X11).

A row is ours, written from the issuer's own documentation. Public tables were looked at and not
taken: they are made for source code, where a key stands in quotes behind a name; a memory is prose,
in which "the API key" is talk of a key and a key stands anywhere.

Each row says which texts it need not look at: those with none of its `signs`. A pattern with a
group means the group, so that what stands around a secret stays readable.
"""

from typing import Final, NamedTuple


class Shape(NamedTuple):
    """One kind of secret by its form."""

    kind: str
    """As it stands in the mark that takes its place."""

    signs: tuple[str, ...]
    """One of them, in this very case, is in every text that has such a secret."""

    pattern: str
    entropy: float = 3.0
    """Bits a character, at least; a placeholder repeats itself."""


_START: Final = r"(?<![A-Za-z0-9])"
_END: Final = r"(?![A-Za-z0-9])"
_URL_END: Final = r"(?![A-Za-z0-9_-])"


def _prefixed(kind: str, prefixes: str, rest: str, end: str = _END) -> Shape:
    """A token that begins with one of these words."""
    signs = tuple(prefixes.split())
    begins = "|".join(sign.replace(".", r"\.") for sign in signs)
    return Shape(kind, signs, f"{_START}(?:{begins}){rest}{end}")


SHAPES: Final = (
    # -- clouds
    _prefixed("aws-access-key", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}"),
    Shape(
        "aws-secret-key",
        ("aws", "AWS", "Aws", "SecretAccessKey"),
        r"(?i:aws.{0,30}?(?:secret|key)|SecretAccessKey).{0,20}?(?<![A-Za-z0-9/+])"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        4.0,
    ),
    _prefixed("google-api-key", "AIza", "[A-Za-z0-9_-]{35}", _URL_END),
    _prefixed("google-oauth", "ya29. GOCSPX-", "[A-Za-z0-9_-]{20,}", _URL_END),
    Shape("azure-storage-key", ("AccountKey=",), r"AccountKey=([A-Za-z0-9+/]{86}==)", 4.0),
    Shape(
        "azure-client-secret",
        ("Q~",),
        r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
    ),
    Shape("azure-sas", ("sig=",), r"[?&]sig=([A-Za-z0-9%+/]{40,}(?:=|%3[dD])?)"),
    _prefixed("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", "[a-f0-9]{64}"),
    # -- where code lives
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{36,255}"),
    _prefixed("github-token", "github_pat_", "[A-Za-z0-9_]{50,255}"),
    _prefixed(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
        "[A-Za-z0-9_-]{20,}",
        _URL_END,
    ),
    _prefixed("atlassian-token", "ATATT3 ATCTT3", "[A-Za-z0-9_=-]{50,}", _URL_END),
    _prefixed("npm-token", "npm_", "[A-Za-z0-9]{36}"),
    _prefixed("pypi-token", "pypi-AgE", "[A-Za-z0-9_-]{50,}", _URL_END),
    _prefixed("rubygems-token", "rubygems_", "[a-f0-9]{48}"),
    _prefixed("docker-token", "dckr_pat_ dckr_oat_", "[A-Za-z0-9_-]{20,}", _URL_END),
    # -- talk and mail
    _prefixed(
        "slack-token",
        "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xapp-",
        "[A-Za-z0-9-]{20,}",
        _URL_END,
    ),
    Shape(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{30,})",
    ),
    Shape(
        "discord-webhook",
        ("/api/webhooks/",),
        r"discord(?:app)?\.com/api/webhooks/([0-9]{15,}/[A-Za-z0-9_-]{50,})",
    ),
    Shape(
        "telegram-token",
        (":AA",),
        r"(?<![A-Za-z0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])",
    ),
    Shape(
        "sendgrid-key",
        ("SG.",),
        rf"{_START}SG\.[A-Za-z0-9_-]{{16,32}}\.[A-Za-z0-9_-]{{32,64}}{_URL_END}",
    ),
    Shape("twilio-key", ("SK",), rf"{_START}SK[0-9a-f]{{32}}{_END}"),
    Shape(
        "twilio-key",
        ("wilio", "WILIO"),
        r"(?i:twilio).{0,40}?(?<![0-9A-Za-z])([0-9a-f]{32})(?![0-9A-Za-z])",
    ),
    # -- money
    _prefixed(
        "stripe-key",
        "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_ whsec_",
        "[A-Za-z0-9+/]{16,}",
    ),
    _prefixed("square-token", "sq0csp- sq0atp-", "[A-Za-z0-9_-]{22,}", _URL_END),
    _prefixed("shopify-token", "shpat_ shpca_ shppa_ shpss_", "[a-fA-F0-9]{32}"),
    # -- models
    _prefixed("anthropic-key", "sk-ant-", "[A-Za-z0-9_-]{24,}", _URL_END),
    _prefixed(
        "openai-key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1-", "[A-Za-z0-9_-]{20,}", _URL_END
    ),
    _prefixed("openai-key", "sk-", "[A-Za-z0-9]{32,}"),
    _prefixed("huggingface-token", "hf_ api_org_", "[A-Za-z0-9]{34,}"),
    _prefixed("model-api-key", "gsk_ xai- pplx- r8_", "[A-Za-z0-9]{37,}"),
    # -- the rest of an operator's day
    _prefixed("vault-token", "hvs. hvb. hvr.", "[A-Za-z0-9_-]{24,}", _URL_END),
    _prefixed("databricks-token", "dapi", "[a-f0-9]{32}(?:-[0-9])?"),
    _prefixed("grafana-token", "glsa_ glc_", "[A-Za-z0-9_+/=]{32,}"),
    _prefixed("linear-key", "lin_api_", "[A-Za-z0-9]{40}"),
    _prefixed("notion-token", "ntn_", "[A-Za-z0-9]{40,}"),
    _prefixed("postman-key", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{34}"),
    _prefixed("newrelic-key", "NRAK-", "[A-Z0-9]{27}"),
    _prefixed("supabase-token", "sbp_ sb_secret_", "[A-Za-z0-9_-]{24,}", _URL_END),
    _prefixed("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{58}"),
    # -- shapes anybody may issue
    Shape(
        "private-key",
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:\\n|\s).*?"
        r"(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
    Shape(
        "jwt",
        ("eyJ",),
        rf"{_START}eyJ[A-Za-z0-9_-]{{10,}}\.eyJ[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{16,}}{_URL_END}",
    ),
    Shape(
        "basic-auth",
        ("asic ",),
        r"(?i:authorization['\"]?\s{0,3}[:=]\s{0,3}['\"]?basic)\s+([A-Za-z0-9+/_-]{8,}={0,2})",
        2.5,
    ),
    Shape("bearer-token", ("earer ", "EARER "), r"(?i:\bbearer)\s+([A-Za-z0-9._~+/-]{20,}=*)", 3.5),
)
"""Told by their form alone. What is told by the name before it, and by whom, is `detectors`."""
