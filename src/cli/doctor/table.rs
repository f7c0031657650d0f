//! The report for people.

use std::fmt::Write;

use super::{Report, checks::Check};

const HEADS: [&str; 4] = ["CHECK", "VALUE", "STATUS", "WHAT IT MEANS"];

/// Each vault with its table and its verdict.
pub(super) fn render(reports: &[Report]) -> String {
    reports.iter().map(vault).collect::<Vec<_>>().join("\n")
}

fn vault(report: &Report) -> String {
    let Report { name, path, checks, line, .. } = report;
    format!("{name}  {path}\n\n{}\n{line}\n", table(checks))
}

fn table(checks: &[Check]) -> String {
    let rows: Vec<_> = std::iter::once(HEADS).chain(checks.iter().map(cells)).collect();
    let widths =
        [0, 1, 2].map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut table = String::new();
    for [check, value, status, meaning] in rows {
        let [first, second, third] = widths;
        // Writing to a string cannot fail.
        writeln!(table, "{check:first$}  {value:second$}  {status:third$}  {meaning}").ok();
    }
    table
}

fn cells(check: &Check) -> [&str; 4] {
    [&check.id, &check.value, check.status.as_str(), &check.detail]
}
