//! Certificates: each step is checked on its own merits.

use crate::cut::{Atom, Cut};
use crate::number::{Number, integer};
use crate::{MAX_WORD, Rejected, Result, reject, shown};
use std::cmp::Ordering;

/// Checks all steps, and returns how many there are.
pub(crate) fn check(cut: Cut, certificate: &str) -> Result<usize> {
    let mut checker = Checker { totals: vec![Number::ZERO; cut.names.len()], held: Vec::new(), cut };
    let (mut count, mut is_refuted) = (0, false);
    for line in certificate.strip_suffix('\n').unwrap_or(certificate).split('\n') {
        count += 1;
        let step = if is_refuted { reject("a step behind the empty clause") } else { checker.step(line) };
        is_refuted = step.map_err(|e| Rejected(format!("line {count}: {e}")))?;
    }
    if is_refuted { Ok(count) } else { reject("the empty clause is never reached") }
}

fn numbers(words: &[&str]) -> Result<Vec<i64>> {
    words.iter().map(|word| integer(word).ok_or_else(|| Rejected(format!("not an integer: {}", shown(word))))).collect()
}

fn rational(word: &str) -> Result<Number> {
    let number = if word.len() <= MAX_WORD { Number::rational(word) } else { None };
    number.map_or_else(|| reject(format!("not a fraction in lowest terms: {}", shown(word))), Ok)
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
        let words: Vec<&str> = line.split(' ').collect();
        let (next_atom, next_clause) = (self.cut.atoms.len(), self.cut.clauses.len() + 1);
        let (kind, number, rest) = match words.as_slice() {
            [kind @ ("a" | "f" | "r"), number, rest @ ..] => (*kind, integer(number).unwrap_or(0), rest),
            _ => return reject("not a step"),
        };
        if number as usize != if kind == "a" { next_atom } else { next_clause } {
            return reject(format!("the next atom has the number {next_atom}, the next clause {next_clause}"));
        }
        if kind == "a" {
            return self.define(rest).map(|()| false);
        }
        let Some(end) = rest.iter().position(|word| *word == "0") else {
            return reject("a clause without its end");
        };
        let clause = self.clause(&rest[..end])?;
        if kind == "f" {
            self.farkas(&clause, &rest[end + 1..])?
        } else {
            self.propagate(&clause, &rest[end + 1..])?
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
                return reject(format!("not a variable and its coefficient: {}", shown(pair[0])));
            };
            vector.push((variable, rational(coefficient)?));
            if pair[0] <= before || *coefficient == "0" || (before.is_empty() && *coefficient != "1") {
                return reject("an atom that is not in normal form");
            }
            before = pair[0];
        }
        let atom = Atom { vector, bound: rational(bound)?, is_strict: *relation == "lt" };
        if pairs.is_empty() || !self.cut.literal(atom).1 {
            reject("an atom of nothing, or a known one")
        } else {
            Ok(())
        }
    }

    /// Parses the literals of a clause, each of which must exist, and each atom once.
    fn clause(&self, words: &[&str]) -> Result<Vec<i32>> {
        let clause = numbers(words)?;
        let mut atoms: Vec<u64> = clause.iter().map(|literal| literal.unsigned_abs()).collect();
        atoms.sort_unstable();
        if atoms.windows(2).any(|pair| pair[0] == pair[1]) || atoms.last() >= Some(&(self.cut.atoms.len() as u64)) {
            return reject("a literal that does not exist, or an atom twice in a clause");
        }
        Ok(clause.into_iter().map(|literal| literal as i32).collect())
    }

    /// Checks that the negated literals, times the factors, sum to `0 < 0` or to `0 <=` less than 0.
    fn farkas(&mut self, clause: &[i32], factors: &[&str]) -> Result<()> {
        let factors = factors.iter().map(|word| rational(word)).collect::<Result<Vec<_>>>()?;
        if factors.len() != clause.len() || factors.iter().any(|factor| factor.sign() == Ordering::Less) {
            return reject("not a factor for each literal, none negative");
        }
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
        if touched.iter().any(|&variable| self.totals[variable].sign() != Ordering::Equal) {
            return reject("the variables do not cancel");
        }
        let is_contradiction = bound.sign() == Ordering::Less || (bound.sign() == Ordering::Equal && is_strict);
        if is_contradiction { Ok(()) } else { reject("the sum is no contradiction") }
    }

    /// Checks that the clauses named lead from the negated clause to a contradiction, a literal at a time.
    fn propagate(&mut self, clause: &[i32], reasons: &[&str]) -> Result<()> {
        let numbers = numbers(reasons)?;
        if numbers.iter().any(|&number| number < 1 || number as usize > self.cut.clauses.len()) {
            return reject("a clause that is not there");
        }
        self.held.resize(self.cut.atoms.len(), 0);
        let mut trail: Vec<i32> = clause.iter().map(|literal| -literal).collect();
        for literal in &trail {
            self.held[literal.unsigned_abs() as usize] = literal.signum();
        }
        let found = self.contradiction(&mut trail, &numbers);
        for literal in trail {
            self.held[literal.unsigned_abs() as usize] = 0;
        }
        found
    }

    fn contradiction(&mut self, trail: &mut Vec<i32>, numbers: &[i64]) -> Result<()> {
        for &number in numbers {
            let clause = &self.cut.clauses[number as usize - 1];
            let mut left = clause.iter().filter(|l| self.held[l.unsigned_abs() as usize] != -l.signum());
            match (left.next(), left.next()) {
                (None, _) => return Ok(()),
                (Some(&literal), None) => {
                    self.held[literal.unsigned_abs() as usize] = literal.signum();
                    trail.push(literal);
                }
                _ => return reject("a clause has more than one literal left"),
            }
        }
        reject("no contradiction is reached")
    }
}
