"""Results of a search: its solutions as rule files, and a document with all results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fairweir.ccas.rule import Rule
from fairweir.documents.atomic_write import write_text
from fairweir.synth.cegis import Search, Solution

#: Folder of the solutions in the search's directory.
SOLUTIONS = "solutions"
#: Maximum length of the stem of a rule's name; names in the kernel have at most 15 characters, including a number.
_STEM = 11


def rules(search: Search) -> list[Rule]:
    """Return each solution as a rule, named after the query with a number."""
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
    """Write the solutions' rule files, and remove additional files of an earlier run."""
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
    """Return the whole result as a JSON document."""
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
