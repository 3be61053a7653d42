"""AOTInductor packs a C++ wrapper and its kernels in two files: together they are one graph."""

import shutil
from pathlib import Path

from inductorscope.store.tables.models import KernelCall
from sqlalchemy import select

from tests.support.readings import Database


def test_a_wrapper_and_its_kernels_are_one_graph(db: Database, fixtures: Path) -> None:
    folder = fixtures / "aoti-cpu"
    result = db.read(folder)
    (graph,) = db.graphs(result)
    (kernel, *externs) = sorted(db.kernels(graph), key=lambda kernel: kernel.kind != "cpp")
    assert kernel.name == "cpp_fused__softmax_gelu_0"
    code = db.texts(graph)["code"].splitlines()
    assert kernel.first_line is not None
    assert kernel.last_line is not None
    body = code[kernel.first_line - 1 : kernel.last_line]
    (own,) = folder.glob("*.kernel.cpp")
    assert b"".join(body).split()
    assert set(body) <= set(own.read_bytes().splitlines())
    with db.sessions() as session:
        query = select(KernelCall.line).where(KernelCall.kernel_id == kernel.id)
        (line,) = session.scalars(query)
    assert code[line - 1].strip().startswith(b"cpp_fused__softmax_gelu_0((const float*)(buf0")
    assert [extern.name for extern in externs] == ["aoti_torch_cpu_addmm_out"]
    kept = {artifact.role: artifact for artifact in db.artifacts(result)}
    assert kept["code"].derived, "nobody uploaded it so"
    parts = db.artifacts(result, "wrapper_part")
    assert {part.path for part in parts} == {path.name for path in folder.iterdir()}
    assert not any(part.derived for part in parts)


def test_a_second_wrapper_leaves_everything_apart(
    db: Database, fixtures: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "two"
    shutil.copytree(fixtures / "aoti-cpu", folder)
    (wrapper,) = folder.glob("*.wrapper.cpp")
    shutil.copy(wrapper, folder / "other.wrapper.cpp")
    result = db.read(folder)
    assert len(db.graphs(result)) == 3, "which kernels are whose cannot be known"
