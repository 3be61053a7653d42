"""Lines of kernels → operations and FX nodes, over every call of every kernel."""

from __future__ import annotations

from inductorscope.correlate.collect import Collector
from inductorscope.correlate.kernel_lines import align_call, read_kernel_text
from inductorscope.correlate.model import Confidence
from inductorscope.correlate.schedule import call_sites
from inductorscope.correlate.text_stages import op_entity
from inductorscope.formats.ir import IrText
from inductorscope.formats.output_code import OutputCode
from inductorscope.formats.scan import lines_of


def link_lines(collector: Collector, code: OutputCode, text: str, ir: IrText) -> None:
    lines = lines_of(text)
    texts = {kernel.name: read_kernel_text(kernel, lines) for kernel in code.kernels}
    for site in call_sites(code, lines, ir):
        entity = f"call:{site.call.kernel}:{site.call.handle}"
        found = align_call(texts[site.kernel.name], site)
        for line, keys in found.lines.items():
            for node, block, op in keys:
                name = op_entity(node, block, op)
                collector.add("code", line, name, Confidence.inferred, call=entity)
