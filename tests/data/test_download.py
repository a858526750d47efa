"""Downloads meet a real server on this machine, which behaves well or fails in each way that servers do."""

import hashlib
import re
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heteroselect.data import download, sources
from heteroselect.data.download import CHUNK, PUBLISHED, Archive
from heteroselect.errors import HeteroSelectError

IDX = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
BODY = np.random.default_rng(0).bytes(3 * CHUNK + 17)


class Handler(BaseHTTPRequestHandler):
    """/good, /moved (to it), /silent (no length), /cut, /short (another length), /flipped, /stalled; else 404."""

    def do_GET(self) -> None:
        kind = self.path.split("/")[1]
        if kind == "moved":
            self.send_response(302)
            self.send_header("Location", self.path.replace("moved", "good"))
            self.end_headers()
            return
        if kind not in {"good", "silent", "cut", "short", "flipped", "stalled"}:
            self.send_error(404)
            return
        self.server.hits.append(kind)  # type: ignore[attr-defined]
        body = BODY[:-1] if kind == "short" else BODY
        self.send_response(200)
        if kind != "silent":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if kind in {"cut", "stalled"}:
            body = body[: CHUNK + 5]
        if kind == "flipped":
            body = body[:-1] + bytes([body[-1] ^ 1])
        self.wfile.write(body)
        if kind == "stalled":
            self.server.release.wait(10)  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.hits: list[str] = []
        self.release = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gives up in the middle is what some tests are about."""

    def archive(self, kind: str, **changes: Any) -> Archive:
        facts: dict[str, Any] = {"size": len(BODY), "sha256": hashlib.sha256(BODY).hexdigest()}
        facts["url"] = f"http://127.0.0.1:{self.server_port}/{kind}/set.tar.gz"
        return Archive(**facts | changes)


@pytest.fixture(autouse=True)
def here_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server on this machine has no certificate."""
    monkeypatch.setattr(download, "SECURE", ("https://", "http://127.0.0.1"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder"


def fetch(archive: Archive | None, folder: Path, name: str = "cifar10", **settings: Any) -> Path:
    """Download this archive as if it were the published one."""
    with pytest.MonkeyPatch.context() as patch:
        if archive is not None:
            patch.setitem(download.PUBLISHED, name, (archive,))  # type: ignore[arg-type]
        return download.fetch(name, folder, **settings)


def fails(archive: Archive, folder: Path, *words: str, **settings: Any) -> None:
    """One sentence with all the words and where to put the file by hand, and a folder left as it was."""
    before = sorted(folder.iterdir()) if folder.is_dir() else []
    with pytest.raises(HeteroSelectError) as caught:
        fetch(archive, folder, **settings)
    message = str(caught.value)
    for word in (*words, "cifar10", archive.url, "set.tar.gz", str(folder), "by hand"):
        assert word in message
    assert message.endswith(".")
    assert not re.search(r"[.!?] [A-Z]", message)
    assert (sorted(folder.iterdir()) if folder.is_dir() else []) == before


def test_a_good_download_arrives_whole_and_reports_progress(server: Server, folder: Path) -> None:
    steps: list[tuple[int, int]] = []
    file = fetch(server.archive("good"), folder, progress=lambda *step: steps.append(step))
    assert file == folder / "set.tar.gz"
    assert file.read_bytes() == BODY
    assert list(folder.iterdir()) == [file]
    (folder / "other").touch()
    assert file.stat().st_mode == (folder / "other").stat().st_mode
    done = [step[0] for step in steps]
    assert done == sorted(set(done))
    assert len(done) >= 4
    assert steps[-1] == (len(BODY), len(BODY))
    assert {total for _, total in steps} == {len(BODY)}
    file.unlink()
    assert fetch(server.archive("silent"), folder).read_bytes() == BODY, "a server that names no length will do"


def test_a_mirror_gives_the_file_its_published_name(server: Server, folder: Path) -> None:
    mirror = server.archive("good").url.replace("set.tar.gz", "mirrored")
    file = fetch(server.archive("nowhere"), folder, url=mirror)
    assert file == folder / "set.tar.gz"
    assert server.hits == ["good"]


def test_a_good_file_already_there_is_not_downloaded_again(server: Server, folder: Path) -> None:
    for _ in range(2):
        assert fetch(server.archive("good"), folder).read_bytes() == BODY
    assert server.hits == ["good"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [(b"", "0 bytes instead of"), (b"my own", "6 bytes instead of"), (BODY[:-1] + b"?", "SHA-256")],
)
def test_a_wrong_file_already_there_is_left_alone(content: bytes, fault: str, server: Server, folder: Path) -> None:
    folder.mkdir(parents=True)
    target = folder / "set.tar.gz"
    target.write_bytes(content)
    with pytest.raises(HeteroSelectError, match=f"already there but is not .*{fault}.*delete it"):
        fetch(server.archive("good"), folder)
    assert target.read_bytes() == content
    assert list(folder.iterdir()) == [target]
    assert server.hits == []


def test_a_cut_connection_and_an_http_error_leave_nothing(server: Server, folder: Path) -> None:
    fails(server.archive("nowhere"), folder, "404")
    fails(server.archive("cut"), folder, f"cut after {CHUNK + 5:,} of {len(BODY):,} bytes")


def test_a_server_that_stalls_is_given_up(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PATIENCE", 0.2)
    fails(server.archive("stalled"), folder, "broke after", "timed out")


def test_sha256_decides(server: Server, folder: Path) -> None:
    right = hashlib.sha256(BODY).hexdigest()
    fails(server.archive("flipped", sha256=right), folder, "SHA-256", right)
    fails(server.archive("good", sha256="0" * 64), folder, "SHA-256", right)
    assert fetch(server.archive("good"), folder).read_bytes() == BODY


def test_another_length_is_refused_before_a_byte_is_read(server: Server, folder: Path) -> None:
    steps: list[int] = []
    fails(
        server.archive("short"),
        folder,
        f"offers {len(BODY) - 1:,} bytes instead of {len(BODY):,}",
        progress=lambda done, total: steps.append(done),
    )
    assert steps == []


def test_no_network_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as closed:  # bound but not listening: nothing answers there
        closed.bind(("127.0.0.1", 0))
        archive = Archive(f"http://127.0.0.1:{closed.getsockname()[1]}/set.tar.gz", 1, "")
        fails(archive, folder, "cannot be reached", "refused")


def test_a_disk_that_takes_no_more_is_told_and_left_clean(server: Server, folder: Path) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * CHUNK + 1, hard))
    try:
        fails(server.archive("good"), folder, f"{folder} cannot be", "File too large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_folder_that_cannot_be_made_is_told(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    fails(server.archive("good"), tmp_path / "file" / "folder", "cannot be", "Not a directory")
    assert server.hits == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interruption_passes_through_and_leaves_nothing(
    stop: type[BaseException], server: Server, folder: Path
) -> None:
    def interrupt(done: int, total: int) -> None:
        assert list(folder.iterdir())  # something is there to clean up
        raise stop

    with pytest.raises(stop):
        fetch(server.archive("good"), folder, progress=interrupt)
    assert list(folder.iterdir()) == []


def test_mnist_that_is_installed_is_not_downloaded(folder: Path) -> None:
    assert (download.fetch("mnist", folder) / "train-images-idx3-ubyte.xz").is_file()
    assert not folder.exists()


def test_mnist_that_is_not_installed_is_four_files_of_a_folder(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "heteroselect_mnist", None)
    names = [archive.file for archive in PUBLISHED["mnist"]]
    assert names == [f"{name}-ubyte.gz" for name in IDX]
    small = [server.archive("nowhere", url=f"https://there/{name}") for name in names]
    monkeypatch.setitem(download.PUBLISHED, "mnist", tuple(small))  # type: ignore[arg-type]
    steps: list[tuple[int, int]] = []
    there = f"http://127.0.0.1:{server.server_port}/good/"
    place = download.fetch("mnist", folder, url=there, progress=lambda *step: steps.append(step))
    assert place == folder / "mnist"
    assert sorted(file.name for file in place.iterdir()) == sorted(names)
    assert all((place / name).read_bytes() == BODY for name in names)
    assert steps[-1] == (4 * len(BODY), 4 * len(BODY))
    assert [step[0] for step in steps] == sorted({step[0] for step in steps})
    assert download.fetch("mnist", folder, url=there) == place
    assert server.hits == ["good"] * 4, "what is there is only checked"


def test_only_known_names_can_be_downloaded(folder: Path) -> None:
    with pytest.raises(HeteroSelectError, match=r"'svhn'.*mnist, cifar10, cifar100, tinyimagenet"):
        download.fetch("svhn", folder)


def test_what_is_downloaded_is_what_the_loader_looks_for() -> None:
    assert set(PUBLISHED) == set(sources.NAMES) - {"shakespeare", "audiomnist"}
    for name, archives in PUBLISHED.items():
        assert all(re.fullmatch("[0-9a-f]{64}", archive.sha256) for archive in archives)
        assert all(archive.url.startswith("https://") for archive in archives)
        if len(archives) == 1:
            with pytest.raises(HeteroSelectError, match=re.escape(archives[0].file)):
                sources.load(name, Path("/no/such/folder"))


@pytest.mark.parametrize("scheme", ["http", "ftp", "file"])
def test_what_is_not_secure_is_refused(scheme: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "SECURE", ("https://",))
    address = f"{scheme}://127.0.0.1:1/set.tar.gz"
    fails(Archive(address, 1, ""), folder, "not secure", "name one of https")


def test_a_server_that_sends_on_to_what_is_not_secure_is_refused(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "SECURE", (server.archive("moved").url.removesuffix("set.tar.gz"),))
    fails(server.archive("moved"), folder, "/good/set.tar.gz is not secure")
