"""The cheapest cover against trying all subsets; dealing and trading on their own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from optassign_models.load.dealing import deal_all, even_out_all
from optassign_models.load.loads import LoadArrays, bound_greatest_load
from optassign_models.load.prices import find_cheapest_cover


def make_loads(weight: list[float], threads: list[int]) -> LoadArrays:
    each, size = np.array(weight), np.array(threads, dtype=np.float64)
    even = each.sum() / size.sum()
    none = np.zeros(len(weight), dtype=np.bool_)
    return LoadArrays(each / even, none, 0.0, size, np.ones(len(threads)), np.array(threads, dtype=np.int64))


@pytest.mark.parametrize("seed", range(30))
def test_the_cover_is_the_cheapest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight, price = rng.uniform(0.01, 1.0, 9), rng.integers(0, 50, 9)
    need = float(rng.uniform(0.1, 1.1) * weight.sum())
    subsets = [list(s) for n in range(10) for s in itertools.combinations(range(9), n) if weight[list(s)].sum() >= need]
    found = find_cheapest_cover(weight, price, need)
    if not subsets:
        assert found is None
        return
    assert found is not None
    items, bound = found
    least = min(int(price[s].sum()) for s in subsets)
    assert weight[items].sum() >= need
    assert int(price[items].sum()) == least == bound


@pytest.mark.parametrize("seed", range(20))
def test_no_deal_is_below_the_bound_and_trading_never_makes_it_worse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.choice([1.0, 3.0, 7.0, 20.0], 7) if seed % 2 else rng.uniform(1.0, 3.0, 7)
    loads = make_loads(weight.tolist(), rng.integers(1, 4, 3).tolist())
    least = min(loads.greatest(np.array(choice)) for choice in itertools.product(range(3), repeat=7))
    dealt = deal_all(loads)
    traded = even_out_all(loads, dealt, 0.0)
    assert bound_greatest_load(loads) <= least * (1 + 1e-9), f"{weight}"
    assert loads.greatest(traded) <= loads.greatest(dealt) + 1e-12
    assert loads.greatest(traded) >= least * (1 - 1e-9)
