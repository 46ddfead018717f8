"""Secrets on command lines and in variables: replaced before they are written, and nothing else is."""

import subprocess
import sys
from pathlib import Path

import bench
import pytest
from bench.warehouse import environment
from bench.warehouse.secrets import KEEP, masked, masked_variable
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python x.py --api-key abc --verbose", "python x.py --api-key *** --verbose"),
        ("python x.py --verbose --api_key=abc", "python x.py --verbose --api_key=***"),
        ("psql postgres://u:pw@h/db", "psql postgres://u:***@h/db"),
        ("HF_TOKEN=abc AWS_SECRET_ACCESS_KEY=a/b+c python a.py", "HF_TOKEN=*** AWS_SECRET_ACCESS_KEY=*** python a.py"),
        ("x --password='a b' z --client-secret \"q r\" w", "x --password=*** z --client-secret *** w"),
        ("x '--password=a b' z", "x '--password=***' z"),
        ("x --password 'a'\"'\"'b c' z", "x --password *** z"),
        ("x --password='never closed", "x --password=***"),
        ("hydra wandb.api_key=abc lr=0.1", "hydra wandb.api_key=*** lr=0.1"),
        ("curl -H 'Authorization: Bearer abcdefgh' u", "curl -H 'Authorization: Bearer ***' u"),
        ("run sk-abcdefghijklmnopqrstuvwx", "run ***"),
        ("git clone https://ghp_0123456789abcdefghijkl@github.com/x", "git clone https://***@github.com/x"),
    ],
)
def test_what_looks_like_a_secret_is_replaced(text: str, expected: str) -> None:
    """By the name of an option or variable, in a URL or header, or by its form; masking twice changes nothing more."""
    assert masked(text) == masked(masked(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "serve --max-tokens 512 --tokenizer gpt2 --eos-token '</s>' --pad-token=<pad>",
        "train --token 5 --token=1e-3 --num-key-value-heads 8 --keys a --key b monkey=c",
        "x --token --verbose",
        "python -c 'token = f(3)'",
        "curl http://host:8000/a@b http://user@host/",
    ],
)
def test_all_else_stays(text: str) -> None:
    """Numbers, tokens of language models, names that only begin like a secret's."""
    assert masked(text) == text


@given(st.text("-_=':\" \\atokensecret/@.5", max_size=40))
def test_masking_ends(text: str) -> None:
    """For any text, closed quotes or not; a text without a secret's name is as it was."""
    assert masked(text) == text or "***" in masked(text)


def test_all_of_it_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """For those who measure again from what is stored."""
    monkeypatch.setenv(KEEP, "1")
    assert masked("x --token abc") == "x --token abc"


def test_variables_are_masked_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of PyTorch and NCCL are recorded by prefix, whatever they hold."""
    monkeypatch.setenv("TORCH_HUB_TOKEN", "two words")
    monkeypatch.setenv("NCCL_SECRET_TOKEN", "hush")
    monkeypatch.setenv("TORCH_LOGS", "+dynamo")
    variables = environment.capture.__wrapped__().variables
    assert variables is not None
    assert '"TORCH_LOGS":"+dynamo"' in variables.replace(" ", "")
    assert "hush" not in variables and "two words" not in variables
    assert masked_variable("TORCH_PROXY", "http://u:pw@h") == "http://u:***@h"


def test_no_file_of_a_store_holds_a_secret(tmp_path: Path) -> None:
    """Command lines of measured commands and of bench itself; nor does what bench says of them."""
    secrets = ("first-hush", "second-hush", "third-hush")
    said = subprocess.run(
        [sys.executable, "-m", "bench", "measure", "command", "--repeat", "2", "--warmup", "0", "--store", tmp_path / "store",
         "--", "env", f"HF_TOKEN={secrets[0]}", "true", "--api-key", secrets[1], f"postgres://u:{secrets[2]}@h"],
        capture_output=True, check=True,
    )  # fmt: skip
    with bench.run("api", store=tmp_path / "store", command=f"x --password={secrets[0]}"):
        pass
    subprocess.run([sys.executable, "-m", "bench", "rebuild", "--store", tmp_path / "store"], check=True)
    written = [path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()]
    told = said.stdout + said.stderr

    assert any(b"HF_TOKEN=***" in data for data in (*written, told))
    for secret in secrets:
        assert not [data for data in (*written, told) if secret.encode() in data]
