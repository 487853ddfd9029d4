"""Other compilers than GCC and Clang get the same bits: 128-bit integers in halves, vectors value by value."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from by_night import by_night, crossed

COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
STRICT = ["-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Wno-psabi", "-Werror"]

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")


@pytest.fixture(scope="module")
def native(project: Path) -> Path:
    if not (project / "native").is_dir():
        pytest.skip("the sources of the kernels do not lie beside the tests")
    return project / "native"


def run(source: str, native: Path, folder: Path, compiler: str, *options: str) -> str:
    """What a program prints that was compiled so."""
    program = folder / "program"
    path = Path(__file__).parent / "portable" / source
    subprocess.run([compiler, *STRICT, *options, f"-I{native}", str(path), "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("compiler", COMPILERS)
def test_wide_numbers_are_those_of_the_compiler(native: Path, tmp_path: Path, compiler: str) -> None:
    assert int(run("wide.cpp", native, tmp_path, compiler)) > 1_000_000


WAYS = [
    (compiler, options)
    for compiler in COMPILERS
    for options in ([], ["-DSHOAL_PORTABLE"], ["-mavx2"])
    if options != ["-mavx2"] or platform.machine() in ("x86_64", "AMD64")
]


def test_inner_loops_give_one_result_however_they_are_compiled(native: Path, tmp_path: Path) -> None:
    """Those for AVX2 are run only where the processor has it."""
    has_avx2 = "avx2" in Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else False
    ways = [(compiler, options) for compiler, options in WAYS if options != ["-mavx2"] or has_avx2][-by_night(2, 6) :]
    results = {run("loops.cpp", native, tmp_path, compiler, *options) for compiler, options in ways}
    assert len(ways) >= 2 and len(results) == 1
    assert len(results.pop().splitlines()) > 1_000


@pytest.mark.parametrize(("options", "compiler"), crossed([[], ["-DSHOAL_PORTABLE"]], COMPILERS))
def test_quotients_are_rounded_once(native: Path, tmp_path: Path, compiler: str, options: list[str]) -> None:
    """Python divides whole numbers to the nearest double."""
    lines = run("ratio.cpp", native, tmp_path, compiler, *options).splitlines()
    assert len(lines) == 15_000
    for line in lines:
        a, b, near, cut = parsed(line)
        assert near == a / b
        assert cut == ((a << 80) // b if a <= b else 0)


def parsed(line: str) -> tuple[int, int, float, int]:
    """What ratio.cpp prints."""
    a1, a0, b1, b0, near, cut1, cut0 = line.split()
    a, b, cut = (int(high, 16) << 64 | int(low, 16) for high, low in ((a1, a0), (b1, b0), (cut1, cut0)))
    return a, b, float.fromhex(near), cut
