"""The debugger on the wire: a front end's sessions with it, and what no front end would send."""
import time

import pytest

from kernel import Kernel, execute_content, kinds, stream

CODE = """local function inner(a)
  local b = a + 1
  return b
end
function outer(x)
  local y = inner(x)
  y = y * 2

  return y
end
result = outer(1)
print(result)"""


class Debugger:
    """A client that debugs: requests on control, events from iopub, one cell at a time on shell."""

    def __init__(self, client):
        self.client, self.sequence, self.cell = client, 0, None
        self.events, self.idle, self.outputs = [], set(), []

    def collect(self, until):
        while not until():
            m = self.client.recv("iopub")
            assert m, f"nothing came; the log: {self.client.kernel.log()}"
            parent = m["parent"].get("msg_id")
            if m["type"] == "debug_event":
                assert m["content"]["type"] == "event" and m["content"]["seq"] > 0
                self.events.append((m["content"]["event"], m["content"]["body"]))
            elif m["type"] == "status" and m["content"]["execution_state"] == "idle":
                self.idle.add(parent)
            elif parent == self.cell and m["type"] != "status":
                self.outputs.append((m["type"], m["content"]))

    def send(self, command, arguments=None, **more):
        self.sequence += 1
        content = dict(type="request", seq=self.sequence, command=command, arguments=arguments or {})
        return self.client.send("control", "debug_request", {**content, **more})

    def ask(self, command, arguments=None, **more):
        """A response, when its request is idle."""
        msg_id = self.send(command, arguments, **more)
        reply = self.client.reply(msg_id, "control")
        assert reply["type"] == "debug_reply"
        self.collect(lambda: msg_id in self.idle)
        content = reply["content"]
        assert content["type"] == "response" and content["request_seq"] == self.sequence
        return content

    def do(self, command, arguments=None):
        content = self.ask(command, arguments)
        assert content["success"] and content["command"] == command, content
        return content["body"]

    def fail(self, command, arguments=None, **more):
        content = self.ask(command, arguments, **more)
        assert content["success"] is False and content["message"], content
        return content["message"]

    def start(self):
        self.do("initialize", dict(clientID="test", linesStartAt1=True))
        self.event("initialized")
        self.do("attach")

    def set(self, code, *lines):
        path = self.do("dumpCell", dict(code=code))["sourcePath"]
        body = self.do("setBreakpoints", dict(source=dict(path=path), breakpoints=[dict(line=l) for l in lines]))
        self.do("configurationDone")
        return path, body["breakpoints"]

    def run(self, code):
        self.outputs = []
        self.cell = self.client.send("shell", "execute_request", execute_content(code))

    def event(self, name):
        """The next event, which must be this one."""
        self.collect(lambda: self.events)
        got, body = self.events.pop(0)
        assert got == name, (got, body)
        return body

    def stopped(self, reason, line, name=None):
        body = self.event("stopped")
        assert body["reason"] == reason and body["threadId"] == 1
        frame = self.do("stackTrace", dict(threadId=1))["stackFrames"][0]
        assert frame["line"] == line and name in (None, frame["name"]), frame
        return frame

    def step(self, command):
        self.do(command, dict(threadId=1))
        assert self.event("continued")["threadId"] == 1

    def end(self):
        """The cell's reply."""
        reply = self.client.reply(self.cell)
        self.collect(lambda: self.cell in self.idle)
        return reply["content"]

    def variables(self, reference, **more):
        body = self.do("variables", dict(variablesReference=reference, **more))
        return {v["name"]: v for v in body["variables"]}

    def scopes(self, frame):
        return {s["name"]: s["variablesReference"] for s in self.do("scopes", dict(frameId=frame["id"]))["scopes"]}

    def evaluate(self, expression, frame):
        return self.do("evaluate", dict(expression=expression, frameId=frame["id"], context="repl"))["result"]


@pytest.fixture
def kernel():
    k = Kernel()
    yield k
    k.close()


