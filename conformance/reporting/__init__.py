"""Writes a report for its readers: a page, JUnit XML, Allure, a terminal, GitHub Actions.

Everything here is a function of the report (``reports/report.schema.json``) and of the transcripts
beside it. All text in a report may come from an IUT and is treated as hostile.
"""
