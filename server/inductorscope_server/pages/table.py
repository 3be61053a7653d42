"""The table of all pages and their JSON twins.

A new page is one entry here, a `load` function that takes the parts of the address and returns the
answer, and a template. The entry registers the page, its twin and their documentation, lists it in
the navigation of a run if it has a `nav`, and makes the tests open it.
"""

from __future__ import annotations

from inductorscope.plugins import added
from inductorscope.urls import COMPILE, FAILURES, GRAPH, PLAY, RUN

from inductorscope_server.access.rules import CHANGES, MAINTAINS, OPEN, READS_FILES
from inductorscope_server.pages import (
    account,
    capture,
    compare,
    compile,
    explorer,
    failures,
    jobs,
    kernel,
    memory,
    play,
    projects,
    runs,
    search,
    server,
    sql,
    time,
    timeline,
    trials,
)
from inductorscope_server.web.openapi import FILES, GRAPHS, JOBS, PEOPLE, RUNS, SERVER
from inductorscope_server.web.pages import Page

PAGES = (
    Page("/", runs.load_runs, "runs.html", RUNS, "Runs", fragment="fragments/_runs_table.html"),
    Page("/search", search.load, "search.html", RUNS, "Search code, kernels and runs"),
    Page("/beside", explorer.load_beside, "beside.html", GRAPHS, "Two texts side by side"),
    Page("/compare", compare.load_several, "compare_several.html", RUNS, "Several runs in a table",
         show=compare.show_several),
    Page("/compare/{run}/{other}", compare.load, "compare.html", RUNS, "Two runs compared",
         fragment="fragments/_measured.html"),
    Page("/history", compare.load_history, "history.html", RUNS, "A figure over time"),
    Page("/watch/{key}", runs.load_watched, "watch.html", RUNS, "A watched folder",
         show=runs.show_watched),
    Page("/k/{permalink}", kernel.load_permalink, "", GRAPHS, "The target of a permalink",
         show=kernel.show_permalink),
    Page("/jobs", jobs.load_jobs, "jobs.html", JOBS, "Jobs, newest first",
         fragment="fragments/_jobs_table.html"),
    Page("/jobs/{job}", jobs.load_job, "job.html", JOBS, "A job and its log", needs=OPEN),
    Page("/sql", sql.load, "sql.html", RUNS, "SQL on the facts of runs"),
    Page("/server", server.load, "server.html", SERVER, "The server and what it stores",
         needs=MAINTAINS),
    Page("/capture", capture.load, "capture.html", JOBS, "Options of the capture form"),
    Page(PLAY, play.load, "play.html", JOBS, "The playground"),
    Page(PLAY + "/{run}", play.load_try, "play.html", JOBS, "A try of the playground",
         fragment="fragments/_play_result.html"),
    Page("/account", account.load, "account.html", PEOPLE, "Logins and tokens"),
    Page("/projects", projects.load, "projects.html", PEOPLE, "Projects and their members"),
    # Of a run, in the order of its navigation.
    Page(RUN, runs.load_run, "run.html", RUNS, "A run", nav="Overview"),
    Page(RUN + "/state", runs.load_state, "fragments/_run_state.html", RUNS,
         "Progress of reading a run", show=runs.show_state),
    Page(RUN + "/explorer", explorer.load_graphs, "explorer_empty.html", RUNS,
         "Graphs to open in the explorer", nav="Explorer", show=explorer.show_first),
    Page(RUN + "/time", time.load_time, "time.html", RUNS, "Where the time goes", nav="Time"),
    Page(RUN + "/time/table", time.load_table, "time_table.html", RUNS, "Times, row by row"),
    Page(RUN + "/timeline", timeline.load, "timeline.html", RUNS, "A trace, event by event",
         nav="Timeline", fragment="fragments/_timeline.html"),
    Page(RUN + "/roofline", time.load_roofline, "roofline.html", RUNS,
         "Kernels compared with the machine's limits", nav="Roofline"),
    Page(RUN + "/memory", explorer.load_graphs, "memory_empty.html", RUNS,
         "Graphs whose memory can be shown", nav="Memory", show=memory.show_first),
    # What compiling did.
    Page(COMPILE, compile.load_story, "compile.html", RUNS, "What compiling did",
         nav="Compiling"),
    Page(COMPILE + "/stacks", compile.load_stacks, "compile_stacks.html", RUNS,
         "Where compiles start"),
    Page(COMPILE + "/symbols", compile.load_symbols, "compile_symbols.html", RUNS,
         "Symbolic sizes"),
    Page(COMPILE + "/ranks", compile.load_ranks, "compile_ranks.html", RUNS, "Ranks compared"),
    Page(COMPILE + "/list", compile.load_list, "compile_list.html", RUNS, "Compiles of a run",
         fragment="fragments/_compile_list.html"),
    Page(COMPILE + "/time", compile.load_time, "compile_time.html", RUNS, "Compile time"),
    Page(COMPILE + "/fusing", compile.load_fusing, "compile_fusing.html", RUNS, "Fusing"),
    Page(COMPILE + "/diff", compile.load_diff, "compile_diff.html", RUNS, "Two texts compared"),
    Page(COMPILE + "/{number}", compile.load_one, "compile_one.html", RUNS, "A compile"),
    # What went wrong.
    Page(FAILURES, failures.load, "failures.html", RUNS, "Failures of a run, explained",
         nav="Failures"),
    Page(FAILURES + "/components", failures.load_components, "failures_components.html", RUNS,
         "Which component of a run fails"),
    Page(FAILURES + "/minify", failures.load_minify, "failures_minify.html", RUNS,
         "The smallest failing program", fragment="fragments/_minify_live.html"),
    Page(FAILURES + "/numbers", failures.load_numbers, "numbers.html", RUNS,
         "The first wrong number of a run"),
    Page(FAILURES + "/values", failures.load_values, "failures_values.html", RUNS,
         "What each kernel read and wrote"),
    # Its files.
    Page(RUN + "/trials", trials.load, "trials.html", RUNS, "Changes that were tried",
         fragment="fragments/_trials.html"),
    Page(RUN + "/log", compile.load_log, "log.html", RUNS, "Records of a run's logs", nav="Log"),
    Page(RUN + "/read", runs.load_read, "read.html", RUNS, "What was read", nav="What was read"),
    Page(RUN + "/files/{artifact}", runs.load_file, "read_file.html", FILES,
         "Lines of a stored file", needs=READS_FILES),
    Page(RUN + "/access", projects.load_access, "access.html", PEOPLE, "Who sees a run",
         needs=CHANGES),
    # Of a graph.
    Page(GRAPH, explorer.load_head, "explorer.html", GRAPHS,
         "The explorer of a graph and its state", twin=explorer.load_page),
    Page(GRAPH + "/fork", play.load_fork, "play.html", GRAPHS, "A graph as a program to edit"),
    Page(GRAPH + "/memory", memory.load, "memory.html", GRAPHS,
         "How a graph's wrapper uses memory"),
    Page(GRAPH + "/kernels/{kernel}", kernel.load, "kernel.html", GRAPHS,
         "A kernel and one of its calls"),
    Page(GRAPH + "/kernels/{kernel}/case", kernel.load_case, "fragments/_kernel_case.html", GRAPHS,
         "What a kernel's test case compares"),
    *added("pages", Page),
)  # fmt: skip

ACTIONS = (
    runs, compare, explorer, kernel, failures, trials, jobs, capture, play, account, projects,
    server,
)  # fmt: skip
"""Modules with redirects, forms or further API routes: `html` has the routes of pages, `api` those
of the API."""
