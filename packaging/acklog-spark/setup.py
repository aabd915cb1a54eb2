"""Where the packages are: in a checkout in the folder `spark`, in a source distribution beside this file."""

from pathlib import Path
from shutil import copytree, ignore_patterns

from setuptools import find_packages, setup
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
PACKAGES = ("acklog_spark", "pyspark_acklog")
ROOT = "." if (HERE / PACKAGES[0]).is_dir() else "../../spark"


class SourceDistribution(sdist):
    """With the packages beside this file. (setuptools itself would write them outside of the distribution.)"""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, [file for file in files if not file.startswith("..")])
        for package in PACKAGES:
            source, target = HERE / ROOT / package, Path(base_dir, package)
            copytree(source, target, ignore=ignore_patterns("__pycache__", "*.pyc"), dirs_exist_ok=True)


setup(
    package_dir={"": ROOT},
    packages=find_packages(ROOT, include=[pattern for package in PACKAGES for pattern in (package, f"{package}.*")]),
    package_data={package: ["py.typed"] for package in PACKAGES},
    cmdclass={"sdist": SourceDistribution},
)
