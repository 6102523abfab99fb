"""What the results of a run mean: verdicts, causes, one report; reports compared and merged."""
