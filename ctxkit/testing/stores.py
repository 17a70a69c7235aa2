"""What a store must do, as tests: every sentence of `Store`, for whoever writes one."""

from __future__ import annotations

from ctxkit.testing.store_beside import Checkpoints, Leases
from ctxkit.testing.store_logs import Logs
from ctxkit.testing.store_races import Races

__all__ = ["StoreSuite"]


class StoreSuite(Logs, Checkpoints, Leases, Races):
    """Tests that a store passes; a subclass says how it is opened.

        class TestMyStore(StoreSuite):
            @pytest.fixture(autouse=True)
            def _place(self, tmp_path):
                self.path = tmp_path / "sessions"

            async def open_store(self, limits):
                return MyStore(self.path, limits=limits, clock=self.clock)

    The tests are plain `async def`: run them with pytest-asyncio in its mode `auto`, or mark the class with
    `pytest.mark.asyncio`. They need nothing of pytest themselves.

    To be overridden:
        open_store: gives a store. The first one of a test finds no sessions; those opened later in the same test are
            on the same data, also while the first is open. The tests close what they open.
        pass_time, lease_s, time: for a store that goes by a clock of its own. `pass_time` then has to sleep for so
            many seconds, `lease_s` be as short as the store can tell (0.2, say), `time` be `time.time`.
    """
