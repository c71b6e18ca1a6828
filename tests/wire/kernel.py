"""A kernel process and a client made of plain ZeroMQ sockets, so that every byte on the wire is the test's own."""
import contextlib
import functools
import hashlib
import hmac
import itertools
import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from datetime import datetime, timezone

import zmq

DELIMITER = b"<IDS|MSG>"
CHANNELS = ("shell", "control", "stdin", "iopub", "hb")
BINARY = os.path.abspath(os.environ.get("LUNARRAY", "build/lunarray"))
TIMEOUT = 240  # seconds until something that does not come is given up
# A cell whose kernel spins for ever, once it has said so.
SPINNING = (
    "gpu.device('simt') local k = gpu.kernel[[__global__ void spin(int *p) { while (atomicAdd(p, 0) == 0) ; }]] "
    "local p = gpu.zeros(1, 'int32') print('begun') k(1, 1)(p) gpu.synchronize() print(p:sum())")


addresses = itertools.count(2)


def own_address():
    """An address of this machine that no other program uses: what listens there finds its ports free."""
    return f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.{next(addresses)}"


def free_ports(address, count):
    """Below those that programs are given which ask for any port, some of them on all addresses at once."""
    ports = []
    while len(ports) < count:
        port = random.randrange(16384, 32768)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind((address, port))
            ports += [port] if port not in ports else []
    return ports


