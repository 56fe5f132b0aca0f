"""scikit-learn's boosted trees, with bins of features in which all rows have equal weight.

For weighted bins, scikit-learn 1.9 sorts each feature 254 times, once per percentile. This takes minutes and does not
improve the thresholds.
"""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier


class Boosting(HistGradientBoostingClassifier):  # type: ignore[misc]
    """Boosted trees that use the rows' weights for trees but not for bins."""

    def _bin_data(self, values: Any, _weights: Any, **more: Any) -> Any:
        return super()._bin_data(values, None, **more)
