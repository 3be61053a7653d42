"""What `fx_graph_runnable.py` repeats: environment, configuration, versions, GPU.

os.environ['TORCHINDUCTOR_MAX_AUTOTUNE'] = '1'
torch._inductor.config.max_autotune = True
# torch version: 2.11.0+cu130
# torch cuda version: 13.0
# torch git version: 70d99e998b4955e0049d13a98d77ae1b14db1f45
# GPU Hardware Info:
# NVIDIA H200 : 1
"""

import re

_ENVIRONMENT = re.compile(r"^os\.environ\['(\w{1,200})'\] = '([^'\n]{0,2000})'", re.M)
_CONFIGURATION = re.compile(r"^torch\.([\w.]{1,200}) = ([^\n]{1,2000})", re.M)
_TORCH = re.compile(r"^# torch version: (\S{1,80})", re.M)
_GIT = re.compile(r"^# torch git version: ([0-9a-f]{7,40})", re.M)
_GPU = re.compile(r"^# GPU Hardware Info:[^\n]*\n# ([^\n:]{1,100}?) :", re.M)
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


def compiled_with(text: str) -> dict[str, str]:
    """`torch_version`, `torch_git` and `device_name`, as far as the comments have them."""
    found = {
        "torch_version": _TORCH.search(text),
        "torch_git": _GIT.search(text),
        "device_name": _GPU.search(text),
    }
    return {name: match.group(1) for name, match in found.items() if match is not None}
