"""Triton's cache of an H200: joined to its kernel, and its lines charged to the kernel's lines."""

import gzip
import json
import math
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from inductorscope.analyze.machine.serving import is_around, serving
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compare.markdown import compared
from inductorscope.answers.compare.page import GroupRow, KernelCalls
from inductorscope.answers.compare.texts import explained
from inductorscope.answers.machine.compiled import configurations
from inductorscope.answers.machine.figures import kernel_figures
from inductorscope.answers.machine.text import MachineText, machine_text
from inductorscope.answers.missing import NotAnalysed
from inductorscope.capturing.inside.compiled import keep_compiled
from inductorscope.capturing.inside.environment import DEBUG_FOLDER
from inductorscope.formats.machine.metadata import BINDINGS, COMPILED
from inductorscope.formats.machine.ncu import READ, read_report
from inductorscope.formats.machine.triton_irs import read_mlir
from inductorscope.formats.vocabulary import (
    AMDGCN,
    ASSEMBLY,
    CODE,
    LLIR,
    OF_KERNELS,
    PTX,
    SASS,
    TTGIR,
    TTIR,
)
from inductorscope.intake.recognise import recognise
from inductorscope.reading.run import NothingToRead
from inductorscope.store.runs.nodes import all_kernel_facts
from inductorscope.store.tables.models import Graph
from sqlalchemy import select

from tests.support import loop
from tests.support.readings import Database
from tests.support.triton import KERNEL, other_configuration


@pytest.fixture
def read(db: Database, fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path / "kept"))
    db.read(fixtures / "triton-cache")
    return db


def _text(db: Database, stage: str) -> MachineText:
    with db.sessions() as session:
        graph = session.scalars(select(Graph)).one()
        return machine_text(session, graph.run_id, graph.slug, KERNEL, stage)


def test_the_configuration_that_ran_is_first(read: Database) -> None:
    with read.sessions() as session:
        graph = session.scalars(select(Graph)).one()
        known = configurations(session, graph)
        taken = all_kernel_facts(session, graph.id)[KERNEL][COMPILED][0]
        machine, _ = kernel_figures(session, graph, KERNEL)
    assert machine is not None
    first = machine.configurations[0]
    assert (taken["registers"], taken["local"]) == (first.registers, first.local)
    assert first.registers > 0
    chosen, other = known[KERNEL]
    assert (chosen.ran, other.ran) == (True, False)
    assert chosen.key == "K4JE6IKPKTOXQN7RIOXO43H3JTCFNZN5X77BMKCQNN7YWMAB2CFQ"
    assert chosen.options["num_warps"] == 8
    assert chosen.options["XBLOCK"] == 512
    assert set(chosen.files) == set(OF_KERNELS) - {ASSEMBLY, AMDGCN}


def test_nobody_knows_which_of_two_unnamed_configurations_ran(
    db: Database, fixtures: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(fixtures / "triton-cache", tmp_path / "cache")
    for file in [*folder.rglob("*.best_config"), *folder.rglob("triton/*/*.json")]:
        file.write_text("{}")
    run = db.read(folder).run_id
    with db.sessions() as session:
        graph = session.scalars(select(Graph)).one()
        assert [form.ran for form in configurations(session, graph)[KERNEL]] == [False, False]
        assert compare_page(session, run, run).machine == []


def test_a_comparison_names_another_configuration_and_its_instructions(
    db: Database, fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path / "kept"))
    other = other_configuration(fixtures / "triton-cache", tmp_path / "other")
    a, b = (db.read(folder).run_id for folder in (fixtures / "triton-cache", other))
    with db.sessions() as session:
        (slug,) = session.scalars(select(Graph.slug).distinct())
        calls = [KernelCalls(slug, KERNEL, 1, "triton", 1, "triton_pointwise", None, None)]
        row = GroupRow(
            calls, calls, "same code", "code", "exact", False, 1, 5.0, 9.0, 4.0, {}
        )  # fmt: skip
        found = explained(session, a, b, [row])
        page = compare_page(session, a, b)
    assert "num_warps 8 → 4" in found[0]
    (pair,) = page.machine
    assert "machine code differs" in [sentence.label for sentence in page.said]
    assert pair.b.instructions > 10 < pair.a.instructions
    assert sum(pair.more.values()) == pair.b.instructions - pair.a.instructions
    assert sum(node.b - node.a for node in pair.nodes) == sum(pair.more.values())
    assert ["add"] in [node.nodes for node in pair.nodes]
    assert f"{pair.a.registers} → {pair.b.registers}" in "\n".join(compared(page))


