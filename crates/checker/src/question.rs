//! Questions: SMT-LIB 2 with Booleans and linear real arithmetic.

use crate::cut::{Cut, Form, Meaning, TRUE, constant, sum, term};
use crate::number::Number;
use crate::{MAX_WORD, Result, ensure};
use Tree::{List, Word};
use Value::{Linear, Truth};
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum nesting of parentheses.
const MAX_DEPTH: usize = 200;
/// Words that a question must not redefine.
const RESERVED: &str = "and or not xor distinct ite let true false as par exists forall match assert exit push pop echo reset \
                        Real Bool Int String BINARY DECIMAL HEXADECIMAL NUMERAL STRING";

/// Converts a question to clauses.
pub(crate) fn read(text: &str, work: u64) -> Result<Cut> {
    let pieces = text.split_inclusive(['(', ')', ' ', '\n']);
    let tokens = pieces.flat_map(|piece| <[&str; 2]>::from(piece.split_at(piece.len() - 1)));
    let commands = items(&mut tokens.filter(|token| !matches!(*token, "" | " " | "\n")), 0)?;
    let (mut reader, mut is_asked) = (Reader { cut: Cut::new(work), scope: HashMap::new() }, false);
    for (index, command) in commands.iter().enumerate() {
        match command.items() {
            [Word("get-value" | "get-model" | "exit"), ..] if is_asked => {}
            _ if is_asked => return Err("a command behind (check-sat)"),
            [Word("check-sat")] => is_asked = true,
            [Word("set-logic"), Word("QF_LRA")] if index == 0 => {}
            [Word("declare-fun"), Word(name), List(none), Word(sort @ ("Real" | "Bool"))] if none.is_empty() => {
                reader.declare(name, sort)?
            }
            [Word("assert"), formula] => reader.demand(formula)?,
            _ => return Err("an unknown command"),
        }
    }
    ensure(is_asked, "there is no (check-sat)")?;
    Ok(reader.cut)
}

/// A word, or a list in parentheses.
enum Tree<'a> {
    Word(&'a str),
    List(Vec<Tree<'a>>),
}

impl<'a> Tree<'a> {
    fn items(&self) -> &[Tree<'a>] {
        if let List(items) = self { items } else { &[] }
    }
}

/// Parses the content of a pair of parentheses, or the whole text.
fn items<'a>(tokens: &mut impl Iterator<Item = &'a str>, depth: usize) -> Result<Vec<Tree<'a>>> {
    ensure(depth <= MAX_DEPTH, "brackets too deep")?;
    let mut found = Vec::new();
    while let Some(token) = tokens.next() {
        match token {
            "(" => found.push(List(items(tokens, depth + 1)?)),
            ")" if depth > 0 => return Ok(found),
            _ if token.len() > MAX_WORD => return Err("a word that is too long"),
            _ if is_symbol(token) || is_sign(token) || is_decimal(token) => found.push(Word(token)),
            _ => return Err("not a word of the language"),
        }
    }
    ensure(depth == 0, "a bracket is not closed")?;
    Ok(found)
}

/// Returns whether `word` belongs to the language itself, that is, it is neither a name nor a number.
fn is_sign(word: &str) -> bool {
    matches!(word, "+" | "-" | "*" | "/" | "<" | "<=" | ">" | ">=" | "=" | "=>")
        || matches!(word, "set-logic" | "declare-fun" | "check-sat" | "get-value" | "get-model")
}

/// Returns whether `word` is a letter followed by letters, digits, and `_.!`.
fn is_symbol(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|c| c.is_ascii_alphanumeric() || b"_.!".contains(&c))
}

/// Returns whether `word` has the form `12` or `12.50`.
fn is_decimal(word: &str) -> bool {
    let (whole, part) = word.split_once('.').unwrap_or((word, "0"));
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    is_digits(whole) && is_digits(part) && (whole == "0" || !whole.starts_with('0'))
}

/// Returns `name` if it can be declared or bound.
fn nameable(name: &str) -> Result<&str> {
    ensure(is_symbol(name) && !RESERVED.split(' ').any(|word| word == name), "not a name that can be given a meaning")?;
    Ok(name)
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
    cut: Cut,
    /// Meanings of names; `None` for a name whose scope has ended.
    scope: HashMap<&'a str, Option<Value>>,
}

impl<'a> Reader<'a> {
    fn declare(&mut self, name: &'a str, sort: &str) -> Result<()> {
        let value = match sort {
            "Real" => Linear(Rc::new(term(self.cut.variables.insert_full(name.into()).0, Number::ONE))),
            _ => Truth(self.cut.literal(Meaning::Boolean(name.into())).0),
        };
        ensure(self.scope.insert(nameable(name)?, Some(value)).flatten().is_none(), "declared twice")
    }

