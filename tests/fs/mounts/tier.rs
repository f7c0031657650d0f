//! Which rung of the ladder a write stood on, by the kernel calls it made.

use vaultwright::{
    error::Error,
    fs::{
        Written,
        sys::{Step, fault},
    },
};

/// T1 to T4.
pub fn of_create(act: impl FnOnce() -> Result<Written, Error>) -> (Written, u8) {
    let (written, steps) = fault::trace(act);
    let tier = match () {
        () if steps.contains(&Step::LinkUnnamed) => 1,
        () if steps.contains(&Step::Placeholder) => 4,
        () if steps.contains(&Step::LinkName) => 3,
        () if steps.contains(&Step::RenameNew) => 2,
        () => panic!("no tier: {written:?} {steps:?}"),
    };
    (written.unwrap(), tier)
}

/// C1 to C4; C1 and C2 differ in whether a lease was had, which only the guarantee tells.
///
/// rclone may give a file another inode number soon after it was renamed; such a call is refused as a lost race and
/// may be made again.
pub fn of_replace(tries: usize, mut act: impl FnMut() -> Result<Written, Error>) -> (Written, u8) {
    for _ in 0..tries {
        let (written, steps) = fault::trace(&mut act);
        let tier = match () {
            () if steps.contains(&Step::Exchange) => 1,
            () if steps.contains(&Step::LinkName) => 3,
            () if steps.contains(&Step::RenameOver) => 4,
            () => 0,
        };
        match written {
            Ok(written) => return (written, tier),
            Err(error) => {
                assert!(tier == 0 && error.name() == "concurrent_write", "C{tier}: {error}: {steps:?}");
            }
        }
    }
    panic!("refused {tries} times");
}
