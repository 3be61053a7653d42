"""What an upload is taken for: any level of a debug folder, logs and profiles beside it."""

import gzip
import inspect
import io
import re
import shutil
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import zstandard
from inductorscope.formats.capture_facts import SOURCES, SourceFiles
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.vocabulary import ROLE_TITLES
from inductorscope.intake import sniff
from inductorscope.intake.limits import Limits
from inductorscope.intake.recognise import Intake, recognise
from inductorscope.intake.sniff import HEAD, NESTED, role_of
from inductorscope.intake.unpack import unpack
from inductorscope.settings import load

RUN = "torch_compile_debug/run_2026_11_21_01_25_55_680737-pid_420"
GRAPH = f"{RUN}/torchinductor/model__0_inference_0.0"
GRAPH_FILES = {
    "fx_graph_readable.py": "readable",
    "fx_graph_runnable.py": "fx_runnable",
    "fx_graph_transformed.py": "post_grad",
    "inductor_provenance_tracking_node_mappings.json": "provenance",
    "ir_post_fusion.txt": "ir_post",
    "ir_pre_fusion.txt": "ir_pre",
    "output_code.py": "code",
}


@pytest.fixture
def foo(fixtures: Path) -> Path:
    return fixtures / "cuda-foo1"


def roles(intake: Intake) -> dict[str, str]:
    return {file.path: file.role for file in intake.files}


def test_a_whole_run(foo: Path) -> None:
    intake = recognise(foo)
    assert roles(intake) == {
        "compiled.table.txt": "key_averages",
        "compiled.trace.json.gz": "chrome_trace",
        "eager.table.txt": "key_averages",
        "eager.trace.json.gz": "chrome_trace",
        "result.json": "result",
        f"{RUN}/torchdynamo/debug.log": "debug_log",
        f"{RUN}/torchinductor/aot_model___0_debug.log": "debug_log",
        "torch_trace/dedicated_log_torch_trace_dvmw878j.log": "trace_log",
        **{f"{GRAPH}/{name}": role for name, role in GRAPH_FILES.items()},
    }
    (graph,) = intake.graphs
    assert (graph.name, graph.slug) == ("model__0_inference_0.0", "model__0_inference_0.0")
    assert graph.process == "run_2026_11_21_01_25_55_680737-pid_420"
    assert graph.files == {role: foo / GRAPH / name for name, role in GRAPH_FILES.items()}
    assert intake.dropped == []
    assert intake.known
    assert {file.path for file in intake.files if file.graph} == {
        f"{GRAPH}/{name}" for name in GRAPH_FILES
    }


@pytest.mark.parametrize("level", ["torch_compile_debug", RUN, f"{RUN}/torchinductor", GRAPH])
def test_any_level_of_the_debug_folder(foo: Path, level: str) -> None:
    intake = recognise(foo / level)
    assert [graph.name for graph in intake.graphs] == ["model__0_inference_0.0"]
    assert set(intake.graphs[0].files) == set(GRAPH_FILES.values())


@pytest.mark.parametrize(("name", "role"), GRAPH_FILES.items())
@pytest.mark.parametrize("renamed", [False, True])
def test_single_files_by_their_content(
    foo: Path, tmp_path: Path, name: str, role: str, renamed: bool
) -> None:
    target = tmp_path / ("thing" if renamed else name)
    shutil.copy(foo / GRAPH / name, target)
    intake = recognise(target)
    (file,) = intake.files
    (graph,) = intake.graphs
    if renamed and role == "readable":
        role = "post_grad"  # both hold the same kind of text
    if renamed and role == "ir_post":
        role = "ir_pre"  # nothing was fused in this one
    assert (file.role, file.path) == (role, target.name)
    assert graph.files == {role: target}
    assert file.graph == graph.slug


def test_a_lone_output_code_is_named_by_its_aot_id(foo: Path, tmp_path: Path) -> None:
    shutil.copy(foo / GRAPH / "output_code.py", tmp_path / "c2hxy.py")
    (graph,) = recognise(tmp_path / "c2hxy.py").graphs
    assert graph.name == "model__0_inference"
    text = (foo / GRAPH / "output_code.py").read_text().split("\n", 1)[1]
    (tmp_path / "c2hxy.py").write_text(text)
    (graph,) = recognise(tmp_path / "c2hxy.py").graphs
    assert graph.name == "c2hxy"


