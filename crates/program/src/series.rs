//! Time series as JSON: the columns of [`fairweir_scenario::Series`] as base64 of their little-endian numbers, or in a
//! file of their own.

use crate::Refusal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fairweir_scenario::{FlowSeries, LinkSeries};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

/// Destination of time series.
#[derive(Clone, Copy, Debug)]
pub enum SeriesTo<'a> {
    /// In the document, as base64.
    Text,
    /// In a separate file.
    File(&'a Path),
}

/// Name of each column and its values, little-endian.
type Columns = Vec<(&'static str, Vec<u8>)>;

macro_rules! columns {
    ($table:expr; $($column:ident),*) => {
        vec![$((stringify!($column), $table.$column.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())),*]
    };
}

/// Renders the series as `{"flows": {column: text}, "links": {column: text}}`; with a file, its columns as `[offset,
/// bytes]`.
///
/// # Errors
/// If the file cannot be written.
pub fn render_series(flows: &FlowSeries, links: &LinkSeries, to: SeriesTo<'_>) -> Result<Value, Refusal> {
    let flows: Columns = columns!(
        flows; t_ns, flow, throughput_mbps, cwnd_bytes, inflight_bytes, pacing_rate_mbps, rtt_ms, lost_pkts
    );
    let links: Columns = columns!(links; t_ns, link, queue_bytes, arrival_rate_mbps, drops, marks);
    let tables = [("flows", flows), ("links", links)];
    let mut document = Map::new();
    match to {
        SeriesTo::Text => {
            for (table, columns) in tables {
                let texts = columns.into_iter().map(|(name, bytes)| (name.to_owned(), STANDARD.encode(bytes).into()));
                document.insert(table.to_owned(), Value::Object(texts.collect()));
            }
        }
        SeriesTo::File(path) => {
            let mut all = Vec::new();
            for (table, columns) in tables {
                let mut places = Map::new();
                for (name, bytes) in columns {
                    places.insert(name.to_owned(), json!([all.len(), bytes.len()]));
                    all.extend_from_slice(&bytes);
                }
                document.insert(table.to_owned(), Value::Object(places));
            }
            fs::write(path, all).map_err(|e| Refusal::new(format!("write the series to `{}`: {e}", path.display())))?;
            document.insert("file".to_owned(), json!(path));
        }
    }
    Ok(Value::Object(document))
}
