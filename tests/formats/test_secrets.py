"""Secrets are removed from texts; nothing else is, and lines stay lines."""

import gzip
import io
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.secret_rules import OWN_SETTING
from inductorscope.formats.secrets import scrub, scrub_pieces, scrub_python

from tests.formats.secret_forms import FORMS, pieces_of

LETTERS = "Zq8wRt5yUi3oPa7sDf1gHj9kLx2cVb4nMe6Qw0Er"
"""For values that look like secrets and are put together here, so that no file holds any."""
HUGGING_FACE = "hf_" + LETTERS[:34]
GITHUB = "ghp_" + LETTERS[:36]
SHAPED = [
    HUGGING_FACE,
    GITHUB,
    "github_pat_" + LETTERS[:22] + "_" + LETTERS,
    "glpat-" + LETTERS[:20],
    "AKIA" + "ABCDEFGH12345678",
    "AIza" + LETTERS[:35],
    "xoxb-" + "123456789012-" + LETTERS[:24],
    "sk-" + (LETTERS + LETTERS)[:48],
    "sk-ant-api03-" + LETTERS,
]
ASSIGNED = [
    "os.environ['INDUCTORSCOPE_TOKEN'] = 'VALUE'\n",
    "os.environ['INDUCTORSCOPE_DATABASE_URL'] = 'postgresql://me:VALUE@db/runs'\n",
    "INDUCTORSCOPE_TOKEN=VALUE\nHOME=/root\n",
    "{'INDUCTORSCOPE_TOKEN': 'VALUE'}",
    '{"INDUCTORSCOPE_TOKEN": "VALUE", "other": 1}',
    '{"text": "{\\"INDUCTORSCOPE_TOKEN\\": \\"VALUE\\"}"}',
    "{\"text\": \"os.environ['INDUCTORSCOPE_TOKEN'] = 'VALUE'\\nimport os\"}",
    "os.environ['A_TORCH_SECRET'] = 'VALUE'\n",
    "export WANDB_API_KEY=VALUE\n",
    "aws_secret_access_key = VALUE\n",
    "see postgresql+psycopg://me:VALUE@db.example:5432/runs for more\n",
]


def _as_log(text: str) -> str:
    head = "V1121 01:24:58.555000 8487 a/b.py:12] [0/0] "
    return "".join(f"{head}{line}\n" for line in text.split("\n"))


@pytest.mark.parametrize(
    "wrap", [str, json.dumps, repr, _as_log], ids=["plain", "json", "repr", "log"]
)
def test_every_form_is_known(wrap: Callable[[str], str]) -> None:
    kept = []
    for name, text, secrets in FORMS:
        clean = scrub(wrap(text).encode())[0].decode()
        if any(piece in clean for piece in pieces_of(*secrets)):
            kept.append(name)
    in_a_log = {"Kubernetes env"}  # on two lines, which the log's prefix separates
    assert set(kept) <= (in_a_log if wrap is _as_log else set())


@pytest.mark.parametrize("secret", SHAPED)
def test_tokens_are_known_by_their_shape(secret: str) -> None:
    clean, found = scrub(f'login(token="{secret}")  # here\n'.encode())
    assert clean == b'login(token="<secret removed>")  # here\n'
    assert found.total() == 1


@pytest.mark.parametrize("form", ASSIGNED)
def test_assignments_are_known_by_their_name(form: str) -> None:
    value = "w0rd-of-the/hidden+kind"
    if "://me" in form:
        value = value.replace("/", ".")
    clean, found = scrub(form.replace("VALUE", value).encode())
    assert b"hidden" not in clean
    assert b"<secret removed>" in clean
    assert found.total() == 1


def test_a_value_with_quotes_is_removed_to_its_end() -> None:
    text = b"os.environ['INDUCTORSCOPE_TOKEN'] = 'one\"two\"three'\nimport os\n"
    clean, found = scrub(text)
    assert clean == b"os.environ['INDUCTORSCOPE_TOKEN'] = '<secret removed>'\nimport os\n"
    assert found == {OWN_SETTING: 1}


def test_private_keys_keep_their_lines() -> None:
    key = "-----BEGIN RSA {0}-----\nMIIEow\nIBAAKC\n-----END RSA {0}-----\n".format("PRIVATE KEY")
    clean, found = scrub(f"before\n{key}after\n".encode())
    assert clean.count(b"\n") == 6
    assert b"MIIEow" not in clean
    assert found.total() == 1


