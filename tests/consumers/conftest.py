"""SciPy and scikit-learn read this when they are imported."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"
