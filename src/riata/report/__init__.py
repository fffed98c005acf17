"""A report of a selection: summarise a fitted model as a dictionary, and render that as one HTML file."""

from riata.report.document import Report
from riata.report.summarise import About, summarise

__all__ = ["About", "Report", "summarise"]