def test_several_output_codes_in_a_folder_are_several_graphs(foo: Path, tmp_path: Path) -> None:
    for name in ("ca.py", "cb.py"):
        shutil.copy(foo / GRAPH / "output_code.py", tmp_path / name)
    intake = recognise(tmp_path)
    assert [graph.slug for graph in intake.graphs] == [
        "model__0_inference",
        "model__0_inference~2",
    ]
    assert {file.graph for file in intake.files} == {graph.slug for graph in intake.graphs}


def test_two_processes_with_the_same_folder_names(foo: Path, tmp_path: Path) -> None:
    for rank in (0, 1):
        shutil.copytree(foo / RUN, tmp_path / f"run_2026_11_21_01_25_55_68073{rank}-pid_42{rank}")
    intake = recognise(tmp_path)
    assert [graph.slug for graph in intake.graphs] == [
        "model__0_inference_0.0",
        "model__0_inference_0.0~2",
    ]
    assert len({graph.process for graph in intake.graphs}) == 2
    assert len({file.graph for file in intake.files if file.graph}) == 2


def test_slugs_fit_a_url(foo: Path, tmp_path: Path) -> None:
    folder = tmp_path / "up" / "model_<script>alert(1)</scr ipt>~2"[:20]
    shutil.copytree(foo / GRAPH, folder)
    (graph,) = recognise(tmp_path).graphs
    assert graph.name == folder.name
    assert graph.slug == "model_-script-alert"


def as_zip(folder: Path, out: Path) -> Path:
    with zipfile.ZipFile(out, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, Path("some") / folder.name / path.relative_to(folder))
    return out


def as_tar_zst(folder: Path, out: Path) -> Path:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        archive.add(folder, arcname=".")
    out.write_bytes(zstandard.compress(plain.getvalue()))
    return out


def test_folder_and_archives_have_the_same_digest(foo: Path, tmp_path: Path) -> None:
    limits = Limits.of(load())
    sources = [foo, as_zip(foo, tmp_path / "x.zip"), as_tar_zst(foo, tmp_path / "x.tar.zst")]
    digests = {recognise(foo).content_digest}
    for number, source in enumerate(sources):
        unpack(source, tmp_path / str(number), limits)
        digests.add(recognise(tmp_path / str(number)).content_digest)
    assert len(digests) == 1
    (tmp_path / "0" / foo.name / "result.json").write_text("{}")
    assert recognise(tmp_path / "0").content_digest not in digests


def test_junk_is_left_out_and_reported(foo: Path, tmp_path: Path) -> None:
    shutil.copytree(foo, tmp_path / "a" / "foo")
    before = recognise(tmp_path).content_digest
    (tmp_path / "a" / ".DS_Store").write_bytes(b"junk")
    (tmp_path / "a" / "foo" / "._result.json").write_bytes(b"junk")
    (tmp_path / "__MACOSX" / "deep").mkdir(parents=True)
    (tmp_path / "__MACOSX" / "deep" / "x").write_bytes(b"junk")
    (tmp_path / "a" / "hollow").mkdir()
    after = recognise(tmp_path)
    assert after.content_digest == before
    assert {(dropped.reason, dropped.count) for dropped in after.dropped} == {
        ("a file of another program", 3),
        ("an empty folder", 1),
    }


def test_packed_logs_are_kept_and_nested_archives_dropped(foo: Path, tmp_path: Path) -> None:
    (log,) = (foo / "torch_trace").iterdir()
    (tmp_path / "log.log.gz").write_bytes(gzip.compress(log.read_bytes()))
    shutil.copy(foo / "compiled.trace.json.gz", tmp_path)
    as_zip(foo, tmp_path / "nested.zip")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(foo / "result.json", "result.json")
    (tmp_path / "nested.tar.gz").write_bytes(packed.getvalue())
    intake = recognise(tmp_path)
    assert roles(intake) == {"log.log.gz": "trace_log", "compiled.trace.json.gz": "chrome_trace"}
    (dropped,) = intake.dropped
    assert (dropped.file, dropped.count) == ("nested.tar.gz", 2)
    assert "inside the upload" in dropped.reason


