"""One broker of the cluster."""

import asyncio
import contextlib
import random
import struct
import sys
import traceback

import errors
import requests

# Kafka's default of socket.request.max.bytes.
_GREATEST_REQUEST = 104_857_600


class Broker:
    """Brokers share all data; each serves what it leads."""

    host = "127.0.0.1"

    def __init__(self, cluster, number, port, faults):
        self.cluster = cluster
        self.number = number
        self.port = port
        # The probability that a request, or a response, is lost with its connection.
        self._faults = faults
        self._server = None
        # Open connections: the writer, and the task that serves it, to which there is no other reference.
        self._connections = {}
        self.is_up = True

    async def start(self):
        security = self.cluster.security
        self._server = await asyncio.start_server(self._serve, self.host, self.port, ssl=security.tls)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self):
        self.go()
        self._server.close()

    def go(self):
        """Stops abruptly: open connections are cut, and new ones at once. The port stays reserved."""
        self.is_up = False
        for writer in list(self._connections):
            writer.transport.abort()

    def come_back(self):
        self.is_up = True

    async def _serve(self, reader, writer):
        if not self.is_up:
            writer.transport.abort()
            return
        self._connections[writer] = asyncio.current_task()
        # A connection may end within a request.
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await self._answer(reader, writer)
        writer.transport.abort()
        del self._connections[writer]

    async def _answer(self, reader, writer):
        """Answers requests in sequence."""
        session = self.cluster.security.session()
        while not session.is_refused:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            if not 0 <= size <= _GREATEST_REQUEST:
                # For example a TLS ClientHello.
                return
            request = await reader.readexactly(size)
            if not session.is_open and not requests.is_open_to_all(request):
                # Kafka does not report a reason either.
                return
            faults = 0 if requests.is_administrative(request) else self._faults
            if random.random() < faults:
                if requests.is_of_transaction(request) and random.random() < 0.5:
                    # It arrives all the same, perhaps in the next transaction of its producer.
                    asyncio.get_running_loop().call_later(
                        random.random() * 3, lambda: asyncio.ensure_future(requests.handle(self, request, session))
                    )
                return
            try:
                answer = await requests.handle(self, request, session)
            except errors.RefusedRequest as refusal:
                print(f"stand-in cluster: {refusal}", file=sys.stderr)
                return
            except Exception:
                # A bug in the stand-in.
                traceback.print_exc()
                return
            if random.random() < faults:
                return
            if answer is not None:
                writer.write(struct.pack(">i", len(answer)) + answer)
                await writer.drain()
        # An error is sent before the connection is closed.
        writer.close()
        await writer.wait_closed()
