//! Questions: SMT-LIB 2 with Booleans and linear real arithmetic.

use crate::cut::{Cut, Form, TRUE};
use crate::number::Number;
use crate::{MAX_WORD, Result, reject, shown};
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

impl Value {
    fn truth(&self) -> Result<i32> {
        if let Value::Truth(literal) = self { Ok(*literal) } else { reject("a number where a formula should be") }
    }
}

/// What names stand for; those that `let` gave, the innermost last.
type Scope<'a> = HashMap<&'a str, Vec<Value>>;

/// Cuts a question into clauses.
pub(crate) fn read(text: &str) -> Result<Cut> {
    let mut reader = Reader { cut: Cut::new(), scope: Scope::new(), choices: 0 };
    let mut is_asked = false;
    for (i, command) in commands(text)?.iter().enumerate() {
        match command.as_slice() {
            [Word("get-value" | "get-model" | "exit"), ..] if is_asked => {}
            _ if is_asked => return reject("a command behind (check-sat)"),
            [Word("check-sat")] => is_asked = true,
            [Word("set-logic"), Word("QF_LRA")] if i == 0 => {}
            [Word("declare-fun"), Word(name), List(none), Word(sort @ ("Real" | "Bool"))] if none.is_empty() => {
                if reader.scope.get(free(name)?).is_some_and(|values| !values.is_empty()) {
                    return reject(format!("declared twice: {}", shown(name)));
                }
                let value = match *sort {
                    "Real" => Value::Number(Rc::new(Form::of(reader.cut.variable(name), Number::ONE)?)),
                    _ => Value::Truth(reader.cut.fresh()),
                };
                reader.scope.insert(name, vec![value]);
            }
            [Word("assert"), formula] => reader.demand(formula)?,
            [Word(other), ..] => return reject(format!("unknown command: {}", shown(other))),
            _ => return reject("not a command"),
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

/// Cuts a text into brackets and words.
fn commands(text: &str) -> Result<Vec<Vec<Tree<'_>>>> {
    let (mut done, mut stack) = (Vec::new(), Vec::<Vec<Tree>>::new());
    let mut rest = text.trim_start_matches([' ', '\n']);
    while let Some(first) = rest.chars().next() {
        let end = if "()".contains(first) { 1 } else { rest.find(['(', ')', ' ', '\n']).unwrap_or(rest.len()) };
        let (word, behind) = rest.split_at(end);
        rest = behind.trim_start_matches([' ', '\n']);
        let depth = stack.len();
        match (word, stack.last_mut()) {
            ("(", _) if depth == MAX_DEPTH => return reject("brackets too deep"),
            ("(", _) => stack.push(Vec::new()),
            (_, None) => return reject(format!("not in brackets: {}", shown(word))),
            (")", _) => {
                let list = stack.pop().unwrap_or_default();
                match stack.last_mut() {
                    Some(outer) => outer.push(List(list)),
                    None => done.push(list),
                }
            }
            (_, Some(list)) => {
                let is_known = is_symbol(word) || SIGNS.split(' ').any(|sign| sign == word);
                if word.len() > MAX_WORD || !(is_known || Number::decimal(word).is_some()) {
                    return reject(format!("not a word of the language: {}", shown(word)));
                }
                list.push(Word(word));
            }
        }
    }
    if stack.is_empty() { Ok(done) } else { reject("a bracket is not closed") }
}

struct Reader<'a> {
    cut: Cut,
    scope: Scope<'a>,
    choices: usize,
}

impl<'a> Reader<'a> {
    /// Asserts a formula: conjunctions part by part, disjunctions as clauses.
    fn demand(&mut self, formula: &Tree<'a>) -> Result<()> {
        let mut clause = match formula {
            List(list) => match list.as_slice() {
                [Word("and"), parts @ ..] if !parts.is_empty() => {
                    return parts.iter().try_for_each(|part| self.demand(part));
                }
                [Word("or"), parts @ ..] if !parts.is_empty() => {
                    parts.iter().map(|part| self.value(part)?.truth()).collect::<Result<_>>()?
                }
                [Word("let"), List(bindings), body] => {
                    return self.within(bindings, |reader| reader.demand(body));
                }
                _ => vec![self.value(formula)?.truth()?],
            },
            Word(_) => vec![self.value(formula)?.truth()?],
        };
        clause.sort_unstable();
        clause.dedup();
        self.cut.clause(&clause);
        Ok(())
    }

    /// Gives names to values, which are those of outside, for as long as `body` is read.
    fn within<T>(&mut self, bindings: &[Tree<'a>], body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mut values = HashMap::new();
        for binding in bindings {
            let List(pair) = binding else { return reject("not a binding") };
            let [Word(name), value] = pair.as_slice() else { return reject("not a binding") };
            if values.insert(free(name)?, self.value(value)?).is_some() {
                return reject(format!("bound twice: {}", shown(name)));
            }
        }
        let names: Vec<&str> = values.keys().copied().collect();
        for (name, value) in values {
            self.scope.entry(name).or_default().push(value);
        }
        let found = if names.is_empty() { reject("a let of nothing") } else { body(self) };
        for name in names {
            self.scope.get_mut(name).expect("it was given a value").pop();
        }
        found
    }

    fn value(&mut self, tree: &Tree<'a>) -> Result<Value> {
        let list = match tree {
            Word(word) => return self.word(word),
            List(list) => list.as_slice(),
        };
        match list {
            [Word("let"), List(bindings), body] => self.within(bindings, |reader| reader.value(body)),
            [Word(operator), parts @ ..] if !parts.is_empty() => {
                let values = parts.iter().map(|part| self.value(part)).collect::<Result<Vec<_>>>()?;
                let truths: Vec<i32> = values.iter().filter_map(|value| value.truth().ok()).collect();
                let forms = values.iter().filter_map(|value| match value {
                    Value::Number(form) => Some(&**form),
                    Value::Truth(_) => None,
                });
                match (*operator, truths.as_slice()) {
                    ("ite", [condition]) if matches!(values.as_slice(), [Value::Truth(_), _, _]) => {
                        self.chosen(*condition, forms)
                    }
                    (_, []) => self.computed(operator, &forms.collect::<Vec<_>>()),
                    _ if truths.len() == values.len() => self.connected(operator, &truths).map(Value::Truth),
                    _ => reject(format!("formulas and numbers under one {}", shown(operator))),
                }
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

    /// Returns a new variable that equals the first form where `condition` holds, else the second one.
    fn chosen<'f>(&mut self, condition: i32, branches: impl Iterator<Item = &'f Form>) -> Result<Value> {
        self.choices += 1;
        let chosen = Form::of(self.cut.variable(&format!("#{}", self.choices)), Number::ONE)?;
        for (guard, branch) in [condition, -condition].into_iter().zip(branches) {
            let is_branch = self.cut.is_zero(&chosen.plus(&Number::MINUS_ONE, branch)?)?;
            let clause = self.cut.any(&[-guard, is_branch]);
            self.cut.clause(&[clause]);
        }
        Ok(Value::Number(Rc::new(chosen)))
    }

    fn connected(&mut self, operator: &str, parts: &[i32]) -> Result<i32> {
        let cut = &mut self.cut;
        Ok(match (operator, parts) {
            ("not", [one]) => -one,
            ("and", _) => cut.all(parts.to_vec()),
            ("or", _) => cut.any(parts),
            ("=>", [given @ .., then]) if !given.is_empty() => {
                cut.any(&given.iter().map(|part| -part).chain([*then]).collect::<Vec<_>>())
            }
            ("=", [first, others @ ..]) if !others.is_empty() => {
                let same = others.iter().map(|other| cut.choice(*first, *other, -other)).collect();
                cut.all(same)
            }
            ("xor", [first, others @ ..]) if !others.is_empty() => {
                others.iter().fold(*first, |one, other| cut.choice(one, -other, *other))
            }
            ("distinct", [one, other]) => cut.choice(*one, -other, *other),
            ("ite", [condition, then, otherwise]) => cut.choice(*condition, *then, *otherwise),
            _ => return reject(format!("unknown connective: {} of {}", shown(operator), parts.len())),
        })
    }

    fn computed(&mut self, operator: &str, parts: &[&Form]) -> Result<Value> {
        let (minus, zero) = (Number::MINUS_ONE, Form::default());
        let form = match (operator, parts) {
            ("-", [one]) => zero.plus(&minus, one)?,
            ("+" | "-", [first, others @ ..]) => {
                let factor = if operator == "+" { Number::ONE } else { minus };
                others.iter().try_fold((*first).clone(), |sum, other| sum.plus(&factor, other))?
            }
            ("*", _) if parts.iter().filter(|part| !part.is_constant()).count() <= 1 => {
                parts.iter().try_fold(Form::of(0, Number::ONE)?, |product, part| match product.is_constant() {
                    true => zero.plus(product.constant(), part),
                    false => zero.plus(part.constant(), &product),
                })?
            }
            ("/", [over, under]) if under.is_constant() && under.constant().sign() != Ordering::Equal => {
                zero.plus(&under.constant().inverse()?, over)?
            }
            ("<" | "<=" | ">" | ">=" | "=", [_, _, ..]) | ("distinct", [_, _]) => {
                let mut literals = Vec::new();
                for pair in parts.windows(2) {
                    let (left, right) = if operator.starts_with('>') { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
                    let difference = left.plus(&minus, right)?;
                    literals.push(match operator {
                        "=" | "distinct" => self.cut.is_zero(&difference)?,
                        _ => self.cut.at_most_zero(&difference, operator.len() == 1)?,
                    });
                }
                let literal = self.cut.all(literals);
                return Ok(Value::Truth(if operator == "distinct" { -literal } else { literal }));
            }
            _ => return reject(format!("not linear arithmetic: {} of {}", shown(operator), parts.len())),
        };
        Ok(Value::Number(Rc::new(form)))
    }
}
