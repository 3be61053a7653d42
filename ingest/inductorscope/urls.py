"""Builds every address of the application. Templates get this module as `urls`."""

from urllib.parse import quote, urlencode

from inductorscope.formats.vocabulary import OPENED

API = "/api"
RUN = "/runs/{run}"
GRAPH = RUN + "/graphs/{slug}"
COMPILE = RUN + "/compile"
FAILURES = RUN + "/failures"
PLAY = "/play"


def _part(value: str | int) -> str:
    """Escapes one path segment; characters common in names (`~`, `:`, `.`) stay readable."""
    return quote(str(value), safe="~:.@+,=!$'()*")


def _form(page: str, parts: tuple[str | int, ...]) -> str:
    return "/".join((page, *map(_part, parts)))


def with_query(path: str, /, **query: str | int | None) -> str:
    """Adds the query parameters that are set to the path."""
    parameters = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(parameters, safe=',:/~')}" if parameters else path


def at(path: str, **parts: str | int) -> str:
    """The address of a path of the table of pages: `/runs/{run}/time`."""
    return path.format(**{name: _part(value) for name, value in parts.items()})


def api(path: str) -> str:
    """The JSON twin of a page's address."""
    return f"{API}{path}"


def markdown(path: str) -> str:
    """A page as Markdown, by its path."""
    return f"{path}.md" if path != "/" else "/index.md"


def runs(**query: str | int | None) -> str:
    return with_query("/", **query)


def play(run_id: str = "", **query: str | int | None) -> str:
    """The playground; for a try, with its code and result."""
    return with_query(at(f"{PLAY}/{{run}}", run=run_id) if run_id else PLAY, **query)


def fork(run_id: str, slug: str) -> str:
    """A graph as a program to edit in the playground."""
    return f"{graph(run_id, slug)}/fork"


def run(run_id: str) -> str:
    return at(RUN, run=run_id)


def run_page(run_id: str, page: str, **query: str | int | None) -> str:
    """A page of a run, by its name in the address."""
    return with_query(f"{run(run_id)}/{_part(page)}", **query)


def time(run_id: str, **query: str | int | None) -> str:
    """Where the time goes; `profile` is the label of the profile to show."""
    return run_page(run_id, "time", **query)


def time_table(run_id: str, **query: str | int | None) -> str:
    """A long table of times: `of` names the table, `profile` the profile; the rest filters."""
    return with_query(f"{time(run_id)}/table", **query)


def timeline(run_id: str, **query: str | int | None) -> str:
    """A trace, event by event; `profile`, `start`, `end`, `event`, `q` and `mark` are its state."""
    return run_page(run_id, "timeline", **query)


def read(run_id: str) -> str:
    return run_page(run_id, "read")


def run_state(run_id: str, **query: str | int | None) -> str:
    """Progress of reading a run; `graphs` is the number that the page already shows."""
    return with_query(f"{run(run_id)}/state", **query)


def log(run_id: str, **query: str | int | None) -> str:
    """The logs of a run: `log`, `compile`, `kind` and `rank` select records."""
    return run_page(run_id, "log", **query)


def compile_story(run_id: str) -> str:
    """What compiling did and why; the other pages about it are below this path."""
    return at(COMPILE, run=run_id)


def compile_list(run_id: str, **query: str | int | None) -> str:
    return with_query(f"{compile_story(run_id)}/list", **query)


def compile_one(run_id: str, number: int) -> str:
    return f"{compile_story(run_id)}/{number}"


def compile_part(run_id: str, part: str) -> str:
    """A page about compiling: `time`, `startup`, `stacks`, `symbols`, `fusing` or `ranks`."""
    return f"{compile_story(run_id)}/{_part(part)}"


def kernels(run_id: str, **query: str | int | None) -> str:
    """All kernels of a run."""
    return run_page(run_id, "kernels", **query)


def tuned(run_id: str, **query: str | int | None) -> str:
    """What was autotuned."""
    return with_query(f"{kernels(run_id)}/tuned", **query)


def fusing(run_id: str, **query: str | int | None) -> str:
    """What was not fused. `a` and `b` name two kernels, calls (`KERNEL:HANDLE`) or nodes, `q`
    filters the rows of its tables, `rule` names what keeps kernels apart; its parts are `#unfused`
    and `#loops`."""
    return with_query(compile_part(run_id, "fusing"), **query)


def compile_diff(run_id: str, before: int, after: int, plain: int | None = None) -> str:
    """Two stored texts side by side; `plain` ignores memory addresses."""
    return with_query(f"{compile_story(run_id)}/diff", a=before, b=after, plain=plain)


def failures(run_id: str) -> str:
    """What failed, and how to find out why; the other pages about it are below this path."""
    return at(FAILURES, run=run_id)


def failure_part(run_id: str, part: str, **query: str | int | None) -> str:
    """`components`, `numbers`, `minify` or `values`: the page, and the form that starts its job."""
    return with_query(f"{failures(run_id)}/{_part(part)}", **query)


def trials(run_id: str, what: str = "") -> str:
    """The page of a run's trials; `one` and `search`: the forms that start them."""
    return f"{run(run_id)}/trials" + (f"/{what}" if what else "")


def watch(key: str) -> str:
    """The newest run of a watched folder."""
    return f"/watch/{_part(key)}"


