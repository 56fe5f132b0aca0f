//! A question as clauses over numbered literals (Tseitin 1968). A literal is the number of a meaning, or its negative
//! for the negation. docs/formal/certificates.md specifies the numbers.

use crate::Result;
use crate::number::Number;
use indexmap::IndexSet;
use std::collections::BTreeMap;

/// The literal that is always true.
pub(crate) const TRUE: i32 = 1;

/// A linear form: pairs of variable and nonzero coefficient, by increasing variable. Variable 0 stands for 1: its
/// coefficient is the form's constant.
pub(crate) type Form = Vec<(usize, Number)>;

/// Returns the form with one term.
pub(crate) fn term(variable: usize, coefficient: Number) -> Form {
    [(variable, coefficient)].into_iter().filter(|(_, coefficient)| coefficient.sign().is_ne()).collect()
}

/// Returns the value of a form that has no variables; `None` for other forms.
pub(crate) fn constant(form: &Form) -> Option<&Number> {
    match form.as_slice() {
        [] => Some(&Number::ZERO),
        [(0, value)] => Some(value),
        _ => None,
    }
}

/// Returns the sum of forms, each multiplied by its factor.
pub(crate) fn sum(parts: &[(Number, &Form)], work: &mut u64) -> Result<Form> {
    let mut totals = BTreeMap::new();
    for (factor, form) in parts {
        for (variable, coefficient) in *form {
            let total = totals.entry(*variable).or_insert(Number::ZERO);
            *total = total.plus(factor, coefficient, work)?;
        }
    }
    Ok(totals.into_iter().filter(|(_, total)| total.sign().is_ne()).collect())
}

/// The meaning of a literal; different literals have different meanings.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Meaning {
    /// A Boolean that the question declares.
    Boolean(String),
    /// `form <= 0` or, if `is_strict`, `form < 0`. The variable whose name is first in order has the coefficient 1 or
    /// -1.
    Atom { form: Form, is_strict: bool },
    /// The conjunction of these literals.
    All(Vec<i32>),
}

/// A question converted to clauses.
pub(crate) struct Cut {
    /// The clauses; clause number n is at index n - 1.
    pub(crate) clauses: Vec<Box<[i32]>>,
    /// Meanings by number; there is no literal 0.
    pub(crate) literals: IndexSet<Meaning>,
    /// Names of variables; the name of variable 0, the constant, is empty.
    pub(crate) variables: IndexSet<String>,
    /// For each literal, the sign that the current step assumes, times the number of clauses at that step (so that
    /// signs of earlier steps do not count).
    pub(crate) held: Vec<i32>,
    /// Units of work that remain.
    pub(crate) work: u64,
}

impl Cut {
    pub(crate) fn new(work: u64) -> Cut {
        let literals = ["", "true"].map(|name| Meaning::Boolean(name.into())).into();
        let (clauses, variables, held) = (vec![[TRUE].into()], [String::new()].into(), Vec::new());
        Cut { clauses, literals, variables, held, work }
    }

    /// Returns the literal with this meaning, and whether the literal is new. No accepted text has 2^31 literals.
    pub(crate) fn literal(&mut self, meaning: Meaning) -> (i32, bool) {
        let (number, is_new) = self.literals.insert_full(meaning);
        (number as i32, is_new)
    }

    /// Returns a literal for `left <= right` or, if `is_strict`, `left < right`.
    pub(crate) fn at_most(&mut self, left: &Form, right: &Form, is_strict: bool) -> Result<i32> {
        let form = sum(&[(Number::ONE, left), (Number::MINUS_ONE, right)], &mut self.work)?;
        let variables = form.iter().filter(|(variable, _)| *variable != 0);
        let Some((_, lead)) = variables.min_by_key(|(variable, _)| &self.variables[*variable]) else {
            let order = constant(&form).unwrap_or(&Number::ZERO).sign();
            return Ok(if order.is_lt() || (order.is_eq() && !is_strict) { TRUE } else { -TRUE });
        };
        // Division by a negative number turns `<=` into `>=`, which is the negation of `<`.
        let is_turned = lead.sign().is_lt();
        let form = sum(&[(lead.inverse()?, &form)], &mut self.work)?;
        let (literal, _) = self.literal(Meaning::Atom { form, is_strict: is_strict != is_turned });
        Ok(if is_turned { -literal } else { literal })
    }

    /// Returns a literal for `left = right`.
    pub(crate) fn equal(&mut self, left: &Form, right: &Form) -> Result<i32> {
        let (at_most, less) = (self.at_most(left, right, false)?, self.at_most(left, right, true)?);
        Ok(self.all(vec![at_most, -less]))
    }

    /// Returns a literal that is true if and only if all `parts` are true.
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
        let (gate, is_new) = self.literal(Meaning::All(parts.clone()));
        if is_new {
            self.clauses.extend(parts.iter().map(|&part| [-gate, part].into()));
            self.clauses.push([gate].into_iter().chain(parts.iter().map(|part| -part)).collect());
        }
        gate
    }

    /// Returns a literal that is true if and only if at least one of `parts` is true.
    pub(crate) fn any(&mut self, parts: &[i32]) -> i32 {
        -self.all(parts.iter().map(|part| -part).collect())
    }

    /// Returns a literal that equals `then` if `condition` is true, and `otherwise` if it is false.
    pub(crate) fn choice(&mut self, condition: i32, then: i32, otherwise: i32) -> i32 {
        let (first, second) = (self.any(&[-condition, then]), self.any(&[condition, otherwise]));
        self.all(vec![first, second])
    }

    /// Returns a form that equals `then` if `condition` is true, and `otherwise` if it is false.
    pub(crate) fn chosen(&mut self, condition: i32, then: &Form, otherwise: &Form) -> Result<Form> {
        // a question cannot declare this name
        let chosen = term(self.variables.insert_full(format!("#{}", self.variables.len())).0, Number::ONE);
        for (guard, branch) in [(condition, then), (-condition, otherwise)] {
            let is_branch = self.equal(&chosen, branch)?;
            let clause = self.any(&[-guard, is_branch]);
            self.clauses.push([clause].into());
        }
        Ok(chosen)
    }
}
