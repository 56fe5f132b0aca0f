"""The audit's ``report.html``, and figures of a run's time series."""

from fairweir.audit.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
