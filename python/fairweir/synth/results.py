"""Write the results of a search: each solution as a rule file, and all results as a JSON document.

Terms: a rule is a CCA as data, with conditions and rates. A search tries candidates, which are rules; a solution is a
class of candidates of which at least one meets the requirements of the search's query file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fairweir.ccas.rule import Rule
from fairweir.documents.atomic_write import write_text
from fairweir.synth.cegis import Search, Solution

#: Name of the folder for rule files, in the directory of the search.
SOLUTIONS = "solutions"
#: Maximum length of a rule's name without its number: Linux permits names of 15 characters, including the number.
_STEM = 11


def rules(search: Search) -> list[Rule]:
    """Return each solution as a rule. The name of a rule is the query's name with a number."""
    stem = re.sub(r"[^a-z0-9]", "_", search.query.name)
    stem = (stem if stem[0].isalpha() else f"q_{stem}")[:_STEM].rstrip("_")
    return [
        search.query.space.rule(
            solution.candidate,
            f"{stem}_{number}",
            summary=f"Solution {number} of {len(search.solutions)} of the query {search.query.name}.",
            source=f"fairweir synth; {search.query.source}" if search.query.source else "fairweir synth",
        )
        for number, solution in enumerate(search.solutions, 1)
    ]


def write_rules(search: Search, directory: Path) -> list[Path]:
    """Write a rule file for each solution, and delete the other rule files in the folder, which are from an earlier
    run.
    """
    folder = directory / SOLUTIONS
    if folder.is_symlink():
        folder.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for rule in rules(search):
        path = folder / f"{rule.name}.toml"
        write_text(path, rule.to_toml())
        written.append(path)
    for old in set(folder.glob("*.toml")) - set(written):
        old.unlink()
    return written


def document(search: Search, directory: Path | None) -> dict[str, Any]:
    """Return all results of a search as a JSON document."""
    query = search.query
    return {
        "query": query.name,
        "source": query.source,
        "fingerprint": query.fingerprint,
        "model": query.model,
        "buffer": query.buffer.value,
        "points": query.points,
        "acks": query.acks.value,
        "size": query.space.size,
        "is_complete": search.is_complete,
        "iterations": search.iterations,
        "judged": len(search.findings),
        "reused": search.reused,
        "kept_not_rechecked": search.unchecked,
        "not_believed": search.doubts,
        "counterexamples": len(search.counterexamples),
        "solver_cpu_s": round(search.solver_cpu_s, 2),
        "undecided": [{"candidate": list(one.candidate), "reason": one.reason} for one in search.undecided],
        "solutions": [
            _solution(solution, rule) for solution, rule in zip(search.solutions, rules(search), strict=True)
        ],
        "published": query.published.model_dump(exclude_none=True),
        "directory": None if directory is None else str(directory),
    }


def _solution(solution: Solution, rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "branches": [
            {"when": [condition.text for condition in branch.conditions], "rate": str(branch.rate)}
            for branch in rule.branches
        ],
        "members": solution.size,
        "holding": solution.holding,
    }
