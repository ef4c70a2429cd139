"""The local chain over real sockets: the SDK, TLS, tunnels, broken connections, the command."""

import http.client
import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from stellar_sdk import InvokeHostFunction, Keypair, SorobanServer, TransactionBuilder, scval, xdr
from stellar_sdk.contract import ContractClient

from provider.localnet.chain import ca
from provider.localnet.chain.model import ChainConfig
from provider.localnet.chain.server import ChainServer
from provider.localnet.chain.state import ChainState

ROOT = Path(__file__).parents[2]
HEALTH = {"jsonrpc": "2.0", "id": 1, "method": "getHealth", "params": None}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK obeys proxy settings; these tests talk to this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ca")


@pytest.fixture
def chain(certificates: Path) -> Iterator[ChainServer]:
    with ChainServer(ChainState(ChainConfig(manual=True)), data_dir=certificates) as server:
        yield server


@pytest.fixture
def http_session() -> Iterator[requests.Session]:
    """A client that no proxy setting of the machine leads astray."""
    with requests.Session() as session:
        session.trust_env = False
        yield session


def post(session: requests.Session, url: str, body: dict[str, Any]) -> requests.Response:
    return session.post(url, json=body, timeout=10)


def settle(server: SorobanServer, passphrase: str, facilitator: Keypair, transaction: Any) -> Any:
    """Rebuild and send a signed call as a facilitator does (facts B8)."""
    simulated = server.simulate_transaction(transaction.to_xdr())
    assert simulated.error is None
    assert simulated.transaction_data is not None
    operation = transaction.transaction.operations[0]
    envelope = (
        TransactionBuilder(server.load_account(facilitator.public_key), passphrase, base_fee=100)
        .set_timeout(60)
        .append_operation(InvokeHostFunction(operation.host_function, auth=operation.auth))
        .set_soroban_data(xdr.SorobanTransactionData.from_xdr(simulated.transaction_data))
        .build()
    )
    envelope.sign(facilitator)
    return server.send_transaction(envelope)


@pytest.mark.parametrize("upgraded", [False, True])
def test_the_python_sdk_pays_end_to_end(chain: ChainServer, upgraded: bool) -> None:
    """ContractClient signs, SorobanServer submits, polls and reads events."""
    chain.state.set_credentials("by-flag")
    payer, merchant, facilitator = (Keypair.random() for _ in range(3))
    for keypair in (payer, merchant, facilitator):
        chain.state.fund(keypair.public_key, "5")
    token, passphrase = chain.state.config.token.contract, chain.state.config.passphrase
    args = [
        scval.to_address(payer.public_key),
        scval.to_address(merchant.public_key),
        scval.to_int128(12_345),
    ]
    with ContractClient(token, chain.url, passphrase) as client, SorobanServer(chain.url) as server:
        call = client.invoke("transfer", args, base_fee=100, use_upgraded_auth=upgraded)
        call.authorize(payer, valid_until_ledger_sequence=server.get_latest_ledger().sequence + 12)
        call.prepare()
        sent = settle(server, passphrase, facilitator, call.built_transaction)
        assert server.get_transaction(sent.hash).status.value == "NOT_FOUND"
        paid = chain.state.close().sequence
        assert server.get_transaction(sent.hash).ledger == paid
        events = server.get_events(start_ledger=paid).events
        assert [scval.from_int128(event.value) for event in events] == [12_345]
        assert server.get_health().latest_ledger == paid
        assert server.get_network().passphrase == passphrase
        balance = client.invoke("balance", [args[1]], parse_result_xdr_fn=scval.from_int128).result()
        assert balance == 50_000_000 + 12_345


def test_https_is_trusted_with_the_development_authority(
    chain: ChainServer, http_session: requests.Session
) -> None:
    reply = http_session.post(chain.tls_url, json=HEALTH, verify=str(chain.ca_file), timeout=10)
    assert reply.json()["result"]["status"] == "healthy"


def test_https_is_not_trusted_without_it(chain: ChainServer, http_session: requests.Session) -> None:
    with pytest.raises(requests.exceptions.SSLError):
        post(http_session, chain.tls_url, HEALTH)


