"""The forms in which programs, shells and their files write secrets.

Every value is made up and put together here, so that no file holds anything that looks like one.
`FORMS` has one entry a form: its name, a text, and what of the text must go.
"""

import base64
import json
import random
import string
from collections.abc import Sequence

LOWER = string.ascii_lowercase + string.digits
WORD = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE64 = WORD + "+/"
URL_SAFE = WORD + "-_"

_random = random.Random(42)


def made(length: int, alphabet: str = WORD) -> str:
    """A random value that begins and ends with a letter and holds a digit."""
    middle = "".join(_random.choice(alphabet) for _ in range(length - 3))
    letters = HEX[10:] if alphabet == HEX else "hjkmnpqr"
    if alphabet.isupper() or not any(letter.islower() for letter in alphabet):
        letters = letters.upper()
    return _random.choice(letters) + middle + "7" + _random.choice(letters)


def _packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _token(*parts: str) -> str:
    return "".join(parts)


def _jwt() -> str:
    head = _packed('{"alg":"HS256","typ":"JWT"}').rstrip("=")
    body = _packed('{"sub":"1234567890","name":"Ada"}').rstrip("=")
    return f"{head}.{body}.{made(43, URL_SAFE)}"


def _key(kind: str, prefix: str = "", lines: int = 4) -> tuple[str, list[str]]:
    body = [made(64, BASE64) for _ in range(lines)]
    edge = "-" * 5
    whole = [f"{edge}BEGIN {kind}{edge}", *body, f"{edge}END {kind}{edge}"]
    return "".join(f"{prefix}{line}\n" for line in whole), body


