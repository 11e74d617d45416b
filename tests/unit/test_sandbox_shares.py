"""Directories of the sandbox that stand for NFS shares."""

from pathlib import Path

from aisbench_sandbox.engine.node.shares import list_shares, list_unmountable, make_folder


def test_shares_with_long_paths_have_directories_of_their_own(tmp_path: Path) -> None:
    start = "192.168.0.82:" + f"/{'n' * 255}" * 3
    volumes = [
        {"nfs": {"nfs_server_path": f"{start}/{end}", "local_path": f"/mnt/{end}", "read_only": False}} for end in "ab"
    ]

    made = list(list_shares(tmp_path, volumes))
    for share in made:
        make_folder(share)

    assert [share.remote[-1] for share in made] == ["a", "b"]
    assert sorted(tmp_path.iterdir()) == sorted(share.folder for share in made)
    assert made == list(list_shares(tmp_path, volumes)), "the same one for the next job"


def test_mount_points_over_directories_of_the_system_are_named(tmp_path: Path) -> None:
    volumes = [{"pfs": {"pfs_path": "/b/a", "local_path": local}} for local in ("/opt/conda", "/mnt/conda", "/usr")]

    assert list(list_unmountable(volumes)) == ["/opt/conda", "/usr"]
    assert [share.local for share in list_shares(tmp_path, volumes)] == ["/mnt/conda"]
