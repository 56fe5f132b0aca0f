"""Cost of hostile texts of a megabyte for the checkers, which must answer or reject each within 10 s and 500 MB.

    python benches/heavy.py

Each text is checked in a separate process. Measured are CPU seconds, and the maximum memory minus the memory of the
process at its start.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time

from fairweir.formal.certificates.certificate import CHECKERS, verdict

SIZE = 1_000_000
_WORD = "1152921504606846976"
_X = "(declare-fun x () Real)(declare-fun y () Real)(declare-fun p () Bool)(declare-fun q () Bool)"
_LARGE = f"(* {' '.join([_WORD] * 68)})"


def _many(item: str, room: int) -> str:
    """Return copies of an item that fill `room` characters; a running number replaces a brace pair in the item."""
    one = len(item.format(10_000)) + 1
    return " ".join(item.format(i) for i in range(room // one))


def _reals(count: int) -> str:
    return "".join(f"(declare-fun x{i} () Real)" for i in range(count))


def _wide(count: int, factor: str = "") -> str:
    """Return a sum of `count` variables."""
    return f"(+ {' '.join(f'(* {factor} x{i})' if factor else f'x{i}' for i in range(count))})"


def _asserted(*parts: str) -> str:
    """Return a question that asserts the last part; the other parts are nested bindings."""
    *bindings, body = parts
    return f"(assert {''.join(f'(let ({one}) ' for one in bindings)}{body}{')' * len(bindings)})(check-sat)\n"


def texts() -> dict[str, tuple[str, str]]:
    """Return questions and certificates, by the resource that they use most."""
    booleans = "".join(f"(declare-fun p{i} () Bool)" for i in range(9000))
    clause = f"(assert (or {' '.join(f'p{i}' for i in range(9000))}))"
    denied = "".join(f"(assert (not p{i}))" for i in range(1, 9000))
    named = " ".join(["r 9002 0", *map(str, range(3, 9002)), *["2"] * 3500])
    sums = {
        count: _asserted(f"(f {_wide(count)})", f"(and {_many('(< f {}.5)', SIZE)})") for count in (3, 30, 300, 3000)
    }
    large = _asserted(f"(g {_LARGE})", f"(f {_wide(300, 'g')})", f"(and {_many('(< f {}.5)', SIZE // 2)})")
    # x0 + ... <= 1 implies x0 + ... <= 2.
    lemmas = "\n".join(f"f {i} -2 3 0 1 1" for i in range(4, 55_000))
    wide = f"(assert (and (<= {_wide(3000)} 1) (<= {_wide(3000)} 2)))(check-sat)\n"
    long = _asserted(f"(g {_LARGE})", f"(f (+ x0 {_wide(30, 'g')}))", "(and (<= f 1) (<= f 2))")
    found = {f"sums of {count} terms, named often": (_reals(count) + text, "") for count, text in sums.items()}
    deep = "".join(f"(let ((b{i} p)) " for i in range(190))
    return found | {
        "a sum as long as the text": (
            _reals(20_000) + f"(assert (< 0 (+ {' '.join(['x1 x2 x19999'] * 30_000)})))(check-sat)",
            "",
        ),
        "sums of sums": (
            _X + f"(assert (let ((a (+ x y))) (and {_many('(< (+ a a a a a a a a) {})', SIZE)})))(check-sat)",
            "",
        ),
        "many bindings of sums": (
            _X + _reals(40) + _asserted(f"(f {_wide(40)})", _many("(b{} (+ f f))", SIZE - 4000), "p"),
            "",
        ),
        "large numbers, named often": (_reals(300) + large, ""),
        "products of large numbers": (
            _X + _asserted(f"(g {_LARGE})", f"(and {_many('(< x (* {} g))', SIZE)})"),
            "",
        ),
        "choices of numbers": (_X + f"(assert (< 0 (+ {_many('(ite p x {})', SIZE)})))(check-sat)", ""),
        "choices": (_X + f"(assert (and {_many('(ite p (< x {0}) (< y {0}))', SIZE)}))(check-sat)", ""),
        "differences of Booleans": (
            booleans[:300_000]
            + f"(assert (and {' '.join(f'(xor p{i % 9000} p{i * 7 % 8999})' for i in range(40_000))}))(check-sat)",
            "",
        ),
        "lets in lets": (
            _X + _asserted(_many("(a{} p)", SIZE // 2), f"(and {_many('(let ((c p)) c)', SIZE // 2)})"),
            "",
        ),
        "deep scopes": (_X + f"(assert {deep}(and {'b0 ' * 300_000}p){')' * 190})(check-sat)", ""),
        "a clause of 9,000, named often": (booleans + clause + denied + "(check-sat)\n", named),
        "lemmas of large atoms": (_reals(3000) + wide, lemmas),
        "lemmas of large numbers": (_reals(30) + long, lemmas),
        "steps of a letter": (_X + "(check-sat)", "\n".join(f"r {i} 1 0 1" for i in range(2, 75_000))),
        "empty lists": ("(check-sat)" + "(exit" + "()" * (SIZE // 2) + ")", ""),
        "empty lines": (_X + "(check-sat)", "\n" * SIZE),
    }


def _measure(
    name: str, question: str, certificate: str, results: multiprocessing.Queue[tuple[str, float, float]]
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    found = str(verdict(CHECKERS[name], question, certificate))
    taken = time.process_time() - begin
    results.put((found, taken, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024))


def main() -> int:
    """Measure each text with each checker; return 1 if a limit was exceeded."""
    context, is_bad = multiprocessing.get_context("fork"), False
    sys.stdout.write(f"{'text':36}{'bytes':>10}{'checker':>18}{'CPU s':>8}{'MB':>7}  verdict\n")
    for what, (question, certificate) in texts().items():
        for name in CHECKERS:
            results = context.Queue()
            process = context.Process(target=_measure, args=(name, question, certificate, results))
            process.start()
            found, taken, memory = results.get()
            process.join()
            is_bad |= taken > 10 or memory > 500
            size = len(question) + len(certificate)
            sys.stdout.write(f"{what:36}{size:>10}{name:>18}{taken:>8.2f}{memory:>7.0f}  {found[:60]}\n")
            sys.stdout.flush()
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
