//! A question as clauses over numbered literals (Tseitin 1968), numbered as docs/formal/certificates.md says.

use crate::Result;
use crate::number::Number;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// The literal that is true.
pub(crate) const TRUE: i32 = 1;

/// A linear form, as coefficients by variable: that of variable 0 is the constant; no other coefficient is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Form(pub(crate) BTreeMap<usize, Number>);

impl Form {
    pub(crate) fn of(variable: usize, coefficient: Number) -> Form {
        Form(BTreeMap::from([(variable, coefficient)]))
    }

    pub(crate) fn constant(&self) -> &Number {
        self.0.get(&0).unwrap_or(&Number::ZERO)
    }

    pub(crate) fn is_constant(&self) -> bool {
        self.0.keys().all(|&variable| variable == 0)
    }

    pub(crate) fn times(&self, factor: &Number) -> Result<Form> {
        Form::default().plus(factor, self)
    }

    /// Returns `self + factor * other`.
    pub(crate) fn plus(&self, factor: &Number, other: &Form) -> Result<Form> {
        let mut terms = self.0.clone();
        for (variable, coefficient) in &other.0 {
            let sum = terms.get(variable).unwrap_or(&Number::ZERO).plus(factor, coefficient)?;
            terms.insert(*variable, sum);
        }
        terms.retain(|_, coefficient| coefficient.sign().is_ne());
        Ok(Form(terms))
    }
}

/// `form <= 0`, or `form < 0`; the coefficient of the variable whose name is first is 1, a constant of 0 is left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Atom {
    pub(crate) form: Form,
    pub(crate) is_strict: bool,
}

/// What the question was cut into.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    /// The clause with the number n is at n - 1.
    pub(crate) clauses: Vec<Box<[i32]>>,
    /// What each literal says; None: a Boolean. There is no literal 0.
    pub(crate) atoms: Vec<Option<Rc<Atom>>>,
    by_atom: HashMap<Rc<Atom>, i32>,
    by_gate: HashMap<Vec<i32>, i32>,
    /// Names of variables by index, and back.
    pub(crate) names: Vec<String>,
    pub(crate) variables: HashMap<String, usize>,
}

impl Cut {
    pub(crate) fn new() -> Cut {
        let mut cut = Cut { atoms: vec![None, None], names: vec![String::new()], ..Cut::default() };
        cut.clause(&[TRUE]);
        cut
    }

    /// Returns a literal that nothing is known of; no text is long enough for 2^31 of them.
    pub(crate) fn fresh(&mut self) -> i32 {
        self.atoms.push(None);
        self.atoms.len() as i32 - 1
    }

    pub(crate) fn clause(&mut self, literals: &[i32]) {
        self.clauses.push(literals.into());
    }

    pub(crate) fn variable(&mut self, name: &str) -> usize {
        self.names.push(name.to_owned());
        self.variables.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    /// Returns the literal of an atom: the next one if it has none yet.
    pub(crate) fn literal(&mut self, atom: Atom) -> i32 {
        let (atom, next) = (Rc::new(atom), self.atoms.len() as i32);
        let literal = *self.by_atom.entry(atom.clone()).or_insert(next);
        if literal == next {
            self.atoms.push(Some(atom));
        }
        literal
    }

    /// Returns a literal that says `form <= 0`, or `form < 0`.
    pub(crate) fn at_most_zero(&mut self, form: &Form, is_strict: bool) -> Result<i32> {
        let Some((_, lead)) = form.0.range(1..).min_by_key(|(variable, _)| &self.names[**variable]) else {
            let order = form.constant().sign();
            return Ok(if order.is_lt() || (order.is_eq() && !is_strict) { TRUE } else { -TRUE });
        };
        // Division by a negative number turns `<=` into `>=`, which is the negation of `<`.
        let is_turned = lead.sign().is_lt();
        let literal = self.literal(Atom { form: form.times(&lead.inverse()?)?, is_strict: is_strict != is_turned });
        Ok(if is_turned { -literal } else { literal })
    }

    /// Returns a literal that says `form = 0`.
    pub(crate) fn is_zero(&mut self, form: &Form) -> Result<i32> {
        let (at_most, less) = (self.at_most_zero(form, false)?, self.at_most_zero(form, true)?);
        Ok(self.all(vec![at_most, -less]))
    }

    /// Returns a literal that is true if and only if all of `parts` are.
    pub(crate) fn all(&mut self, mut parts: Vec<i32>) -> i32 {
        parts.retain(|&part| part != TRUE);
        parts.sort_unstable_by_key(|&part| (part.abs(), part));
        parts.dedup();
        if parts.contains(&-TRUE) || parts.windows(2).any(|pair| pair[0] == -pair[1]) {
            return -TRUE;
        }
        if parts.len() < 2 {
            return *parts.first().unwrap_or(&TRUE);
        }
        if let Some(&gate) = self.by_gate.get(&parts) {
            return gate;
        }
        let gate = self.fresh();
        let mut last = vec![gate];
        for &part in &parts {
            self.clause(&[-gate, part]);
            last.push(-part);
        }
        self.clause(&last);
        self.by_gate.insert(parts, gate);
        gate
    }

    /// Returns a literal that is true if and only if one of `parts` is.
    pub(crate) fn any(&mut self, parts: &[i32]) -> i32 {
        -self.all(parts.iter().map(|part| -part).collect())
    }

    /// Returns a literal that says `then` where `condition` holds, else `otherwise`.
    pub(crate) fn choice(&mut self, condition: i32, then: i32, otherwise: i32) -> i32 {
        let (first, second) = (self.any(&[-condition, then]), self.any(&[condition, otherwise]));
        self.all(vec![first, second])
    }

    /// Returns a new number: `then` where `condition` holds, else `otherwise`.
    pub(crate) fn chosen(&mut self, condition: i32, then: &Form, otherwise: &Form) -> Result<Form> {
        // A name that no question can declare.
        let chosen = Form::of(self.variable(&format!("#{}", self.names.len())), Number::ONE);
        for (guard, branch) in [(condition, then), (-condition, otherwise)] {
            let is_branch = self.is_zero(&chosen.plus(&Number::MINUS_ONE, branch)?)?;
            let clause = self.any(&[-guard, is_branch]);
            self.clause(&[clause]);
        }
        Ok(chosen)
    }
}
