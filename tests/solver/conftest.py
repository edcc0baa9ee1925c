import pytest

from psdvec.solver.devices import cpu_pairs


@pytest.fixture(params=["all dense", "some dense", "all sparse"])
def panels(request, monkeypatch):
    """Cut small problems into several blocks, whose panels hold all pairs, those of frequent words, or none.

    Of the other pairs, from 4 to 16 columns are taken at a time.
    """
    dense = {"all dense": 0.0, "some dense": 0.5, "all sparse": 2.0}[request.param]
    small = {"TILE": 16, "MOST_PAIRS": 150, "DENSE": dense, "COLUMNS": 4, "MOST_COLUMNS": 16, "RUN": 3}
    for name, value in small.items():
        monkeypatch.setattr(cpu_pairs, name, value)
