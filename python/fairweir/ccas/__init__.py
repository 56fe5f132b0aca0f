"""Define and find congestion control algorithms (CCAs): Python classes, rules, generated kernel C, plug-ins,
skeletons.
"""
