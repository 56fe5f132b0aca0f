"""What people look at: the audit's ``report.html``, and a run's time series as a picture."""

from fairweir.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
