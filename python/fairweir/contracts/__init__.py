"""Contracts: the rate of a flow as a function of a congestion statistic, measured, fitted and designed."""
