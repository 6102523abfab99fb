"""Sets up Hypothesis, so that the same seed draws the same examples in any folder."""

import os
import random
from types import SimpleNamespace

import hypothesis
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from conformance.definitions import locations

DRAWS = 4
"""Examples drawn for each example that runs; examples that cover nothing new are left out."""


def set_up(examples: int) -> None:
    """Let each property run this number of examples, or fewer if others cover nothing new."""
    # Hypothesis looks for constants in all modules outside of site-packages, which takes half a
    # second. A checkout would then draw other examples than an installed suite.
    providers._get_local_constants = Constants
    # Hypothesis would make a random generator for each thread that draws. It collects all garbage
    # before that, which can stop the event loop for half a second.
    shared = SimpleNamespace(_hypothesis_global_random=random.Random())
    hypothesis.core.threadlocal = shared  # type: ignore[assignment]
    # The files that Hypothesis keeps between runs are useless here, except its table of Unicode.
    hypothesis.configuration.set_hypothesis_home_dir(locations.cache_folder() or os.devnull)
    hypothesis.settings.register_profile(
        "conformance",
        max_examples=DRAWS * examples,
        deadline=None,
        database=None,
        # Hypothesis turns this on if the variable CI is set, and then ignores the seed.
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
        # The phase `explain` would trace all drawn values for minutes, and no report shows it.
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("conformance")
