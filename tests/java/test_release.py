"""Tests that a foreign project can use the plug-in, and an environment without sources can run the service, as documented.

Other dependencies come from the usual registries; none of our packages does.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from released import copy_checkout, read_repositories, run
from serving import wait_until

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "get-started" / "install.md"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>orders</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  {repositories}
  <dependencies>
    {dependency}
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-streams</artifactId>
      <version>4.3.1</version>
    </dependency>
  </dependencies>
</project>
"""
SASL = """sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="watch" password="secret";
"""
APPLICATION = """
import io.github.optassign.OptassignTaskAssignor;
import java.util.Properties;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;

public class Orders {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("application.id", "orders");
        properties.put("task.assignor.class", "io.github.optassign.OptassignTaskAssignor");
        properties.put("optassign.url", "http://127.0.0.1:8924");
        OptassignTaskAssignor.check(properties);
        Class<?> named = Class.forName(properties.getProperty("task.assignor.class"));
        System.out.println(((TaskAssignor) named.getDeclaredConstructor().newInstance()).getClass().getName());
    }
}
"""


def documented(beginning: str) -> list[str]:
    """Return the words of the only command of docs/get-started/install.md with this beginning."""
    (line,) = (line for line in map(str.strip, PAGE.read_text(encoding="utf-8").splitlines()) if line.startswith(beginning))
    return [word.strip("'") for word in line.split()]


def find_jar(release: Path, name: str) -> Path:
    return release / "maven" / "io" / "github" / "optassign" / name / "0.1.0" / f"{name}-0.1.0.jar"


@contextmanager
def alone() -> Iterator[None]:
    """Lock out tests that build the same modules."""
    with (ROOT / "java" / "pom.xml").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module", autouse=True)
def maven() -> None:
    if shutil.which("mvn") is None:
        pytest.skip("needs Maven: found no mvn on PATH")


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a local repository of Maven, which is empty at first."""
    return tmp_path_factory.mktemp("repository")


@pytest.fixture
def repository(repositories: Path) -> str:
    """Return Maven's option for a local repository without any package of ours."""
    shutil.rmtree(repositories / "io" / "github" / "optassign", ignore_errors=True)
    return f"-Dmaven.repo.local={repositories}"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "optassign"
    with alone():
        run("make", "release", f"RELEASE={folder}", folder=ROOT)
    return folder


