"""Measure, fit and design contracts: a contract is a flow's rate as a decreasing function of its delay, losses or
marks.
"""