SIGNS = (
    (TTIR, "tt.load", "tl.load("),
    (TTGIR, "tt.store", "tl.store("),
    (LLIR, "asm sideeffect", "tl.load("),
    (PTX, "ld.global", "tl.load("),
    (SASS, "LDG.E", "tl.load("),
)
"""What stands in a stage, and in the kernel's line that it comes from."""


def test_lines_come_from_the_kernels_lines(read: Database, fixtures: Path) -> None:
    (code,) = fixtures.glob("triton-cache/*/output_code.py")
    source = code.read_text().split("\n")
    for stage, sign, line in SIGNS:
        text = _text(read, stage)
        numbered = enumerate(text.text.split("\n"))
        at = next(number for number, row in numbered if sign in row and text.at[number] >= 0)
        (own,) = text.places[text.at[at]].lines
        assert line in source[own - 1]
        assert text.places[text.at[at]].frames == [f"line {own}"]
        assert text.placed / text.instructions > (0.99 if stage == SASS else 0.85)
        assert text.with_nodes / text.instructions > 0.7
        assert bool(text.live) == (stage == SASS)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"MZ", "no compiled kernel"),
        (b"\x7fELF" + bytes(4000), "cannot read"),
        (b"cut", "cannot read"),
    ],
)
def test_a_damaged_cubin_is_a_sentence(
    db: Database, fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    content: bytes, said: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path / "kept"))
    folder = shutil.copytree(fixtures / "triton-cache", tmp_path / "cache")
    for cubin in folder.rglob("*.cubin"):
        cubin.write_bytes(cubin.read_bytes()[:3000] if content == b"cut" else content)
    db.read(folder)
    with pytest.raises(NotAnalysed, match=said):
        _text(db, SASS)


def test_a_cache_alone_is_a_graph_whose_lines_are_unknown(
    db: Database, fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path / "kept"))
    result = db.read(fixtures / "triton-cache" / "triton")
    assert (result.graphs, result.kernels) == (1, 1)
    text = _text(db, PTX)
    assert text.placed > 0
    assert all(place.lines == [] for place in text.places)
    (graph,) = db.graphs(result)
    assert b"def triton_poi_fused_add_0(in_out_ptr0, xnumel):" in db.texts(graph)[CODE]
    with db.sessions() as session:
        known = configurations(session, graph)
    assert len(known[KERNEL]) == 2


def test_machine_code_alone_is_refused_with_a_sentence(
    db: Database, fixtures: Path, tmp_path: Path
) -> None:
    (cubin,) = fixtures.glob("triton-cache/triton/K4*/*.cubin")
    for file in (cubin, fixtures / "ncu" / f"{KERNEL}.ncu-rep"):
        with pytest.raises(NothingToRead, match=r"Triton compiled|Nsight Compute"):
            db.read(file)


def _log(cache: Path, python: dict[str, object] | None) -> str:
    """What tritonparse writes of a folder of Triton's cache."""
    files = {file.name: file for file in cache.iterdir()}
    texts = {name: file.read_text() for name, file in files.items() if file.suffix != ".cubin"}
    payload = {
        "metadata": json.loads(texts[f"{KERNEL}.json"]),
        "file_content": texts,
        "python_source": python,
    }
    event = {"event_type": "compilation", "pid": 7, "stack": [], "payload": payload}
    launch = {"event_type": "launch", "pid": 7, "stack": []}
    lines = [json.dumps(entry) for entry in (event, launch, event)]
    return "\n".join([*lines, '{"event_type": "compilation", "payload": 3}']) + "\n"