@pytest.fixture
def debugger(kernel):
    d = Debugger(kernel.client)
    yield d
    assert kernel.process.poll() in (None, 0), kernel.log()


def shut_down(kernel):
    kernel.client.send("control", "shutdown_request", {"restart": False})
    assert kernel.wait() == 0, kernel.log()


def test_kernel_info_names_it(debugger):
    content = debugger.client.ask("kernel_info_request")[0]
    assert content["debugger"] is True and "debugger" in content["supported_features"]


def test_what_front_ends_are_told(debugger):
    info = debugger.do("debugInfo")
    assert info["isStarted"] is False and info["breakpoints"] == [] and info["stoppedThreads"] == []
    assert info["richRendering"] is True and info["copyToGlobals"] is True
    debugger.start()
    info = debugger.do("debugInfo")
    assert info["isStarted"] is True and info["hashMethod"] == "Murmur2"
    murmur2 = pytest.importorskip("ipykernel.compiler").murmur2_x86
    for code in ("", "x", "xy", "xyz", "wxyz", CODE, "print('äöü €')", "\n" * 1001):
        path = debugger.do("dumpCell", dict(code=code))["sourcePath"]
        assert path == f"{info['tmpFilePrefix']}{murmur2(code, info['hashSeed'])}{info['tmpFileSuffix']}"
        assert debugger.do("source", dict(source=dict(path=path)))["content"] == code


def test_a_session(debugger, kernel):
    debugger.start()
    path, breakpoints = debugger.set(CODE, 11, 8)
    assert [(b["line"], b["verified"]) for b in breakpoints] == [(11, True), (9, True)]
    assert debugger.do("debugInfo")["breakpoints"] == [dict(source=path, breakpoints=[dict(line=11), dict(line=9)])]
    debugger.run(CODE)
    frame = debugger.stopped("breakpoint", 11, "cell 1")
    assert frame["source"]["path"] == path
    assert debugger.do("debugInfo")["stoppedThreads"] == [1]
    assert debugger.do("threads")["threads"] == [dict(id=1, name="main")]
    debugger.step("stepIn")
    debugger.stopped("step", 6, "outer")
    debugger.step("stepIn")
    frame = debugger.stopped("step", 2, "inner")
    stack = debugger.do("stackTrace", dict(threadId=1))
    assert [(f["name"], f["line"]) for f in stack["stackFrames"]] == [("inner", 2), ("outer", 6), ("cell 1", 11)]
    assert [f["name"] for f in debugger.do("stackTrace", dict(startFrame=1, levels=1))["stackFrames"]] == ["outer"]
    assert debugger.variables(debugger.scopes(frame)["Locals"])["a"]["value"] == "1"
    debugger.step("next")
    frame = debugger.stopped("step", 3, "inner")
    assert debugger.evaluate("a + b * 10", frame) == "21"
    assert debugger.evaluate("b = 30", frame) == "nil"
    reference = debugger.scopes(frame)["Locals"]
    assert debugger.do("setVariable", dict(variablesReference=reference, name="b", value="b + 1"))["value"] == "31"
    assert "nil value" in debugger.fail("evaluate", dict(expression="no.thing", frameId=frame["id"]))
    debugger.do("copyToGlobals", dict(srcVariableName="b", dstVariableName="kept", srcFrameId=frame["id"]))
    debugger.step("stepOut")
    debugger.stopped("step", 7, "outer")
    debugger.step("continue")
    frame = debugger.stopped("breakpoint", 9, "outer")
    assert debugger.variables(debugger.scopes(frame)["Locals"])["y"]["value"] == "62"
    debugger.step("continue")
    assert debugger.end()["status"] == "ok"
    assert stream(debugger.outputs) == "62\n"
    debugger.do("disconnect", dict(restart=False))
    assert debugger.do("debugInfo")["isStarted"] is False
    debugger.run(CODE + "\nprint(kept)")
    assert debugger.end()["status"] == "ok" and stream(debugger.outputs) == "4\n31\n"
    assert debugger.events == []
    shut_down(kernel)


