"""scikit-learn's boosted trees, with bins of features in which all rows have equal weight.

For weighted bins, scikit-learn 1.9 sorts each feature 254 times, once per percentile. This takes minutes and does not
improve the thresholds. And it cannot bin a feature without a value, which a small sample can have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier


class Boosting(HistGradientBoostingClassifier):  # type: ignore[misc]
    """Boosted trees that use the rows' weights for trees but not for bins."""

    def _bin_data(self, values: Any, _weights: Any, **more: Any) -> Any:
        """Return the bins of `values` (rows by features). A feature that no row has is zero in all: no tree uses it."""
        absent = np.isnan(values).all(axis=0)
        return super()._bin_data(np.where(absent, 0.0, values), None, **more)
