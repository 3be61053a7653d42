"""The rules by which secrets are known: by the name before them, by their form, by their place.

A rule begins at a mark that is quick to search and looks only at what is near it, so the work grows
in step with the text. Texts of torch are full of tokens and keys that are no secrets (`cls_token`,
`cache_key`), so a name in small letters often needs a value that nobody would write as a name.
"""

import re

import re2

OWN_SETTING = "setting of Inductorscope"
"""A published token of an installation of Inductorscope: the kind of secret that protects it."""
VARIABLE = "variable named as a secret"
URL_PASSWORD = "password in an address"  # noqa: S105  # the name of a kind
SIGNATURE, WEBHOOK = "signature of an address", "address of a webhook"
LOGIN = "header or command that logs in"
HUGGING_FACE, GITHUB, GITLAB = "Hugging Face token", "GitHub token", "GitLab token"
AWS, GOOGLE, SLACK, MODEL_API = "AWS key", "Google key", "Slack token", "key of a model's API"
SERVICE, PRIVATE_KEY = "token of a service", "private key"

Span = tuple[int, int, str]
"""Start and end of a secret, and its kind."""

# --- by name ---

# A value: quoted, quoted inside another quoted text (\"…\"), or bare. Torch writes ' and does not
# escape a " in the value; elsewhere a " may end the text around the '.
_BARE = rb"""[^\s"'\\,;&|<>(){}\[\]\0]"""
_VALUE = (
    rb"""(?:[bBfFrRuU]{0,2}(?:"(?P<double>(?:\\.|[^"\\\n]){1,4000})"""
    rb"""|'(?P<single>(?:\\.|[^'"\\\n]|"(?=[^'\n]{0,200}'[ \t]{0,9}(?:\n|\Z))){1,4000})"""
    rb"""|\\{1,7}["'](?P<inner>[^"'\\\n]{1,4000}))"""
    rb"""|(?P<bare>""" + _BARE + rb"""{1,100}))"""
)
_QUOTE = rb"""(?:\\{0,7}["'])?"""
_ASSIGN = _QUOTE + rb"\]?[ \t]{0,4}(?::[ \t]{0,4}str[ \t]{0,4})?(?::?=>?|:|>)(?!=)[ \t]{0,4}"
_NAMED = re.compile(
    rb"(?P<rest>[A-Za-z0-9_\-]{0,20}+)"
    rb"(?:" + _ASSIGN + rb"|" + _QUOTE + rb",?(?:\s|\\{1,7}n){0,40}" + _QUOTE + rb"value"
    + _ASSIGN + rb")" + _VALUE
)  # fmt: skip
_REST = re.compile(_BARE + rb"{0,8000}")
_OPTION = re.compile(rb"(?P<rest>[A-Za-z_\-]{0,20}+)" + _QUOTE + rb"(?:=|,?[ \t]{1,9})" + _VALUE)
"""`--token VALUE`."""
_NAME_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_SURE = re.compile(
    rb"passw|passphrase|pwd|pass\Z|secret|credential|inductorscope_database_url"
    rb"|(?:api|access|private|account|shared|client|storage|encryption|signing|master|license|deploy"
    rb"|auth|subscription)[_\-]?key"
    rb"|(?:api|access|auth|hf|hub|github|gitlab|refresh|session|security|vault|bot|slack)[_\-]?token",
    re.I,
)
"""Names whose values are secrets, whatever they look like."""
_NO_NAME = re.compile(
    rb"(?:tokens|token[_\-]?\w{1,40}|keys|key(?:word|name|error|board)\w{0,9}|authors?|secrets|to_read"
    rb"|_(?:file|path|dir|len|size|name))\Z",
    re.I,
)
_CODE = re.compile(rb"[A-Za-z_]{1,80}(?:\.[A-Za-z_]{1,80}){0,9}\Z")
"""A value that is rather an expression of a program."""
_RUN = re.compile(rb"[A-Za-z0-9]{10,}")
_USERNAME = re.compile(rb"user_?name[\"'\\]{0,8}[ \t]{0,4}:[^\n]{1,100}\Z", re.I)
_NO_SECRETS = re.compile(
    rb"(?:\*+|x+|\.{2,}|<[^>]*>?|\$\{?\w*\}?|%\w*%?|\{\w*\}|none|null|true|false|password|passwd|pass"
    rb"|pw|secret|token|changeme|os\.\w.*|self\.\w.*|str|bytes|int|bool|optional|0|1|sqlite:.*"
    rb"|(?:\S* )?<secret removed>.*)",
    re.I | re.S,
)
"""Values that are not secrets, such as replacements."""


