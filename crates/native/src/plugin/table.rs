//! Checks the table that a plug-in exports.

use crate::params::{Param, Unit};
use fairweir_plugin::abi;
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::slice;

/// Maximum number of parameters, and of telemetry values, of a plug-in.
const MAX_ROWS: u64 = 1_000;

/// The checked table of a plug-in.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) params: Vec<Param>,
    pub(super) table: &'static abi::Cc,
    pub(super) telemetry_names: Vec<&'static str>,
}

// SAFETY: by the interface, the table is constant after `fairweir_cc_v1` has returned it.
unsafe impl Send for Facts {}
// SAFETY: as above.
unsafe impl Sync for Facts {}

/// The reason why a library is rejected, and a hint.
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) hint: String,
}

pub(super) fn refuse(reason: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal { reason: reason.into(), hint: hint.into() }
}

pub(super) const BUILD_HINT: &str =
    "build it against include/fairweir_cc.h; `fairweir new plugin NAME` writes one that works";

/// Returns the text at `pointer`, which must not be null.
pub(super) fn text(pointer: *const c_char, what: &str) -> Result<&'static str, Refusal> {
    if pointer.is_null() {
        return Err(refuse(format!("{what} is NULL"), BUILD_HINT));
    }
    // SAFETY: by the interface, this is a C string that is valid as long as the process runs.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| refuse(format!("{what} is not UTF-8"), BUILD_HINT))
}

/// Returns the rows of an array in the table.
fn rows<T>(pointer: *const T, count: u64, what: &str) -> Result<&'static [T], Refusal> {
    if count == 0 {
        return Ok(&[]);
    }
    if count > MAX_ROWS || pointer.is_null() || !pointer.is_aligned() {
        return Err(refuse(format!("{what}: {count} rows at {pointer:?} are not an array"), BUILD_HINT));
    }
    // SAFETY: by the interface, there are `count` rows, which are valid as long as the process runs.
    Ok(unsafe { slice::from_raw_parts(pointer, count as usize) })
}

/// Checks the table.
pub(super) fn read(path: &Path, table: *const abi::Cc) -> Result<Facts, Refusal> {
    if table.is_null() || !table.is_aligned() {
        return Err(refuse(format!("`{}` returns no table", abi::SYMBOL), BUILD_HINT));
    }
    // SAFETY: both fields are first in every version of the interface.
    let (version, size) = unsafe { ((*table).abi, (*table).size) };
    if version != abi::ABI {
        let reason =
            format!("its table is for version {version} of the interface; this fairweir reads version {}", abi::ABI);
        return Err(refuse(reason, "build it against the fairweir_cc.h of this fairweir"));
    }
    let expected = size_of::<abi::Cc>();
    if size as usize != expected {
        let reason = format!("its table has {size} bytes; version {version} of the interface has {expected}");
        return Err(refuse(reason, "set size to sizeof(struct fw_cc)"));
    }
    // SAFETY: guaranteed by the interface and by the size checked above.
    let table: &'static abi::Cc = unsafe { &*table };
    let missing = [
        ("create", table.create.is_none()),
        ("destroy", table.destroy.is_none()),
        ("on_ack", table.on_ack.is_none()),
        ("on_congestion", table.on_congestion.is_none()),
        ("decide", table.decide.is_none()),
        ("on_sent", table.on_sent.is_none() && table.wants & abi::wants::SENT != 0),
        ("on_packet_acked", table.on_packet_acked.is_none() && table.wants & abi::wants::ACKED != 0),
        ("on_packet_lost", table.on_packet_lost.is_none() && table.wants & abi::wants::LOST != 0),
        ("telemetry", table.telemetry.is_none() && table.telemetry_count > 0),
    ];
    if let Some((function, _)) = missing.iter().find(|(_, is_missing)| *is_missing) {
        return Err(refuse(format!("{function} is NULL"), "only the optional functions of fairweir_cc.h may be NULL"));
    }
    if table.wants & !abi::wants::ALL != 0 {
        return Err(refuse(format!("wants has unknown bits: {:#x}", table.wants), BUILD_HINT));
    }
    let params = rows(table.params, table.param_count, "params")?.iter().map(param).collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) = params.iter().enumerate().find(|(i, p)| params[..*i].iter().any(|q| q.name == p.name)) {
        return Err(refuse(format!("two parameters are named `{}`", twice.1.name), BUILD_HINT));
    }
    let names = rows(table.telemetry_names, table.telemetry_count, "telemetry_names")?;
    let names = names.iter().map(|name| text(*name, "a name of the telemetry")).collect::<Result<_, _>>()?;
    Ok(Facts {
        path: path.display().to_string(),
        name: text(table.name, "name")?.to_owned(),
        version: text(table.version, "version")?.to_owned(),
        params,
        table,
        telemetry_names: names,
    })
}

/// Checks a row of the parameter table.
fn param(row: &abi::Param) -> Result<Param, Refusal> {
    let name = text(row.name, "a parameter's name")?;
    let wrong = |what: String| refuse(format!("parameter `{name}`: {what}"), BUILD_HINT);
    let unit = match row.unit {
        abi::unit::NUMBER => Unit::Real,
        abi::unit::INTEGER => Unit::Number,
        abi::unit::FLAG => Unit::Flag,
        abi::unit::TIME => Unit::Nanos,
        abi::unit::RATE => Unit::Rate,
        other => return Err(wrong(format!("unknown unit {other}"))),
    };
    if !(row.min <= row.def && row.def <= row.max && row.min.is_finite() && row.max.is_finite()) {
        return Err(wrong(format!("not min <= def <= max: {}, {}, {}", row.min, row.def, row.max)));
    }
    if unit != Unit::Real && row.min < 0.0 {
        return Err(wrong(format!("its minimum is negative: {}", row.min)));
    }
    let word = |value: f64| if unit == Unit::Real { value.to_bits() } else { value as u64 };
    let doc = text(row.doc, "a parameter's line of documentation")?.to_owned();
    Ok(Param { name: name.to_owned(), doc, unit, default: word(row.def), least: word(row.min), most: word(row.max) })
}
