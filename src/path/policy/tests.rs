use proptest::prelude::*;

use super::*;

fn policy(read: &str, write: &str, deny: &str, read_only: bool) -> PathPolicy {
    let set = |value| Some(value).filter(|value| *value != "–");
    PathPolicy::parse(set(read), set(write), set(deny), read_only).unwrap()
}

fn mark(result: Result<(), PathError>) -> &'static str {
    match result {
        Ok(()) => "✓",
        Err(PathError::PathForbidden { subreason, .. }) => match subreason {
            PolicyReason::OutsideReadPaths => "R",
            PolicyReason::OutsideWritePaths => "W",
            PolicyReason::DeniedPath => "D",
            PolicyReason::ReadOnlyMode => "RO",
        },
        Err(other) => panic!("{other}"),
    }
}

/// R, W, D, RO, then `read/write` for `a/x`, `b/x`, `c/x`, `a/s/x`: the truth table of the specification.
const TRUTH: &str = "
    –   –   –   no   ✓/✓   ✓/✓   ✓/✓   ✓/✓
    –   –   –   yes  ✓/RO  ✓/RO  ✓/RO  ✓/RO
    a   –   –   no   ✓/✓   R/R   R/R   ✓/✓
    –   b   –   no   ✓/W   ✓/✓   ✓/W   ✓/W
    a   b   –   no   ✓/W   ✓/✓   R/W   ✓/W
    a   b   –   yes  ✓/RO  ✓/RO  R/RO  ✓/RO
    –   –   a/s no   ✓/✓   ✓/✓   ✓/✓   D/D
    a   –   a/s no   ✓/✓   R/R   R/R   D/D
    a/s –   a   no   R/R   R/R   R/R   D/D
    a   a/s a/s no   ✓/W   R/W   R/W   D/D
    a   b   b   no   ✓/W   D/D   R/W   ✓/W
";

#[test]
fn the_truth_table_holds() {
    for row in TRUTH.trim().lines() {
        let cells: Vec<_> = row.split_whitespace().collect();
        let policy = policy(cells[0], cells[1], cells[2], cells[3] == "yes");
        for (path, expected) in ["a/x", "b/x", "c/x", "a/s/x"].into_iter().zip(&cells[4..]) {
            let answer = format!("{}/{}", mark(policy.check_read(path)), mark(policy.check_write(path)));
            assert_eq!(answer, *expected, "{row} at {path}");
            let open = (policy.can_read(path), policy.can_write(path));
            assert_eq!(open, (expected.starts_with('✓'), expected.ends_with('✓')), "{row} at {path}");
        }
    }
}

#[test]
fn entries_are_cleaned_and_keep_their_spelling() {
    for (value, entries) in [
        ("Projects, Daily", &["Projects", "Daily"][..]),
        ("journal//therapy/", &["journal/therapy"]),
        ("./private", &["private"]),
        ("a\\b", &["a/b"]),
        ("A,a,A/", &["A"]),
        ("a,,b", &["a", "b"]),
    ] {
        let listed: Vec<_> = policy(value, "–", "–", false).lists().collect();
        assert_eq!(listed, [(READ_PATHS, entries.iter().map(ToString::to_string).collect())], "{value}");
    }
}

#[test]
fn a_list_no_server_can_start_with_names_its_variable() {
    for value in
        [",", ", ,", "/abs", "\\abs", "C:\\x", "c:", "a/../b", "..", ".", "./", ".\\", "a,./", "a\tb", "a\0"]
    {
        let error = PathPolicy::parse(None, Some(value), None, false).unwrap_err();
        assert_eq!(error.variable, WRITE_PATHS, "{value:?}");
    }
}

#[test]
fn matching_is_by_whole_names_in_any_spelling() {
    for (entry, path, covered) in [
        ("pub", "public/x.md", false),
        ("pub", "pub/x.md", true),
        ("Notes/a.md", "Notes/a.md", true),
        ("Notes/a.md", "Notes/b.md", false),
        ("notes/private", "notes//private/x.md", true),
        ("notes/private", "NOTES\\Private\\x.md", true),
        ("Cafe\u{301}", "Café/menu.md", true),
        ("Café", "CAFE\u{301}/menu.md", true),
        ("Straße", "STRASSE/x.md", true),
        ("a", "./A/x", true),
    ] {
        assert_eq!(policy(entry, "–", "–", false).can_read(path), covered, "{entry} {path}");
        assert_eq!(policy("–", "–", entry, false).can_read(path), !covered, "{entry} {path}");
    }
}

#[test]
fn folders_on_the_way_to_an_allowed_path_can_be_listed_but_not_read() {
    let policy = policy("a/b/c", "w/x", "d, a/b/c/no", false);
    for (folder, listed) in [
        ("", true),
        ("a", true),
        ("A\\B", true),
        ("a/b/c", true),
        ("a/b/c/deep", true),
        ("a/b/c/no", false),
        ("w", true),
        ("d", false),
        ("other", false),
        ("a/bc", false),
    ] {
        assert_eq!(policy.can_list(folder), listed, "{folder:?}");
    }
    assert!(!policy.can_read("a/b"));
}

#[test]
fn a_denied_folder_is_never_listed_on_the_way_to_an_allowed_one() {
    let policy = policy("a/s", "–", "a", false);
    assert!(policy.can_list(""));
    assert!(!policy.can_list("a"));
    assert!(!policy.can_list("a/s"));
}

#[test]
fn a_write_list_alone_hides_no_folder() {
    assert!(policy("–", "w", "–", false).can_list("other"));
}

