//! Layout of a compiled object: the program of each hook, and the location of the parameters.

use crate::libbpf;
use fairweir_native::replay::Hook;
use libbpf_rs::btf::types::{Array, Int, MemberAttr, Struct};
use libbpf_rs::btf::{Btf, BtfType};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};
use std::collections::BTreeMap;
use std::ops::Range;

/// Sections of ops: the first for registration without a link, the second for registration by a link.
const OPS_SECTIONS: [&str; 2] = [".struct_ops", ".struct_ops.link"];

/// The parts of an object that the loader reads or modifies.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectLayout {
    /// Variable of the selected controller, which libbpf also uses as the name of its map.
    pub(crate) ops: String,
    /// Variables of the other controllers.
    pub(crate) other_ops: Vec<String>,
    /// Program of each hook that the controller implements.
    pub(crate) hooks: BTreeMap<Hook, String>,
    /// Range of the controller's name within the ops.
    pub(crate) name: Range<usize>,
    /// Range of its flags within the ops, if the source defines them.
    pub(crate) flags: Option<Range<usize>>,
    /// Range of the default parameters within `.data`.
    pub(crate) defaults: Option<Range<usize>>,
    /// Map of the parameters of individual flows.
    pub(crate) of_flow: Option<String>,
    /// For each recording program, the range in `.rodata` from which the program reads its hook's number.
    kinds: BTreeMap<String, Range<usize>>,
    /// Range in `.bss` where recording programs count the records that they could not send.
    pub(crate) lost: Option<Range<usize>>,
    /// Place of the counter of skipped calls.
    pub(crate) skipped: Option<Range<usize>>,
}

impl ObjectLayout {
    /// Parses `object`; `cca` selects a controller if the object has several.
    pub(crate) fn of(object: &[u8], cca: &str) -> Result<ObjectLayout, String> {
        let file = object::File::parse(object).map_err(|e| format!("the compiled object cannot be read: {e}"))?;
        let symbols = Symbols::of(&file);
        let mut ops: Vec<&Symbol> = symbols.0.iter().filter(|s| OPS_SECTIONS.contains(&s.section.as_str())).collect();
        ops.sort_by(|a, b| a.name.cmp(&b.name));
        let meant = match ops.as_slice() {
            [] => return Err("there is no `struct tcp_congestion_ops` in section \".struct_ops\"".to_owned()),
            [one] => *one,
            several => *several.iter().find(|s| s.name == cca).ok_or_else(|| {
                let names: Vec<&str> = several.iter().map(|s| s.name.as_str()).collect();
                format!("there are several congestion controllers: {}", names.join(", "))
            })?,
        };
        let members = members(object)?;
        let member = |name: &str| members.get(name).cloned();
        Ok(ObjectLayout {
            ops: meant.name.clone(),
            other_ops: ops.iter().filter(|s| s.name != meant.name).map(|s| s.name.clone()).collect(),
            hooks: hooks(&file, meant, &members),
            name: member("name").ok_or("its `struct tcp_congestion_ops` has no name")?,
            flags: member("flags"),
            defaults: symbols.find(".data", "_defaults"),
            of_flow: symbols
                .0
                .iter()
                .find(|s| s.section == ".maps" && s.name.ends_with("_of_flow"))
                .map(|s| s.name.clone()),
            kinds: symbols
                .0
                .iter()
                .filter(|s| s.section == ".rodata")
                .filter_map(|s| Some((s.name.strip_prefix("cc_kind_")?.to_owned(), s.range.clone())))
                .collect(),
            lost: symbols.find(".bss", "cc_records_lost"),
            skipped: symbols.find(".bss", "cc_calls_skipped"),
        })
    }

    /// Returns whether the hooks were compiled with recording.
    pub(crate) fn can_record(&self) -> bool {
        self.lost.is_some()
    }

    /// Returns the values to write into `.rodata` so that each recording program knows its hook.
    pub(crate) fn kinds(&self) -> Result<Vec<(Range<usize>, u32)>, String> {
        let mut known: BTreeMap<&str, Hook> = BTreeMap::new();
        let mut kinds = Vec::new();
        for (hook, program) in &self.hooks {
            if let Some(other) = known.insert(program, *hook) {
                return Err(format!("`{program}` is both {other} and {hook}, so its calls cannot be distinguished"));
            }
            if let Some(range) = self.kinds.get(program) {
                kinds.push((range.clone(), *hook as u32));
            }
        }
        Ok(kinds)
    }
}

struct Symbol {
    name: String,
    section: String,
    /// Range within the symbol's section.
    range: Range<usize>,
}

struct Symbols(Vec<Symbol>);

impl Symbols {
    fn of(file: &object::File<'_>) -> Symbols {
        let data = file.symbols().filter(|s| s.kind() == SymbolKind::Data);
        Symbols(
            data.filter_map(|s| {
                let section = file.section_by_index(s.section_index()?).ok()?;
                let start = s.address() as usize;
                Some(Symbol {
                    name: s.name().ok()?.to_owned(),
                    section: section.name().ok()?.to_owned(),
                    range: start..start + s.size() as usize,
                })
            })
            .collect(),
        )
    }

    fn find(&self, section: &str, suffix: &str) -> Option<Range<usize>> {
        self.0.iter().find(|s| s.section == section && s.name.ends_with(suffix)).map(|s| s.range.clone())
    }
}

/// Returns the members of the source's own `struct tcp_congestion_ops`, whose layout may differ from the kernel's.
fn members(object: &[u8]) -> Result<BTreeMap<String, Range<usize>>, String> {
    let (btf, _) = libbpf::listening(|| Btf::from_raw("cca", object));
    let btf = btf.ok().flatten().ok_or("it has no type information: compile it with -g")?;
    let ops: Struct<'_> =
        btf.type_by_name("tcp_congestion_ops").ok_or("it does not know `struct tcp_congestion_ops`")?;
    let mut members = BTreeMap::new();
    for member in ops.iter() {
        let (Some(name), MemberAttr::Normal { offset }) = (member.name, member.attr) else { continue };
        let bytes = btf.type_by_id::<BtfType<'_>>(member.ty).map_or(8, size_of_member);
        let start = offset as usize / 8;
        members.insert(name.to_string_lossy().into_owned(), start..start + bytes);
    }
    Ok(members)
}

/// Returns the size of a member that the loader writes: a name (16 characters) or flags (32 bits).
fn size_of_member(ty: BtfType<'_>) -> usize {
    let ty = ty.skip_mods_and_typedefs();
    if let Ok(array) = Array::try_from(ty) {
        return array.capacity();
    }
    Int::try_from(ty).map_or(8, |int| usize::from(int.bits) / 8)
}

/// Returns the program of each hook; relocations define the program to which each member of the ops points.
fn hooks(file: &object::File<'_>, ops: &Symbol, members: &BTreeMap<String, Range<usize>>) -> BTreeMap<Hook, String> {
    let Some(section) = file.section_by_name(&ops.section) else { return BTreeMap::new() };
    let pointed_to = |hook: Hook| {
        let at = (ops.range.start + members.get(hook.name())?.start) as u64;
        let (_, note) = section.relocations().find(|(offset, _)| *offset == at)?;
        let RelocationTarget::Symbol(index) = note.target() else { return None };
        let program = file.symbol_by_index(index).ok()?.name().ok()?.to_owned();
        Some((hook, program))
    };
    Hook::ALL.into_iter().filter_map(pointed_to).collect()
}
