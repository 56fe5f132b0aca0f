//! Lists of kinds: one line each, from which the modules, the enum that scenarios name and its dispatch follow.

/// The enum of the listed kinds, tagged by the kind's name in kebab case.
macro_rules! kind_enum {
    ($(#[$doc:meta])* $Config:ident of $Spec:ident: $($(#[$attribute:meta])* $Kind:ident($Parameters:ty),)*) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum $Config {
            $($(#[$attribute])* $Kind($Parameters),)*
        }

        impl $Config {
            /// Parameters of any kind.
            #[allow(unused_doc_comments)]
            fn spec(&self) -> &dyn $Spec {
                match self {
                    $($(#[$attribute])* $Config::$Kind(parameters) => parameters,)*
                }
            }

            /// Returns examples of every kind as JSON, for properties and fuzzing.
            #[allow(unused_doc_comments)]
            pub fn examples() -> Vec<&'static str> {
                let mut all = Vec::new();
                $($(#[$attribute])* all.extend_from_slice(<$Parameters as $Spec>::examples());)*
                all
            }
        }
    };
}

/// Kinds whose files are next to the list.
macro_rules! kinds {
    (
        $(#[$doc:meta])* $Config:ident of $Spec:ident;
        $($(#[$attribute:meta])* $Kind:ident = $module:ident::$Parameters:ident;)*
    ) => {
        $($(#[$attribute])* mod $module;)*
        $($(#[$attribute])* pub use $module::*;)*
        $crate::kinds::kind_enum! {
            $(#[$doc])* $Config of $Spec: $($(#[$attribute])* $Kind($module::$Parameters),)*
        }
    };
}

/// Kinds in groups, whose files are in a folder each.
macro_rules! grouped_kinds {
    (
        $(#[$doc:meta])* $Config:ident of $Spec:ident;
        $($(#[$group_doc:meta])* $group:ident {
            $($(#[$attribute:meta])* $Kind:ident = $module:ident::$Parameters:ident;)*
        })*
    ) => {
        $($(#[$group_doc])* pub mod $group {
            $($(#[$attribute])* mod $module;)*
            $($(#[$attribute])* pub use $module::*;)*
        })*
        $crate::kinds::kind_enum! {
            $(#[$doc])* $Config of $Spec: $($($(#[$attribute])* $Kind($group::$Parameters),)*)*
        }
    };
}

pub(crate) use {grouped_kinds, kind_enum, kinds};
