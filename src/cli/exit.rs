//! The number of each way to end.

use std::process::ExitCode;

use crate::error::Exit;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// By itself.
    Ended(Exit),
    /// By a signal from the keyboard.
    Interrupted,
    /// Nobody reads standard output any more.
    OutputClosed,
}

impl Status {
    /// What the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ended(exit) => number(exit),
            Self::Interrupted => 130,
            Self::OutputClosed => 141,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.code())
    }
}

/// 3 to 10 and 13 promise that nothing was written.
const fn number(exit: Exit) -> u8 {
    match exit {
        Exit::Ok => 0,
        Exit::Internal => 1,
        Exit::Usage => 2,
        Exit::NotFound => 3,
        Exit::Exists => 4,
        Exit::Precondition => 5,
        Exit::Concurrent => 6,
        Exit::Refused => 7,
        Exit::TooLarge => 8,
        Exit::Unsupported => 9,
        Exit::Io => 10,
        Exit::NotDurable => 11,
        Exit::App => 12,
        Exit::Ambiguous => 13,
        Exit::Partial => 14,
        Exit::Rejected => 15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_specification() {
        let codes = [
            (Status::Ended(Exit::Ok), 0),
            (Status::Ended(Exit::Usage), 2),
            (Status::Ended(Exit::Precondition), 5),
            (Status::Ended(Exit::Io), 10),
            (Status::Ended(Exit::Rejected), 15),
            (Status::Interrupted, 130),
            (Status::OutputClosed, 141),
        ];
        assert!(codes.iter().all(|(status, code)| status.code() == *code));
    }
}