def _forms() -> list[tuple[str, str, Sequence[str]]]:
    forms: list[tuple[str, str, Sequence[str]]] = []

    def add(name: str, text: str, *values: str) -> None:
        for number, value in enumerate(values):
            text = text.replace(f"VALUE{number or ''}", value)
        forms.append((name, text, values))

    def add_key(name: str, kind: str, prefix: str = "") -> None:
        text, lines = _key(kind, prefix)
        forms.append((name, text, lines))

    # Variables with a telling name
    add("HF_TOKEN, opaque", "HF_TOKEN=VALUE", made(37))
    add("HUGGING_FACE_HUB_TOKEN", "export HUGGING_FACE_HUB_TOKEN=VALUE", made(30))
    add("WANDB_API_KEY", "WANDB_API_KEY=VALUE", made(40, HEX))
    add("DB_PASSWORD", "HOME=/root\nDB_PASSWORD=VALUE\nLANG=C", "correct-horse-battery")
    add("PGPASSWORD before a command", "PGPASSWORD=VALUE psql -h db -U ada", "hunter2hunter")
    add("MYSQL_PWD", "MYSQL_PWD=VALUE", "pl3ase_enter")
    add("SECRET_KEY", "SECRET_KEY='VALUE'", made(50))
    add("DD_API_KEY", "DD_API_KEY: VALUE", made(32, HEX))
    add("AZURE_CLIENT_SECRET", "AZURE_CLIENT_SECRET=VALUE", made(8) + "~" + made(31))
    add("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY=VALUE", made(40, BASE64))
    add("AWS_SESSION_TOKEN", "AWS_SESSION_TOKEN=VALUE", made(300, BASE64) + "==")
    add("GITHUB_TOKEN, opaque", "GITHUB_TOKEN=VALUE", made(40, HEX))
    add("ENCRYPTION_PASSPHRASE", 'ENCRYPTION_PASSPHRASE="VALUE"', "a phrase of several words")
    add("os.environ", "os.environ['MLFLOW_TRACKING_PASSWORD'] = 'VALUE'", "tr4cking-word")
    add("os.environ, double quotes", 'os.environ["HF_TOKEN"] = "VALUE"', made(37))
    add("environ of a dump", "environ({'SHELL': '/bin/sh', 'PASSWORD': 'VALUE'})", "hunter2-9x")
    add("environ of a dump, bytes", "environb({b'API_KEY': b'VALUE'})", made(24))
    add("JSON environment", '{"env": {"HF_TOKEN": "VALUE", "HOME": "/root"}}', made(37))
    add("JSON in JSON", '{"text": "{\\"CLIENT_SECRET\\": \\"VALUE\\"}"}', made(32))
    add("docker -e", "docker run -e HF_TOKEN=VALUE image", made(37))
    add("YAML", "database:\n  user: ada\n  password: VALUE\n", "pass-w0rd-of-ada")
    add("YAML, quoted", 'api_key: "VALUE"', made(32))
    add("INI", "[db]\npassword = VALUE\n", "sw0rdfish-22")
    add("Kubernetes env", "- name: DB_PASSWORD\n  value: VALUE\n", "sw0rdfish-33")
    add("PowerShell", '$env:HF_TOKEN = "VALUE"', made(37))
    add("Windows set", "set API_TOKEN=VALUE", made(24))
    # Arguments
    add("Namespace(api_key=)", "Namespace(lr=0.1, api_key='VALUE', steps=3)", made(32))
    add("Namespace(hf_token=)", 'Namespace(hf_token="VALUE", seed=1)', made(37))
    add("a dataclass", "Config(name='a', auth_token='VALUE', width=4)", made(20))
    add("a call", "client = connect(password='VALUE')", "sw0rdfish-11")
    add("--token", "train.py --token VALUE --steps 3", made(30))
    add("--token=", "train.py --token=VALUE", made(30))
    add("--api-key", "serve --api-key VALUE", made(30))
    add("--password", "login --user ada --password VALUE", "sw0rdfish")
    add("--hf_token", "train.py --hf_token VALUE", made(37))
    add("argv", "['train.py', '--auth-token', 'VALUE']", made(30))
    add("curl -u", "curl -u ada:VALUE https://host/x", "sw0rdfish1")
    add("curl --user", "curl --user 'ada:VALUE' https://host/x", "sw0rdfish2")
    add("sshpass", "sshpass -p VALUE ssh ada@host", "sw0rdfish3")
    add("wandb login", "wandb login VALUE", made(40, HEX))
    add(
        "wandb's line", "wandb: Appending key VALUE to your netrc file: /root/.netrc", made(40, HEX)
    )
    add("docker login", "docker login -u ada -p VALUE registry", "sw0rdfish4")
    # Headers
    add("Authorization: Bearer", "Authorization: Bearer VALUE", made(40))
    add("Authorization: Basic", "Authorization: Basic VALUE", _packed("ada:sw0rdfish-8"))
    add("Authorization: token", "authorization: token VALUE", made(40, HEX))
    add("Bearer in a dict", "{'Authorization': 'Bearer VALUE'}", made(40))
    add("Bearer in a call", 'headers = {"authorization": f"Bearer VALUE"}', made(40))
    add("Proxy-Authorization", "Proxy-Authorization: Basic VALUE", _packed("ada:sw0rdfish-9"))
    add("Cookie", "Cookie: theme=dark; sessionid=VALUE", made(32))
    add("Set-Cookie", "Set-Cookie: session=VALUE; Path=/; HttpOnly", made(48, URL_SAFE))
    add("X-Api-Key", "X-Api-Key: VALUE", made(32))
    add("PRIVATE-TOKEN", "curl -H 'PRIVATE-TOKEN: VALUE' https://host", made(20))
    add("X-Vault-Token", "X-Vault-Token: VALUE", made(26))
    add("JWT", "logged in with VALUE", _jwt())
    # Files of programs
    add(".netrc", "machine api.host.org login ada password VALUE", "sw0rdfish-77")
    add(".netrc, lines", "machine api.host.org\n  login user\n  password VALUE\n", made(40, HEX))
    add(".pgpass", "db.host.org:5432:runs:ada:VALUE", "sw0rdfish-5")
    add(".npmrc", "//registry.host.org/:_authToken=VALUE", made(36))
    add(".npmrc, password", "//registry.host.org/:_password=VALUE", _packed("sw0rdfish-6"))
    add(
        ".pypirc",
        "[pypi]\nusername = __token__\npassword = VALUE\n",
        _token("py", "pi-AgEIcHlwaS5vcmc", made(80, URL_SAFE)),
    )
    add("docker config", '{"auths": {"host": {"auth": "VALUE"}}}', _packed("ada:sw0rdfish-10"))
    add("docker identity token", '{"identitytoken": "VALUE"}', made(60))
    add("kubeconfig token", "users:\n- user:\n    token: VALUE\n", made(48))
    add("kubeconfig key", "    client-key-data: VALUE\n", _packed(made(90)))
    add("kaggle.json", '{"username":"ada","key":"VALUE"}', made(32, HEX))
    add("service account", '{"private_key_id": "VALUE"}', made(40, HEX))
    add("git credentials", "https://ada:VALUE@github.com", made(40, HEX))
    add("my.cnf", "[client]\nuser=ada\npassword=VALUE\n", "sw0rdfish-12")
    add("ODBC", "Driver={X};Server=db;Uid=ada;Pwd=VALUE;", "sw0rdfish-13")
    add("shadow", "ada:VALUE:19000:0:99999:7:::", "$6$" + made(12) + "$" + made(86, WORD + "./"))
    # Addresses
    add("user and password", "postgresql://ada:VALUE@db/runs", "sw0rdfish-14")
    add("password with /", "postgresql://ada:VALUE@db/runs", "sw0rd/fi#sh-15")
    add("password without a user", "redis://:VALUE@cache:6379/0", "sw0rdfish-16")
    add("a token as the user", "git clone https://VALUE@github.com/a/b.git", made(40, HEX))
    add("x-access-token", "https://x-access-token:VALUE@github.com/a/b", made(40))
    add("?access_token=", "https://host/x?a=1&access_token=VALUE&b=2", made(40))
    add("?api_key=", "GET /v1/x?api_key=VALUE", made(32))
    add("Jupyter's address", "http://127.0.0.1:8888/lab?token=VALUE", made(48, HEX))
    add(
        "presigned S3",
        "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=VALUE1%2F2026"
        "&X-Amz-Date=20261126T000000Z&X-Amz-Security-Token=VALUE2&X-Amz-Signature=VALUE",
        made(64, HEX),
        _token("AS", "IA", made(16, LOWER).upper()),
        made(200, WORD + "%"),
    )
    add(
        "presigned S3, version 2",
        "https://b.s3.amazonaws.com/k?AWSAccessKeyId=VALUE1&Expires=17&Signature=VALUE",
        made(24) + "%3D",
        _token("AK", "IA", made(16, LOWER).upper()),
    )
    add(
        "presigned Google",
        "https://storage.googleapis.com/b/k?X-Goog-Credential=a%40b&X-Goog-Signature=VALUE",
        made(256, HEX),
    )
    add(
        "CloudFront",
        "https://d.cloudfront.net/k?Expires=1&Signature=VALUE&Key-Pair-Id=VALUE1",
        made(100, URL_SAFE + "~"),
        _token("AP", "KA", made(16, LOWER).upper()),
    )
    add(
        "Azure SAS",
        "https://a.blob.core.windows.net/c/k?sv=2024-01-01&sr=b&sp=r&sig=VALUE",
        made(43) + "%3D",
    )
    add(
        "Azure storage key",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=VALUE;EndpointSuffix=x",
        made(86, BASE64) + "==",
    )
    add(
        "Azure service bus",
        "Endpoint=sb://a/;SharedAccessKeyName=k;SharedAccessKey=VALUE",
        made(43, BASE64) + "=",
    )
    add(
        "Slack webhook",
        "https://hooks.slack.com/services/VALUE",
        f"T{made(9, LOWER).upper()}/B{made(9, LOWER).upper()}/{made(24)}",
    )
    add(
        "Discord webhook",
        "https://discord.com/api/webhooks/123456789012345678/VALUE",
        made(68, URL_SAFE),
    )
    add(
        "Teams webhook",
        "https://x.webhook.office.com/webhookb2/VALUE",
        f"{made(8, HEX)}-1234@{made(8, HEX)}-1234/IncomingWebhook/{made(32, HEX)}/{made(8, HEX)}",
    )
    add("Sentry", "https://VALUE@o123.ingest.sentry.io/45", made(32, HEX))
    # Tokens known by their form
    for name, value in (
        ("Hugging Face", _token("h", "f_", made(34))),
        ("GitHub", _token("gh", "p_", made(36))),
        ("GitHub, fine-grained", _token("github", "_pat_", made(22), "_", made(59))),
        ("GitHub, server", _token("gh", "s_", made(36))),
        ("GitLab", _token("gl", "pat-", made(20))),
        ("GitLab, runner", _token("gl", "rt-", made(20))),
        ("AWS", _token("AK", "IA", made(16, LOWER).upper())),
        ("Google API", _token("AI", "za", made(35))),
        ("Google OAuth", _token("ya", "29.", made(80, URL_SAFE))),
        ("Google client secret", _token("GOC", "SPX-", made(28))),
        ("Slack, bot", _token("xo", "xb-", "123456789012-123456789012-", made(24))),
        ("Slack, app", _token("xa", "pp-1-", "A0123456789-1234567890123-", made(64, HEX))),
        ("OpenAI", _token("s", "k-", made(48))),
        ("OpenAI, project", _token("s", "k-proj-", made(80, URL_SAFE))),
        ("Anthropic", _token("s", "k-ant-api03-", made(90, URL_SAFE))),
        ("DeepSeek", _token("s", "k-", made(32, HEX))),
        ("OpenRouter", _token("s", "k-or-v1-", made(64, HEX))),
        ("npm", _token("np", "m_", made(36))),
        ("PyPI", _token("py", "pi-AgEIcHlwaS5vcmc", made(80, URL_SAFE))),
        ("Stripe", _token("s", "k_live_", made(24))),
        ("Stripe, restricted", _token("r", "k_test_", made(24))),
        ("Stripe, webhook", _token("wh", "sec_", made(32))),
        ("SendGrid", _token("S", "G.", made(22), ".", made(43))),
        ("Replicate", _token("r", "8_", made(37))),
        ("Groq", _token("gs", "k_", made(52))),
        ("Databricks", _token("da", "pi", made(32, HEX))),
        ("Vault", _token("hv", "s.", made(90))),
        ("NGC", _token("nv", "api-", made(64, URL_SAFE))),
        ("W&B, new", _token("wan", "db_v1_", made(70))),
        ("DigitalOcean", _token("do", "p_v1_", made(64, HEX))),
        ("Docker", _token("dck", "r_pat_", made(27))),
        ("Grafana", _token("gl", "sa_", made(32), "_", made(8, HEX))),
        ("Perplexity", _token("pp", "lx-", made(48))),
        ("xAI", _token("xa", "i-", made(80))),
        ("LangSmith", _token("ls", "v2_pt_", made(32, HEX), "_", made(10, HEX))),
        ("Linear", _token("lin", "_api_", made(40))),
        ("Notion", _token("nt", "n_", made(46))),
        ("Shopify", _token("sh", "pat_", made(32, HEX))),
        ("Telegram", _token("123456789", ":AA", made(33, URL_SAFE))),
        ("Twilio", _token("S", "K", made(32, HEX))),
        ("Mailgun", _token("ke", "y-", made(32, HEX))),
        ("Azure client secret", _token(made(3), "8Q", "~", made(34))),
    ):  # fmt: skip
        add(name, "using VALUE here", value)
    # Private keys
    add_key("RSA key", "RSA PRIVATE KEY")
    add_key("OpenSSH key", "OPENSSH PRIVATE KEY")
    add_key("PGP key", "PGP PRIVATE KEY BLOCK")
    add_key("a key in comments", "PRIVATE KEY", "# ")
    add_key("a key in a log", "EC PRIVATE KEY", "[2026-11-26 10:00:00,123] INFO key: ")
    add_key("a key in TORCH_LOGS", "PRIVATE KEY", "V1121 01:24:58.555000 8487 a/b.py:12] [0/0] ")
    text, lines = _key("PRIVATE KEY")
    forms.append(("a key in JSON", json.dumps({"private_key": text}), lines))
    body = [made(64, BASE64), made(64, BASE64)]
    mac = made(64, HEX)
    forms.append((
        "PuTTY key",
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 1\nAAAA\n"
        f"Private-Lines: 2\n{body[0]}\n{body[1]}\nPrivate-MAC: {mac}\n", [*body, mac],
    ))  # fmt: skip
    add("age key", "VALUE", _token("AGE-SEC", "RET-KEY-1", made(58, LOWER).upper()))
    return forms


FORMS = _forms()


def pieces_of(*secrets: str) -> list[str]:
    """What of secrets would tell them: all of a short one, each part of a long one."""
    return [secret[at : at + 16] for secret in secrets for at in range(max(1, len(secret) - 15))]