def test_values_open_step_by_step(debugger):
    code = "t = {1, {2, 3}, name = 'x'}\na = gpu.array({{1, 2}, {3, 4}})\nk = 5"
    debugger.start()
    debugger.set(code, 3)
    debugger.run(code)
    frame = debugger.stopped("breakpoint", 3)
    session = debugger.variables(debugger.scopes(frame)["Session"])
    assert session["t"]["value"] == '{1, {...}, name = "x"}' and session["a"]["value"].startswith("float32 (2, 2) ")
    assert "type" not in session["t"] and "type" not in session["a"]  # or JupyterLab shows these
    t = debugger.variables(session["t"]["variablesReference"])
    assert t["[1]"]["value"] == "1" and t["name"]["value"] == '"x"' and t["[1]"]["variablesReference"] == 0
    assert list(debugger.variables(t["[2]"]["variablesReference"])) == ["[1]", "[2]"]
    assert list(debugger.variables(t["[2]"]["variablesReference"], start=1, count=5)) == ["[2]"]
    a = debugger.variables(session["a"]["variablesReference"])
    assert a["shape"]["value"] == '"(2, 2)"' and a["[2, 1]"]["value"] in ("3", "3.0")
    rich = debugger.do("richInspectVariables", dict(variableName="a", frameId=frame["id"]))
    assert "text/html" in rich["data"]
    debugger.step("continue")
    assert debugger.end()["status"] == "ok"
    debugger.fail("variables", dict(variablesReference=session["t"]["variablesReference"]))
    body = debugger.do("inspectVariables")
    names = {v["name"]: v for v in body["variables"]}
    assert {"t", "a", "k"} <= set(names)
    assert "name" in debugger.variables(names["t"]["variablesReference"])
    assert "text/html" in debugger.do("richInspectVariables", dict(variableName="a"))["data"]
    assert debugger.do("richInspectVariables", dict(variableName="nothing"))["data"] == {}


def test_breakpoints_in_coroutines_and_earlier_cells(debugger):
    code = "function f(x)\n  return coroutine.wrap(function()\n    coroutine.yield(x)\n    return x + 1\n  end)\nend"
    debugger.start()
    debugger.run(code)
    assert debugger.end()["status"] == "ok"
    path, _ = debugger.set(code, 4)
    debugger.run("local g = f(7)\ng()\nreturn g()")
    frame = debugger.stopped("breakpoint", 4)
    assert frame["source"]["path"] == path
    assert [f["line"] for f in debugger.do("stackTrace")["stackFrames"]] == [4, 3]
    assert debugger.variables(debugger.scopes(frame)["Upvalues"])["x"]["value"] == "7"
    debugger.step("continue")
    assert debugger.end()["status"] == "ok"


def test_a_breakpoint_in_the_first_line(debugger):
    """The request that sets it comes before the cell and still asks for attention when that begins."""
    for code in ("x = 1", "print('x')\nx = 2"):
        debugger.start()
        debugger.set(code, 1)
        debugger.run(code)
        debugger.stopped("breakpoint", 1)
        debugger.step("continue")
        assert debugger.end()["status"] == "ok"


