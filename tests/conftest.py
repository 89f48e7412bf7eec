"""What holds for every test: the order, how hard properties are tried, Ctrl-C, what outlives it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before anybody imports numpy

import pytest
from hypothesis import HealthCheck, settings
from tests.support.background import end_all
from tests.support.rings import Ring, place_of, share_of

RING = "ring"

# A quarter of the examples in the ring for all day, other ones each time; the whole suite tries in
# full, and the same at every run. A busy machine is slow, which proves nothing: no time limits.
settings.register_profile(
    RING,
    settings.get_profile("default"),
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(RING if os.environ.get("HELIX_TESTS") == RING else "ci")

# A shell that starts the suite in the background makes it deaf to Ctrl-C, and all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before `-m deep` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests run ring by ring, and those of the deep ring can be chosen by its name."""
    places = {item: place_of(item.path.relative_to(config.rootpath).as_posix()) for item in items}
    items.sort(key=places.__getitem__)
    for item, (ring, _) in places.items():
        if ring is Ring.DEEP:
            item.add_marker(pytest.mark.deep)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers take files, and of the longest ones shares: else one is left alone with it."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByShare(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid)

    return ByShare(config, log)


@pytest.fixture(autouse=True)
def nobody_outlives_its_test() -> Iterator[None]:
    yield
    end_all()