    /// Asserts a formula: each part of a conjunction separately, a disjunction as one clause.
    fn demand(&mut self, formula: &'a Tree<'a>) -> Result<()> {
        match formula.items() {
            [Word("and"), parts @ ..] if !parts.is_empty() => parts.iter().try_for_each(|part| self.demand(part)),
            [Word("let"), List(bindings), body] => self.within(bindings, |reader| reader.demand(body)),
            [Word("or"), parts @ ..] if !parts.is_empty() => self.clause(parts),
            _ => self.clause(std::slice::from_ref(formula)),
        }
    }

    fn clause(&mut self, parts: &'a [Tree<'a>]) -> Result<()> {
        let values = parts.iter().map(|part| self.value(part)).collect::<Result<Vec<_>>>()?;
        let mut clause = truths(&values)?;
        clause.sort_unstable();
        clause.dedup();
        self.cut.clauses.push(clause.into());
        Ok(())
    }

    /// Binds names to values while `body` runs; the values are evaluated before the names are bound.
    fn within<T>(&mut self, bindings: &'a [Tree<'a>], body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mut inner = HashMap::new();
        for binding in bindings {
            let [Word(name), value] = binding.items() else { return Err("not a binding") };
            ensure(inner.insert(nameable(name)?, Some(self.value(value)?)).is_none(), "bound twice")?;
        }
        ensure(!inner.is_empty(), "nothing is bound")?;
        let hidden: Vec<_> =
            inner.into_iter().map(|(name, new)| (name, self.scope.insert(name, new).flatten())).collect();
        let found = body(self)?;
        self.scope.extend(hidden);
        Ok(found)
    }

    fn value(&mut self, tree: &'a Tree<'a>) -> Result<Value> {
        match tree {
            Word("true") => Ok(Truth(TRUE)),
            Word("false") => Ok(Truth(-TRUE)),
            Word(word) if word.as_bytes()[0].is_ascii_digit() => Ok(Linear(Rc::new(term(0, Number::decimal(word)?)))),
            Word(word) => self.scope.get(word).cloned().flatten().ok_or("an unknown word"),
            List(items) => match items.as_slice() {
                [Word("let"), List(bindings), body] => self.within(bindings, |reader| reader.value(body)),
                [Word(operator), parts @ ..] if !parts.is_empty() => {
                    let values = parts.iter().map(|part| self.value(part)).collect::<Result<Vec<_>>>()?;
                    self.applied(operator, &values)
                }
                _ => Err("an unknown expression"),
            },
        }
    }

    fn applied(&mut self, operator: &str, values: &[Value]) -> Result<Value> {
        let cut = &mut self.cut;
        Ok(Truth(match (operator, values) {
            ("not", [Truth(a)]) => -a,
            ("and", _) => cut.all(truths(values)?),
            ("or", _) => cut.any(&truths(values)?),
            ("=>", [Truth(a), Truth(b)]) => cut.any(&[-a, *b]),
            ("=", [Truth(a), Truth(b)]) => cut.choice(*a, *b, -b),
            ("xor" | "distinct", [Truth(a), Truth(b)]) => cut.choice(*a, -b, *b),
            ("ite", [Truth(c), Truth(a), Truth(b)]) => cut.choice(*c, *a, *b),
            ("<" | "<=", [Linear(a), Linear(b)]) => cut.at_most(a, b, operator == "<")?,
            (">" | ">=", [Linear(a), Linear(b)]) => cut.at_most(b, a, operator == ">")?,
            ("=", [Linear(a), Linear(b)]) => cut.equal(a, b)?,
            ("distinct", [Linear(a), Linear(b)]) => -cut.equal(a, b)?,
            ("ite", [Truth(c), Linear(a), Linear(b)]) => return Ok(Linear(Rc::new(cut.chosen(*c, a, b)?))),
            _ => return Ok(Linear(Rc::new(self.computed(operator, &forms(values)?)?))),
        }))
    }

    /// Applies an arithmetic operator to its operands, from left to right.
    fn computed(&mut self, operator: &str, forms: &[&Form]) -> Result<Form> {
        let work = &mut self.cut.work;
        match (operator, forms) {
            ("+" | "-", _) => {
                let is_minus = |index| operator == "-" && (index > 0 || forms.len() == 1);
                let factors = (0..).map(|index| if is_minus(index) { Number::MINUS_ONE } else { Number::ONE });
                sum(&factors.zip(forms.iter().copied()).collect::<Vec<_>>(), work)
            }
            ("*", _) if forms.iter().filter(|form| constant(form).is_none()).count() < 2 => {
                forms.iter().try_fold(term(0, Number::ONE), |product, form| match constant(&product) {
                    Some(factor) => sum(&[(factor.clone(), form)], work),
                    None => sum(&[(constant(form).unwrap_or(&Number::ONE).clone(), &product)], work),
                })
            }
            ("/", [over, under]) => sum(&[(constant(under).ok_or("a division by an unknown")?.inverse()?, over)], work),
            _ => Err("an operator of what it is not for"),
        }
    }
}
