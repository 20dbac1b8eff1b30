use crate::grant::{Layout, Parts, State};
use crate::shared::{random, Shared};
use crate::{Error, Options};
use std::process;
use std::sync::Arc;
use std::time::Duration;

/// Makes unique, time-ordered 64-bit IDs of a sequencer under a grant (docs/grants.md). All threads
/// of a process share one. To drop it releases the grant, as [`Generator::close`] does.
pub struct Generator {
    first: Arc<Shared>,
}

impl Generator {
    pub(crate) fn new(options: Options) -> Generator {
        Generator { first: Shared::start(Arc::new(options), State::new(Box::new(random))) }
    }

    /// Returns an ID. It waits at most for the timeout.
    pub fn next(&self, timeout: Duration) -> Result<i64, Error> {
        let mut id = 0;
        self.current().make(std::slice::from_mut(&mut id), timeout)?;
        Ok(id)
    }

    /// Returns n ascending IDs. It waits at most for the timeout; if that is too short, it returns
    /// none of them.
    pub fn next_many(&self, n: usize, timeout: Duration) -> Result<Vec<i64>, Error> {
        let mut ids = vec![0; n];
        self.current().make(&mut ids, timeout)?;
        Ok(ids)
    }

    /// Returns the layout of the sequencer. It waits for the first reply, at most for the timeout.
    pub fn layout(&self, timeout: Duration) -> Result<Layout, Error> {
        self.current().layout(timeout)
    }

    /// Returns the time, node and counter of an ID. It waits for the layout.
    pub fn decompose(&self, id: i64, timeout: Duration) -> Result<Parts, Error> {
        Ok(self.layout(timeout)?.decompose(id))
    }

    /// Returns the smallest possible ID of a time in Unix milliseconds. It waits for the layout.
    pub fn min_id(&self, time: i64, timeout: Duration) -> Result<i64, Error> {
        Ok(self.layout(timeout)?.min_id(time))
    }

    /// Returns the largest possible ID of a time in Unix milliseconds. It waits for the layout.
    pub fn max_id(&self, time: i64, timeout: Duration) -> Result<i64, Error> {
        Ok(self.layout(timeout)?.max_id(time))
    }

    /// Forgets the grant and takes another one. Call it in a process that was restored from a
    /// snapshot before it makes an ID: the grant belongs to the original (G9). After a fork this is
    /// not needed.
    pub fn forget(&self) {
        self.current().forget();
    }

    /// Releases the grant within the time of one call. A request in progress has half of that time
    /// to end (G10). If no member answers the release, the node is free again after a window. A
    /// child process that has made no ID has nothing to release.
    pub fn close(&self) {
        let pid = process::id();
        let mut shared = &self.first;
        while shared.pid != pid {
            match shared.child.get() {
                Some(child) => shared = child,
                None => return,
            }
        }
        shared.close();
    }

    /// Returns the generator of this process.
    fn current(&self) -> &Arc<Shared> {
        if !self.first.options.fork_check {
            return &self.first;
        }
        let pid = process::id();
        let mut shared = &self.first;
        while shared.pid != pid {
            shared = shared.child.get_or_init(|| shared.forked());
        }
        shared
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.close();
    }
}
