"""Kernels for the tests of the wire: one that all tests of a file share, and fresh ones."""
import pytest

from kernel import Kernel


@pytest.fixture(scope="module")
def shared():
    k = Kernel()
    try:
        yield k
        status = k.client.ask("shutdown_request", {"restart": False}, "control")[0]["status"]
        assert (status, k.wait()) == ("ok", 0), k.log()
    finally:
        k.close()


@pytest.fixture
def client(shared):
    made = shared.connect()
    yield made
    if shared.process.poll() is None:
        made.stop()  # what a test that failed has left running is not to keep the next ones waiting
    made.close()
    assert shared.process.poll() is None, shared.log()


@pytest.fixture
def fresh():
    made = []

    def make(*args, **more):
        made.append(Kernel(*args, **more))
        return made[-1]

    yield make
    for k in made:
        k.close()
