//! Questions: SMT-LIB 2 with Booleans and linear real arithmetic.

use crate::cut::{Cut, Form, TRUE};
use crate::number::Number;
use crate::{MAX_WORD, Result, ensure};
use Value::{Linear, Truth};
use std::collections::HashMap;
use std::rc::Rc;

/// Brackets within brackets.
const MAX_DEPTH: usize = 200;
/// What no question can give another meaning.
const RESERVED: &str = "and or not xor distinct ite let true false as par exists forall match assert exit push pop echo reset \
                        Real Bool Int String BINARY DECIMAL HEXADECIMAL NUMERAL STRING";

/// Cuts a question into clauses.
pub(crate) fn read(text: &str) -> Result<Cut> {
    let tokens = tokens(text)?;
    let mut reader = Reader { tokens: &tokens, cut: Cut::new(), scope: HashMap::new() };
    reader.take(&["(", "set-logic", "QF_LRA", ")"]);
    while !reader.take(&["(", "check-sat", ")"]) {
        if reader.take(&["(", "declare-fun"]) {
            reader.declare()?;
        } else {
            reader.expect(&["(", "assert"])?;
            reader.demand()?;
            reader.expect(&[")"])?;
        }
    }
    while !reader.tokens.is_empty() {
        let is_idle = ["get-value", "get-model", "exit"].iter().any(|word| reader.take(&["(", word]));
        ensure(is_idle, "a command behind (check-sat)")?;
        reader.skip()?;
    }
    Ok(reader.cut)
}

/// Splits a text into words of the language and brackets, each of which is closed.
fn tokens(text: &str) -> Result<Vec<&str>> {
    let (mut tokens, mut depth, mut rest) = (Vec::new(), 0, text.trim_start_matches([' ', '\n']));
    while !rest.is_empty() {
        let (token, behind) = rest.split_at(rest.find(['(', ')', ' ', '\n']).unwrap_or(rest.len()).max(1));
        match token {
            "(" => depth += 1,
            _ if depth == 0 => return Err("not in brackets"),
            ")" => depth -= 1,
            _ => ensure(is_symbol(token) || is_decimal(token) || is_sign(token), "not a word of the language")?,
        }
        ensure(depth <= MAX_DEPTH && token.len() <= MAX_WORD, "brackets too deep, or a word too long")?;
        tokens.push(token);
        rest = behind.trim_start_matches([' ', '\n']);
    }
    ensure(depth == 0, "a bracket is not closed")?;
    Ok(tokens)
}

/// Is it a word that is neither a name nor a number?
fn is_sign(word: &str) -> bool {
    matches!(word, "+" | "-" | "*" | "/" | "<" | "<=" | ">" | ">=" | "=" | "=>")
        || matches!(word, "set-logic" | "declare-fun" | "check-sat" | "get-value" | "get-model")
}

/// Is it a letter, then letters, digits, and `_.!`?
fn is_symbol(word: &str) -> bool {
    word.as_bytes()[0].is_ascii_alphabetic() && word.bytes().all(|c| c.is_ascii_alphanumeric() || b"_.!".contains(&c))
}

/// Is it `12` or `12.50`?
fn is_decimal(word: &str) -> bool {
    let (whole, part) = word.split_once('.').unwrap_or((word, "0"));
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    is_digits(whole) && is_digits(part) && (whole == "0" || !whole.starts_with('0'))
}

#[derive(Clone)]
enum Value {
    Truth(i32),
    Linear(Rc<Form>),
}

fn truths(values: &[Value]) -> Result<Vec<i32>> {
    let truth = |value: &Value| if let Truth(literal) = value { Some(*literal) } else { None };
    values.iter().map(truth).collect::<Option<_>>().ok_or("a number where a formula should be")
}

fn forms<'a>(values: &'a [Value]) -> Result<Vec<&'a Form>> {
    let form = |value: &'a Value| if let Linear(form) = value { Some(form.as_ref()) } else { None };
    values.iter().map(form).collect::<Option<_>>().ok_or("a formula where a number should be")
}