@pytest.mark.parametrize("host", ["soroban-testnet.stellar.org", "horizon-testnet.stellar.org"])
def test_a_tunnel_to_the_test_network_ends_in_the_chain(
    chain: ChainServer, http_session: requests.Session, host: str
) -> None:
    """Unmodified clients with their default addresses; facts B4.1 c."""
    http_session.proxies = {"https": chain.url}
    http_session.verify = str(chain.ca_file)
    reply = post(http_session, f"https://{host}", HEALTH).json()
    assert reply["result"]["latestLedger"] == chain.state.latest.sequence
    ledgers = http_session.get(f"https://{host}/ledgers?limit=20&order=desc", timeout=10).json()
    assert len(ledgers["_embedded"]["records"]) == 20


def test_a_tunnel_to_anywhere_else_is_refused(chain: ChainServer, http_session: requests.Session) -> None:
    http_session.proxies = {"https": chain.url}
    with pytest.raises(requests.exceptions.ProxyError, match="403"):
        http_session.get("https://example.com/", timeout=10)


def test_a_connection_serves_many_requests(chain: ChainServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", int(chain.url.rpartition(":")[2]), timeout=10)
    connection.connect()
    local = connection.sock.getsockname()
    for _ in range(3):
        connection.request("GET", "/ledgers?limit=1")
        assert connection.getresponse().read()
    assert connection.sock.getsockname() == local
    connection.close()


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize(
    "fault", [{"name": "drop_send_request", "method": "getHealth"}, {"name": "rpc_down", "mode": "reset"}]
)
def test_a_broken_connection_is_one_for_the_client(
    chain: ChainServer, http_session: requests.Session, fault: dict[str, Any], tls: bool
) -> None:
    post(http_session, f"{chain.url}/admin/fault", fault | {"count": 1})
    http_session.verify = str(chain.ca_file)
    url = chain.tls_url if tls else chain.url
    with pytest.raises(requests.exceptions.ConnectionError):
        post(http_session, url, HEALTH)
    assert post(http_session, url, HEALTH).status_code == 200


def test_a_reset_is_a_reset(chain: ChainServer) -> None:
    """Not an orderly end, which some clients take for an empty answer."""
    chain.faults.add("rpc_down", mode="reset")
    body = json.dumps(HEALTH).encode()
    with socket.create_connection(("127.0.0.1", int(chain.url.rpartition(":")[2])), timeout=10) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        with pytest.raises(ConnectionResetError):
            client.recv(1)


@pytest.mark.parametrize("status", [500, 503, 504])
def test_a_server_error_is_no_json(chain: ChainServer, http_session: requests.Session, status: int) -> None:
    """Stellar RPC answers 503 when its queue is full and 504 after 25 s, without a body."""
    chain.faults.add("rpc_down", mode=f"http{status}", count=1)
    reply = post(http_session, chain.url, HEALTH)
    assert (reply.status_code, reply.content) == (status, b"")


def test_admin_verbs_fund_close_and_show(chain: ChainServer, http_session: requests.Session) -> None:
    account = Keypair.random().public_key
    funded = post(http_session, f"{chain.url}/admin/fund", {"account": account, "usdc": "1.5"}).json()
    assert funded["balance"] == "15000000"
    before = http_session.get(f"{chain.url}/admin/state", timeout=10).json()
    closed = post(http_session, f"{chain.url}/admin/close", {"ledgers": 3}).json()
    assert closed["ledger"] == before["ledger"] + 3
    assert closed["closeTime"] == before["closeTime"] + 15
    assert before["balances"][account] == "15000000"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/admin/explode", 404),
        ("GET", "/admin/fund", 404),
        ("POST", "/admin/fund", 400),
        ("GET", "/", 404),
    ],
)
def test_a_wrong_path_or_body_has_a_status(
    chain: ChainServer, http_session: requests.Session, method: str, path: str, status: int
) -> None:
    assert http_session.request(method, chain.url + path, data="{}", timeout=10).status_code == status


@pytest.mark.parametrize("length", ["", "-1", "x", str(512 * 1024 + 1)])
def test_a_body_without_a_fair_length_is_refused(chain: ChainServer, length: str) -> None:
    """As by Stellar RPC, whose limit is 512 KiB. Was red: it was 1 MiB, and another status."""
    with socket.create_connection(("127.0.0.1", int(chain.url.rpartition(":")[2])), timeout=10) as client:
        header = f"Content-Length: {length}\r\n" if length else ""
        client.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{header}\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 500")


