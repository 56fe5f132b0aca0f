"""The battery: families of scenarios, their metrics and claims."""