def test_a_log_of_tritonparse_has_the_stages_and_the_source(
    db: Database, fixtures: Path, tmp_path: Path
) -> None:
    (cache,) = (fixtures / "triton-cache" / "triton").glob("K4*")
    (code,) = fixtures.glob("triton-cache/*/output_code.py")
    definition = code.read_text().split("'''")[1].split("\n")
    first = definition.index("@triton.jit")
    python = {"file_path": "/x.py", "start_line": first + 1, "code": "\n".join(definition[first:])}
    log = tmp_path / "dedicated_log_triton_trace_me_.ndjson"
    log.write_text(_log(cache, python))
    result = db.read(log)
    assert (result.graphs, result.kernels) == (1, 1)
    text = _text(db, TTIR)
    lines = db.texts(db.graphs(result)[0])[CODE].decode().split("\n")
    (at, load) = next(line for line in enumerate(text.text.split("\n")) if "tt.load" in line[1])
    assert "tl.load(" in lines[text.places[text.at[at]].lines[0] - 1], load
    said = [note.reason for note in db.run(result).report.dropped]
    assert said == ["a compilation that could not be read"]
    with db.sessions() as session:
        (graph,) = db.graphs(result)
        found, _ = kernel_figures(session, graph, KERNEL)
    assert found is not None
    assert "did not come" in found.missing


