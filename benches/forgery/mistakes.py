"""Errors in questions and certificates, and harmless changes that look like errors."""

from __future__ import annotations

import random
import re

from benches.forgery.questions import NUMBERS

from fairweir.formal.certificates.checker import MAX_BITS, MAX_DEPTH

#: Replacements of a word: numbers in other notations, and syntax of other languages.
_ODD = (
    *(
        "0",
        "00",
        "-0",
        "+0",
        "0_0",
        "\u0660",
        "\u00b2",
        "0x0",
        "1e0",
        "1.0",
        "1/1",
        "2/2",
        "-1",
        "1",
        "+1",
        "01",
        "1_0",
    ),
    *("1/0", "0/1", "1/-1", "-1/2", "1/2", "nan", "inf", "9" * 18, "9" * 19, "9" * 1000, "9" * 1001, "-" + "9" * 999),
    *(
        "",
        " ",
        "-",
        "--1",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "\x00",
        "\x0c",
        "\x1c",
        "\x85",
        "\xa0",
        "\u2028",
        "\ufeff",
        "\ud800",
    ),
    *(
        "c",
        "a",
        "f",
        "r",
        "le",
        "lt",
        "#0",
        "#1",
        "#2",
        "x",
        "y",
        "p",
        "(",
        ")",
        "()",
        "|x|",
        '"x"',
        ";",
        "; x\n",
        ":x",
    ),
    *(
        "true",
        "false",
        "and",
        "or",
        "not",
        "=",
        "=>",
        "<",
        "<=",
        ">",
        ">=",
        "+",
        "*",
        "/",
        "ite",
        "let",
        "xor",
        "distinct",
    ),
    *("Real", "Bool", "Int", "assert", "check-sat", "declare-fun", "push", "exit", "!", "_", "a!1", "x.1", "X"),
)


#: Commands that change the meaning of a question, or would change it in a less strict language.
_COMMANDS = (
    '(set-info :source ") (assert false) (set-info :note ")',
    "(push 1)",
    "(pop 1)",
    "(set-logic QF_LRA)",
    "(set-info :note |) (assert false) (set-info :note |)",
    "; (assert false)\n",
    "(check-sat)",
    "(exit)",
    "(declare-fun z () Real)",
    "(declare-fun true () Bool)",
    "(declare-fun p () Bool)",
    "(assert false)",
    "(define-fun z () Bool true)",
    "(set-option :produce-proofs true)",
    "(assert (or))",
    "(reset)",
    "()",
    "(assert (let () false))",
    "(assert (! p :named n))",
    "(get-model)",
    "(assert (forall ((z Real)) false))",
)
_WORDS = re.compile(r"[^() \n]+")
_SWAPS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "and": "or",
    "or": "and",
    "true": "false",
    "false": "true",
    "p": "q",
}


def weaken(chance: random.Random, question: str) -> str:
    """Change a number, a relation or a connective, so that most numbers of clauses and literals do not change."""
    words = [found for found in _WORDS.finditer(question) if found[0] in _SWAPS or found[0] in NUMBERS]
    if not words:
        return question
    word = chance.choice(words)
    other = _SWAPS.get(word[0]) or chance.choice(NUMBERS)
    return question[: word.start()] + other + question[word.end() :]


def spoil_question(chance: random.Random, question: str) -> str:  # noqa: PLR0911 (a list of errors)
    """Return a question with an error, or with a harmless change that looks like an error."""
    words = list(_WORDS.finditer(question))
    word = chance.choice(words)
    before, behind = question[: word.start()], question[word.end() :]
    number = chance.choice([found for found in words if found[0] in NUMBERS] or words)
    match chance.randrange(10):
        case 0 | 1:
            return before + chance.choice(_ODD) + behind
        case 2:
            at = chance.randrange(len(question) + 1)
            return question[:at] + chance.choice(_ODD) + question[at:]
        case 3:
            at = chance.randrange(len(question))
            return question[:at] + question[at + chance.choice((1, 1, 2, 10)) :]
        case 4:
            depth = chance.choice((2, MAX_DEPTH - 3, MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, 5000))
            return question.replace("(check-sat)", f"(assert {'(not ' * depth}true{')' * depth})(check-sat)", 1)
        case 5:
            first = chance.randrange(MAX_BITS - 3000 - 2, MAX_BITS - 3000 + 2)
            grown = chance.choice((f"(* {2**3000} {2**first})", f"(/ 1 (* {2**first} {2**3000}))", str(2**3000)))
            return question[: number.start()] + grown + question[number.end() :]
        case 6:
            name = chance.choice(
                ("true", "and", "let", "x", "p", "a!1", "if", "z", "Real", "01", "#1", "|p|", "_", "\u0660")
            )
            value = chance.choice(("true", "false", "x", "1", "(not p)"))
            return question.replace("(assert ", f"(assert (let (({name} {value})) ", 1).replace(
                "\n(check-sat)", ")\n(check-sat)", 1
            )
        case 7:
            command = chance.choice(_COMMANDS)
            at = chance.choice([found.start() for found in re.finditer(r"^\(", question, re.MULTILINE)])
            return question[:at] + command + question[at:]
        case 8:
            return question.replace("\n", chance.choice(("\r\n", "\r", " ", "", "\t", "\n\n", "\u2028")))
    one, two = sorted((word, chance.choice(words)), key=lambda found: found.start())
    if one.start() == two.start():
        return question
    return question[: one.start()] + two[0] + question[one.end() : two.start()] + one[0] + question[two.end() :]


def spoil_lines(chance: random.Random, lines: list[str]) -> list[str]:
    """Return a certificate with an error, or with a harmless change that looks like an error."""
    lines = list(lines)
    at = chance.randrange(len(lines))
    words = lines[at].split(" ")
    word = chance.randrange(len(words))
    match chance.randrange(12):
        case 0 | 1:
            words[word] = chance.choice(_ODD)
        case 2:
            words.insert(word, chance.choice(_ODD))
        case 3:
            del words[word]
        case 4:
            words[word] = words[word].removeprefix("-") if words[word].startswith("-") else f"-{words[word]}"
        case 5 if re.fullmatch(r"-?[0-9]+", words[word]):
            words[word] = str(int(words[word]) + chance.choice((-2, -1, 1, 2, 1000)))
        case 6:
            other = chance.randrange(len(words))
            words[word], words[other] = words[other], words[word]
        case 7:
            del lines[at]
            return lines
        case 8:
            lines.insert(at, chance.choice(lines))
            return lines
        case 9:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
            return lines
        case 10:
            return [*lines[:at], lines[at][: chance.randrange(len(lines[at]) + 1)]]
        case _:
            lines.insert(at, chance.choice(("", "c", "; x", " ", "a", "f", "r", "r 1 0", "\r", "f 0 0", "r 5 -0 0 5")))
            return lines
    lines[at] = " ".join(words)
    return lines
