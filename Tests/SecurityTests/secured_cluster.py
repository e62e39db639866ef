"""The stand-in cluster with TLS and SASL, on a thread of the test."""

import asyncio
import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "StandInCluster"))

import cluster
import security

TOPICS = {"feeds.sections": {}, "feeds.items": {}, "feeds.changesets": {"cleanup.policy": "compact"}, "feeds.rejected": {}}


class SecuredCluster:
    """A cluster with FeedStore's topics; a context manager that stops it."""

    def __init__(self, certificate=None, clients=None, mechanisms=(), users=None, has_topics=True, ports=(0, 0)):
        """`certificate` is a pair of files; `clients` is the authority of client certificates; port 0 is any port."""
        tls = certificate and security.tls_context(*certificate, clients)
        self.rules = security.Security(tls, mechanisms, users)
        self._has_topics = has_topics
        self._ports = ports
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    async def _run(self):
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        self.cluster = cluster.Cluster(list(self._ports), rules=self.rules, kafka=os.environ.get("FEEDSTORE_TEST_KAFKA"))
        for name in TOPICS if self._has_topics else ():
            self.cluster.create(name, 2, TOPICS[name])
        self.servers = await self.cluster.start()
        self._ready.set()
        running = asyncio.ensure_future(self.cluster.run())
        await self._ending.wait()
        running.cancel()
        self.cluster.stop()

    def __enter__(self):
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    def cut(self):
        """Closes every connection, so that clients must authenticate again."""

        async def cut():
            for one in self.cluster.brokers:
                one.go()
                one.come_back()

        asyncio.run_coroutine_threadsafe(cut(), self._loop).result()
