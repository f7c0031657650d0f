//! A case and its floor, measured in turns.

use std::time::Duration;

use criterion::Criterion;

/// The fewest pairs a median is taken of.
const PAIRS: usize = 200;

/// Prepares, does the thing once, and answers how long the thing alone took.
pub(crate) type Timed<'a> = Box<dyn FnMut() -> Duration + 'a>;

/// One line of the report.
pub(crate) struct Row<'a> {
    pub(crate) name: String,
    /// What the ratio is to be, for the reader.
    pub(crate) target: &'static str,
    /// None where the time itself is what counts.
    pub(crate) floor: Option<Timed<'a>>,
    pub(crate) ours: Timed<'a>,
}

#[derive(Default)]
struct Pairs {
    floor: Vec<Duration>,
    ours: Vec<Duration>,
}

impl Pairs {
    /// One more pair; who goes first alternates.
    fn add(&mut self, row: &mut Row<'_>) -> Duration {
        let floor_first = self.ours.len().is_multiple_of(2);
        let mut floor = Duration::ZERO;
        if floor_first {
            floor = row.floor.as_mut().map_or(floor, |floor| floor());
        }
        let ours = (row.ours)();
        if !floor_first {
            floor = row.floor.as_mut().map_or(floor, |floor| floor());
        }
        self.floor.push(floor);
        self.ours.push(ours);
        ours
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Runs a row under criterion, then prints floor, ours and ratio: medians of at least [`PAIRS`] pairs.
///
/// Under `--test` each side runs once and no number is printed.
pub(crate) fn measure(criterion: &mut Criterion, mut row: Row<'_>) {
    let mut pairs = Pairs::default();
    let name = row.name.clone();
    criterion.bench_function(&name, |bencher| {
        bencher.iter_custom(|rounds| (0..rounds).map(|_| pairs.add(&mut row)).sum());
    });
    // A filter on the command line left it out, or it ran once to prove that it runs.
    if pairs.ours.len() <= 1 {
        return;
    }
    while pairs.ours.len() < PAIRS {
        pairs.add(&mut row);
    }
    let count = pairs.ours.len();
    let (floor, ours) = (median(&mut pairs.floor), median(&mut pairs.ours));
    if row.floor.is_none() {
        println!("ROW {name}: {:.1} µs; target {} ({count} runs)", micros(ours), row.target);
        return;
    }
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    println!(
        "ROW {name}: floor {:.1} µs, ours {:.1} µs, ratio {ratio:.3}; target {} ({count} pairs)",
        micros(floor),
        micros(ours),
        row.target
    );
}