def use_as_dependency(folder: Path, repository: str, repositories: str = "") -> None:
    """Compile and run an application that has the documented dependency; it prints the plug-in's class."""
    (found,) = re.findall(r"<dependency>.*?</dependency>", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    sources = folder / "src" / "main" / "java"
    sources.mkdir(parents=True)
    (folder / "pom.xml").write_text(POM.format(dependency=found, repositories=repositories), encoding="utf-8")
    (sources / "Orders.java").write_text(APPLICATION, encoding="utf-8")
    goals = ("compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath")
    run("mvn", "--batch-mode", "--quiet", repository, *goals, folder=folder)
    classpath = (folder / "classpath").read_text(encoding="utf-8")
    ours = [path for path in classpath.split(os.pathsep) if "optassign" in Path(path).name]
    assert [Path(path).name for path in ours] == ["optassign-streams-0.1.0.jar"]
    installed = Path(ours[0]).with_suffix(".pom").read_text(encoding="utf-8")
    assert "<version>0.1.0</version>" in installed
    assert not re.search("<(?:parent|dependency)>", installed)
    java = ("java", "-cp", os.pathsep.join(["target/classes", classpath]), "Orders")
    assert run(*java, folder=folder).strip() == "io.github.optassign.OptassignTaskAssignor"


def test_a_project_uses_the_plug_in_of_a_checkout(tmp_path: Path, repository: str) -> None:
    with alone():
        run(*documented("mvn -f java/pom.xml -pl plugin"), "--batch-mode", "--quiet", repository, folder=ROOT)
    use_as_dependency(tmp_path, repository)


def test_a_project_uses_the_plug_in_of_a_release(tmp_path: Path, repository: str, release: Path) -> None:
    use_as_dependency(tmp_path, repository, read_repositories(release))


def test_a_release_is_complete_and_has_its_checksums(release: Path) -> None:
    run(*documented("sha256sum"), folder=release)
    lines = [line.split() for line in (release / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    files = {file.relative_to(release).as_posix(): file for file in release.rglob("*") if file.is_file()}
    del files["SHA256SUMS"]
    assert {name: digest for digest, name in lines} == {
        name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()
    }
    for kind in ("-py3-none-any.whl", ".tar.gz", ".cdx.json", "install.md", "LICENSE", "NOTES.md", "Containerfile"):
        assert any(name.endswith(kind) for name in files), kind
    text = PAGE.read_text(encoding="utf-8")
    for name in files:
        stem, dot, suffix = name.partition("0.1.0")
        assert name in text or name.startswith("maven/") or f"`{suffix}`" in text, f"{stem}{dot}{suffix} is not described"


@pytest.mark.parametrize("name", ["optassign-streams", "optassign-broker", "optassign-watch"])
def test_an_artifact_is_as_maven_central_wants_it(release: Path, name: str) -> None:
    """https://central.sonatype.org/publish/requirements: names, licence, developers, sources, Javadoc and checksums."""
    folder = find_jar(release, name).parent
    stem = f"{name}-0.1.0"
    wanted = {f"{stem}.jar", f"{stem}.pom", f"{stem}-sources.jar", f"{stem}-javadoc.jar"}
    assert {file.name for file in folder.iterdir()} == {
        *wanted,
        *(f"{each}.{kind}" for each in wanted for kind in ("md5", "sha1")),
    }
    for each in wanted:
        assert (folder / f"{each}.sha1").read_text() == hashlib.sha1((folder / each).read_bytes()).hexdigest()
    pom = ET.parse(folder / f"{stem}.pom").getroot()
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    paths = ("groupId", "artifactId", "version", "name", "description", "url", "licenses/license/name", "licenses/license/url")
    for path in (*paths, "developers/developer/name", "scm/connection", "scm/url"):
        found = pom.findtext("/".join(f"m:{part}" for part in path.split("/")), namespaces=space)
        assert found, path
        assert "optassign-parent" not in found
    for absent in ("parent", "dependencies", "repositories"):
        assert pom.find(f"m:{absent}", space) is None
    with zipfile.ZipFile(folder / f"{stem}.jar") as jar, zipfile.ZipFile(folder / f"{stem}-sources.jar") as sources:
        inside = {each.removesuffix(".class") for each in jar.namelist() if each.endswith(".class") and "$" not in each}
        ours = {each for each in inside if each.startswith("io/github/optassign/") and "/shaded/" not in each}
        assert ours
        assert ours - {each.removesuffix(".java") for each in sources.namelist()} == set()
    with zipfile.ZipFile(folder / f"{stem}-javadoc.jar") as pages:
        assert "index.html" in pages.namelist()


def test_a_broker_needs_only_the_jar_of_a_release(release: Path) -> None:
    """Brokers have Java, Kafka's classes and slf4j only."""
    jar = find_jar(release, "optassign-broker")
    found = run("jdeps", "--ignore-missing-deps", "-verbose:package", jar, folder=release)
    uses = set(re.findall(r"-> (\S+)", found))
    brokers = ("io.github.optassign", "java.", "javax.", "jdk.", "org.apache.kafka.", "org.slf4j")
    assert "io.github.optassign.shaded.jackson.core" in uses
    assert not {name for name in uses if "." in name and not name.startswith(brokers)}


def test_a_watcher_needs_only_the_jar_of_a_release(tmp_path: Path, release: Path) -> None:
    """The watcher looks for a broker, finds none, and ends as documented: a missing class would be an error."""
    jar = shutil.copy(find_jar(release, "optassign-watch"), tmp_path)
    file = tmp_path / "admin.properties"
    times = "request.timeout.ms=500\ndefault.api.timeout.ms=1000\n"
    file.write_text(f"bootstrap.servers=127.0.0.1:1\nsecurity.protocol=SASL_PLAINTEXT\n{SASL}{times}", encoding="utf-8")
    watch = ["java", "-jar", jar, "--config", str(file), "--once"]
    done = subprocess.run(watch, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "optassign watch: error: Kafka cannot be asked: " in done.stderr
    assert "NoClassDefFoundError" not in done.stderr
    assert "SLF4J: " not in done.stderr, "it finds where to log"


def test_a_release_built_again_elsewhere_is_the_same(tmp_path: Path, release: Path) -> None:
    """The copy has other dates and rights, and is in another folder."""
    before = os.umask(0o077)
    try:
        copy = copy_checkout(tmp_path / "copy")
        run(sys.executable, copy / ".ci" / "build_release.py", tmp_path / "release", folder=copy)
    finally:
        os.umask(before)
    assert (tmp_path / "release" / "SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()


def test_a_release_lists_its_components(release: Path) -> None:
    """The list names no path of the machine that built the release."""
    service = json.loads((release / "optassign-0.1.0.cdx.json").read_text(encoding="utf-8"))
    names = {component["name"] for component in service["components"]}
    assert {"ortools", "fastapi", "numpy", "pydantic"} <= names
    assert not {"pytest", "pyspark"} & names
    plugin = json.loads((release / "optassign-streams-0.1.0.cdx.json").read_text(encoding="utf-8"))
    ours = {"optassign-planner", "optassign-client"}
    assert {component["name"] for component in plugin["components"]} == {"jackson-core", *ours}
    broker = json.loads((release / "optassign-broker-0.1.0.cdx.json").read_text(encoding="utf-8"))
    assert {component["name"] for component in broker["components"]} == {"jackson-core", *ours}
    watcher = json.loads((release / "optassign-watch-0.1.0.cdx.json").read_text(encoding="utf-8"))
    compression = {"lz4-java", "snappy-java", "zstd-jni"}
    assert {component["name"] for component in watcher["components"]} == {
        "optassign-planner",
        "kafka-clients",
        "slf4j-api",
        "slf4j-simple",
        *compression,
    }
    for file in release.glob("*.cdx.json"):
        assert str(ROOT) not in file.read_text(encoding="utf-8")
        assert "/tmp/" not in file.read_text(encoding="utf-8")


def test_the_service_runs_from_a_release(tmp_path: Path, release: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv", folder=tmp_path)
    _, *install = documented("/opt/optassign/bin/pip install")
    pinned = ("--constraint", ROOT / "constraints.txt", "--disable-pip-version-check", "--quiet")
    run(tmp_path / "venv" / "bin" / "pip", *install, *pinned, folder=release)
    command = str(tmp_path / "venv" / "bin" / "optassign")
    serve = [command, "serve", "--port", "0", "--workers", "1", "--recordings", "recordings"]
    log = tmp_path / "log"
    with log.open("wb") as stream, subprocess.Popen(serve, cwd=tmp_path, stderr=stream) as service:
        try:
            wait_until(lambda: service.poll() is not None or "worker_ready" in log.read_text(encoding="utf-8"))
            assert service.poll() is None, log.read_text(encoding="utf-8")
        finally:
            service.terminate()
    assert service.returncode == 0
