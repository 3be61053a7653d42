"""Settings that `fx_graph_runnable.py` repeats: environment, configuration, versions, GPU.

os.environ['TORCHINDUCTOR_MAX_AUTOTUNE'] = '1'
torch._inductor.config.max_autotune = True
# torch cuda version: 13.0
"""

from __future__ import annotations

import re

_ENVIRONMENT = re.compile(r"^os\.environ\['(\w{1,200})'\] = '([^'\n]{0,2000})'", re.M)
_CONFIGURATION = re.compile(r"^torch\.([\w.]{1,200}) = ([^\n]{1,2000})", re.M)
_CUDA = re.compile(r"^# torch cuda version: (?!None)(\S{1,80})", re.M)


def read_settings(text: str) -> dict[str, dict[str, str]]:
    """`environment`, `configuration` and `versions`: name → value as written."""
    cuda = _CUDA.findall(text)
    return {
        "environment": dict(_ENVIRONMENT.findall(text)),
        "configuration": {
            name.replace("config.", "").replace("._", ".").lstrip("_"): value.strip()
            for name, value in _CONFIGURATION.findall(text)
            if "config" in name
        },
        "versions": {"CUDA": cuda[0]} if cuda else {},
    }