def test_many_threads_make_one_transfer_each(chain: ChainServer) -> None:
    """The lock holds: 8 facilitators send at once from a start line, then one ledger closes."""
    passphrase, token = chain.state.config.passphrase, chain.state.config.token.contract
    pairs = [(Keypair.random(), Keypair.random()) for _ in range(8)]
    shop, start = Keypair.random(), threading.Barrier(8)
    for keypair in (shop, *(keypair for pair in pairs for keypair in pair)):
        chain.state.fund(keypair.public_key, "1")

    def pay(payer: Keypair, facilitator: Keypair) -> None:
        args = [scval.to_address(payer.public_key), scval.to_address(shop.public_key), scval.to_int128(1)]
        with ContractClient(token, chain.url, passphrase) as client, SorobanServer(chain.url) as server:
            call = client.invoke("transfer", args, base_fee=100)
            call.authorize(payer, valid_until_ledger_sequence=chain.state.latest.sequence + 12)
            start.wait(10)
            settle(server, passphrase, facilitator, call.built_transaction)

    threads = [threading.Thread(target=pay, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    chain.state.close()
    assert chain.state.balance(shop.public_key) == 10_000_000 + 8


def test_stopping_ends_open_connections_and_waits(certificates: Path) -> None:
    """A client that keeps its connection, or waits for an answer, does not hold the server."""
    server = ChainServer(data_dir=certificates).start()
    server.faults.add("late_reply", method="getHealth", seconds=3600)
    session = requests.Session()
    session.trust_env = False
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(session.post(server.url, json=HEALTH, timeout=30))
        except requests.RequestException as error:
            answers.append(error)

    thread = threading.Thread(target=ask)
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10) as idle:
        thread.start()
        while server.faults.listed():
            thread.join(0.01)
        server.stop()
        assert idle.recv(1) == b""
    thread.join(10)
    assert [type(answer) for answer in answers] == [requests.exceptions.ConnectionError]


def test_the_private_key_is_private_and_used_again(tmp_path: Path) -> None:
    first = ca.ensure(tmp_path / "ca")
    content = first.ca_file.read_bytes()
    assert stat.S_IMODE(first.server_file.stat().st_mode) == 0o600
    assert ca.ensure(tmp_path / "ca").ca_file.read_bytes() == content


def test_the_certificate_names_no_other_host(chain: ChainServer) -> None:
    context = ssl.create_default_context(cafile=str(chain.ca_file))
    port = int(chain.tls_url.rpartition(":")[2])
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as raw,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        context.wrap_socket(raw, server_hostname="mainnet.stellar.org")


def test_admin_verbs_are_for_this_machine_only(certificates: Path, http_session: requests.Session) -> None:
    """The chain may listen on all addresses; its switches do not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but the loopback one")
        address = probe.getsockname()[0]
    if address.startswith("127."):
        pytest.skip("this machine has no address but the loopback one")
    with ChainServer(host="0.0.0.0", data_dir=certificates) as server:
        outside = server.url.replace("127.0.0.1", address)
        assert post(http_session, outside, HEALTH).status_code == 200
        assert post(http_session, f"{outside}/admin/close", {}).status_code == 403


def run_chain(*options: str) -> subprocess.Popen[str]:
    code = "from provider.cli.chain import command; command()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *options],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_says_when_it_is_ready_and_ends_on_a_signal(
    number: signal.Signals, http_session: requests.Session, tmp_path: Path
) -> None:
    account = Keypair.random().public_key
    options = [
        "--port",
        "0",
        "--tls-port",
        "0",
        "--manual",
        "--start-ledger",
        "500",
        "--data-dir",
        str(tmp_path),
    ]
    process = run_chain(*options, "--fund", f"{account}=2.5")
    try:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[:2] == ["chain", "ready:"]
        state = http_session.get(f"{words[2]}/admin/state", timeout=10).json()
        assert (state["ledger"], state["balances"][account]) == (519, "25000000")
        process.send_signal(number)
        assert process.wait(10) == 0
        assert process.communicate()[1] == ""
    finally:
        process.kill()


def test_a_taken_port_is_a_message_and_exit_code_1(chain: ChainServer) -> None:
    process = run_chain("--port", chain.url.rpartition(":")[2], "--tls-port", "0")
    message = process.communicate(timeout=20)[1]
    assert process.returncode == 1
    assert message.startswith("Error: cannot listen on 127.0.0.1")
    assert "Traceback" not in message


@pytest.mark.parametrize("fund", ["GABC=1", "=1", "nonsense"])
def test_an_account_that_is_none_is_a_message(fund: str) -> None:
    process = run_chain("--port", "0", "--tls-port", "0", "--fund", fund)
    message = process.communicate(timeout=20)[1]
    assert process.returncode == 2
    assert "Traceback" not in message