def test_a_log_of_tritonparse_joins_the_kernels_of_the_code(
    db: Database, fixtures: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "upload"
    (model,) = (fixtures / "triton-cache").glob("model*")
    (cache,) = (fixtures / "triton-cache" / "triton").glob("K4*")
    shutil.copytree(model, folder / model.name)
    with gzip.open(folder / "trace.ndjson.gz", "wt") as log:
        log.write(_log(cache, None))
    result = db.read(folder)
    assert result.graphs == 1
    text = _text(db, LLIR)
    assert text.with_nodes / text.instructions > 0.7


GCN = """\t.amdgcn_target "amdgcn-amd-amdhsa--gfx1151"
\t.text
triton_poi_fused_add_0:                 ; @triton_poi_fused_add_0
.Lfunc_begin0:
\t.file\t1 "/tmp/o" "c{stem}.py"
\t.loc\t1 18 0                          ; c{stem}.py:18:0
; %bb.0:
\ts_clause 0x1
\t.loc\t1 24 34 prologue_end            ; c{stem}.py:24:34
\tglobal_load_b32 v0, v0, s[0:1]
\t.file\t2 "/site-packages/triton/language" "standard.py"
\t.loc\t2 43 13                         ; standard.py:43:13 @[ c{stem}.py:24:30 ]
\tscratch_store_b32 off, v1, off offset:36 ; 4-byte Folded Spill
\ts_endpgm
.Lfunc_end0:
\t.byte\t0                               ; EOM(2)
amdhsa.kernels:
    .group_segment_fixed_size: 64
    .private_segment_fixed_size: 96
    .vgpr_count:     256
"""
"""Cut from what Triton compiled for a GPU of AMD."""


def test_code_of_amds_gpus_is_a_stage(db: Database, fixtures: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(fixtures / "triton-cache", tmp_path / "cache")
    for cubin in folder.rglob("*.cubin"):
        cubin.unlink()
        (source,) = set(re.findall(r"/c([a-z2-7]{51})\.py", cubin.with_suffix(".ttir").read_text()))
        cubin.with_suffix(".amdgcn").write_text(GCN.replace("{stem}", source))
    db.read(folder)
    text = _text(db, AMDGCN)
    assert (text.instructions, text.placed, text.with_nodes) == (4, 4, 3)
    assert [text.text.split("\n")[at].split()[0] for at in text.spills] == ["scratch_store_b32"]
    frames = text.places[text.at[text.spills[0]]].frames
    assert (frames[0], len(frames)) == ("standard.py:43", 2)
    with db.sessions() as session:
        found, _ = kernel_figures(session, session.scalars(select(Graph)).one(), KERNEL)
    assert found is not None
    first = found.configurations[0]
    assert (first.registers, first.local, found.spills, found.stage) == (256, 96, 1, AMDGCN)


def test_a_report_of_nsight_compute_is_joined_by_address(
    db: Database, fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path / "kept"))
    folder = shutil.copytree(fixtures / "triton-cache", tmp_path / "cache")
    shutil.copy(fixtures / "ncu" / f"{KERNEL}.ncu-rep", folder)
    db.read(folder)
    text = _text(db, SASS)
    with db.sessions() as session:
        found, _ = kernel_figures(session, session.scalars(select(Graph)).one(), KERNEL)
    assert found is not None
    assert found.profile is not None
    # As Nsight Compute's own export has it.
    assert (found.profile.duration_us, found.profile.read_bytes) == (3.328, 2_099_968)
    assert [text.samples[at] for at in sorted(text.stalls)] == [60, 4, 10, 3, 5, 1, 159, 1, 12]
    waits = next(at for at, line in enumerate(text.text.split("\n")) if "HADD2" in line)
    assert text.stalls[waits] == "159 long scoreboard"
    assert found.profile.samples == sum(text.samples) == sum(line.samples for line in found.lines)
    assert {stall.reason: stall.samples for stall in found.profile.stalls}["no instructions"] == 44
    assert sum(line.bytes for line in found.lines) == 131_072 * 32
    assert (found.lines[0].samples, found.lines[0].waits) == (172, "long_scoreboard")


def test_a_figure_of_a_report_is_finite(fixtures: Path) -> None:
    data = (fixtures / "ncu" / f"{KERNEL}.ncu-rep").read_bytes()
    damaged = data.replace(struct.pack("<d", 2_099_968), struct.pack("<d", math.inf))
    assert damaged != data
    assert read_report(damaged).launches[0].figures[READ] == 0


def test_its_files_are_recognised(fixtures: Path) -> None:
    roles = {file.role for file in recognise(fixtures / "triton-cache").files}
    assert {*OF_KERNELS} - {ASSEMBLY, AMDGCN} | {"triton_metadata", "best_config"} <= roles


def test_figures_of_a_kernel(read: Database) -> None:
    with read.sessions() as session:
        found, _ = kernel_figures(session, session.scalars(select(Graph)).one(), KERNEL)
    assert found is not None
    first = found.configurations[0]
    assert (first.ran, first.registers, first.local, first.shared) == (True, 8, 0, 0)
    assert first.occupancy is not None
    assert first.occupancy.share == 1.0
    assert sum(found.mix.values()) == found.instructions == found.placed
    assert sum(line.instructions for line in found.lines) == found.instructions
    assert (found.spills, found.tensor) == (0, 0)
    assert [line.nodes for line in found.lines if "tl.load" in line.text] == [["add"]]


def test_a_capture_keeps_what_was_compiled_of_its_kernels(fixtures: Path, tmp_path: Path) -> None:
    cache, out = tmp_path / "cache", tmp_path / "out"
    shutil.copytree(fixtures / "triton-cache" / "triton", cache / "triton")
    for chosen in (fixtures / "triton-cache").glob("*.best_config"):
        (cache / "xy").mkdir(exist_ok=True)
        shutil.copy(chosen, cache / "xy")
    keep_compiled(cache, out)
    assert not out.exists()  # no kernel of the capture
    (model,) = (fixtures / "triton-cache").glob("model*")
    shutil.copytree(model, out / DEBUG_FOLDER / model.name)
    keep_compiled(cache, out)
    kept = sorted(file.suffix for file in (out / "triton").rglob("*.*"))
    endings = [*(set(OF_KERNELS.values()) - {".main.so", ".amdgcn"}), ".json"]
    assert kept == sorted([*endings, *endings, ".best_config"])


def test_indices_and_masks_serve_the_lines_that_need_them() -> None:
    lines = [
        "    xoffset = tl.program_id(0) * XBLOCK",
        "    xmask = xindex < xnumel",
        "    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):",
        "        x0 = xoffset + r0_offset",
        "        tmp0 = tl.load(in_ptr0 + (x0), xmask)",
        "    unused = 3",
    ]
    assert serving(lines, {4}) == {0: [4], 1: [4], 2: [4], 3: [4]}


def test_lines_around_the_loops_belong_to_the_whole_kernel() -> None:
    around = [
        "    {", "}", "  int tid = omp_get_thread_num();", "#pragma omp parallel num_threads(2)",
        'torch::aot_inductor::RAIIAtenRecordFunctionHandle record_graph_0("graph_0");',
        "inductor_cpu_throw_if_integer_div_error(inductor_cpu_integer_div_error);",
    ]  # fmt: skip
    assert all(map(is_around, around))
    inside = ["for(int64_t x0=0; x0<8; x0+=1) {", "auto tmp0 = in_ptr0[x0];", "{ auto x = 1; }"]
    assert not any(map(is_around, inside))


def test_places_defined_by_themselves_end() -> None:
    text = '#loc1 = loc(callsite(#loc2 at #loc1))\n#loc2 = loc("a.py":3:1)\n  %0 = x loc(#loc1)'
    assert read_mlir(text).places == [(("a.py", 3),)]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture with a C++ kernel, from a cache that has another one too."""
    folder = tmp_path_factory.mktemp("cpp")
    stem = "c" + "a" * 51
    cache = folder / "cache" / "aa"
    cache.mkdir(parents=True)
    source = cache / f"{stem}.main.cpp"
    source.write_text(f"{loop.SOURCE}{BINDINGS}kernel():\nint answer() {{ return 42; }}\n")
    library = source.with_suffix(".so")
    command = ["g++", "-O2", "-g1", "-fPIC", "-shared", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    other = cache / f"c{'b' * 51}.main.cpp"
    other.write_text("int other;")
    shutil.copy(library, other.with_suffix(".so"))
    loop.write_code(folder / "out" / DEBUG_FOLDER)
    keep_compiled(folder / "cache", folder / "out")
    assert len(list((folder / "out" / "libraries").iterdir())) == 1
    return folder / "out"


def test_a_loop_that_calls_a_function_for_each_element_is_named(
    compiled: Path, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path / "kept"))
    db.read(compiled)
    with db.sessions() as session:
        graph = session.scalars(select(Graph)).one()
        text = machine_text(session, graph.run_id, graph.slug, loop.KERNEL, ASSEMBLY)
        _, figures = kernel_figures(session, graph, loop.KERNEL)
    assert "answer" not in text.text
    assert text.placed == text.instructions > 5
    assert (text.with_nodes, text.whole > 0) == (0, True)
    assert figures is not None
    (found,) = figures.loops
    assert (found.scalar, found.calls, found.depth) == (True, {"sinf": 1}, 1)
    assert ("cycles" in figures.estimate) == bool(shutil.which("llvm-mca"))
    sines = [line for line in figures.lines if "std::sin" in line.text]
    assert found.lines is not None
    assert found.lines[0] <= sines[0].line <= found.lines[1]
    assert sines[0].without == "auto tmp1 = tmp0;"


def test_a_damaged_library_is_a_sentence(
    compiled: Path, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path / "kept"))
    folder = shutil.copytree(compiled, tmp_path / "damaged")
    for library in folder.rglob("*.so"):
        library.write_bytes(library.read_bytes()[:2000])
    db.read(folder)
    with db.sessions() as session:
        graph = session.scalars(select(Graph)).one()
        _, figures = kernel_figures(session, graph, loop.KERNEL)
    assert figures is not None
    assert "objdump cannot read this kernel" in figures.missing


def test_an_upload_of_a_cache_joins_its_libraries(compiled: Path, db: Database) -> None:
    """A `.main.so` is a library of the kernel that lies beside it as source."""
    upload = compiled.parent / "upload"
    shutil.copytree(compiled / DEBUG_FOLDER, upload / DEBUG_FOLDER)
    shutil.copytree(compiled.parent / "cache", upload / "cache")
    db.read(upload)
    with db.sessions() as session:
        graph = session.scalars(select(Graph)).one()
        ((name, (configuration,)),) = configurations(session, graph).items()
    assert (name, list(configuration.files), configuration.ran) == (loop.KERNEL, [ASSEMBLY], True)
