//! Which module may know which, and that no file is forgotten.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Each layer and what it may import from this crate.
///
/// `fs::host` is the part of `fs` that knows files outside vaults.
const LAYERS: &[(&str, &[&str])] = &[
    ("text", &["error"]),
    ("error", &[]),
    ("cancel", &[]),
    ("path", &["text", "error"]),
    ("fs", &["path", "text", "error", "cancel"]),
    ("vault", &["fs", "path", "text", "error", "cancel"]),
    ("ops/apply.rs", &["vault", "fs", "path", "text", "error", "cancel"]),
    (
        // Of `fs` only the types of a plan, and of what it found and did.
        "ops",
        &[
            "vault",
            "path",
            "text",
            "error",
            "cancel",
            "fs::Content",
            "fs::DurableReason",
            "fs::Expect",
            "fs::Guarantee",
            "fs::HostPath",
            "fs::Incumbent",
            "fs::Ladder",
            "fs::Look",
            "fs::Place",
            "fs::Source",
            "fs::VaultFile",
            "fs::Warning",
            "fs::Written",
        ],
    ),
    ("config", &["vault", "path", "text", "error", "cancel", "fs::host", "fs::HostPath"]),
    ("serving", &["config", "vault", "path", "text", "error", "cancel", "fs::host", "fs::HostPath"]),
    ("tools", &["ops", "serving", "vault", "path", "text", "error", "cancel"]),
    (
        "mcp",
        &[
            "tools",
            "path",
            "error",
            "cancel",
            "serving::State",
            "serving::SessionKey",
            "config::ToolNameStyle",
        ],
    ),
    ("transport", &["mcp", "config", "serving", "error", "fs::host", "fs::HostPath"]),
    (
        "cli",
        &[
            "cancel",
            "transport",
            "mcp",
            "ops",
            "vault",
            "path",
            "text",
            "config",
            "serving",
            "error",
            "fs::host",
            "fs::HostPath",
            "fs::probe",
            "fs::scratch",
        ],
    ),
];

/// Crates that only some files may name.
const CRATES: &[(&str, &[&str])] = &[
    ("rmcp", &["mcp", "transport", "cli/peer.rs"]),
    ("rustix", &["fs"]),
    ("libc", &["fs/sys/lease.rs"]),
    ("clap", &["cli", "config"]),
    ("anyhow", &["main.rs"]),
];

/// The methods of `fs::Root` that change a vault; `ops::apply` alone calls them.
const MUTATORS: [&str; 5] = ["create_many", "write", "update", "remove", "rename"];

/// A source file: its path below its root, and its code without comments and unit tests.
struct Source {
    path: String,
    code: String,
}

fn sources(root: &str) -> Vec<Source> {
    let product = files(Path::new(root)).into_iter().filter(|file| !is_for_tests(file));
    product.map(|file| source(root, &file)).collect()
}

/// The file is a module that only unit tests have.
fn is_for_tests(file: &Path) -> bool {
    let stem = file.file_stem().unwrap().to_str().unwrap();
    let parent = fs::read_to_string(file.with_file_name("mod.rs")).unwrap_or_default();
    parent.contains(&format!("#[cfg(test)]\nmod {stem};"))
}

fn source(root: &str, file: &Path) -> Source {
    let text = fs::read_to_string(file).unwrap();
    let product = match text.rfind("#[cfg(test)]") {
        Some(start) if text[start..].contains("mod tests") => &text[..start],
        _ => &text,
    };
    let code =
        product.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    Source { path: file.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), code }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, here): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let sources = here.into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs"));
    sources.chain(folders.iter().flat_map(|folder| files(folder))).collect()
}

/// The path is the file or folder named, or lies in it.
fn lies_in(path: &str, place: &str) -> bool {
    let rest = path.strip_prefix(place);
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with('/') || (rest == ".rs" && !place.contains('.'))
    })
}

/// Every path below `crate::` that the code names, groups in braces spelt out.
fn imports(code: &str) -> Vec<String> {
    code.match_indices("crate::").flat_map(|(at, found)| expand(&code[at + found.len()..])).collect()
}