def test_links_in_a_folder_are_not_followed(foo: Path, tmp_path: Path) -> None:
    shutil.copy(foo / "result.json", tmp_path)
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    (tmp_path / "etc").symlink_to("/etc")
    intake = recognise(tmp_path)
    assert list(roles(intake)) == ["result.json"]
    assert [(dropped.count, "link" in dropped.reason) for dropped in intake.dropped] == [(2, True)]


def test_sources_that_a_capture_copied(foo: Path, tmp_path: Path) -> None:
    code = (foo / GRAPH / "output_code.py").read_bytes()
    (tmp_path / "sources" / "0").mkdir(parents=True)
    (tmp_path / "sources" / "0" / "models.py").write_bytes(code)  # looks like generated code
    listed = SourceFiles(files={"/home/u/models.py": "sources/0/models.py"})
    (tmp_path / SOURCES).write_bytes(msgspec.json.encode(listed))  # as a capture writes it
    (tmp_path / "capture.json").write_text('{"torch_version": "2.13.0"}')
    intake = recognise(tmp_path)
    assert intake.graphs == []
    assert roles(intake)["capture.json"] == "capture"
    (source,) = [file for file in intake.files if file.role == "source"]
    assert source.source_path == "/home/u/models.py"


def test_a_folder_of_nothing_known(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "photo.bin").write_bytes(bytes(range(256)))
    intake = recognise(tmp_path)
    assert set(roles(intake).values()) == {"other"}
    assert not intake.known


def test_an_empty_folder(tmp_path: Path) -> None:
    intake = recognise(tmp_path)
    assert (intake.files, intake.graphs, intake.known) == ([], [], False)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    import os

    with open(os.fsencode(tmp_path) + b"/bad\xff.txt", "wb") as odd:  # noqa: PTH123
        odd.write(b"x")
    (file,) = recognise(tmp_path).files
    file.path.encode()  # fit for a database


def test_real_captures(shared: Path) -> None:
    train = recognise(shared / "traces" / "cuda-gpt-train")
    assert [graph.name for graph in train.graphs] == [
        "model__0_forward_1.0",
        "model__0_backward_3.1",
    ]
    assert "provenance" not in train.graphs[1].files
    by_graph = [file.graph for file in train.files if file.role == "chrome_trace"]
    assert sorted(filter(None, by_graph)) == ["model__0_backward_3.1", "model__0_forward_1.0"]
    assert len(recognise(shared / "traces" / "cuda-dynamic").graphs) == 6
    logs = recognise(shared / "traces" / "logs")
    assert {file.role for file in logs.files} == {"trace_log"}
    profiles = recognise(shared / "traces" / "profiles")
    assert {file.role for file in profiles.files} == {"chrome_trace"}


@pytest.mark.parametrize(
    "text",
    [
        b"-" * 65536,
        b"\n" * 65536,
        b"class G(torch.nn.Module):" + b"\n" * 65536,
        b"def forward(self," * 4000,
        b"x" * 65536,
        b"x: y" * 20000,
        b"V1121 01:25:55.0 1 " + b"a:1" * 20000,
        b'{"' * 30000,
        b"a = f(" * 10000,
        b"a = b();  a = " * 4000,
        b"  buf0 = empty_strided" * 3000,
        b'extern "C"' + b" " * 60000,
        b"op1: SchedulerNode(\n" * 3000,
        b"[rank0]:V1121 07:03:54.1 6 " * 2000 + b"] [__",
        b"@triton.jit\n" * 5000,
    ],
)
def test_no_text_takes_long_to_recognise(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "odd").write_bytes(text)
    start = time.thread_time()
    recognise(tmp_path)
    assert time.thread_time() - start < 2


