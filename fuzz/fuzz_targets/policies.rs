#![no_main]
libfuzzer_sys::fuzz_target!(|text: &str| fairweir_fuzz::policies(text));