def _named(text: bytes, start: int, end: int) -> Span | None:
    """The value that follows a word, such as TOKEN in HF_TOKEN=…, if it is a secret."""
    head = text[max(0, start - 40) : start]
    before = head[len(head.rstrip(_NAME_BYTES)) :]
    is_option = before.startswith(b"--")
    match = (_OPTION if is_option else _NAMED).match(text, end)
    if match is None:
        return None
    name = before + text[start : match.end("rest")]
    if not (_is_given(name, match) if is_option else _tells(name, match, start)):
        return None
    kind = OWN_SETTING if name.startswith(b"INDUCTORSCOPE_") else VARIABLE
    begin, end = match.span(match.lastgroup or 0)
    rest = _REST.match(text, end) if match["bare"] else None
    return begin, rest.end() if rest else end, kind


def _is_given(name: bytes, match: re.Match[bytes]) -> bool:
    """Whether the value of an option with this name is a secret."""
    value = match[match.lastgroup or 0]
    if _NO_NAME.search(name) or value.startswith(b"-"):  # `--token -v` has no value
        return False
    return not name.endswith(b"key") or bool(_SURE.search(name)) or _opaque(value)


def _tells(name: bytes, match: re.Match[bytes], start: int) -> bool:
    """Whether a value with this name is a secret."""
    text, value, bare = match.string, match[match.lastgroup or 0], match["bare"]
    loud = name == name.upper()
    if _NO_NAME.search(name):
        return False
    if _SURE.search(name):
        if value[:1] in b"/~" and name.lower().endswith((b"pwd", b"credentials")):  # a path
            return False
        after = text[match.end() : match.end() + 1]
        is_code = _CODE.match(value) and (b"." in value or after not in b"\r\n\\")
        return len(value) > 2 and (loud or bare is None or not (is_code or after in (b"(", b"[")))
    if loud:
        is_token = b"TOKEN" in name and len(value) > 5 and not value.isdigit()
        return is_token or _opaque(value)
    if b"key" in name[-3:].lower() and not _USERNAME.search(text, max(0, start - 200), start):
        return False
    return _opaque(value)


def _opaque(value: bytes) -> bool:
    """Whether no program would use it as a name: it holds a long run of letters and digits."""
    return len(value) >= 16 and any(
        not run.isdigit() and not run.isalpha() for run in _RUN.findall(value)
    )


# --- by what stands around it, and by its form ---

