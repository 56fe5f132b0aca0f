"""Decision synthesis (Syntra, thesis section 4.5): decision trees over beliefs, made, proved, explained."""
