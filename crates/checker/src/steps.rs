//! Certificates: each step is checked on its own merits.

use crate::cut::{Atom, Cut};
use crate::number::{Number, integer};
use crate::{Rejected, Result, ensure, reject, shown};
use std::cmp::Ordering;

/// Checks all steps, and returns how many there are.
pub(crate) fn check(cut: Cut, certificate: &str) -> Result<usize> {
    let mut checker = Checker { totals: vec![Number::ZERO; cut.names.len()], held: Vec::new(), cut };
    let (mut count, mut is_refuted) = (0, false);
    for line in certificate.strip_suffix('\n').unwrap_or(certificate).split('\n') {
        count += 1;
        let may_follow = ensure(!is_refuted, "a step behind the empty clause");
        is_refuted =
            may_follow.and_then(|()| checker.step(line)).map_err(|e| Rejected(format!("line {count}: {e}")))?;
    }
    if is_refuted { Ok(count) } else { reject("the empty clause is never reached") }
}

fn numbers(words: &[&str]) -> Result<Vec<i64>> {
    words.iter().map(|word| integer(word).ok_or_else(|| Rejected(format!("not an integer: {}", shown(word))))).collect()
}

struct Checker {
    cut: Cut,
    /// A sum for each variable; all zero between steps.
    totals: Vec<Number>,
    /// By atom: the sign of the literal that is taken to be true; all 0 between steps.
    held: Vec<i32>,
}

impl Checker {
    /// Checks a step, and returns whether it is the empty clause.
    fn step(&mut self, line: &str) -> Result<bool> {
        // The standard library's search for one character is made for long texts: a tenth slower on these words.
        #[allow(clippy::manual_pattern_char_comparison)]
        let words: Vec<&str> = line.split(|c| c == ' ').collect();
        let (next_atom, next_clause) = (self.cut.atoms.len(), self.cut.clauses.len() + 1);
        let [kind @ ("a" | "f" | "r"), number, rest @ ..] = words.as_slice() else { return reject("not a step") };
        let next = if *kind == "a" { next_atom } else { next_clause };
        ensure(integer(number) == Some(next as i64), "not the next number")?;
        if *kind == "a" {
            return self.define(rest).map(|()| false);
        }
        let end = rest.iter().position(|word| *word == "0");
        let (literals, why) = rest.split_at(end.ok_or_else(|| Rejected("a clause without its end".into()))?);
        let clause = self.clause(literals)?;
        if *kind == "f" {
            self.farkas(&clause, &why[1..])?
        } else {
            self.propagate(&clause, &why[1..])?
        }
        self.cut.clause(&clause);
        Ok(clause.is_empty())
    }

    /// Takes a further atom, which must be in normal form and new.
    fn define(&mut self, words: &[&str]) -> Result<()> {
        let [relation @ ("le" | "lt"), bound, pairs @ ..] = words else { return reject("not an atom") };
        let (mut vector, mut before) = (Vec::new(), "");
        for pair in pairs.chunks(2) {
            let (Some(&variable), Some(coefficient)) = (self.cut.variables.get(pair[0]), pair.get(1)) else {
                return reject("not a variable and its coefficient");
            };
            vector.push((variable, Number::rational(coefficient)?));
            let is_normal = pair[0] > before && *coefficient != "0" && (!before.is_empty() || *coefficient == "1");
            ensure(is_normal, "an atom that is not in normal form")?;
            before = pair[0];
        }
        let atom = Atom { vector, bound: Number::rational(bound)?, is_strict: *relation == "lt" };
        ensure(!pairs.is_empty() && self.cut.literal(atom).1, "an atom of nothing, or a known one")
    }

    /// Parses the literals of a clause, each of which must exist, and each atom once.
    fn clause(&self, words: &[&str]) -> Result<Vec<i32>> {
        let clause = numbers(words)?;
        let mut atoms: Vec<u64> = clause.iter().map(|literal| literal.unsigned_abs()).collect();
        atoms.sort_unstable();
        ensure(atoms.windows(2).all(|pair| pair[0] < pair[1]), "an atom twice in a clause")?;
        ensure(atoms.last() < Some(&(self.cut.atoms.len() as u64)), "a literal that does not exist")?;
        Ok(clause.into_iter().map(|literal| literal as i32).collect())
    }

    /// Checks that the negated literals, times the factors, sum to `0 < 0` or to `0 <=` less than 0.
    fn farkas(&mut self, clause: &[i32], factors: &[&str]) -> Result<()> {
        let factors = factors.iter().map(|word| Number::rational(word)).collect::<Result<Vec<_>>>()?;
        ensure(factors.len() == clause.len(), "not a factor for each literal")?;
        ensure(factors.iter().all(|factor| factor.sign() != Ordering::Less), "a factor is negative")?;
        let (mut bound, mut is_strict, mut touched) = (Number::ZERO, false, Vec::new());
        for (&literal, factor) in clause.iter().zip(&factors).filter(|(_, factor)| factor.sign() != Ordering::Equal) {
            let Some(atom) = &self.cut.atoms[literal.unsigned_abs() as usize] else {
                return reject("a literal that is not an inequality");
            };
            // The negation of `v <= b` is `-v < -b`.
            let factor = if literal > 0 { factor.times(&Number::MINUS_ONE)? } else { factor.clone() };
            is_strict |= atom.is_strict != (literal > 0);
            bound = bound.plus(&factor, &atom.bound)?;
            for (variable, coefficient) in &atom.vector {
                self.totals[*variable] = self.totals[*variable].plus(&factor, coefficient)?;
                touched.push(*variable);
            }
        }
        let is_zero = touched.iter().all(|&variable| self.totals[variable].sign() == Ordering::Equal);
        ensure(is_zero, "the variables do not cancel")?;
        let is_contradiction = bound.sign() == Ordering::Less || (bound.sign() == Ordering::Equal && is_strict);
        ensure(is_contradiction, "the sum is no contradiction")
    }

    /// Checks that the clauses named lead from the negated clause to a contradiction, a literal at a time.
    fn propagate(&mut self, clause: &[i32], reasons: &[&str]) -> Result<()> {
        self.held.resize(self.cut.atoms.len(), 0);
        let (mut trail, mut is_refuted) = (Vec::new(), false);
        let mut hold = |held: &mut Vec<i32>, literal: i32| {
            held[literal.unsigned_abs() as usize] = literal.signum();
            trail.push(literal.unsigned_abs() as usize);
        };
        clause.iter().for_each(|literal| hold(&mut self.held, -literal));
        for number in numbers(reasons)? {
            let Some(reason) = usize::try_from(number - 1).ok().and_then(|index| self.cut.clauses.get(index)) else {
                return reject("a clause that is not there");
            };
            let mut left = reason.iter().filter(|l| self.held[l.unsigned_abs() as usize] != -l.signum());
            match (left.next(), left.next()) {
                _ if is_refuted => {}
                (None, _) => is_refuted = true,
                (Some(&literal), None) => hold(&mut self.held, literal),
                _ => return reject("a clause has more than one literal left"),
            }
        }
        trail.into_iter().for_each(|atom| self.held[atom] = 0);
        ensure(is_refuted, "no contradiction is reached")
    }
}