_GIVEN = rb"(?P<value>[^\s\"'\\,;<>{}]{4,4000})"
_BREAK = rb"(?:\s|\\{1,7}n){1,20}"
_MANY, _END = rb"[A-Za-z0-9_\-]", rb"(?![A-Za-z0-9_\-])"
_RULES: tuple[tuple[bytes, bytes | None, str], ...] = (
    (rb"(?i:authorization)",
     _ASSIGN + rb"[bf]?" + _QUOTE + rb"(?:[A-Za-z0-9\-]{2,20}[ \t]{1,4})?" + _GIVEN, LOGIN),
    (rb"(?i:passw|passphrase|pwd|secret|credential|token|[_\-]key|(?:api|access|account|shared)key|[\"']key"
     rb"|auth|(?-i:[A-Z_]PASS\b)|inductorscope_database_url)", None, VARIABLE),
    (rb"(?i:(?:[?&;]|u0026)(?:x-(?:amz|goog|oss)-)?sig(?:nature)?=)", None, SIGNATURE),
    (rb"(?i:bearer)", rb"[ \t]{1,4}(?P<value>[A-Za-z0-9._~+/=\-]{16,4000})", LOGIN),
    (rb"(?i:cookie)", _QUOTE + rb"[ \t]{0,4}:[ \t]{0,4}" + _QUOTE
     + rb"(?P<value>[^\n\"'\\=]{1,200}=[^\n\"'\\]{4,4000})", LOGIN),
    (rb"login[ \t]", rb"(?:\S{1,100}+\s{1,20}+[^\n]{0,60}?password" + _BREAK
     + rb"|[^\n]{0,100}?[ \t]-p[ =]" + _QUOTE + rb")" + _GIVEN, LOGIN),
    (rb"sshpass[ \t]", rb"[ \t]{0,4}-p[ \t]{0,4}" + _QUOTE + _GIVEN, LOGIN),
    (rb"curl[ \t]", rb"(?:[^\n]{0,100}?[ \t])?-(?:u|-(?:proxy-)?user)[ =]" + _QUOTE
     + rb"[^\s:\"'\\]{1,100}:" + _GIVEN, LOGIN),
    (rb"(?i:wandb\b)", rb"[^\n]{0,100}?\b(?P<value>[0-9a-f]{40})\b", LOGIN),
    (rb"\.com/(?:services|workflows|triggers|api/webhooks|webhookb2)/",
     rb"(?P<value>[A-Za-z0-9_\-@/]{20,400})", WEBHOOK),
    (rb"://", rb"[A-Za-z0-9._~%+\-]{0,100}:(?!\d{1,5}[/?#])"
     rb"(?P<value>[^\s:\"'\\<>{}()\[\]`,;]{1,400})@(?=[A-Za-z0-9\[/])"
     rb"|(?P<opaque>[A-Za-z0-9_\-.~%+]{16,400})(?::[^\s/@:]{0,40})?@", URL_PASSWORD),
    (rb":(?:543\d|6432|\*):",
     rb"[^\s:/]{1,60}:[^\s:/]{1,60}:(?P<value>[^\s\"'\\]{1,200})", LOGIN),  # .pgpass
    (rb"\$(?:[156y]|2[aby]|apr1)\$", rb"[./A-Za-z0-9$]{20,200}", LOGIN),  # a hash in /etc/shadow
    (rb"BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?----",
     rb"-?(?P<value>(?:(?!----)[\s\S]){1,20000}?)(?=-----?|\Z)", PRIVATE_KEY),
    (rb"Private-Lines: ",
     rb"(?<=: )\d{1,3}(?P<value>(?:(?!Private-)[\s\S]){1,8000}+Private-MAC: [0-9a-f]{16,128})",
     PRIVATE_KEY),  # PuTTY
    (rb"AGE-SECRET-KEY-1", rb"[0-9A-Z]{50,70}", PRIVATE_KEY),
    (rb"\beyJ", rb"(?<=eyJ)(?<![A-Za-z0-9_\-]eyJ)" + _MANY + rb"{10,4000}"
     rb"(?:\." + _MANY + rb"{6,8000}){2,4}", SERVICE),  # JWT
    (rb"\bhf_", rb"(?=[a-z0-9]{0,60}[A-Z])(?=[A-Z0-9]{0,60}[a-z])[A-Za-z0-9]{34,40}\b",
     HUGGING_FACE),
    (rb"\bgh[pousr]_|\bgithub_pat_", rb"[A-Za-z0-9][A-Za-z0-9_]{30,255}\b", GITHUB),
    (rb"\bgl(?:pat|ptt|cbt|rt|dt)-", _MANY + rb"{20,64}" + _END, GITLAB),
    (rb"\bA(?:KI|SI|PK)A", rb"[0-9A-Z]{16}\b", AWS),
    (rb"\bAIza|\bya29\.|\bGOCSPX-", _MANY + rb"{24,1000}", GOOGLE),
    (rb"\bxox[a-eoprs]-|\bxapp-", rb"\d{1,20}-[A-Za-z0-9\-]{10,250}", SLACK),
    (rb"\bsk-", rb"(?:(?:ant|proj|svcacct|admin|or)-" + _MANY + rb"{20,250}"
     rb"|(?=[a-z]{0,60}[A-Z0-9])(?=[a-zA-Z]{0,60}[0-9])[A-Za-z0-9]{32,64})" + _END, MODEL_API),
    # Perplexity, Groq, Replicate, xAI, NVIDIA
    (rb"\bpplx-|\bgsk_|\br8_|\bxai-|\bnvapi-",
     rb"(?=[A-Za-z_\-]{0,30}\d)" + _MANY + rb"{35,100}", MODEL_API),
    # Stripe, npm, Linear, Notion
    (rb"\b[sr]k_(?:live|test)_|\bwhsec_|\bnpm_|\blin_api_|\bntn_|\bsbp_|\bapi_org_",
     rb"[A-Za-z0-9]{20,250}\b", SERVICE),
    # PyPI, Vault, Weights & Biases, Docker
    (rb"\bpypi-AgE|\bhv[sbr]\.|\bwandb_v1_|\bdckr_[op]at_|\bATATT3|\bfigd_",
     _MANY + rb"{20,500}", SERVICE),
    # Databricks, DigitalOcean, Shopify, Mailgun, Twilio
    (rb"\bdapi|\bdo[opr]_v1_|\bshp(?:at|ca|pa|ss)_|\bkey-|\bSK",
     rb"[0-9a-f]{32}(?:[0-9a-f]{32})?\b", SERVICE),
    # Grafana, LangSmith
    (rb"\bglsa_|\blsv2_[ps][tk]_", rb"[A-Za-z0-9]{32}_[0-9a-fA-F]{8,10}\b", SERVICE),
    (rb"\bSG\.", _MANY + rb"{16,32}\." + _MANY + rb"{30,64}", SERVICE),  # SendGrid
    (rb"\b\d{8,10}:AA", _MANY + rb"{33}" + _END, SERVICE),  # Telegram
    (rb"\dQ~", rb"[A-Za-z0-9_~.\-]{31,34}" + _END, SERVICE),  # Azure
)  # fmt: skip
"""Mark, what follows it, and the kind. Without `value`, the mark is part of the secret.
`_secret_at` knows what follows a part of a name or of an address."""

