"""Wheels, and environments with nothing in them but what a test installs."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("setup.cfg", "pyproject.toml", "README.md", "provider")
PIP = (sys.executable, "-m", "pip", "--quiet")


def build_wheel(home: Path) -> Path:
    """Build the wheel from a copy: setuptools would take along what an old build left in the checkout."""
    source, target = home / "source", home / "wheels"
    target.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            source.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    code = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", code, target], cwd=source, check=True, capture_output=True, timeout=120
    )
    return next(target.glob("*.whl"))


def download(wheel: Path, extras: str, *others: str) -> None:
    """Fetch what a wheel requires into its directory, in the versions that are installed here."""
    versions = wheel.parent / "constraints.txt"
    installed = {one.name: one.version for one in distributions() if one.name != "x402-provider"}
    versions.write_text("\n".join(f"{name}=={version}" for name, version in installed.items()))
    wanted = (f"{wheel}[{extras}]", *others)
    command = [*PIP, "download", "--constraint", versions, "--dest", wheel.parent, *wanted]
    subprocess.run(command, check=True, timeout=300)


@dataclass(frozen=True)
class Environment:
    """A virtual environment, whose programs see nothing of this one."""

    home: Path

    def install(self, packages: Path, *requirements: str) -> None:
        """Install requirements from a directory alone, so nothing that it lacks is found elsewhere."""
        python = self.home / "bin" / "python"
        source = ("--no-index", "--find-links", packages)
        command = [*PIP, "--python", python, "install", "--no-compile", *source, *requirements]
        subprocess.run(command, check=True, timeout=300)

    def command(self, program: str, *arguments: object) -> list[str]:
        return [str(self.home / "bin" / program), *map(str, arguments)]

    def variables(self) -> dict[str, str]:
        """Give what a program here finds in its environment: no locale, no setting, none of our paths."""
        return {"PATH": f"{self.home / 'bin'}:/usr/bin:/bin", "HOME": str(self.home), "NO_PROXY": "127.0.0.1"}

    def run(self, directory: Path, program: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
        """Run a program of this environment in a directory to its end."""
        return subprocess.run(
            self.command(program, *arguments),
            cwd=directory,
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=120,
        )
