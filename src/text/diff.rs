//! The unified diff of a dry run.

use similar::TextDiff;

/// The unified diff of two texts with three lines of context and `a/` and `b/` before the path.
///
/// Empty when the texts are equal. A missing newline at the end is marked as `diff -u` marks it.
pub fn unified(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(3).header(&format!("a/{path}"), &format!("b/{path}")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_shows_with_its_neighbours() {
        assert_eq!(
            unified("n.md", "a\nb\n", "a\nc\n"),
            "--- a/n.md\n+++ b/n.md\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        );
    }

    #[test]
    fn equal_texts_have_no_diff() {
        assert_eq!(unified("n.md", "a\n", "a\n"), "");
    }
}
