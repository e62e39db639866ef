"""A Kafka cluster for tests, on machines that have none: `python3 Tests/StandInCluster --help`."""

import argparse
import asyncio
import os
import signal
import socket
import sys

import cluster
import security
import versions

_DESCRIPTION = """
Brokers that behave like Apache Kafka's where it matters for exactly-once processing: transactions that are open, committed or
aborted, markers that come late, producers that are fenced, groups that rebalance. All is in memory, and nothing is replicated.
With a command, runs that: FEEDSTORE_TEST_BOOTSTRAP is where the brokers are, FEEDSTORE_TEST_RESTART a command that restarts them,
FEEDSTORE_TEST_KAFKA the release of Kafka (--kafka).
Without, runs until it is stopped.
"""


def _options():
    parser = argparse.ArgumentParser(prog="StandInCluster", description=_DESCRIPTION)
    parser.add_argument("--port", type=int, default=0, help="of the first broker; the others have the next ones (any free ones)")
    parser.add_argument("--brokers", type=int, default=3, choices=range(2, 10), metavar="2..9", help="how many there are (3)")
    parser.add_argument("--outage", type=float, default=1, help="how many seconds a broker is away that is restarted (1)")
    parser.add_argument("--markers", type=float, default=0.03, help="within how many seconds a transaction's end is written (0.03)")
    parser.add_argument("--faults", type=float, default=0, help="the chance of a request, or an answer, to be lost with its connection; a transaction's request may arrive later (0)")
    parser.add_argument(
        "--abort-interval", type=float, default=0, help="how many seconds late transactions may be left open (0; Kafka's 10)"
    )
    parser.add_argument("--tls", nargs=2, metavar=("CERTIFICATE", "KEY"), help="files in PEM: the brokers speak TLS")
    parser.add_argument("--tls-clients", metavar="AUTHORITY", help="a file in PEM: clients must show a certificate of it")
    parser.add_argument(
        "--sasl", action="append", default=[], choices=security.MECHANISMS, help="clients must say who they are in this way"
    )
    parser.add_argument("--user", action="append", default=[], metavar="NAME:PASSWORD", help="of one who may come in by SASL")
    parser.add_argument(
        "--kafka",
        default=os.environ.get("FEEDSTORE_TEST_KAFKA") or "few",
        choices=versions.OFFERED,
        help="offer the versions of requests of this release of Kafka (few: as few as FeedStore's clients need)",
    )
    parser.add_argument("--restart", metavar="PORT", type=int, help="restarts the brokers of another, whose control port that is")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run, after --")
    return parser.parse_args()


def _security(options):
    tls = options.tls and security.tls_context(*options.tls, options.tls_clients)
    return security.Security(tls, options.sasl, dict(user.split(":", 1) for user in options.user))


async def _serve(options):
    ports = [options.port and options.port + number for number in range(options.brokers)]
    stand_in = cluster.Cluster(ports, options.markers, options.faults, options.abort_interval, _security(options), options.kafka)
    servers = await stand_in.start()

    async def restart(_, writer):
        await stand_in.restart(options.outage)
        writer.close()

    control = await asyncio.start_server(restart, "127.0.0.1", 0)
    port = control.sockets[0].getsockname()[1]
    running = asyncio.ensure_future(stand_in.run())
    if options.command:
        command = options.command[1:] if options.command[0] == "--" else options.command
        environment = os.environ | {
            "FEEDSTORE_TEST_BOOTSTRAP": servers,
            "FEEDSTORE_TEST_KAFKA": options.kafka,
            "FEEDSTORE_TEST_RESTART": f"'{sys.executable}' '{os.path.abspath(sys.argv[0])}' --restart {port}",
        }
        process = await asyncio.create_subprocess_exec(*command, env=environment)
        # Both signals go to the command, which ends this as well.
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, process.send_signal, number)
        ending = asyncio.ensure_future(process.wait())
        await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            # Without it the command would wait for ever.
            process.kill()
            running.result()
        running.cancel()
        code = ending.result()
        return code if code >= 0 else 128 - code
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    print(f"bootstrap.servers={servers}, control port {port}", flush=True)
    try:
        await running
    except asyncio.CancelledError:
        return 0


def _restart(port):
    """Returns once the brokers are back."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        while connection.recv(1):
            pass


if __name__ == "__main__":
    given = _options()
    if given.restart:
        _restart(given.restart)
    else:
        sys.exit(asyncio.run(_serve(given)))
