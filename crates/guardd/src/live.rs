//! The status as a plain-text table.

use crate::status::{Change, Explanation, FlowStatus, ServiceStatus, Status};
use std::fmt::Write;

/// Maximum number of flows shown per service.
const SHOWN_FLOWS: usize = 12;

/// Formats one line for each service, followed by one line for each of its flows.
pub fn table(status: &Status) -> String {
    let mut out = String::new();
    let mode = if status.dry_run { ", dry run: windows are not modified" } else { "" };
    let _ = writeln!(
        out,
        "guard of {} for {:.0} s: {} flows, {} packets, {} windows reduced, {} summaries lost{mode}",
        status.interface,
        status.uptime_s,
        status.table.open,
        status.kernel.summarised,
        status.kernel.rewritten,
        status.kernel.lost,
    );
    let _ = writeln!(
        out,
        "{:44} {:15} {:>9} {:>9} {:>8} {:>9}  why",
        "service / flow", "process", "Mbit/s", "target", "RTT ms", "window"
    );
    for service in &status.services {
        let _ =
            writeln!(out, "{:44} {:15} {:>9.2} {:>9}", service.name, "", service.mbps, number(service.target_mbps, 2));
        for flow in service.flows.iter().take(SHOWN_FLOWS) {
            let _ = writeln!(out, "{}", line(flow));
        }
        let hidden = service.flows.len().saturating_sub(SHOWN_FLOWS);
        if hidden > 0 {
            let _ = writeln!(out, "  and {hidden} more");
        }
    }
    out
}

/// Formats a flow and the history of its window.
pub fn explanation(of: &Explanation) -> String {
    let flow = &of.flow;
    let mut out = format!("{} > {}, service {}\n", flow.remote, flow.local, of.service);
    if let Some(name) = &flow.name {
        let _ = writeln!(out, "  sent by {name}");
    }
    if let (Some(process), Some(pid), Some(cgroup)) = (&flow.process, flow.pid, &flow.cgroup) {
        let _ = writeln!(out, "  received by {process}, process {pid}, control group {cgroup}");
    }
    let _ = writeln!(
        out,
        "  {:.2} Mbit/s, RTT {} ms (min {}), {} segments lost{}",
        flow.mbps,
        number(flow.rtt_ms, 2),
        number(flow.min_rtt_ms, 2),
        flow.lost,
        least(flow)
    );
    for Change { age_s, window_bytes, target_mbps, why } in &of.history {
        let rate = target_mbps.map_or_else(String::new, |mbps| format!(" ({mbps:.2} Mbit/s)"));
        let _ = writeln!(out, "  {age_s:>8.1} s ago: {}{rate}: {why}", window(*window_bytes));
    }
    out
}

fn window(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "open".to_owned(), |bytes| format!("{bytes} B"))
}

fn line(flow: &FlowStatus) -> String {
    format!(
        "  {:42} {:15} {:>9.2} {:>9} {:>8} {:>9}  {}",
        format!("{} > {}", flow.remote, flow.local),
        flow.process.as_deref().unwrap_or("-"),
        flow.mbps,
        number(flow.target_mbps, 2),
        number(flow.rtt_ms, 2),
        window(flow.window_bytes),
        flow.why
    ) + least(flow)
}

/// Returns a note if a flow may be faster than its target.
fn least(flow: &FlowStatus) -> &'static str {
    if flow.is_minimum { "; two segments, the minimum" } else { "" }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

/// Sorts services by rate, and the flows of each service by rate, in descending order.
pub(crate) fn busiest_first(services: &mut [ServiceStatus]) {
    services.sort_by(|a, b| b.mbps.total_cmp(&a.mbps).then_with(|| a.name.cmp(&b.name)));
    for service in services {
        service.flows.sort_by(|a, b| b.mbps.total_cmp(&a.mbps).then_with(|| a.remote.cmp(&b.remote)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::tests::a_status;

    #[test]
    fn columns_stand_below_their_headings() {
        let text = table(&a_status());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        let end = |line: &str, part: &str| line.find(part).map(|at| at + part.len());
        assert_eq!(lines[1].find("process"), lines[3].find("curl"));
        assert_eq!(end(lines[1], "target"), end(lines[2], "3.00"));
        assert_eq!(end(lines[1], "RTT ms"), end(lines[3], "20.25"));
        assert_eq!(end(lines[1], "window"), end(lines[3], "7500 B"));
        assert!(lines[4].contains("open"), "{text}");
        assert!(!text.contains("two segments"));
        let mut at_least = a_status();
        at_least.services[0].flows[0].is_minimum = true;
        assert!(
            table(&at_least).lines().nth(3).is_some_and(|line| line.ends_with("capped; two segments, the minimum"))
        );
        assert!(!text.contains("dry run"));
        assert!(table(&crate::status::Status { dry_run: true, ..a_status() }).contains("windows are not modified"));
    }

    #[test]
    fn the_busiest_come_first() {
        let mut services = a_status().services;
        services[0].flows.reverse();
        services.push(ServiceStatus { name: "z".to_owned(), mbps: 9.0, ..services[0].clone() });
        busiest_first(&mut services);
        assert_eq!(services[0].name, "z");
        assert_eq!(services[1].flows[0].remote, "192.0.2.1:443");
    }

    #[test]
    fn an_explanation_tells_the_latest_last() {
        let change = |age_s, window_bytes| Change { age_s, window_bytes, target_mbps: None, why: "because".to_owned() };
        let flow = a_status().services[0].flows[0].clone();
        let of =
            Explanation { flow, service: "s".to_owned(), history: vec![change(9.0, None), change(1.0, Some(5000))] };
        let text = explanation(&of);
        assert!(text.starts_with("192.0.2.1:443 > 10.0.0.1:5001, service s\n"), "{text}");
        assert!(text.contains("sent by files.example\n"), "{text}");
        assert!(text.contains("received by curl, process 4711, control group /user.slice\n"), "{text}");
        assert!(text.find("9.0 s ago: open: because") < text.find("1.0 s ago: 5000 B: because"), "{text}");
    }
}