@pytest.mark.parametrize(
    "text",
    [
        "os.environ['INDUCTORSCOPE_DATA'] = '/data'\n",
        "os.environ['INDUCTORSCOPE_TOKEN_TO_READ'] = '1'\n",
        "os.environ['INDUCTORSCOPE_DATABASE_URL'] = 'sqlite:////data/inductorscope.db'\n",
        "export INDUCTORSCOPE_TOKEN=$TOKEN\n",
        "docs: https://user:password@host/ and https://github.com/a/b@main\n",
        "def hf_bert_large_uncased_whole_word_masking_finetuned_squad(): ...\n",
        "mask-sk-long-name-of-a-kernel-that-is-no-token = 1\n",
        'primals_1_cls_token: "f32[1, 1, 384]"; mask_token = primals_2_mask_token_0\n',
        '{"cache_key": "f7sxg3wqn5yqv2d6fxjhzkw4m3oebl5crq7trdtihgsyap4uicn2", "key": "a7c9f3"}\n',
        "BOS_TOKEN = '<s>'; MAX_TOKENS=4096; PAD_TOKEN_ID = 128001\n",
        "tokens = self.embed_tokens(token_ids); SecretStorage==3.3.1; PWD=/root/net\n",
        "password = get_password(user); secret = config.secret\n",
        "python train.py --max_new_tokens 100 --num-tokens=7 --input-key image --token -v\n",
        "https://host.org:8080/simple/torch@2.13.0?signed=no and a.py:5432: in f: x\n",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrub(text.encode()) == (text.encode(), Counter())


def test_a_program_runs_without_its_secrets() -> None:
    source = f'''
parser.add_argument("--hub_token", type=str, default=None)
parser.add_argument('--password', help="é", required=True)
self.secret: SecretStr = given.credentials
login(token="{HUGGING_FACE}", password = f"open{{sesame}}x")  # {GITHUB}
KEYS = """
password = 'kept in a text'
"""
START = "-----BEGIN OPENSSH {"PRIVATE"} KEY-----"
END = "-----END OPENSSH {"PRIVATE"} KEY-----"
'''
    clean, found = scrub_python(source.encode())
    compile(clean, "", "exec")
    assert found.total() == 4
    lines = zip(source.encode().split(b"\n"), clean.split(b"\n"), strict=True)
    assert [after for before, after in lines if before != after] == [
        b'login(token="<secret removed>", password = f"<secret removed>")  # <secret removed>',
        b"password = '<secret removed>'",
    ]


def test_what_is_no_program_is_scrubbed_as_a_text() -> None:
    text = b'def f(:\n"""\n  HF_TOKEN=' + HUGGING_FACE.encode()
    assert scrub_python(text) == scrub(text)


def test_no_text_of_the_fixtures_holds_a_secret(fixtures: Path) -> None:
    for path in fixtures.rglob("*"):
        if path.is_file():
            plain = path.read_bytes()
            plain = gzip.decompress(plain) if path.suffix == ".gz" else plain
            assert not scrub(plain)[1], path


def test_no_text_of_the_shared_traces_does_either(shared: Path) -> None:
    """But for one: a trace of somebody's model was recorded with a token in a name."""
    for path in (shared / "traces").rglob("*"):
        if path.is_file() and path.suffix != ".xz" and "h100-bert" not in path.name:
            plain = path.read_bytes()
            plain = gzip.decompress(plain) if path.suffix == ".gz" else plain
            assert not scrub(plain)[1], path


PIECES = [
    *SHAPED, *ASSIGNED, "'", '"', "\\", "\n", "INDUCTORSCOPE_TOKEN", "=", ": ", "://", "a:", "@b",
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "x" * 50, " ",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=10), max_size=30))
def test_lines_stay_lines_and_twice_is_as_once(pieces: list[str]) -> None:
    text = "".join(pieces).encode("utf-8", "surrogatepass")
    clean, found = scrub(text)
    assert clean.count(b"\n") == text.count(b"\n")
    assert found or clean == text
    again, more = scrub(clean)
    assert (again, more) == (clean, Counter())


@pytest.mark.parametrize("piece", PIECES)
def test_it_takes_linear_time(piece: str) -> None:
    def seconds(times: int) -> float:
        text = piece.encode() * (times // len(piece))
        begun = time.process_time()
        scrub(text)
        return time.process_time() - begun

    seconds(1000)
    # The better of two: collecting garbage of the tests before takes time, too.
    assert min(seconds(400_000), seconds(400_000)) < 20 * max(seconds(50_000), 0.01)


def test_in_pieces_it_is_the_same() -> None:
    line = b"some text, and more of it\n"
    secret = f"os.environ['INDUCTORSCOPE_TOKEN'] = 'top-hidden'\n{GITHUB}\n".encode()
    text = (line * 40_000 + secret) * 12
    found: Counter[str] = Counter()
    clean = b"".join(scrub_pieces(io.BytesIO(text).read, found))
    assert clean == scrub(text)[0]
    assert found == scrub(text)[1]
    assert found.total() == 24
