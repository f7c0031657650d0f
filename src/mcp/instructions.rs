//! What every client is told once, most important first. ASCII, since some clients count bytes.

use crate::path::PathPolicy;

/// Clients cut there.
#[cfg(test)]
const CAP: usize = 2_048;

const FAMILY: &str = "\
This server works on the folders of Obsidian vaults themselves; Obsidian need not run.

Paths are relative to the vault, with `/` between names and with extension: `Folder/Note.md`. Names that start \
with a dot are refused.

To change a file: read it with `read_file`, take its `hash`, and send that as `expected_hash` of `write_file` \
with `overwrite: true`. If the file changed in between, nothing is written: read it again. Without `overwrite` \
nothing is ever replaced. `dry_run: true` shows what a write would change.

`vault_list` shows the known vaults and `vault_select` chooses one for this connection; `vaultPath` on a call \
names the vault for that call alone and always works.";

const READ_ONLY: &str = "This server is read-only: files can be read, nothing can be written.";

/// The instructions under a policy. No text of a note and no withheld path ever stands here.
pub(super) fn text(policy: &PathPolicy) -> String {
    let mut paragraphs = vec![FAMILY];
    if policy.is_read_only() {
        paragraphs.push(READ_ONLY);
    }
    paragraphs.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_ascii_and_no_client_cuts_them() {
        let text = text(&PathPolicy::default());
        assert!(text.is_ascii());
        assert!(text.len() + READ_ONLY.len() < CAP, "{}", text.len());
    }
}
