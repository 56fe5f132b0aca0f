"""Boosted trees of small samples."""

from __future__ import annotations

import numpy as np

from fairweir.guard.boosting import Boosting


def test_a_feature_that_no_row_for_training_has_is_not_used() -> None:
    dice = np.random.default_rng(1)
    values = np.column_stack([dice.random(400), np.full(400, np.nan)])
    labels = (values[:, 0] > 0.5).astype(int)
    model = Boosting(max_iter=5, early_stopping=True, validation_fraction=0.1, random_state=1)
    model.fit(values, labels, sample_weight=np.ones(400))
    assert (model.predict(values) == labels).mean() > 0.95
