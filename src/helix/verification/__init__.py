"""Does what landed hold, what came of it, and why is it there (V-1 to V-4)?"""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.verification.attempt_history import Spending, local_day
    from helix.verification.coverage import Coverage
    from helix.verification.measurement import MeasureResult, measure, summary_row
    from helix.verification.report import ProjectReport, Trend, read_seen, summarise
    from helix.verification.report_numbers import BeadLine, HarnessRate
    from helix.verification.report_page import GENERATOR, as_page
    from helix.verification.report_text import as_markdown
    from helix.verification.trace import Trace, Tracer
    from helix.verification.trace_links import COMMIT, TraceNode
else:
    __getattr__ = door(
        __name__,
        attempt_history="Spending local_day",
        coverage="Coverage",
        measurement="MeasureResult measure summary_row",
        report="ProjectReport Trend read_seen summarise",
        report_numbers="BeadLine HarnessRate",
        report_page="GENERATOR as_page",
        report_text="as_markdown",
        trace="Trace Tracer",
        trace_links="COMMIT TraceNode",
    )
