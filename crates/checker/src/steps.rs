//! Certificates: each step is checked on its own merits.

use crate::cut::{Atom, Cut, Form};
use crate::number::{Number, integer};
use crate::{Result, ensure};

/// Checks all steps, and returns how many there are.
pub(crate) fn check(cut: Cut, certificate: &str) -> std::result::Result<usize, String> {
    let mut checker = Checker { totals: vec![Number::ZERO; cut.names.len()], held: Vec::new(), cut };
    let (mut count, mut is_refuted) = (0, false);
    for line in certificate.strip_suffix('\n').unwrap_or(certificate).split('\n') {
        count += 1;
        let step = if is_refuted { Err("a step behind the empty clause") } else { checker.step(line) };
        is_refuted = step.map_err(|reason| format!("line {count}: {reason}"))?;
    }
    if is_refuted { Ok(count) } else { Err("the empty clause is never reached".into()) }
}

fn integers(words: &[&str]) -> Result<Vec<i64>> {
    words.iter().map(|word| integer(word)).collect::<Option<_>>().ok_or("not an integer")
}

struct Checker {
    cut: Cut,
    /// A sum for each variable, and at 0 of the constants; all zero between steps.
    totals: Vec<Number>,
    /// By atom: the sign of the literal that is taken to be true, times the number of clauses: that of no step before.
    held: Vec<i32>,
}

impl Checker {
    /// Checks a step, and returns whether it is the empty clause.
    fn step(&mut self, line: &str) -> Result<bool> {
        // The standard library's search for one character is made for long texts: a tenth slower on these words.
        #[allow(clippy::manual_pattern_char_comparison)]
        let words: Vec<&str> = line.split(|c| c == ' ').collect();
        let (next_atom, next_clause) = (self.cut.atoms.len(), self.cut.clauses.len() + 1);
        let [kind @ ("a" | "f" | "r"), number, rest @ ..] = words.as_slice() else { return Err("not a step") };
        let next = if *kind == "a" { next_atom } else { next_clause };
        ensure(integer(number) == Some(next as i64), "not the next number")?;
        if *kind == "a" {
            return self.define(rest).map(|()| false);
        }
        let end = rest.iter().position(|word| *word == "0");
        let (literals, why) = rest.split_at(end.ok_or("a clause without its end")?);
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
        let [relation @ ("le" | "lt"), bound, pairs @ ..] = words else { return Err("not an atom") };
        // `vector <= bound` is `vector - bound <= 0`.
        let mut form = Form::of(0, Number::rational(bound)?).times(&Number::MINUS_ONE)?;
        let mut before = "";
        for pair in pairs.chunks(2) {
            let [name, coefficient] = pair else { return Err("a variable without its coefficient") };
            let variable = *self.cut.variables.get(*name).ok_or("not a variable")?;
            let is_normal = *name > before && *coefficient != "0" && (!before.is_empty() || *coefficient == "1");
            ensure(is_normal, "an atom that is not in normal form")?;
            form.0.insert(variable, Number::rational(coefficient)?);
            before = name;
        }
        let next = self.cut.atoms.len() as i32;
        let is_new = self.cut.literal(Atom { form, is_strict: *relation == "lt" }) == next;
        ensure(!pairs.is_empty() && is_new, "an atom of nothing, or a known one")
    }

    /// Parses the literals of a clause, each of which must exist, and each atom once.
    fn clause(&self, words: &[&str]) -> Result<Vec<i32>> {
        let clause = integers(words)?;
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
        ensure(factors.iter().all(|factor| factor.sign().is_ge()), "a factor is negative")?;
        let (mut is_strict, mut touched) = (false, Vec::new());
        for (&literal, factor) in clause.iter().zip(&factors).filter(|(_, factor)| factor.sign().is_ne()) {
            let atom = self.cut.atoms[literal.unsigned_abs() as usize].as_ref();
            let Atom { form, is_strict: is_less } = &**atom.ok_or("a literal that is not an inequality")?;
            // The negation of `form <= 0` is `-form < 0`.
            let factor = if literal > 0 { factor.times(&Number::MINUS_ONE)? } else { factor.clone() };
            is_strict |= *is_less != (literal > 0);
            for (&variable, coefficient) in &form.0 {
                self.totals[variable] = self.totals[variable].plus(&factor, coefficient)?;
                touched.push(variable);
            }
        }
        let constant = std::mem::replace(&mut self.totals[0], Number::ZERO).sign();
        ensure(touched.iter().all(|&variable| self.totals[variable].sign().is_eq()), "the variables do not cancel")?;
        ensure(constant.is_gt() || (constant.is_eq() && is_strict), "the sum is no contradiction")
    }

    /// Checks that the clauses named lead from the negated clause to a contradiction, a literal at a time.
    fn propagate(&mut self, clause: &[i32], reasons: &[&str]) -> Result<()> {
        self.held.resize(self.cut.atoms.len(), 0);
        let now = self.cut.clauses.len() as i32;
        clause.iter().for_each(|literal| self.held[literal.unsigned_abs() as usize] = -now * literal.signum());
        let mut is_refuted = false;
        for number in integers(reasons)? {
            let reason = usize::try_from(number - 1).ok().and_then(|index| self.cut.clauses.get(index));
            let reason = reason.ok_or("a clause that is not there")?;
            let mut left = reason.iter().filter(|l| self.held[l.unsigned_abs() as usize] != -now * l.signum());
            match (left.next(), left.next()) {
                _ if is_refuted => {}
                (None, _) => is_refuted = true,
                (Some(&literal), None) => self.held[literal.unsigned_abs() as usize] = now * literal.signum(),
                _ => return Err("a clause has more than one literal left"),
            }
        }
        ensure(is_refuted, "no contradiction is reached")
    }
}
