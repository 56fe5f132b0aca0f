//! Parameters of an algorithm in C: converts JSON to the numbers that the hooks read.

use fairweir_units::{Dur, Rate};
use serde_json::{Map, Value};

/// The number 1 in fixed point (`CC_FP_ONE`).
const FRACTION_UNITS: f64 = 65_536.0;

/// Unit of a parameter's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A whole number.
    Number,
    /// A number with a fraction, stored in units of 1/2^16.
    Fixed,
    /// True or false.
    Flag,
    /// A number with sign and fraction, stored as the bits of an f64.
    Real,
    /// Nanoseconds, written with a unit.
    Nanos,
    /// Microseconds, written with a unit.
    Micros,
    /// Packets, a whole number.
    Packets,
    /// Bytes per second, written with a unit.
    Rate,
}

/// A row of a parameter table.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) unit: Unit,
    pub(crate) default: u64,
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Param {
    /// Returns `raw` in the parameter's unit.
    fn show(&self, raw: u64) -> Value {
        match self.unit {
            Unit::Number | Unit::Packets => raw.into(),
            Unit::Fixed => shortest_decimal(raw).into(),
            Unit::Real => f64::from_bits(raw).into(),
            Unit::Flag => (raw != 0).into(),
            Unit::Nanos => Dur::from_nanos(raw).to_string().into(),
            Unit::Micros => Dur::from_micros(raw).to_string().into(),
            Unit::Rate => Rate::from_bytes_per_sec(raw).to_string().into(),
        }
    }

    /// Returns the number that hooks read for `value`, or an error.
    fn read(&self, value: &Value) -> Result<u64, String> {
        let wants = |what: &str| format!("`{}` is {what}, not `{value}`", self.name);
        let raw = match self.unit {
            Unit::Number | Unit::Packets => value.as_u64().ok_or_else(|| wants("a whole number"))?,
            Unit::Flag => value.as_bool().map(u64::from).ok_or_else(|| wants("true or false"))?,
            Unit::Fixed => {
                let number = value.as_f64().filter(|x| *x >= 0.0).ok_or_else(|| wants("a non-negative number"))?;
                (number * FRACTION_UNITS).round() as u64
            }
            Unit::Real => value.as_f64().ok_or_else(|| wants("a number"))?.to_bits(),
            Unit::Nanos | Unit::Micros => {
                let text = value.as_str().ok_or_else(|| wants("a time with its unit, such as \"10ms\""))?;
                let time: Dur = text.parse().map_err(|e| format!("`{}`: {e}", self.name))?;
                if self.unit == Unit::Nanos {
                    time.as_nanos()
                } else if !time.as_nanos().is_multiple_of(1_000) {
                    return Err(format!("`{}` is in whole microseconds: `{text}`", self.name));
                } else {
                    time.as_micros()
                }
            }
            Unit::Rate => {
                let text = value.as_str().ok_or_else(|| wants("a rate with its unit, such as \"10Mbps\""))?;
                let rate: Rate = text.parse().map_err(|e| format!("`{}`: {e}", self.name))?;
                rate.bytes_per_sec()
            }
        };
        let is_within = match self.unit {
            Unit::Real => (f64::from_bits(self.least)..=f64::from_bits(self.most)).contains(&f64::from_bits(raw)),
            _ => (self.least..=self.most).contains(&raw),
        };
        if is_within {
            return Ok(raw);
        }
        let (least, most) = (self.show(self.least), self.show(self.most));
        Err(format!("`{}` must be from {least} to {most}: {value}", self.name))
    }
}

/// Returns a decimal with at most three digits that is parsed as `raw` (0.98, not 0.9799957275390625); if there is
/// none, the exact decimal.
fn shortest_decimal(raw: u64) -> f64 {
    let exact = raw as f64 / FRACTION_UNITS;
    let decimals = [1.0, 1e1, 1e2, 1e3].map(|power: f64| (exact * power).round() / power);
    decimals.into_iter().find(|x| (x * FRACTION_UNITS).round() as u64 == raw).unwrap_or(exact)
}

