//! The bounded pools in which everything that blocks runs.

use std::{num::NonZero, sync::Arc, thread::available_parallelism, time::Duration};

use tokio::{sync::Semaphore, time::timeout};

use crate::error::{Error, ServingError};

/// The longest wait for a place.
const PATIENCE: Duration = Duration::from_secs(30);

/// Places for work that touches files, and fewer for work that reads many of them.
///
/// A started closure runs to its end even when nobody waits for it any more.
#[derive(Debug, Clone)]
pub struct Work {
    files: Arc<Semaphore>,
    file_places: u32,
    heavy: Arc<Semaphore>,
    heavy_places: u32,
    patience: Duration,
}

impl Default for Work {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self::with_places((4 * cores).clamp(8, 32), cores, PATIENCE)
    }
}

impl Work {
    fn with_places(files: usize, heavy: usize, patience: Duration) -> Self {
        let places = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            files: Arc::new(Semaphore::new(files)),
            file_places: places(files),
            heavy: Arc::new(Semaphore::new(heavy)),
            heavy_places: places(heavy),
            patience,
        }
    }

    /// Runs a closure that reads or writes a few files.
    ///
    /// Errors: those of the closure, `server_busy` after 30 s without a place, `internal` for a panic.
    pub async fn files<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.run(&self.files, job).await
    }

    /// Runs a closure that reads many files; fewer of these run at once, so that a search never stops a read.
    pub async fn heavy<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.run(&self.heavy, job).await
    }

    /// Waits until no closure runs, for at most `limit`; answers whether that was reached. No new one starts then.
    pub async fn drain(&self, limit: Duration) -> bool {
        let all = async {
            let files =
                self.files.acquire_many(self.file_places).await.map(tokio::sync::SemaphorePermit::forget);
            let heavy =
                self.heavy.acquire_many(self.heavy_places).await.map(tokio::sync::SemaphorePermit::forget);
            files.is_ok() && heavy.is_ok()
        };
        timeout(limit, all).await.unwrap_or(false)
    }

    async fn run<T: Send + 'static>(
        &self,
        pool: &Arc<Semaphore>,
        job: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let waited_ms = u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX);
        let Ok(Ok(place)) = timeout(self.patience, Arc::clone(pool).acquire_owned()).await else {
            return Err(ServingError::ServerBusy { waited_ms }.into());
        };
        #[expect(clippy::disallowed_methods, reason = "the one bounded way to the blocking pool")]
        let running = tokio::task::spawn_blocking(move || {
            let result = job();
            drop(place);
            result
        });
        running.await.unwrap_or_else(|_| Err(ServingError::Internal {}.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_internal_error_and_gives_its_place_back() {
        let work = Work::with_places(1, 1, PATIENCE);
        let failed = work.files(|| -> Result<(), Error> { panic!("boom") }).await;
        assert_eq!(failed.unwrap_err().name(), "internal");
        assert_eq!(work.files(|| Ok(7)).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn no_place_in_time_is_server_busy_and_the_other_pool_goes_on() {
        let work = Work::with_places(1, 1, Duration::from_millis(20));
        let (release, held) = mpsc::channel::<()>();
        let busy = work.clone();
        let (started, running) = tokio::sync::oneshot::channel();
        let holder = tokio::spawn(async move {
            busy.files(move || {
                let _sent = started.send(());
                held.recv().ok();
                Ok(())
            })
            .await
        });
        running.await.unwrap();
        assert_eq!(work.files(|| Ok(())).await.unwrap_err().name(), "server_busy");
        assert!(work.heavy(|| Ok(())).await.is_ok());
        assert!(!work.drain(Duration::from_millis(20)).await);
        release.send(()).unwrap();
        holder.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn drained_work_is_done() {
        assert!(Work::default().drain(PATIENCE).await);
    }
}
