"""`fit.report`: the result of a fit on one page."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from appell.disk.output_file import write
from appell.report import model_page
from appell.report.html import caution, section, table
from appell.report.report import page_of, page_target, versions


def fit_report(found: Any, path: Any, *, title: str | None = None) -> Path:
    """See `Fit.report`."""
    target = page_target(path)
    rows = [tuple(map(escape, row)) for row in found.rows()]
    success = "<p>The search has ended, and the data tell every unknown.</p>"
    verdict = success if found.outcome == "complete" else caution(found.outcome)
    held_out_error = lambda name: f"{found.held_out[name]:.3g}" if name in found.held_out else "–"
    origin = lambda name: "given" if name in found.known_noise else "estimated"
    noise = [(escape(name), f"{level:.4g}", origin(name), held_out_error(name)) for name, level in found.noise.items()]
    parts = [
        section("Unknowns", verdict, table(rows, ("unknown", "value, SI", "standard error", "95 % interval")),
                *(caution(doubt) for doubt in found.doubts)),
        section("Measured and computed", _picture(found)),
        section("Noise", table(noise, ("quantity", "standard deviation, SI", "", "held out, in units of it"))),
        section("Model", model_page.model_html(found.system)),
        section("Run", table([("samples", str(sum(len(experiment.times) for experiment in found.experiments))),
                              ("motions computed", str(found.motions_computed)),
                              ("derivatives", "exact" if found.exact else "differences of motions"), *versions()])),
    ]  # fmt: skip
    return write(target, page_of(title or f"Fit of {found.system.name}", parts))


def _picture(fit: Any) -> str:
    memory = BytesIO()
    fit.plot().savefig(memory, format="svg")
    source = b64encode(memory.getvalue()).decode("ascii")
    return f'<p><img alt="measured and computed" src="data:image/svg+xml;base64,{source}"></p>'