def test_breakpoints_with_conditions(debugger):
    """What is false or nil goes on, what fails stops and says why; a condition sees the frame that comes to it."""
    code = "limit = 4\nlocal function f(i)\n  local twice = 2 * i\n  seen = twice\nend\nfor i = 1, 6 do f(i) end\nprint(seen)"
    debugger.start()
    path = debugger.do("dumpCell", dict(code=code))["sourcePath"]
    wanted = [dict(line=4, condition="twice > 2 * limit"), dict(line=3, condition="nothing"), dict(line=6, condition="i.x.y")]
    body = debugger.do("setBreakpoints", dict(source=dict(path=path), breakpoints=wanted))
    assert [b["verified"] for b in body["breakpoints"]] == [True] * 3
    assert debugger.do("debugInfo")["breakpoints"] == [dict(source=path, breakpoints=wanted)]
    debugger.run(code)
    body = debugger.event("stopped")
    assert body["reason"] == "breakpoint" and body["text"].startswith("the breakpoint's condition: ") and "nil value" in body["text"]
    debugger.do("setBreakpoints", dict(source=dict(path=path), breakpoints=wanted[:1]))
    debugger.step("continue")
    for i in (5, 6):
        frame = debugger.stopped("breakpoint", 4, "f")
        assert debugger.evaluate("i", frame) == str(i)
        debugger.step("continue")
    assert debugger.end()["status"] == "ok" and stream(debugger.outputs) == "12\n"
    endless = dict(line=1, condition="(function() while true do end end)()")
    path = debugger.do("dumpCell", dict(code="print('asked')"))["sourcePath"]
    debugger.do("setBreakpoints", dict(source=dict(path=path), breakpoints=[endless]))
    debugger.run("print('asked')")
    debugger.collect(lambda: debugger.outputs)  # its input: it has begun
    debugger.client.reply(debugger.client.send("control", "interrupt_request"), "control")
    end = debugger.end()
    assert (end.get("ename"), debugger.events) == ("Interrupted", [])


def test_uncaught_errors(debugger):
    debugger.start()
    debugger.do("setExceptionBreakpoints", dict(filters=["uncaught"]))
    debugger.run("local x = 1\nerror('it broke')")
    assert "it broke" in debugger.event("stopped")["text"]
    debugger.step("continue")
    content = debugger.end()
    assert content["status"] == "error" and content["evalue"] == "cell 1:2: it broke"
    assert kinds(debugger.outputs) == ["execute_input", "error"]


def test_while_stopped_all_else_is_answered(debugger):
    debugger.start()
    debugger.set(CODE, 11)
    debugger.run(CODE)
    debugger.stopped("breakpoint", 11)
    c = debugger.client
    for kind, content in (("complete_request", dict(code="out", cursor_pos=3)), ("kernel_info_request", {}),
                          ("is_complete_request", dict(code="x = 1"))):
        msg_id = c.send("shell", kind, content)
        reply = c.reply(msg_id)["content"]
        debugger.collect(lambda: msg_id in debugger.idle)
        assert kind != "complete_request" or reply["matches"] == ["outer"]
    debugger.step("continue")
    assert debugger.end()["status"] == "ok" and stream(debugger.outputs) == "4\n"


def test_interrupted_while_stopped(debugger):
    debugger.start()
    debugger.set(CODE, 11)
    debugger.run(CODE)
    debugger.stopped("breakpoint", 11)
    msg_id = debugger.client.send("control", "interrupt_request")
    assert debugger.client.reply(msg_id, "control")["content"]["status"] == "ok"
    debugger.event("continued")
    assert debugger.end()["ename"] == "Interrupted"
    debugger.run(CODE)
    debugger.stopped("breakpoint", 11)
    frame = debugger.do("stackTrace")["stackFrames"][0]
    debugger.send("evaluate", dict(expression="(function() while true do end end)()", frameId=frame["id"]))
    time.sleep(0.2)  # whether it runs already or not, the interrupt is to end all
    msg_id = debugger.client.send("control", "interrupt_request")
    while debugger.client.recv("control")["parent"]["msg_id"] != msg_id:
        pass
    assert debugger.end()["ename"] == "Interrupted"


def test_a_running_cell_is_paused_and_gets_breakpoints(debugger):
    code = "going = true\nwhile going do\n  n = (n or 0) + 1\nend\nprint('done')"
    debugger.start()
    debugger.run(code)
    debugger.collect(lambda: debugger.outputs)
    debugger.do("pause", dict(threadId=1))
    assert debugger.event("stopped")["reason"] == "pause"
    frame = debugger.do("stackTrace")["stackFrames"][0]
    assert frame["line"] in (1, 2, 3)
    debugger.step("continue")
    debugger.set(code, 3)
    frame = debugger.stopped("breakpoint", 3)
    debugger.evaluate("going = false", frame)
    debugger.step("next")
    debugger.stopped("step", 2)
    debugger.do("setBreakpoints", dict(source=frame["source"], breakpoints=[]))
    debugger.step("continue")
    assert debugger.end()["status"] == "ok" and stream(debugger.outputs) == "done\n"


