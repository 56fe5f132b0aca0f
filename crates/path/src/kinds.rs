//! A macro for lists of kinds. Each kind has one line, from which the module, the variant of the scenario's enum, and
//! the dispatch are generated.

/// The kinds of elements, queues and links. Their files are next to the list, or, if they are in groups, in a folder per
/// group.
macro_rules! kinds {
    (
        $(#[$doc:meta])* $Config:ident of $Spec:ident;
        $($(#[$attribute:meta])* $Kind:ident = $module:ident::$Parameters:ident;)*
    ) => {
        $($(#[$attribute])* mod $module;)*
        $($(#[$attribute])* pub use $module::*;)*
        $crate::kinds::kinds! {
            @enum $(#[$doc])* $Config of $Spec: $($(#[$attribute])* $Kind($module::$Parameters),)*
        }
    };

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
        $crate::kinds::kinds! {
            @enum $(#[$doc])* $Config of $Spec: $($($(#[$attribute])* $Kind($group::$Parameters),)*)*
        }
    };

    // The enum of the kinds, tagged by the kind's name in kebab case.
    (
        @enum $(#[$doc:meta])* $Config:ident of $Spec:ident:
        $($(#[$attribute:meta])* $Kind:ident($Parameters:ty),)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum $Config {
            $($(#[$attribute])* $Kind($Parameters),)*
        }

        impl $Config {
            /// The parameters of any kind.
            #[allow(unused_doc_comments)]
            fn spec(&self) -> &dyn $Spec {
                match self {
                    $($(#[$attribute])* $Config::$Kind(parameters) => parameters,)*
                }
            }

            /// Checks the parameters.
            ///
            /// # Errors
            /// The first key whose value is rejected.
            pub fn validate(&self) -> Result<(), $crate::ConfigError> {
                self.spec().validate()
            }

            /// Returns examples of every kind as JSON, for property tests and fuzzing.
            #[allow(unused_doc_comments)]
            pub fn examples() -> Vec<&'static str> {
                let mut all = Vec::new();
                $($(#[$attribute])* all.extend_from_slice(<$Parameters as $Spec>::examples());)*
                all
            }
        }
    };
}

pub(crate) use kinds;
