"""Which changes of Inductor a survey finds: each is planted into torch while it is imported.

`python -m bench.atlas.planted FOLDER` surveys a few programs with this torch and with each planted
change, and prints the events of each.
"""

import os
import stat
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SITE = """\
import sys
from importlib.machinery import PathFinder, SourceFileLoader

MODULE, OLD, NEW = {planted!r}


class Planted(SourceFileLoader):
    def get_code(self, name):
        text = self.get_data(self.path).decode()
        assert text.count(OLD) == 1, (MODULE, text.count(OLD))
        return compile(text.replace(OLD, NEW), self.path, "exec")


class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = super().find_spec(name, path, target) if name == MODULE else None
        if spec is not None:
            spec.loader = Planted(name, spec.origin)
        return spec


sys.meta_path.insert(0, Finder)
"""
CONFIG, CPP = "torch._inductor.config", "torch._inductor.codegen.cpp"
DECOMPOSITIONS = "torch._inductor.decomposition"
CHANGES = {
    "fusion: at most one node": (CONFIG, "max_fusion_size = 64", "max_fusion_size = 1"),
    "fusion: none of siblings": (
        CPP, "    def can_fuse_horizontal(self, node1, node2):\n",
        "    def can_fuse_horizontal(self, node1, node2):\n        return False\n",
    ),
    "fusion: none of outer loops": (
        CPP, "    def can_fuse_vertical_outer_loop(self, node1, node2):\n",
        "    def can_fuse_vertical_outer_loop(self, node1, node2):\n        return False\n",
    ),
    "decomposition: no GELU": (DECOMPOSITIONS, "        aten.gelu,\n", ""),
    "heuristic: 4 values at a time": (
        CONFIG, "    simdlen: int | None = None", "    simdlen: int | None = 128",
    ),
    "heuristic: softmax in two passes": (
        CONFIG, '"TORCHINDUCTOR_ONLINE_SOFTMAX", "1") == "1"',
        '"TORCHINDUCTOR_ONLINE_SOFTMAX", "1") == "2"',
    ),
    "layout: no channels last": (
        CONFIG, '"TORCHINDUCTOR_LAYOUT_OPTIMIZATION", layout_opt_default) == "1"',
        '"TORCHINDUCTOR_LAYOUT_OPTIMIZATION", layout_opt_default) == "2"',
    ),
    "pattern: none is matched": (CONFIG, "\npattern_matcher = True", "\npattern_matcher = False"),
    "memory: no buffer in place": (CONFIG, "\ninplace_buffers = True", "\ninplace_buffers = False"),
}  # fmt: skip
PROGRAMS = ("block", "attention", "convolutions", "statistics")


def planted_python(folder: Path, planted: tuple[str, str, str]) -> Path:
    """Makes a Python whose torch has the change: module, text and what replaces it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(SITE.format(planted=planted))
    python = folder / "python"
    path = f'"{folder}${{PYTHONPATH:+:$PYTHONPATH}}"'
    python.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {sys.executable} "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return python


def main(folder: Path) -> None:
    folder = folder.resolve()
    programs = [f'{name} = "{HERE / "programs.py"}:{name}"' for name in PROGRAMS]
    for number, (name, planted) in enumerate(CHANGES.items()):
        python = planted_python(folder / f"planted-{number}", planted)
        matrix = folder / f"planted-{number}.toml"
        pythons = [f'plain = "{sys.executable}"', f'"plain, then {name}" = "{python}"']
        matrix.write_text(
            "\n".join(['name = "planted"', "[pythons]", *pythons, "[programs]", *programs])
        )
        words = ["inductorscope", "survey", str(matrix), "--data", str(folder / "data")]
        found = folder / f"planted-{number}.md"
        found.unlink(missing_ok=True)
        subprocess.run([sys.executable, "-m", *words, "--markdown", str(found)], check=False,
                       env=os.environ | {"PYTHONUNBUFFERED": "1"})  # fmt: skip
        print(f"{name}\n{found.read_text()}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
