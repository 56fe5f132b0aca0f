//! Names of senders, from a file like /etc/hosts. No DNS queries are sent, because the addresses come from packets that
//! may be forged.

use crate::error::GuardError;
use crate::files;
use fairweir_guard::FlowKey;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Names by address.
#[derive(Clone, Debug, Default)]
pub struct Names(HashMap<IpAddr, Arc<str>>);

impl Names {
    /// Reads `path`. Each line has an address and a name; further names on the line are aliases, which are ignored.
    ///
    /// # Errors
    /// If the file cannot be read, or has an invalid line.
    pub fn read(path: &Path) -> Result<Names, GuardError> {
        let text = files::read(path, "", files::MAX_TEXT_MIB)?;
        Names::parse(&text).map_err(|(line, reason)| {
            GuardError::refused(
                format!("{}, line {line}: {reason}", path.display()),
                "an address and a name, as in /etc/hosts: 192.0.2.7 video",
            )
        })
    }

    fn parse(text: &str) -> Result<Names, (usize, String)> {
        let mut names = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(address) = words.next() else { continue };
            let address: IpAddr = address.parse().map_err(|_| (number, format!("not an address: `{address}`")))?;
            let name = words.next().ok_or_else(|| (number, format!("no name for {address}")))?;
            names.entry(address.to_canonical()).or_insert_with(|| Arc::from(name));
        }
        Ok(Names(names))
    }

    /// Returns the name of a flow's sender.
    pub(crate) fn of(&self, flow: &FlowKey) -> Option<Arc<str>> {
        self.0.get(&flow.remote().ip()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_in_etc_hosts() {
        let names = Names::parse("# ours\n192.0.2.7  video www\n\n2001:db8::1 files # v6\n192.0.2.7 other\n").unwrap();
        let name = |remote: &str| {
            let flow = FlowKey::new("10.0.0.1:1".parse().unwrap(), remote.parse().unwrap(), 0);
            names.of(&flow).map(|name| name.to_string())
        };
        assert_eq!(name("192.0.2.7:443").as_deref(), Some("video"), "the first counts");
        assert_eq!(name("[2001:db8::1]:443").as_deref(), Some("files"));
        assert_eq!(name("192.0.2.8:443"), None);
        assert_eq!(Names::parse("a\n").unwrap_err(), (1, "not an address: `a`".to_owned()));
        assert_eq!(Names::parse("\n::1\n").unwrap_err(), (2, "no name for ::1".to_owned()));
    }
}
