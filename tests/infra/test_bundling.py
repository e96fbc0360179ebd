"""What goes into Lambda."""

import subprocess
import sys

import pytest

from infra import bundling
from infra.roles import NEEDS


@pytest.fixture(scope="module")
def layer():
    return bundling.layer()


def test_the_layer_is_small_and_brings_nothing_that_the_runtime_has(layer):
    names = {path.name for path in (layer / "python").iterdir()}
    assert {"pydantic", "opensearchpy", "ulid", "tenacity", "re2.py"} & names >= {"pydantic", "opensearchpy", "ulid"}
    assert not {name for name in names if name.startswith(bundling.IN_RUNTIME)}
    assert bundling.size_bytes(layer) < bundling.LAYER_LIMIT_BYTES


def test_everything_native_in_the_layer_is_for_the_functions_processor(layer):
    native = list(layer.rglob("*.so"))
    assert native
    assert all(path.read_bytes()[18:20] == b"\xb7\x00" for path in native)  # ELF's machine: AArch64


def test_what_the_code_reads_beside_itself_is_in_the_bundle():
    product = bundling.HOUSE / "shared" / "agent_memory"
    folder = bundling.code("review") / "agent_memory"
    data = {".json", ".md", ".toml", ".txt"}
    beside = {path.relative_to(product) for path in product.rglob("*") if path.suffix in data}
    assert {path.suffix for path in beside} == data
    assert [path for path in sorted(beside) if not (folder / path).is_file()] == []


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_a_functions_code_imports_without_the_one_machine_edition(name):
    folder = bundling.code(name)
    assert not (folder / "agent_memory" / "local").exists()
    assert not list(folder.rglob("sqlite_*.py"))
    imported = f"import sys; sys.path[:0] = [{str(folder)!r}]; import functions.{name}.handler as module"
    program = f"{imported}; print(module.__file__ if callable(module.handler) else None)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd="/", check=False)
    assert done.stdout.strip() == str(folder / "functions" / name / "handler.py"), done.stderr
    assert {path.name for path in (folder / "functions").iterdir() if path.is_dir()} - {"__pycache__"} == {name}
