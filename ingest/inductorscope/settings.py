"""Settings, read once from the environment.

`Settings` is the only list of settings: `load()` reads it and `docs/settings.md` is tested against
it.
"""

import ipaddress
import os
from dataclasses import dataclass, fields
from pathlib import Path

from inductorscope.errors import USAGE, InWords
from inductorscope.formats.sizes import GIB

PREFIX = "INDUCTORSCOPE_"
LARGEST_PORT = 65_535
DATABASES = ("sqlite", "postgresql", "postgres")


class SettingError(InWords, ValueError):
    """A setting in the environment cannot be used; the message says which and why."""

    exit_code = USAGE


def _default_data() -> Path:
    base = os.environ.get("XDG_DATA_HOME")
    root = Path(base) if base else Path.home() / ".local" / "share"
    return root / "inductorscope"


@dataclass(frozen=True)
class Settings:
    """Settings of the web process, the workers and the command line."""

    data: Path
    """Folder of the database file, of unfinished uploads and of captures' working folders."""
    database_url: str
    """SQLAlchemy URL. Empty means SQLite in the data folder."""
    contents_url: str = ""
    """Object store of contents and waiting uploads: `s3://bucket/folder`, `gs://…`, `az://…` or
    `file:///folder`. Empty means the database and the data folder."""
    host: str = "127.0.0.1"
    """Address the web process binds to. Any but a loopback address needs a token."""
    port: int = 8765
    """Port of the web process."""
    hosts: str = ""
    """Further host names of the server, separated by commas, such as a proxy's."""
    token: str = ""
    """Secret that requests which write must carry (`Authorization: Bearer …`), except from a
    browser that logged in with it."""
    token_to_read: bool = False
    """Whether reading needs the token too."""
    accounts: bool = False
    """Whether people log in with accounts that `inductorscope user add` makes."""
    oidc_issuer: str = ""
    """Address of the OpenID provider with which people log in."""
    oidc_client: str = ""
    """Id of this server at the OpenID provider."""
    oidc_secret: str = ""
    """Secret of this server at the OpenID provider."""
    proxies: str = ""
    """Addresses or networks of trusted proxies, separated by commas."""
    proxy_header: str = ""
    """Header in which these proxies name who is logged in: `X-Forwarded-User`, for example."""
    new_role: str = "reader"
    """Role of people who log in for the first time by OpenID or a proxy."""
    client_seconds: int = 30
    """How long a client may keep the server waiting: for a request, its body, or to read."""
    log_json: bool = False
    """Whether processes log JSON, one object a line."""
    workers: int = 1
    """Worker processes that `serve` starts and keeps alive."""
    device: str = ""
    """Name of the device of a worker's captures: `CPU`, or a GPU that is not detected."""
    model_folders: str = ""
    """Folders (separated like PATH) whose models the worker may run besides the built-in ones."""
    playground: bool = False
    """Whether the playground runs code that people type, also if others can reach the server."""
    agents_try: bool = False
    """Whether agents may start trials of changes."""
    agents_submit: bool = False
    """Whether agents may have kernels judged that they wrote."""
    max_upload_bytes: int = 4 * GIB
    """Largest upload as sent."""
    max_unpacked_bytes: int = 16 * GIB
    """Largest upload after unpacking."""
    max_members: int = 100_000
    """Most files in one upload."""
    max_ratio: int = 1000
    """Largest unpacked-to-packed ratio of one archive, once over 64 MiB unpacked."""
    capture_seconds: int = 1800
    """Time limit of one capture."""
    capture_bytes: int = 16 * GIB
    """Memory limit of one capture's process (address space beyond what torch maps at start)."""
    ingest_seconds: int = 3600
    """Time limit of reading one upload."""
    analysis_seconds: int = 10
    """Time limit of analysing one text for a page; long texts have more."""

    @property
    def url(self) -> str:
        """The database URL with the SQLite default filled in."""
        return self.database_url or f"sqlite:///{self.data / 'inductorscope.db'}"

    @property
    def has_accounts(self) -> bool:
        """Whether people log in, instead of sharing a token or this machine."""
        return bool(self.accounts or self.oidc_issuer or self.proxy_header)

    @property
    def trusted(self) -> list[str]:
        """Addresses and networks of proxies."""
        return [address.strip() for address in self.proxies.split(",") if address.strip()]

    @property
    def uploads(self) -> Path:
        return self.data / "uploads"

    @property
    def captures(self) -> Path:
        return self.data / "captures"

    @property
    def facts(self) -> Path:
        return self.data / "facts"

    @property
    def workers_folder(self) -> Path:
        return self.data / "workers"


def load(**overrides: object) -> Settings:
    """Reads the settings from the environment; keyword arguments (command-line options) win."""
    values: dict[str, object] = {"data": _default_data(), "database_url": ""}
    for field in fields(Settings):
        name = PREFIX + field.name.upper()
        raw = os.environ.get(name)
        if not raw:
            continue
        values[field.name] = _parse(name, field.type, raw)
    values |= {name: value for name, value in overrides.items() if value is not None}
    values["data"] = Path(str(values["data"])).expanduser().absolute()
    settings = Settings(**values)  # type: ignore[arg-type]  # parsed by the type of its field
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, int) and value < 0:
            name = PREFIX + field.name.upper()
            raise SettingError(f"{name} is {value}; it takes a number of 0 or more.")
    if settings.port > LARGEST_PORT:
        raise SettingError(
            f"The port is {settings.port}; ports are numbers up to {LARGEST_PORT} "
            f"({PREFIX}PORT or --port)."
        )
    for network in settings.trusted:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise SettingError(f"{PREFIX}PROXIES: {error}.") from None
    if settings.proxy_header and not settings.trusted:
        raise SettingError(f"{PREFIX}PROXY_HEADER needs {PREFIX}PROXIES: whom to believe.")
    scheme, _, rest = settings.url.partition("://")
    if scheme.partition("+")[0] not in DATABASES or not rest:
        raise SettingError(
            f"{PREFIX}DATABASE_URL is not the address of a database; it takes "
            "postgresql://user:password@host/database or sqlite:///path."
        )


def _parse(name: str, kind: object, raw: str) -> object:
    if kind is int:
        try:
            return int(raw)
        except ValueError:
            raise SettingError(f"{name} is {raw!r}; it takes a whole number.") from None
    if kind is bool:
        if raw.lower() in {"1", "true", "yes", "on"}:
            return True
        if raw.lower() in {"", "0", "false", "no", "off"}:
            return False
        raise SettingError(f"{name} is {raw!r}; it takes 1 or 0.")
    if kind is Path:
        return Path(raw)
    return raw