def role_of_lone(folder: Path, content: str | bytes, name: str = "thing") -> str:
    """What a file by itself is taken for, under a name that says nothing."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (file,) = recognise(path).files
    path.unlink()
    return file.role


def test_code_of_every_wrapper_under_any_name(fixtures: Path, tmp_path: Path) -> None:
    files = sorted((fixtures / "output-code").iterdir())
    assert len(files) > 10
    for file in files:
        expected = "kernel_information" if file.suffix == ".json" else "code"
        assert role_of_lone(tmp_path, file.read_bytes()) == expected


def test_scheduler_nodes_before_and_after_fusion(shared: Path, tmp_path: Path) -> None:
    """Where the two texts differ in their nodes, they are told apart without their names."""
    told = 0
    for file in sorted(shared.rglob("ir_post_fusion.txt")):
        before = file.with_name("ir_pre_fusion.txt").read_text()
        after = file.read_text()
        assert role_of_lone(tmp_path, before) == "ir_pre"
        heads = [re.findall(r"^\w+: \w+Node\(", text, re.M) for text in (before, after)]
        if heads[0] != heads[1]:
            told += 1
            assert role_of_lone(tmp_path, after) == "ir_post"
    assert told > 25


def test_listings_of_a_tutorial(shared: Path, tmp_path: Path) -> None:
    """Each saved by itself, with a line or two of the prose around it."""
    lines = next((shared / "seeds").glob("001_*.txt")).read_text().split("\n")

    def listing(first: str, last: str) -> str:
        start = lines.index(first)
        return "\n".join(lines[start : lines.index(last, start) + 1])

    graph = listing("fx_graph_runnable:", "    return (clone,)")
    assert role_of_lone(tmp_path, graph) == "post_grad"
    assert [node.name for node in parse_fx(graph).nodes][2:] == [
        "neg", "maximum", "clone", "output",
    ]  # fmt: skip
    kernel = listing("C++ kernel in output_code:", "}''')")
    assert role_of_lone(tmp_path, kernel) == "code"
    bare = listing("C++ kernel:", "IR node:")
    assert role_of_lone(tmp_path, bare) == "code"
    assert parse_output_code(bare).kernels[0].parameters == ["in_ptr0", "in_ptr1", "out_ptr0"]
    node = listing("IR node:", "        return store")
    assert role_of_lone(tmp_path, node) == "ir_pre"
    assert role_of_lone(tmp_path, "\n".join(lines[514:540])) == "key_averages"
    table = next((shared / "seeds").glob("002_*.txt")).read_text().split("\n")[530:570]
    assert role_of_lone(tmp_path, "\n".join(table)) == "ir_pre"
    assert role_of_lone(tmp_path, "\n".join(lines[:60])) == "other"


JIT = "@triton.jit\ndef triton_poi_fused_neg_0(in_ptr0, xnumel):\n    tmp0 = tl.load(in_ptr0)\n"
GRAPH_PRINTED = "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    return x\n"
JOINT_GRAPH = (
    "class inner_f(torch.nn.Module):\n    def forward(self, primals, tangents):\n        x\n"
)


@pytest.mark.parametrize(
    ("role", "content"),
    [
        ("code", f"import triton\n{JIT}"),
        ("code", "    buf0 = empty_strided_cuda((8, ), (1, ), torch.float32)\n"),
        (
            "code",
            '#include "x.h"\nextern "C"  void  cpp_fused_neg_0(const float* p)\n{\n}\n',
        ),
        ("post_grad", GRAPH_PRINTED),
        ("post_grad", "    neg = torch.ops.aten.neg.default(x);  x = None\n"),
        ("joint", JOINT_GRAPH),
        ("kernel_information", '{"k:1": {"stack_traces": [], "post_grad_nodes": ["neg"]}}'),
        ("kernel_stacks", '{"k:1": ["  File \\"/a.py\\", line 1, in f"]}'),
        ("provenance", '{"neg": [{"name": "", "pass_name": "p", "action": "c", "from_node": []}]}'),
        ("best_config", '{"XBLOCK": 128, "num_warps": 4, "configs_hash": "c0ffee"}'),
        ("intermediate_values", "[  before_launch - aoti_torch_cpu_mm_out - buf0  ]:\n 1\n"),
        ("intermediate_values", "[ after_launch: cpp_fused_relu_sum_1 ]\n"),
        ("diagram", '<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "">\n<svg></svg>'),
        ("diagram", 'digraph "buffers" {\n a -> b;\n}\n'),
        ("other", '<?xml version="1.0"?>\n<project></project>'),
        ("other", "@triton.jit\ndef my_kernel(x):\n    pass\n"),
        ("other", "Total graph of the week {see below}\n"),
    ],
)
def test_other_files_by_their_content(tmp_path: Path, role: str, content: str) -> None:
    assert role_of_lone(tmp_path, content) == role


def test_what_logging_printed(foo: Path, tmp_path: Path) -> None:
    """Saved from TORCH_LOGS, which puts a time and a place before every line."""
    for name, role in (("fx_graph_transformed.py", "post_grad"), ("output_code.py", "code")):
        lines = (foo / GRAPH / name).read_text().split("\n")
        place = "V1121 07:03:54.123000 69 torch/_inductor/x.py:7] [0/0] [__output_code]"
        assert role_of_lone(tmp_path, "\n".join(f"{place} {line}" for line in lines)) == role


def test_kernels_of_the_cache_and_saved_tensors_by_their_names(tmp_path: Path) -> None:
    cached = "cfqn54ec6ehs2nkfza4ngx5yorsokicv3iwkxz7ktkbzvqmlxi7c.py"
    assert role_of(cached, f"import triton\n{JIT}".encode()) == "kernel_file"
    tensor = io.BytesIO()
    with zipfile.ZipFile(tensor, "w") as archive:
        archive.writestr("archive/data/0", b"\0" * 32)
    name = "aoti_torchbefore_launch_cpp_fused_0_buf0_cpu.pt"
    assert role_of_lone(tmp_path, tensor.getvalue(), name) == "intermediate_values"
    assert role_of_lone(tmp_path, tensor.getvalue(), "weights.pt") == "other"


def test_exact_names_decide_but_output_saved_under_one_does_not(foo: Path, tmp_path: Path) -> None:
    graph = (foo / GRAPH / "fx_graph_transformed.py").read_text()
    assert role_of_lone(tmp_path, graph, "ir_pre_fusion.txt") == "ir_pre"
    assert role_of_lone(tmp_path, graph, "debug.log") == "post_grad"
    logged = next((foo / "torch_trace").iterdir()).read_bytes()
    assert role_of_lone(tmp_path, logged, "output_code.py") == "trace_log"


def test_programs_of_the_user_are_sources(shared: Path, tmp_path: Path) -> None:
    models = (shared / "traces" / "models" / "models.py").read_bytes()
    assert role_of_lone(tmp_path, models, "models.py") == "source"
    custom = "import triton\n@triton.jit\ndef add(x):\n    return x + torch.ops.my.op(x)\n"
    assert role_of_lone(tmp_path, custom, "ops.py") == "source"


def test_every_role_is_one_that_is_stored() -> None:
    told = set(re.findall(r'(?:return|else|:) "([a-z_]+)"', inspect.getsource(sniff)))
    assert told - {"nested archive"} <= set(ROLE_TITLES)


@pytest.mark.parametrize("prefix", [b"", b"[rank3]:", b"[default0]:", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_log_is_told_however_it_is_packed_and_prefixed(
    fixtures: Path, prefix: bytes, pack: Callable[[bytes], bytes]
) -> None:
    log = next((fixtures / "cuda-foo1" / "torch_trace").iterdir()).read_bytes()
    assert role_of("some.log", pack(prefix + log)[:HEAD]) == "trace_log"


def test_of_zstd_only_what_its_reader_unpacks_is_taken() -> None:
    pack = zstandard.ZstdCompressor().compress
    assert role_of("output_code.py.zst", pack(b"async_compile = AsyncCompile()\n" * 9)) == NESTED
    assert role_of("bomb.zst", pack(bytes(2**27))[:HEAD]) == NESTED
