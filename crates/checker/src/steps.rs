//! Certificates: each step is checked independently of how it was found.

use crate::cut::{Cut, Meaning, constant, sum, term};
use crate::number::{Number, integer, spend};
use crate::{Result, ensure};

/// Checks all steps, and returns their number.
pub(crate) fn check(mut cut: Cut, certificate: &str) -> std::result::Result<usize, String> {
    let (mut count, mut is_refuted) = (0, false);
    for line in certificate.strip_suffix('\n').unwrap_or(certificate).split('\n') {
        count += 1;
        let step = if is_refuted { Err("a step behind the empty clause") } else { cut.step(line) };
        is_refuted = step.map_err(|reason| format!("line {count}: {reason}"))?;
    }
    if is_refuted { Ok(count) } else { Err("the empty clause is never reached".into()) }
}

fn integers(words: &[&str]) -> Result<Vec<i32>> {
    let found: Vec<i32> = words.iter().map(|word| integer(word).unwrap_or(0)).collect();
    ensure(!found.contains(&0), "not an integer other than 0")?;
    Ok(found)
}

impl Cut {
    /// Checks a step, and returns whether it is the empty clause.
    fn step(&mut self, line: &str) -> Result<bool> {
        // A one-element array: searching for a single character is optimized for long texts, and 10 % slower for these
        // words.
        let mut words = Vec::with_capacity(line.len() / 2 + 1);
        words.extend(line.split([' ']));
        let [kind, number, rest @ ..] = words.as_slice() else { return Err("not a step") };
        let next = if *kind == "a" { self.literals.len() } else { self.clauses.len() + 1 };
        ensure(integer(number) == Some(next), "not the next number")?;
        if *kind == "a" {
            return self.define(rest).map(|()| false);
        }
        let end = rest.iter().position(|word| *word == "0").ok_or("a clause without its end")?;
        let (clause, why) = (integers(&rest[..end])?, &rest[end + 1..]);
        let mut atoms: Vec<usize> = clause.iter().map(|literal| literal.unsigned_abs() as usize).collect();
        atoms.sort_unstable();
        ensure(atoms.windows(2).all(|pair| pair[0] < pair[1]), "an atom twice in a clause")?;
        ensure(atoms.last() < Some(&self.literals.len()), "a literal that does not exist")?;
        match *kind {
            "f" => self.farkas(&clause, why)?,
            "r" => self.propagate(&clause, why)?,
            _ => return Err("not a step"),
        }
        self.clauses.push(clause.into());
        Ok(end == 0)
    }

    /// Defines a new atom, which must be in normal form.
    fn define(&mut self, words: &[&str]) -> Result<()> {
        let [relation @ ("le" | "lt"), bound, pairs @ ..] = words else { return Err("not an atom") };
        // `vector <= bound` is `vector - bound <= 0`.
        let (mut form, mut before) = (term(0, Number::new(-Number::rational(bound)?.big())?), "");
        for pair in pairs.chunks(2) {
            let [name, coefficient] = pair else { return Err("a variable without its coefficient") };
            let variable = self.variables.get_index_of(*name).ok_or("not a variable")?;
            let is_normal = *name > before && *coefficient != "0" && (!before.is_empty() || *coefficient == "1");
            ensure(is_normal, "an atom that is not in normal form")?;
            form.push((variable, Number::rational(coefficient)?));
            before = name;
        }
        form.sort_unstable_by_key(|(variable, _)| *variable);
        let (_, is_new) = self.literal(Meaning::Atom { form, is_strict: *relation == "lt" });
        ensure(!pairs.is_empty() && is_new, "an atom of nothing, or a known one")
    }

    /// Checks that the negated literals, multiplied by the factors, sum to `0 < 0`, or to `c <= 0` with a positive c.
    fn farkas(&mut self, clause: &[i32], factors: &[&str]) -> Result<()> {
        ensure(factors.len() == clause.len(), "not a factor for each literal")?;
        let (mut is_strict, mut parts) = (false, Vec::new());
        for (literal, word) in clause.iter().zip(factors).filter(|(_, word)| **word != "0") {
            let factor = Number::rational(word)?;
            ensure(factor.sign().is_gt(), "a factor is negative")?;
            let Meaning::Atom { form, is_strict: is_less } = &self.literals[literal.unsigned_abs() as usize] else {
                return Err("a literal that is not an inequality");
            };
            // The negation of `form <= 0` is `-form < 0`.
            is_strict |= *is_less != literal.is_positive();
            parts.push((if literal.is_positive() { Number::new(-factor.big())? } else { factor }, form));
        }
        let total = sum(&parts, &mut self.work)?;
        let order = constant(&total).ok_or("the variables do not cancel")?.sign();
        ensure(order.is_gt() || (order.is_eq() && is_strict), "the sum is not a contradiction")
    }

    /// Checks that unit propagation over the clauses with these numbers, starting from the negation of `clause`,
    /// reaches a contradiction.
    fn propagate(&mut self, clause: &[i32], numbers: &[&str]) -> Result<()> {
        let named = |number: i32| self.clauses.get(usize::try_from(number).ok()? - 1);
        let reasons: Option<Vec<_>> = integers(numbers)?.into_iter().map(named).collect();
        let reasons = reasons.ok_or("a clause that is not there")?;
        spend(&mut self.work, reasons.iter().map(|reason| reason.len() as u64).sum())?;
        self.held.resize(self.literals.len(), 0);
        let now = self.clauses.len() as i32;
        clause.iter().for_each(|literal| self.held[literal.unsigned_abs() as usize] = -now * literal.signum());
        for reason in reasons {
            let mut left = reason.iter().filter(|l| self.held[l.unsigned_abs() as usize] != -now * l.signum());
            match (left.next(), left.next()) {
                (None, _) => return Ok(()),
                (Some(&literal), None) => self.held[literal.unsigned_abs() as usize] = now * literal.signum(),
                _ => return Err("a clause has more than one literal left"),
            }
        }
        Err("no contradiction is reached")
    }
}