@pytest.mark.parametrize("command", ["disconnect", "terminate"])
def test_left_while_stopped(debugger, command):
    debugger.start()
    debugger.set(CODE, 11)
    debugger.run(CODE)
    debugger.stopped("breakpoint", 11)
    debugger.do(command, dict(restart=False))
    debugger.event("continued")
    content = debugger.end()
    assert content["status"] == ("ok" if command == "disconnect" else "error")
    debugger.run(CODE)
    assert debugger.end()["status"] == "ok" and debugger.events == []


def test_shutdown_while_stopped(debugger, kernel):
    debugger.start()
    debugger.set(CODE, 11)
    debugger.run(CODE)
    debugger.stopped("breakpoint", 11)
    shut_down(kernel)


def test_two_clients(debugger, kernel):
    other = Debugger(kernel.connect())
    debugger.start()
    other.start()
    other.event("initialized")
    other.set(CODE, 11)
    debugger.run(CODE)
    debugger.event("initialized")
    debugger.stopped("breakpoint", 11)
    assert other.event("stopped")["reason"] == "breakpoint"
    other.step("continue")
    debugger.event("continued")
    assert debugger.end()["status"] == "ok"


HOSTILE = [
    ("nonsense", {}),
    ("stackTrace", dict(threadId=1)),
    ("scopes", dict(frameId=1)),
    ("evaluate", dict(expression="1", frameId=1)),
    ("continue", dict(threadId=1)),
    ("pause", dict(threadId=1)),
    ("dumpCell", dict(code=5)),
    ("dumpCell", []),
    ("setBreakpoints", {}),
    ("setBreakpoints", dict(source="x", breakpoints=[])),
    ("setBreakpoints", dict(source=dict(path="x"), breakpoints={})),
    ("setBreakpoints", dict(source=dict(path="x"), breakpoints=[1, "2"])),
    ("variables", dict(variablesReference="1")),
    ("variables", dict(variablesReference=2 ** 62)),
    ("variables", dict(variablesReference=-1)),
    ("variables", dict(variablesReference=1)),
    ("source", dict(source=dict(path="/etc/passwd"))),
    ("richInspectVariables", {}),
    ("copyToGlobals", dict(srcVariableName="a b", dstVariableName="c")),
]


def test_hostile(debugger):
    assert "initialize" in debugger.fail("attach")
    debugger.start()
    for command, arguments in HOSTILE:
        debugger.fail(command, arguments)
    debugger.fail("dumpCell", "text")
    debugger.fail(None)
    debugger.fail({"a": 1})
    assert debugger.ask("stackTrace")["body"] == {"stackFrames": []}
    path, breakpoints = debugger.set(CODE, 0, -1, 2 ** 40, 99)
    assert [b["verified"] for b in breakpoints] == [True, True, False, False]
    unknown = dict(source=dict(path="/nowhere.lua"), breakpoints=[dict(line=1)])
    assert debugger.do("setBreakpoints", unknown)["breakpoints"][0]["verified"] is False
    debugger.run(CODE)
    frame = debugger.stopped("breakpoint", 1)
    for frame_id in (0, 99, -1, 2 ** 40, "1", None):
        debugger.fail("scopes", dict(frameId=frame_id))
    assert debugger.evaluate("", frame) == "nil"
    debugger.fail("evaluate", dict(expression=["x"]))
    debugger.fail("setVariable", dict(variablesReference=1, name="a = 1 b", value="2"))
    debugger.fail("initialise")
    debugger.send("continue")
    debugger.send("continue")
    assert debugger.end()["status"] == "ok"


def test_not_on_the_shell_channel(debugger):
    content, _ = debugger.client.ask("debug_request", dict(type="request", seq=1, command="debugInfo"))
    assert content["status"] == "error" and content["ename"] == "UnknownRequest"
