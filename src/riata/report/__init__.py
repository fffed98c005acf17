"""A report of a selection: summarise a fitted model as a dictionary, and render that as one HTML file."""

from riata.report.document import Report
from riata.report.summary import About, summarise

__all__ = ["About", "Report", "summarise"]