class Kernel:
    """Starts the binary on a connection of its own, or to register at a port. Extra arguments are put into its
    environment."""

    def __init__(self, transport="tcp", key="a test key", new_session=True, curve=None, registrar=None, options=(), **env):
        self.curve = curve  # a pair of keys, public and secret
        self.folder = tempfile.mkdtemp(prefix="lunarray-kernel-")
        self.key = key.encode()
        self.address = own_address()
        ports = free_ports(self.address, 5)
        self.connection = dict(
            transport=transport,
            ip=self.address if transport == "tcp" else os.path.join(self.folder, "k"),
            key=key,
            signature_scheme="hmac-sha256",
            kernel_name="lunarray",
            **{c + "_port": p for c, p in zip(CHANNELS, ports)},
        )
        if curve:
            self.connection.update(curve_publickey=curve[0].decode(), curve_secretkey=curve[1].decode())
        self.file = os.path.join(self.folder, "connection.json")
        registration = dict(transport="tcp", registration_ip=self.address, registration_port=registrar, key=key,
                            signature_scheme="hmac-sha256", kernel_id="the kernel's name")
        with open(self.file, "w") as f:
            json.dump(registration if registrar else self.connection, f)
        self.environment = {
            **os.environ,
            "XDG_STATE_HOME": self.folder,
            "XDG_CACHE_HOME": self.folder,
            "LUNARRAY_CACHE_DIR": os.path.join(self.folder, "cache"),
            "JPY_PARENT_PID": str(os.getpid()),  # so that tests that are killed leave no kernel behind
            **env,
        }
        self.log_path = os.path.join(self.folder, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [BINARY, "jupyter", "start", "-f", self.file, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, start_new_session=new_session)
        self.context = zmq.Context()
        self.clients = []

    @functools.cached_property
    def client(self):
        return self.connect()

    def connect(self, identity=None):
        client = Client(self, identity or uuid.uuid4().bytes)
        self.clients.append(client)
        return client

    def signature(self, frames):
        return hmac.new(self.key, b"".join(frames), hashlib.sha256).hexdigest().encode() if self.key else b""

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def wait(self, timeout=TIMEOUT):
        return self.process.wait(timeout)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for c in self.clients:
            c.close()
        self.context.destroy(0)  # also what a client that could not be made left open
        shutil.rmtree(self.folder, ignore_errors=True)


class Client:
    def __init__(self, kernel, identity):
        self.kernel = kernel
        self.session = uuid.uuid4().hex
        self.sockets = {}
        kinds = dict(shell=zmq.DEALER, control=zmq.DEALER, stdin=zmq.DEALER, iopub=zmq.SUB, hb=zmq.REQ)
        c = kernel.connection
        for name, kind in kinds.items():
            s = kernel.context.socket(kind)
            s.linger = 0
            if kind == zmq.DEALER:
                s.identity = identity
            if kernel.curve:
                s.curve_serverkey = kernel.curve[0]
                s.curve_publickey, s.curve_secretkey = zmq.curve_keypair()
            if kind == zmq.SUB:
                s.subscribe(b"")
            separator = ":" if c["transport"] == "tcp" else "-"
            s.connect(f"{c['transport']}://{c['ip']}{separator}{c[name + '_port']}")
            self.sockets[name] = s
        # After the welcome nothing is missed; what others asked for may come before it. Messages that nobody asked for
        # yet are kept.
        self.early = []
        while not self.early or self.early[-1]["type"] != "iopub_welcome":
            m = self.recv("iopub")
            assert m, f"no welcome; the log: {kernel.log()}"
            self.early.append(m)

    def close(self):
        for s in self.sockets.values():
            s.close(0)

    def stop(self):
        """What runs or waits ends; replies that nobody took are passed over."""
        msg_id = self.send("control", "interrupt_request")
        while (m := self.recv("control")) and m["parent"]["msg_id"] != msg_id:
            pass

    def sign(self, frames):
        return self.kernel.signature(frames)

    def frames(self, kind, content=None, header=None, parent=None):
        head = dict(msg_id=uuid.uuid4().hex, msg_type=kind, session=self.session, username="test", version="5.3",
                    date=datetime.now(timezone.utc).isoformat())
        head.update(header or {})
        body = [json.dumps(x).encode() for x in (head, parent or {}, {}, content if content is not None else {})]
        return head["msg_id"], [DELIMITER, self.sign(body), *body]

    def send(self, channel, kind, content=None, **more):
        msg_id, frames = self.frames(kind, content, **more)
        self.sockets[channel].send_multipart(frames)
        return msg_id

    def raw(self, channel, frames):
        self.sockets[channel].send_multipart(frames)

    def recv(self, channel, timeout=TIMEOUT):
        """The next message, its signature checked; None when none comes."""
        s = self.sockets[channel]
        if not s.poll(timeout * 1000):
            return None
        frames = s.recv_multipart()
        at = frames.index(DELIMITER)
        body = frames[at + 2:]
        assert frames[at + 1] == self.sign(body[:4]), "a wrong signature from the kernel"
        header, parent, metadata, content = map(json.loads, body[:4])
        assert parent is not None and isinstance(metadata, dict)
        return dict(topic=frames[:at], header=header, parent=parent, metadata=metadata, content=content,
                    type=header["msg_type"], buffers=body[4:])

    def reply(self, msg_id, channel="shell", timeout=TIMEOUT):
        m = self.recv(channel, timeout)
        assert m, f"no reply on {channel}; the log: {self.kernel.log()}"
        assert m["parent"]["msg_id"] == msg_id, m
        return m

    def outputs(self, msg_id, timeout=TIMEOUT):
        """iopub messages of one request up to its idle, each as (type, content), in order."""
        seen, end = [], time.monotonic() + timeout
        waiting, self.early = self.early, []
        while True:
            m = waiting.pop(0) if waiting else self.recv("iopub", max(0, end - time.monotonic()))
            assert m, f"no idle; seen {seen}; the log: {self.kernel.log()}"
            if m["parent"].get("msg_id") != msg_id:
                self.early.append(m)
                continue
            seen.append((m["type"], m["content"]))
            if m["type"] == "status" and m["content"]["execution_state"] == "idle":
                self.early += waiting
                return seen

    def ask(self, kind, content=None, channel="shell", **more):
        """One request from busy to idle: the reply's content and what came between busy and idle on iopub."""
        msg_id = self.send(channel, kind, content, **more)
        reply = self.reply(msg_id, channel)
        seen = self.outputs(msg_id)
        assert seen[0] == ("status", {"execution_state": "busy"}), seen
        assert reply["type"] == kind.replace("_request", "_reply")
        return reply["content"], seen[1:-1]

    def execute(self, code, **more):
        return self.ask("execute_request", execute_content(code, **more))

    def begin(self, code, **more):
        """Sends a cell and waits until it runs."""
        msg_id = self.send("shell", "execute_request", execute_content(code, **more))
        while True:
            m = self.recv("iopub")
            assert m, "the cell did not begin"
            if m["parent"].get("msg_id") == msg_id and m["type"] == "execute_input":
                return msg_id


def execute_content(code, **more):
    return {**dict(code=code, silent=False, store_history=True, user_expressions={}, allow_stdin=False,
                   stop_on_error=True), **more}


def tell(client, kind, content, buffers=()):
    """A comm message and what it leads to."""
    msg_id, frames = client.frames(kind, content)
    client.raw("shell", frames + list(buffers))
    seen = client.outputs(msg_id)
    assert seen[0][1]["execution_state"] == "busy"
    return seen[1:-1]


def stream(outputs, name="stdout"):
    return "".join(c["text"] for t, c in outputs if t == "stream" and c["name"] == name)


def kinds(outputs):
    return [t for t, _ in outputs]
