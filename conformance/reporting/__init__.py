"""Writes a report for its readers: a page, JUnit XML, Allure, a terminal, GitHub Actions.

Every function only uses the report (``reports/report.schema.json``) and its transcripts. All text
in a report can come from an IUT, and is treated as hostile.
"""
