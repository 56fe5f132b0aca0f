//! Questions: SMT-LIB 2 with Booleans and linear real arithmetic.

use crate::cut::{Cut, Form, TRUE};
use crate::number::Number;
use crate::{MAX_WORD, Result, ensure, reject, shown};
use Tree::{List, Word};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

/// Brackets within brackets.
const MAX_DEPTH: usize = 200;
/// What no question can give another meaning.
const RESERVED: &str = "and or not xor distinct ite let true false as par exists forall match assert exit push pop echo reset \
                        Real Bool Int String BINARY DECIMAL HEXADECIMAL NUMERAL STRING";
/// Words that are neither names nor numbers.
const SIGNS: &str = "+ - * / < <= > >= = => set-logic declare-fun check-sat get-value get-model";

enum Tree<'a> {
    Word(&'a str),
    List(Vec<Tree<'a>>),
}

#[derive(Clone)]
enum Value {
    Truth(i32),
    Number(Rc<Form>),
}

impl<'a> Tree<'a> {
    /// Returns what is in a bracket; of a word, nothing.
    fn parts(&self) -> &[Tree<'a>] {
        if let List(parts) = self { parts } else { &[] }
    }
}

impl Value {
    fn truth(&self) -> Result<i32> {
        if let Value::Truth(literal) = self { Ok(*literal) } else { reject("a number where a formula should be") }
    }
}

/// What names stand for; those that `let` gave, the innermost last.
type Scope<'a> = HashMap<&'a str, Vec<Value>>;

/// Cuts a question into clauses.
pub(crate) fn read(text: &str) -> Result<Cut> {
    let mut reader = Reader { cut: Cut::new(), scope: Scope::new() };
    let mut is_asked = false;
    for (i, command) in list(&mut &*text, 0)?.iter().enumerate() {
        match command.parts() {
            [Word("get-value" | "get-model" | "exit"), ..] if is_asked => {}
            _ if is_asked => return reject("a command behind (check-sat)"),
            [Word("check-sat")] => is_asked = true,
            [Word("set-logic"), Word("QF_LRA")] if i == 0 => {}
            [Word("declare-fun"), Word(name), List(none), Word(sort @ ("Real" | "Bool"))] if none.is_empty() => {
                ensure(reader.scope.get(free(name)?).is_none_or(|values| values.is_empty()), "declared twice")?;
                let value = match *sort {
                    "Real" => Value::Number(Rc::new(Form::of(reader.cut.variable(name), Number::ONE)?)),
                    _ => Value::Truth(reader.cut.fresh()),
                };
                reader.scope.insert(name, vec![value]);
            }
            [Word("assert"), formula] => reader.demand(formula)?,
            _ => return reject("not a command, or not in its place"),
        }
    }
    if is_asked { Ok(reader.cut) } else { reject("there is no (check-sat)") }
}

/// Is it a letter, then letters, digits, and `_.!`?
fn is_symbol(word: &str) -> bool {
    word.as_bytes()[0].is_ascii_alphabetic() && word.bytes().all(|c| c.is_ascii_alphanumeric() || b"_.!".contains(&c))
}

/// Returns a name if it can be given a meaning.
fn free(name: &str) -> Result<&str> {
    let is_free = is_symbol(name) && !RESERVED.split(' ').any(|word| word == name);
    if is_free { Ok(name) } else { reject(format!("not a name that can be given a meaning: {}", shown(name))) }
}

/// Takes the next bracket or word off a text.
fn next<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start_matches([' ', '\n']);
    let end = if text.starts_with(['(', ')']) { 1 } else { text.find(['(', ')', ' ', '\n']).unwrap_or(text.len()) };
    let (word, behind) = text.split_at(end);
    *rest = behind;
    Some(word).filter(|word| !word.is_empty())
}

/// Reads what is in a bracket, up to its end; with no bracket open, up to the end of the text.
fn list<'a>(rest: &mut &'a str, depth: usize) -> Result<Vec<Tree<'a>>> {
    let mut done = Vec::new();
    loop {
        match next(rest) {
            None if depth == 0 => return Ok(done),
            None => return reject("a bracket is not closed"),
            Some(")") if depth > 0 => return Ok(done),
            Some("(") if depth < MAX_DEPTH => done.push(List(list(rest, depth + 1)?)),
            Some(word) if depth > 0 && is_word(word) => done.push(Word(word)),
            Some(word) => return reject(format!("brackets too deep, or not a word in brackets: {}", shown(word))),
        }
    }
}

fn is_word(word: &str) -> bool {
    let is_known = is_symbol(word) || SIGNS.split(' ').any(|sign| sign == word);
    word.len() <= MAX_WORD && (is_known || Number::decimal(word).is_some())
}

struct Reader<'a> {
    cut: Cut,
    scope: Scope<'a>,
}

impl<'a> Reader<'a> {
    /// Asserts a formula: conjunctions part by part, disjunctions as clauses.
    fn demand(&mut self, formula: &Tree<'a>) -> Result<()> {
        let parts = match formula.parts() {
            [Word("and"), parts @ ..] if !parts.is_empty() => {
                return parts.iter().try_for_each(|part| self.demand(part));
            }
            [Word("let"), List(bindings), body] => return self.within(bindings, |reader| reader.demand(body)),
            [Word("or"), parts @ ..] if !parts.is_empty() => parts,
            _ => std::slice::from_ref(formula),
        };
        let mut clause = parts.iter().map(|part| self.value(part)?.truth()).collect::<Result<Vec<_>>>()?;
        clause.sort_unstable();
        clause.dedup();
        self.cut.clause(&clause);
        Ok(())
    }