def file(run_id: str, artifact: int, **query: str | int | None) -> str:
    """A stored file as text; `line` and `last` mark lines."""
    return with_query(f"{run(run_id)}/files/{artifact}", **query)


def search(**query: str | int | None) -> str:
    return with_query("/search", **query)


def graph(run_id: str, slug: str, **query: str | int | None) -> str:
    """The explorer; `panes`, `sel`, `kernel` and `file` are its state."""
    return with_query(at(GRAPH, run=run_id, slug=slug), **query)


def memory(run_id: str, slug: str, **query: str | int | None) -> str:
    """What a graph's wrapper does to memory; `kind`, `order` and offsets are its state."""
    return with_query(f"{graph(run_id, slug)}/memory", **query)


def roofline(run_id: str, **query: str | int | None) -> str:
    """Kernels of a run against the machine's limits."""
    return run_page(run_id, "roofline", **query)


def kernel_key(name: str, handle: int | None) -> str:
    """Names a kernel's call in addresses."""
    return f"{name}:{1 if handle is None else handle}"


def kernel(
    run_id: str, slug: str, name: str, handle: int | None, *part: str, **query: str | int | None
) -> str:
    """A kernel's call; its `case`, which is a test that runs on its own and which the API has as
    `case.py`; its `edit`, with an `attempt`; or the form that requests a `benchmark`."""
    page = _form(f"{graph(run_id, slug)}/kernels", (kernel_key(name, handle), *part))
    return with_query(page, **query)


def kernel_in_explorer(run_id: str, slug: str, name: str, handle: int | None) -> str:
    """The explorer with a kernel, or one of its calls, selected: its lines are lit in all panes."""
    selected = f"kernel:{name}" if handle is None else f"call:{name}:{handle}"
    return graph(run_id, slug, kernel=kernel_key(name, handle), sel=selected)


def line_in_explorer(
    run_id: str,
    slug: str,
    stage: str,
    line: int,
    *,
    path: str | None = None,
    kernel: str | None = None,
    handle: int | None = None,
) -> str:
    """The explorer with a line selected; a source line needs its path, a kernel line its kernel."""
    panes = list(OPENED)
    if stage not in panes:
        panes.insert(2, stage)
    return graph(
        run_id,
        slug,
        panes=None if stage in OPENED else ",".join(panes),
        file=path,
        kernel=None if kernel is None else kernel_key(kernel, handle),
        sel=f"{stage}:{path}:{line}" if path else f"{stage}:{line}",
    )


def beside(left: str, right: str) -> str:
    """Two texts side by side, each named `RUN/GRAPH/STAGE[/KERNEL]`."""
    return with_query("/beside", left=left, right=right)


def compare(run_id: str = "", other: str = "") -> str:
    """The comparison of two runs; with fewer, a page to choose them."""
    if other:
        return f"/compare/{_part(run_id)}/{_part(other)}"
    return with_query("/compare", run=run_id)


def history(**query: str | int | None) -> str:
    """A `figure`, or the work of a `kernel`, over time, for runs with this `name` or `tag`."""
    return with_query("/history", **query)


def atlas(part: str = "", **query: str | int | None) -> str:
    """A survey: its `figure` for each program and torch, and what changed; `program`: only one. Its
    parts are `.atom` and `/badge.svg`."""
    return with_query(f"/atlas{part}", **query)


def permalink(link: str, **query: str | int | None) -> str:
    return with_query(f"/k/{_part(link)}", **query)


def jobs(**query: str | int | None) -> str:
    return with_query("/jobs", **query)


def job(job_id: str, *form: str | int) -> str:
    """The page of a job, one of its forms, `cancel` or `again`, or the stream of its `events`."""
    return _form("/jobs", (job_id, *form))


def sql(**query: str | int | None) -> str:
    """SQL on the facts of runs; the query is `sql`."""
    return with_query("/sql", **query)


def server(*form: str | int) -> str:
    """The page of the server, or one of its forms, such as `trash`, RUN, `restore`."""
    return _form("/server", form)


def capture() -> str:
    return "/capture"


def login(then: str = "") -> str:
    return with_query("/login", next=then)


def login_provider(then: str = "") -> str:
    """Begins to log in with the OpenID provider."""
    return with_query("/login/provider", next=then)


def logout() -> str:
    return "/logout"


def account(*form: str | int) -> str:
    """The page with logins and tokens, or one of its forms, such as `tokens`, TOKEN, `remove`."""
    return _form("/account", form)


def projects(*form: str | int) -> str:
    """The page of projects, or one of their forms, such as PROJECT, `members`."""
    return _form("/projects", form)


def shared(key: str) -> str:
    """The link that shows a run to anyone."""
    return f"/shared/{_part(key)}"


def static(name: str) -> str:
    return f"/static/{quote(name)}"


def api_graph(run_id: str, slug: str, part: str) -> str:
    """The part `explorer`, `links`, `nodes`, `machine`, `heat` or `annotated.py` of a graph."""
    return f"{API}{graph(run_id, slug)}/{part}"


def artifact_text(artifact: int, first: int | None = None, last: int | None = None) -> str:
    return with_query(f"{API}/artifacts/{artifact}/text", first=first, last=last)


def artifact_raw(artifact: int) -> str:
    return f"{API}/artifacts/{artifact}/raw"


def mcp() -> str:
    """The address that agents connect to."""
    return "/mcp"