/// Returns every parameter with its default.
pub(crate) fn defaults(table: &[Param]) -> Value {
    let all = table.iter().map(|param| (param.name.clone(), param.show(param.default)));
    Value::Object(all.collect::<Map<String, Value>>())
}

/// Returns the numbers for `params` (an object, or null), in the table's order. Absent parameters have their defaults.
///
/// # Errors
/// If a key is unknown, or a value has the wrong type or is out of range.
pub(crate) fn read(table: &[Param], params: &Value) -> Result<Box<[u64]>, String> {
    let empty = Map::new();
    let given = match params {
        Value::Null => &empty,
        Value::Object(map) => map,
        other => return Err(format!("not a table of parameters: {other}")),
    };
    if let Some(unknown) = given.keys().find(|key| !table.iter().any(|param| param.name == **key)) {
        let known: Vec<String> = table.iter().map(|param| format!("`{}`", param.name)).collect();
        return Err(if known.is_empty() {
            format!("unknown field `{unknown}`, there are no parameters")
        } else {
            format!("unknown field `{unknown}`, expected one of {}", known.join(", "))
        });
    }
    table.iter().map(|param| given.get(&param.name).map_or(Ok(param.default), |value| param.read(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table() -> Vec<Param> {
        let param = |name: &str, unit, default, least, most| Param {
            name: name.to_owned(),
            doc: String::new(),
            unit,
            default,
            least,
            most,
        };
        vec![
            param("theta", Unit::Micros, 10_000, 100, 1_000_000),
            param("weight", Unit::Fixed, 1 << 16, 655, 10 << 16),
            param("gamma", Unit::Number, 4, 1, 64),
            param("strict", Unit::Flag, 0, 0, 1),
            param("floor", Unit::Rate, 125_000, 1, 1 << 40),
        ]
    }

    #[test]
    fn defaults_read_back_as_the_same_numbers() {
        let shown = defaults(&table());
        assert_eq!(shown, json!({"theta": "10ms", "weight": 1.0, "gamma": 4, "strict": false, "floor": "1Mbps"}));
        assert_eq!(read(&table(), &shown).unwrap(), read(&table(), &Value::Null).unwrap());
    }

    #[test]
    fn fractions_are_shown_in_few_digits_that_mean_the_same() {
        for shown in [0.98, 2.0, 0.5, 1.296875, 0.01, 0.125, 0.999, 999.99] {
            assert_eq!(shortest_decimal((shown * FRACTION_UNITS).round() as u64), shown);
        }
    }

    #[test]
    fn given_values_are_scaled_to_what_the_hooks_read() {
        let given = json!({"theta": "2.5ms", "weight": 2.5, "strict": true});
        assert_eq!(*read(&table(), &given).unwrap(), [2_500, 163_840, 4, 1, 125_000]);
    }

    #[test]
    fn wrong_parameters_are_rejected_with_key_value_and_range() {
        let refusal = |given: Value| read(&table(), &given).unwrap_err();
        assert!(refusal(json!({"thta": "1ms"})).contains("unknown field `thta`, expected one of `theta`"));
        assert_eq!(refusal(json!({"theta": 5})), "`theta` is a time with its unit, such as \"10ms\", not `5`");
        assert_eq!(refusal(json!({"theta": "5s"})), "`theta` must be from \"100us\" to \"1s\": \"5s\"");
        assert_eq!(refusal(json!({"theta": "1500ns"})), "`theta` is in whole microseconds: `1500ns`");
        assert_eq!(refusal(json!({"weight": -1})), "`weight` is a non-negative number, not `-1`");
        assert_eq!(refusal(json!({"gamma": 2.5})), "`gamma` is a whole number, not `2.5`");
        assert_eq!(refusal(json!([1])), "not a table of parameters: [1]");
    }
}
