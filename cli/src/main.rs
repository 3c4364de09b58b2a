//! The command `ckselect`.

fn main() {}