#[test]
fn a_refusal_tells_the_list_that_refused_and_nothing_of_the_denied_paths() {
    let facts = |result: Result<(), PathError>| match result.unwrap_err() {
        PathError::PathForbidden { path, op, active_scope, .. } => (path, op, active_scope),
        other => panic!("{other}"),
    };
    let scope = |entries: &[&str]| Some(entries.iter().map(ToString::to_string).collect::<Vec<_>>());
    let lists = policy("A, b", "B, c", "a/s", false);
    assert_eq!(facts(lists.check_read("x\\y")), ("x\\y".into(), PolicyOp::Read, scope(&["A", "b", "c"])));
    assert_eq!(facts(lists.check_write("a/x")), ("a/x".into(), PolicyOp::Write, scope(&["B", "c"])));
    assert_eq!(facts(lists.check_read("a/s/x")), ("a/s/x".into(), PolicyOp::Read, None));
    assert_eq!(facts(policy("a", "–", "–", false).check_write("b")).2, scope(&["a"]));
    assert_eq!(facts(policy("a", "b", "–", true).check_write("b")).2, scope(&[]));
}

#[test]
fn a_denied_path_outside_an_allowlist_does_not_say_that_it_is_denied() {
    assert_eq!(mark(policy("a", "–", "secret", false).check_read("secret/x")), "R");
}

#[test]
fn a_blocked_vault_inside_another_is_withheld_and_never_named() {
    let folders = ["Work/Secret".to_owned()];
    let open = PathPolicy::default();
    let policy = open.with_denied(&folders);
    assert_eq!(mark(policy.check_write("work/secret/x.md")), "D");
    assert!(policy.can_read("Work/x.md"));
    assert!(!policy.scopes().to_string().contains("Secret"));
    assert_eq!(open.with_denied(&[]), open);
}

#[test]
fn what_the_operator_may_not_have_meant_is_told() {
    let told = |policy: PathPolicy| policy.warnings().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(told(policy("a/s, b", "A", "a", false)), [READ_PATHS, WRITE_PATHS]);
    assert_eq!(told(policy("–", "a", "–", true)), [WRITE_PATHS]);
    assert_eq!(told(policy("–", "–", ".trash, a/.git", false)), [DENY_PATHS, DENY_PATHS]);
    assert!(told(policy("a", "a/b", "a/s", false)).is_empty());
}

#[test]
fn the_scopes_say_what_is_left_open() {
    let many = (1..=12).map(|n| format!("f{n}")).collect::<Vec<_>>().join(",");
    for (policy, words) in [
        (policy("a", "b", "–", false), "Readable: a, b. Writable: b."),
        (policy("a", "b", "–", true), "Readable: a, b. Writable: none."),
        (policy("a", "–", "–", false), "Readable: a. Writable: a."),
        (policy("–", "b", "–", false), "Readable: the whole vault. Writable: b."),
        (
            policy("a", "–", "a/s", false),
            "Readable: a, except paths the operator withholds. Writable: a, except paths the operator withholds.",
        ),
        (
            policy("–", &many, "–", false),
            "Readable: the whole vault. Writable: f1, f2, f3, f4, f5, f6, f7, f8, f9, f10 and 2 more.",
        ),
    ] {
        assert_eq!(policy.scopes().to_string(), words);
    }
}

#[test]
fn lists_are_told_from_read_only() {
    let read_only = policy("–", "–", "–", true);
    assert_eq!((read_only.has_lists(), read_only.is_read_only()), (false, true));
    assert!(policy("–", "–", "x", false).has_lists());
}

/// A name of one to three letters that have twins in other spellings.
fn name() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "é", "ß", "σ", "å", "я"]), 1..=3)
        .prop_map(|letters| letters.concat())
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..=3).prop_map(|names| names.join("/"))
}

fn list() -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop::collection::vec(path(), 1..=3).prop_map(|paths| paths.join(",")))
}

/// Another spelling of the same path.
fn respelt(path: &str, upper: bool, decomposed: bool, slash: &str) -> String {
    use unicode_normalization::UnicodeNormalization;
    let cased = if upper { path.to_uppercase() } else { path.to_owned() };
    let formed: String = if decomposed { cased.nfd().collect() } else { cased };
    formed.replace('/', slash)
}

proptest! {
    #[test]
    fn folded_spellings_get_equal_answers(
        (read, write, deny, read_only) in (list(), list(), list(), any::<bool>()),
        path in path(),
        (upper, decomposed) in any::<(bool, bool)>(),
        slash in prop::sample::select(vec!["/", "\\", "//", "/./"]),
    ) {
        let policy = PathPolicy::parse(read.as_deref(), write.as_deref(), deny.as_deref(), read_only).unwrap();
        let twin = respelt(&path, upper, decomposed, slash);
        prop_assert_eq!(mark(policy.check_read(&path)), mark(policy.check_read(&twin)));
        prop_assert_eq!(mark(policy.check_write(&path)), mark(policy.check_write(&twin)));
        prop_assert_eq!(policy.can_list(&path), policy.can_list(&twin));
    }

    #[test]
    fn what_can_be_written_can_be_read_and_what_can_be_read_can_be_listed(
        (read, write, deny) in (list(), list(), list()),
        path in path(),
    ) {
        let policy = PathPolicy::parse(read.as_deref(), write.as_deref(), deny.as_deref(), false).unwrap();
        prop_assert!(!policy.can_write(&path) || policy.can_read(&path));
        prop_assert!(!policy.can_read(&path) || policy.can_list(&path));
    }
}