_MARKS = re2.compile(b"|".join(mark for mark, *_ in _RULES))
_WHICH = re.compile(b"|".join(b"(" + mark + b")" for mark, *_ in _RULES))
_AFTER = [after and re.compile(after) for _, after, _ in _RULES]
_QUERY = re.compile(rb"\?(?P<value>(?:[^\s\"'<>\\]|\\+u0026){1,8000})")


def find_secrets(text: bytes) -> list[Span]:
    """Finds the secrets of a text, in order and none within another."""
    found: list[Span] = []
    for mark in _MARKS.finditer(text):
        start, end = mark.span()
        which = _WHICH.match(text, start)
        number = which.lastindex - 1 if which and which.lastindex else 0
        if found and end <= found[-1][1] and _RULES[number][2] != PRIVATE_KEY:
            continue
        span = _secret_at(text, number, start, end)
        if span is None or _NO_SECRETS.fullmatch(text, *span[:2]):
            continue
        while found and span[0] < found[-1][1]:
            before = found.pop()
            first = min(before, span)
            span = first[0], max(before[1], span[1]), first[2]
        found.append(span)
    return found


def _secret_at(text: bytes, number: int, start: int, end: int) -> Span | None:
    """The secret at a mark, if there is one."""
    after, kind = _AFTER[number], _RULES[number][2]
    if kind == VARIABLE:
        return _named(text, start, end)
    if kind == SIGNATURE:  # the whole query of the address goes
        begin = text.rfind(b"?", max(0, end - 4000), end)
        query = _QUERY.match(text, begin) if begin >= 0 else None
        return (*query.span("value"), kind) if query and query.end() >= end else None
    match = after.match(text, end) if after else None
    if match is None or (match.lastgroup == "opaque" and not _opaque(match["opaque"])):
        return None
    if match.lastgroup:
        start = match.start(match.lastgroup)
    return start, match.end(match.lastgroup or 0), kind
