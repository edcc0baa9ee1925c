import pytest

from psdvec.solver.devices import cpu_pairs


@pytest.fixture(params=["all dense", "some dense", "all sparse"])
def panels(request, monkeypatch):
    """Cut small problems into several blocks, whose panels hold all pairs, those of frequent words, or none."""
    dense = {"all dense": 0.0, "some dense": 0.5, "all sparse": 2.0}[request.param]
    for name, value in (("TILE", 16), ("MOST_PAIRS", 150), ("DENSE", dense)):
        monkeypatch.setattr(cpu_pairs, name, value)