struct Reader<'a> {
    /// What is still to be read.
    tokens: &'a [&'a str],
    cut: Cut,
    /// What names stand for.
    scope: HashMap<&'a str, Value>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<&'a str> {
        let (first, rest) = self.tokens.split_first().ok_or("the question ends too early")?;
        self.tokens = rest;
        Ok(first)
    }

    /// Reads these tokens if they are next, and returns whether they were.
    fn take(&mut self, tokens: &[&'a str]) -> bool {
        self.tokens.strip_prefix(tokens).map(|rest| self.tokens = rest).is_some()
    }

    fn expect(&mut self, tokens: &[&'a str]) -> Result<()> {
        ensure(self.take(tokens), "a word or a bracket that is not in its place")
    }

    /// Reads up to the end of the bracket, whatever is in it.
    fn skip(&mut self) -> Result<()> {
        while !self.take(&[")"]) {
            if self.next()? == "(" {
                self.skip()?;
            }
        }
        Ok(())
    }

    /// Reads one or more of what `item` reads, and the end of the bracket.
    fn several<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while !self.take(&[")"]) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Reads a name that can be given a meaning.
    fn name(&mut self) -> Result<&'a str> {
        let name = self.next()?;
        ensure(
            is_symbol(name) && !RESERVED.split(' ').any(|word| word == name),
            "not a name that can be given a meaning",
        )?;
        Ok(name)
    }

    fn declare(&mut self) -> Result<()> {
        let name = self.name()?;
        let value = if self.take(&["(", ")", "Real", ")"]) {
            Linear(Rc::new(Form::of(self.cut.variable(name), Number::ONE)))
        } else {
            self.expect(&["(", ")", "Bool", ")"])?;
            Truth(self.cut.fresh())
        };
        ensure(self.scope.insert(name, value).is_none(), "declared twice")
    }

    /// Asserts a formula: conjunctions part by part, disjunctions as clauses.
    fn demand(&mut self) -> Result<()> {
        if self.take(&["(", "and"]) {
            return self.several(Self::demand).map(drop);
        }
        if self.take(&["(", "let"]) {
            return self.within(Self::demand);
        }
        let parts = if self.take(&["(", "or"]) { self.several(Self::value)? } else { vec![self.value()?] };
        let mut clause = truths(&parts)?;
        clause.sort_unstable();
        clause.dedup();
        self.cut.clause(&clause);
        Ok(())
    }

    /// Reads bindings, whose values are those of outside, then what `body` reads, and the end of the bracket.
    fn within<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mut values = HashMap::new();
        self.expect(&["("])?;
        self.several(|reader| {
            reader.expect(&["("])?;
            let is_new = values.insert(reader.name()?, reader.value()?).is_none();
            ensure(is_new, "bound twice")?;
            reader.expect(&[")"])
        })?;
        let hidden: Vec<_> = values.into_iter().map(|(name, value)| (name, self.scope.insert(name, value))).collect();
        let found = body(self)?;
        for (name, value) in hidden {
            match value {
                Some(value) => self.scope.insert(name, value),
                None => self.scope.remove(name),
            };
        }
        self.expect(&[")"])?;
        Ok(found)
    }

    fn value(&mut self) -> Result<Value> {
        if self.take(&["(", "let"]) {
            return self.within(Self::value);
        }
        match self.next()? {
            "(" => {
                let operator = self.next()?;
                let values = self.several(Self::value)?;
                self.applied(operator, &values)
            }
            "true" => Ok(Truth(TRUE)),
            "false" => Ok(Truth(-TRUE)),
            word if is_decimal(word) => Ok(Linear(Rc::new(Form::of(0, Number::decimal(word)?)))),
            word => self.scope.get(word).cloned().ok_or("an unknown word"),
        }
    }

    fn applied(&mut self, operator: &str, values: &[Value]) -> Result<Value> {
        let (cut, minus) = (&mut self.cut, &Number::MINUS_ONE);
        Ok(Truth(match (operator, values) {
            ("not", [Truth(a)]) => -a,
            ("and", _) => cut.all(truths(values)?),
            ("or", _) => cut.any(&truths(values)?),
            ("=>", [Truth(a), Truth(b)]) => cut.any(&[-a, *b]),
            ("=", [Truth(a), Truth(b)]) => cut.choice(*a, *b, -b),
            ("xor" | "distinct", [Truth(a), Truth(b)]) => cut.choice(*a, -b, *b),
            ("ite", [Truth(condition), Truth(a), Truth(b)]) => cut.choice(*condition, *a, *b),
            ("<" | "<=", [Linear(a), Linear(b)]) => cut.at_most_zero(&a.plus(minus, b)?, operator == "<")?,
            (">" | ">=", [Linear(a), Linear(b)]) => cut.at_most_zero(&b.plus(minus, a)?, operator == ">")?,
            ("=", [Linear(a), Linear(b)]) => cut.is_zero(&a.plus(minus, b)?)?,
            ("distinct", [Linear(a), Linear(b)]) => -cut.is_zero(&a.plus(minus, b)?)?,
            ("ite", [Truth(condition), Linear(a), Linear(b)]) => {
                return Ok(Linear(Rc::new(cut.chosen(*condition, a, b)?)));
            }
            _ => return Ok(Linear(Rc::new(computed(operator, &forms(values)?)?))),
        }))
    }
}

/// Applies an operator of arithmetic, from the left.
fn computed(operator: &str, forms: &[&Form]) -> Result<Form> {
    let sum = |factor, first: &Form, others: &[&Form]| {
        others.iter().try_fold(first.clone(), |sum, other| sum.plus(&factor, other))
    };
    match (operator, forms) {
        ("-", [one]) => one.times(&Number::MINUS_ONE),
        ("+", [first, others @ ..]) => sum(Number::ONE, first, others),
        ("-", [first, others @ ..]) => sum(Number::MINUS_ONE, first, others),
        ("*", [first, others @ ..]) if forms.iter().filter(|form| !form.is_constant()).count() < 2 => {
            others.iter().try_fold((*first).clone(), |product, other| match product.is_constant() {
                true => other.times(product.constant()),
                false => product.times(other.constant()),
            })
        }
        ("/", [over, under]) if under.is_constant() => over.times(&under.constant().inverse()?),
        _ => Err("an operator of what it is not for"),
    }
}