    /// Gives names to values, which are those of outside, for as long as `body` is read.
    fn within<T>(&mut self, bindings: &[Tree<'a>], body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mut values = HashMap::new();
        for binding in bindings {
            let [Word(name), value] = binding.parts() else { return reject("not a binding") };
            ensure(values.insert(free(name)?, self.value(value)?).is_none(), "bound twice")?;
        }
        let names: Vec<&str> = values.keys().copied().collect();
        for (name, value) in values {
            self.scope.entry(name).or_default().push(value);
        }
        ensure(!names.is_empty(), "a let of nothing")?;
        let found = body(self)?;
        for name in names {
            self.scope.entry(name).or_default().pop();
        }
        Ok(found)
    }

    fn value(&mut self, tree: &Tree<'a>) -> Result<Value> {
        if let Word(word) = tree {
            return self.word(word);
        }
        match tree.parts() {
            [Word("let"), List(bindings), body] => self.within(bindings, |reader| reader.value(body)),
            [Word(operator), parts @ ..] if !parts.is_empty() => {
                let values = parts.iter().map(|part| self.value(part)).collect::<Result<Vec<_>>>()?;
                let (mut truths, mut forms) = (Vec::new(), Vec::new());
                for value in &values {
                    match value {
                        Value::Truth(literal) => truths.push(*literal),
                        Value::Number(form) => forms.push(&**form),
                    }
                }
                let is_chosen = values[0].truth().is_ok();
                self.applied(operator, &truths, &forms, is_chosen)
            }
            _ => reject("not an expression"),
        }
    }

    fn word(&self, word: &str) -> Result<Value> {
        if let Some(value) = self.scope.get(word).and_then(|values| values.last()) {
            return Ok(value.clone());
        }
        match (word, Number::decimal(word)) {
            ("true", _) => Ok(Value::Truth(TRUE)),
            ("false", _) => Ok(Value::Truth(-TRUE)),
            (_, Some(number)) => Ok(Value::Number(Rc::new(Form::of(0, number)?))),
            _ => reject(format!("unknown word: {}", shown(word))),
        }
    }

    /// Applies an operator to formulas or to numbers; `ite` of numbers has a formula, which `is_first`, besides.
    fn applied(&mut self, operator: &str, truths: &[i32], forms: &[&Form], is_first: bool) -> Result<Value> {
        let (cut, zero, minus) = (&mut self.cut, Form::default(), Number::MINUS_ONE);
        let literal = match (operator, truths, forms) {
            ("not", [one], []) => -one,
            ("and", _, []) => cut.all(truths.to_vec()),
            ("or", _, []) => cut.any(truths),
            ("=>", [one, other], []) => cut.any(&[-one, *other]),
            ("=", [one, other], []) => cut.choice(*one, *other, -other),
            ("xor" | "distinct", [one, other], []) => cut.choice(*one, -other, *other),
            ("ite", [condition, then, otherwise], []) => cut.choice(*condition, *then, *otherwise),
            ("<" | "<=", [], [one, other]) => cut.at_most_zero(&one.plus(&minus, other)?, operator == "<")?,
            (">" | ">=", [], [one, other]) => cut.at_most_zero(&other.plus(&minus, one)?, operator == ">")?,
            ("=", [], [one, other]) => cut.is_zero(&one.plus(&minus, other)?)?,
            ("distinct", [], [one, other]) => -cut.is_zero(&one.plus(&minus, other)?)?,
            _ => {
                let form = match (operator, truths, forms) {
                    ("-", [], [one]) => zero.plus(&minus, one)?,
                    ("+" | "-", [], [first, others @ ..]) => {
                        let factor = if operator == "+" { Number::ONE } else { minus };
                        others.iter().try_fold((*first).clone(), |sum, other| sum.plus(&factor, other))?
                    }
                    ("*", [], [first, others @ ..]) if forms.iter().filter(|form| !form.is_constant()).count() < 2 => {
                        others.iter().try_fold((*first).clone(), |product, other| match product.is_constant() {
                            true => zero.plus(product.constant(), other),
                            false => zero.plus(other.constant(), &product),
                        })?
                    }
                    ("/", [], [over, under]) => {
                        let is_number = under.is_constant() && under.constant().sign() != Ordering::Equal;
                        ensure(is_number, "a division by zero, or by an unknown")?;
                        zero.plus(&under.constant().inverse()?, over)?
                    }
                    ("ite", [condition], [then, otherwise]) if is_first => {
                        let name = format!("#{}", cut.names.len());
                        let chosen = Form::of(cut.variable(&name), Number::ONE)?;
                        for (guard, branch) in [(condition, then), (&-condition, otherwise)] {
                            let is_branch = cut.is_zero(&chosen.plus(&minus, branch)?)?;
                            let clause = cut.any(&[-guard, is_branch]);
                            cut.clause(&[clause]);
                        }
                        chosen
                    }
                    _ => return reject(format!("{} of these", shown(operator))),
                };
                return Ok(Value::Number(Rc::new(form)));
            }
        };
        Ok(Value::Truth(literal))
    }
}
