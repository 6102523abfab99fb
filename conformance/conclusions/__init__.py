"""The meaning of results: verdicts, causes and the report; reports compared and merged."""
