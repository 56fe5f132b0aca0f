//! Escaping of text from other parties so that it is safe on a terminal: names of processes, hosts and devices, and
//! text from sockets and files.
//!
//! ESC sequences can set a terminal's title or type as the user would, C1 controls do the same in one character, and
//! bidirectional overrides reorder the visible text (CVE-2021-42574). `python/fairweir/cli/terminal.py` implements the
//! same in Python.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write;

/// Replaces every character that is not printable by its escape sequence, such as `\x1b` or `\u202e`. Characters in
/// `keep` are not replaced.
///
/// Printable characters are the ASCII space and all characters outside Unicode's categories Other (controls, format
/// characters, unassigned) and Separator. Backslashes are not doubled, because the result is only for display.
pub fn escape<'a>(text: &'a str, keep: &[char]) -> Cow<'a, str> {
    let stays = |c: char| keep.contains(&c) || is_printable(c);
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        let code = u32::from(c);
        // Writing to a string cannot fail.
        let _ = match code {
            _ if stays(c) => out.write_char(c),
            0..=0xff => write!(out, "\\x{code:02x}"),
            0x100..=0xffff => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    Cow::Owned(out)
}

/// Returns a copy in which each string, at any depth, is escaped to one line.
///
/// # Errors
/// If `value` cannot be represented as JSON, or if the escaped JSON no longer parses as `T`.
pub fn escape_all<T: Serialize + DeserializeOwned>(value: &T) -> serde_json::Result<T> {
    let mut tree = serde_json::to_value(value)?;
    escape_strings(&mut tree);
    serde_json::from_value(tree)
}

fn escape_strings(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(escaped) = escape(text, &[]) {
                *text = escaped;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(escape_strings),
        Value::Object(fields) => fields.values_mut().for_each(escape_strings),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Formats JSON on one line and writes characters that are not printable as `\u....`. The document is unchanged and
/// safe to display.
pub fn json(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().all(is_printable) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_printable(c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(out, "\\u{unit:04x}");
            });
        }
    }
    out
}

fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // Place the character after a letter, where `escape_debug` does not escape combining marks. It then escapes exactly
    // Unicode's categories Other and Separator.
    let mut pair = [b'a'; 1 + 4];
    let length = c.encode_utf8(&mut pair[1..]).len();
    std::str::from_utf8(&pair[..=length]).is_ok_and(|pair| pair.escape_debug().count() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn control_characters_are_shown_instead_of_executed() {
        for (text, shown) in [
            ("10.0 Mbit/s, [bold] C:\\x \"a\" 'b'", "10.0 Mbit/s, [bold] C:\\x \"a\" 'b'"),
            ("Zürich ≥ 5 µs 日本 e\u{301}", "Zürich ≥ 5 µs 日本 e\u{301}"),
            ("\x1b]0;PWN\x07\x1b[2J", "\\x1b]0;PWN\\x07\\x1b[2J"),
            ("a\nb\tc\r\0\x7f", "a\\x0ab\\x09c\\x0d\\x00\\x7f"),
            ("\u{9b}31m\u{85}", "\\x9b31m\\x85"),
            ("user\u{202e}gpj.exe\u{2066}\u{200f}", "user\\u202egpj.exe\\u2066\\u200f"),
            ("a\u{2028}b\u{2029}c\u{a0}d\u{feff}", "a\\u2028b\\u2029c\\xa0d\\ufeff"),
            ("\u{e0041}", "\\U000e0041"),
        ] {
            assert_eq!(escape(text, &[]), shown);
        }
        assert_eq!(escape("a\n\tb\x1b\r\n", &['\n', '\t']), "a\n\tb\\x1b\\x0d\n");
    }

    #[test]
    fn json_stays_the_same_document() {
        let value = json!({"name": "a\x1b[2J\u{9b}\u{202e}\u{e0041}\x7f é", "n": [1, "\u{85}"]});
        let text = json(&value);
        assert!(text.chars().all(is_printable), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        let escaped: Value = escape_all(&value).unwrap();
        assert_eq!(escaped["n"][1], "\\x85");
    }

    proptest! {
        #[test]
        fn nothing_else_is_left_and_escaping_twice_changes_nothing(text in proptest::collection::vec(any::<char>(), 0..40)) {
            let text: String = text.into_iter().collect();
            let shown = escape(&text, &['\n']).into_owned();
            prop_assert!(shown.chars().all(|c| c == '\n' || is_printable(c)), "{}", shown);
            prop_assert_eq!(escape(&shown, &['\n']), shown.as_str());
            prop_assert!(json(&json!(text)).chars().all(is_printable));
        }
    }
}