fn expand(rest: &str) -> Vec<String> {
    let rest = rest.trim_start();
    if let Some(group) = rest.strip_prefix('{') {
        return members(group).iter().flat_map(|member| expand(member)).collect();
    }
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    match rest.strip_prefix("::") {
        Some(rest) => expand(rest).into_iter().map(|tail| format!("{name}::{tail}")).collect(),
        None => vec![name.to_owned()],
    }
}

/// The members of a group, up to the brace that closes it.
fn members(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut members) = (0, 0, Vec::new());
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' => {
                members.push(&group[start..at]);
                break;
            }
            ',' if depth == 0 => {
                members.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    members.into_iter().filter(|member| !member.trim().is_empty()).collect()
}

fn is_below(import: &str, allowed: &str) -> bool {
    import.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The code names something of that crate.
fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(&format!("{name}::")).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':')
    })
}

#[test]
fn a_module_imports_only_what_its_layer_allows() {
    for source in sources("src").iter().filter(|source| source.path != "lib.rs" && source.path != "main.rs") {
        let row = LAYERS.iter().find(|(layer, _)| lies_in(&source.path, layer));
        let (layer, allowed) = row.unwrap_or_else(|| panic!("{} belongs to no layer", source.path));
        let own = layer.split('/').next().unwrap();
        for import in imports(&source.code) {
            let is_allowed = is_below(&import, own) || allowed.iter().any(|one| is_below(&import, one));
            assert!(is_allowed, "{} may not import crate::{import}", source.path);
        }
    }
}

#[test]
fn the_program_knows_the_command_line_alone() {
    let main = source("src", Path::new("src/main.rs"));
    assert!(main.code.lines().count() <= 60);
    for (at, found) in main.code.match_indices("vaultwright::") {
        let name = &expand(&main.code[at + found.len()..])[0];
        assert!(is_below(name, "cli") || is_below(name, "config"), "{name}");
    }
}

#[test]
fn some_crates_are_named_in_their_places_alone() {
    for source in sources("src") {
        for (name, places) in CRATES {
            let is_allowed = places.iter().any(|place| lies_in(&source.path, place));
            assert!(is_allowed || !names_crate(&source.code, name), "{} names {name}", source.path);
        }
    }
}

#[test]
fn nothing_in_a_vault_is_written_except_by_apply() {
    for source in sources("src") {
        if lies_in(&source.path, "fs") || source.path == "ops/apply.rs" {
            continue;
        }
        for method in MUTATORS {
            for call in [format!("root.{method}("), format!("root().{method}("), format!("Root::{method}")] {
                assert!(!source.code.contains(&call), "{} calls {call}", source.path);
            }
        }
    }
}

#[test]
fn no_tool_is_forgotten() {
    for file in files(Path::new("src/tools")) {
        let Source { path, code } = source("src/tools", &file);
        let Some((family, name)) = path.split_once('/').filter(|(_, name)| *name != "mod.rs") else {
            continue;
        };
        let stem = name.trim_end_matches(".rs");
        let list = fs::read_to_string(format!("src/tools/{family}/mod.rs")).unwrap();
        assert!(list.contains(&format!("mod {stem};")), "{path} is in no module");
        let is_listed = list.contains(&format!("entry::<{stem}::"));
        assert_eq!(
            code.contains("impl VaultTool for"),
            is_listed,
            "{path} and the list of its family differ"
        );
    }
}

#[test]
fn no_test_is_forgotten() {
    for file in files(Path::new("tests/it")) {
        let folder = file.parent().unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        if stem == "main" || stem == "mod" {
            continue;
        }
        let root = [folder.join("main.rs"), folder.join("mod.rs")].into_iter().find(|root| root.exists());
        let root = fs::read_to_string(root.expect("a folder of tests has a mod.rs")).unwrap();
        assert!(root.contains(&format!("mod {stem};")), "{} is in no module", file.display());
    }
}

#[test]
fn groups_of_imports_are_spelt_out() {
    let code = "use crate::{a::{b, c::D}, e};\nuse crate::f::G; let x = crate::h::i();\nuse std::io;";
    assert_eq!(imports(code), ["a::b", "a::c::D", "e", "f::G", "h::i"]);
    assert!(names_crate("use rmcp::model;", "rmcp") && !names_crate("let farmcp::x", "rmcp"));
    assert!(lies_in("cancel.rs", "cancel") && lies_in("fs/sys/mod.rs", "fs") && !lies_in("fsx/a.rs", "fs"));
}
