import base64
import subprocess
import sys
from typing import Any

import pytest

from examples.services import services
from provider.errors import DeterministicError
from provider.services.testing import LocalContext


def run(name: str, **payload: Any) -> Any:
    service = services.get(name)
    assert service.validate_input(payload) == []
    output = service.handler(payload, LocalContext())
    assert service.validate_output(output) == []
    return output


def test_the_examples_are_declared_without_a_problem() -> None:
    services.check()


def test_four_services_are_for_sale() -> None:
    prices = {service.name: (service.price, service.charge.value) for service in services}
    assert prices == {
        "extract-tables": ("0.01", "on-success"),
        "monte-carlo": ("0.25", "upfront"),
        "qr-code": ("0.005", "on-success"),
        "sudoku": ("0.02", "on-success"),
    }


@pytest.mark.parametrize("name", ["extract-tables", "sudoku"])
def test_the_example_input_gives_the_example_output(name: str) -> None:
    service = services.get(name)
    assert run(name, **service.example_input) == service.example_output


def test_the_example_simulation_gives_the_example_price() -> None:
    """But for the last digits, which belong to the C library."""
    service = services.get("monte-carlo")
    output, expected = run(service.name, **service.example_input), dict(service.example_output)
    assert output.pop("confidence_95") == pytest.approx(expected.pop("confidence_95"))
    assert output == pytest.approx(expected)


def test_the_example_image_has_the_example_size() -> None:
    """Its packed bytes depend on the zlib in use."""
    service = services.get("qr-code")
    images = [run(service.name, **service.example_input), service.example_output]
    assert len({(base64.b64decode(image["png"])[:24], image["width"]) for image in images}) == 1


def test_a_sudoku_without_a_solution_fails_for_good() -> None:
    """Charged on success, so the buyer of an unsolvable grid pays nothing."""
    with pytest.raises(DeterministicError, match="no solution"):
        run("sudoku", grid="55" + "." * 79)


def test_a_sudoku_with_several_solutions_says_so() -> None:
    assert run("sudoku", grid="." * 81)["unique"] is False


@pytest.mark.parametrize("grid", ["", "." * 80, "." * 82, "." * 81 + "\n", "x" * 81])
def test_a_grid_of_another_shape_is_refused_before_it_is_paid(grid: str) -> None:
    assert services.get("sudoku").validate_input({"grid": grid})


def test_a_qr_code_is_a_png_of_the_size_it_tells() -> None:
    output = run("qr-code", text="Grüße", scale=3)
    image = base64.b64decode(output["png"])
    assert image.startswith(b"\x89PNG")
    assert int.from_bytes(image[16:20], "big") == output["width"]


def test_a_text_too_long_for_its_correction_level_fails_for_good() -> None:
    with pytest.raises(DeterministicError, match="too long"):
        run("qr-code", text="x" * 2000, correction="H")


def test_a_page_with_too_many_cells_fails_for_good() -> None:
    with pytest.raises(DeterministicError, match="cells"):
        run("extract-tables", html="<table><td rowspan=1000 colspan=1000>")


def test_whole_numbers_may_come_as_floats() -> None:
    """JSON Schema takes 10.0 for an integer."""
    option = {"spot": 1, "strike": 1, "rate": 0, "volatility": 0.1, "years": 1, "style": "asian"}
    whole = run("monte-carlo", **option, paths=100, units=5, steps=3, seed=2)
    assert run("monte-carlo", **option, paths=100.0, units=5.0, steps=3.0, seed=2.0) == whole
    assert run("qr-code", text="x", scale=2.0) == run("qr-code", text="x", scale=2)


def test_importing_the_examples_is_fast() -> None:
    """In processor time, Python's own start included, so that a busy machine does not matter."""
    script = "import time; import examples.services; print(time.process_time())"
    times = [float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(3)]
    assert min(times) < 1
