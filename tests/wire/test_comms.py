"""Comms on the wire, and the controls of interact, which are ipywidgets' models reached by them."""
import pytest

from kernel import execute_content, kinds, stream, tell


def test_comms_of_unknown_targets_are_closed(client):
    assert client.ask("comm_info_request", {"target_name": "x"})[0] == {"status": "ok", "comms": {}}
    sent = client.send("shell", "comm_open", {"comm_id": "c1", "target_name": "unknown", "data": {}})
    seen = client.outputs(sent)
    assert kinds(seen) == ["status", "comm_close", "status"]
    assert seen[1][1] == {"comm_id": "c1", "data": {}}


def test_a_comm_that_a_cell_opens(client):
    code = """c = comm.open("plot", {n = 1, list = {1, 2.5, "x"}, none = comm.null, empty = comm.list{}}, {version = "2"}, {"\\0\\1"})
        c.on_msg = function(data, buffers) print("got", data.x, #buffers, buffers[1]) c:send({back = data, count = #data.list}) end
        c.on_close = function(data) print("closed", data.why) end
        return c.id"""
    sent = client.send("shell", "execute_request", execute_content(code, silent=False))
    assert client.reply(sent)["content"]["status"] == "ok"
    opened, result = None, None
    while result is None:
        m = client.recv("iopub")
        opened = m if m["type"] == "comm_open" else opened
        result = m if m["type"] == "execute_result" else None
    comm_id = result["content"]["data"]["text/plain"].strip('"')
    assert opened["content"] == {"comm_id": comm_id, "target_name": "plot",
                                 "data": {"n": 1, "list": [1, 2.5, "x"], "none": None, "empty": []}}
    assert opened["metadata"] == {"version": "2"} and opened["buffers"] == [b"\0\1"]
    assert client.ask("comm_info_request", {"target_name": "plot"})[0]["comms"] == {comm_id: {"target_name": "plot"}}
    assert client.ask("comm_info_request", {"target_name": "other"})[0]["comms"] == {}

    data = {"x": 5, "list": [1, None, {}], "text": "h\u00e4\"\n", "none": None, "empty": [], "yes": True}
    seen = tell(client, "comm_msg", {"comm_id": comm_id, "data": data}, [b"bytes"])
    assert stream(seen) == "got\t5\t1\tbytes\n"
    assert seen[-1] == ("comm_msg", {"comm_id": comm_id, "data": {"back": data, "count": 3}})
    assert stream(tell(client, "comm_close", {"comm_id": comm_id, "data": {"why": "done"}})) == "closed\tdone\n"
    assert tell(client, "comm_msg", {"comm_id": comm_id, "data": {}}) == []
    content, _ = client.execute("c:send{}")
    assert content["status"] == "error" and "was closed" in content["evalue"]
    assert client.ask("comm_info_request", {})[0]["comms"] == {}


def test_a_comm_that_the_front_end_opens(client):
    client.execute("comm.target('echo', function(c, data) c:send({hello = data.name}) "
                   "c.on_msg = function(d) if d.fail then error('as asked') end c:close({last = d.n}) end end)")
    seen = tell(client, "comm_open", {"comm_id": "e1", "target_name": "echo", "data": {"name": "x"}})
    assert seen == [("comm_msg", {"comm_id": "e1", "data": {"hello": "x"}})]
    (kind, failure), = tell(client, "comm_msg", {"comm_id": "e1", "data": {"fail": True}})
    assert kind == "error" and "as asked" in failure["evalue"] and failure["traceback"]
    assert tell(client, "comm_msg", {"comm_id": "e1", "data": {"n": 7}}) == [("comm_close", {"comm_id": "e1", "data": {"last": 7}})]
    client.execute("comm.target('echo', nil)")
    assert kinds(tell(client, "comm_open", {"comm_id": "e2", "target_name": "echo", "data": {}})) == ["comm_close"]


def test_the_examples_run(client):
    code = """local n = 0
        for _, d in ipairs(gpu.docs()) do
          if d.name:find("^comm%.") or d.name:find("interact$") then assert(load(d.example, d.name))() n = n + 1 end
        end
        return n"""
    assert int(dict(client.execute(code)[1])["execute_result"]["data"]["text/plain"]) >= 6


def test_comm_messages_of_the_wrong_shape(client):
    for kind in ("comm_open", "comm_msg", "comm_close"):
        for content in ({}, {"comm_id": 5, "data": []}, {"comm_id": "none", "target_name": None, "data": "x"}):
            assert kinds(tell(client, kind, content)) in ([], ["comm_close"])


def test_what_a_comm_cannot_send(client):
    for data, why in (("{print}", "a function"), ("loop", "inside itself"), ("{[{}] = 1}", "keys"), ("5", "table expected"),
                      ("{}, {}, {5, {}}", "buffers")):
        content, between = client.execute(f"loop = {{}} loop.loop = loop local c = comm.open('t') c:send({data})")
        assert content["status"] == "error" and why in content["evalue"], content
    content, between = client.execute("local c = comm.open('t') c:send({0/0, 1/0, '\\xff'}) c:close() c:close()", silent=True)
    assert content["status"] == "ok" and kinds(between) == ["comm_open", "comm_msg", "comm_close"]
    assert between[1][1]["data"] == [None, None, "\ufffd"]


def test_a_comm_function_is_stopped_by_an_interrupt(client):
    client.execute("comm.target('loop', function() while true do end end)")
    sent = client.send("shell", "comm_open", {"comm_id": "l1", "target_name": "loop", "data": {}})
    while client.recv("iopub")["parent"].get("msg_id") != sent:
        pass
    client.ask("interrupt_request", {}, "control")
    assert client.outputs(sent)[-2][1]["ename"] == "Interrupted"


# ---- interact

CONTROLS = """interact(function(n, c, x, t, on)
  print(n, c, x, t, on)
  if n == 13 then error("thirteen") end
  return gpu.full(2, n)
end, {n = {1, 100, 3}, c = {choices = {10, 20.5}}, x = {min = 0, max = 1.0, value = 2}, t = "words", on = true})"""


@pytest.fixture
def controls(client):
    """The models of an interact by their names, and what its cell showed."""
    content, between = client.execute(CONTROLS, silent=False)
    assert content["status"] == "ok", content
    made = [c for kind, c in between if kind == "comm_open"]
    assert {c["target_name"] for c in made} == {"jupyter.widget"}
    models = {c["data"]["state"].get("description", c["data"]["state"]["_model_name"]): c for c in made}
    yield models, between
    for m in made:
        tell(client, "comm_close", {"comm_id": m["comm_id"], "data": {}})


def change(client, model, state):
    return tell(client, "comm_msg", {"comm_id": model["comm_id"], "data": {"method": "update", "state": state}})


def test_the_models_of_interact(controls):
    models, between = controls
    state = {name: m["data"]["state"] for name, m in models.items()}
    assert list(models) == ["n", "c", "x", "t", "on", "OutputModel", "VBoxModel"]
    assert [state[name]["_model_name"] for name in ("n", "c", "x", "t", "on")] == [
        "IntSliderModel", "DropdownModel", "FloatSliderModel", "TextModel", "CheckboxModel"]
    assert [state["n"][k] for k in ("min", "max", "step", "value")] == [1, 100, 3, 50]
    assert [state["x"][k] for k in ("min", "max", "step", "value")] == [0, 1, 0.01, 1]
    assert (state["c"]["_options_labels"], state["c"]["index"]) == (["10", "20.5"], 0)
    assert (state["t"]["value"], state["on"]["value"]) == ("words", True)
    for s in state.values():
        assert s["_model_name"][:-5] == s["_view_name"][:-4] and s["_model_module"].startswith("@jupyter-widgets/")
    assert state["VBoxModel"]["children"] == ["IPY_MODEL_" + m["comm_id"] for m in models.values()][:-1]
    shown = [c["data"] for kind, c in between if kind == "display_data"]
    assert shown[0]["application/vnd.jupyter.widget-view+json"]["model_id"] == models["VBoxModel"]["comm_id"]
    assert "50" in shown[1]["text/plain"]


def test_what_interact_shows_goes_to_its_output_model(client, controls):
    models, between = controls
    output = models["OutputModel"]["comm_id"]
    directed = [c["data"]["state"]["msg_id"] for kind, c in between if kind == "comm_msg" and c["comm_id"] == output]
    assert len(directed) == 2 and directed[0] and directed[1] == ""
    seen = change(client, models["n"], {"value": 7})
    assert kinds(seen) == ["comm_msg", "comm_msg", "clear_output", "stream", "display_data", "comm_msg"]
    assert seen[0][1] == {"comm_id": models["n"]["comm_id"],
                          "data": {"method": "echo_update", "state": {"value": 7}, "buffer_paths": []}}
    directed = [c["data"]["state"]["msg_id"] for kind, c in seen if kind == "comm_msg" and c["comm_id"] == output]
    assert directed[0] not in ("", None) and directed[1] == ""
    assert seen[2][1] == {"wait": True} and stream(seen) == "7\t10\t1.0\twords\ttrue\n"
    assert stream(change(client, models["c"], {"index": 1})) == "7\t20.5\t1.0\twords\ttrue\n"
    assert stream(change(client, models["on"], {"value": False, "indent": True})) == "7\t20.5\t1.0\twords\tfalse\n"
    assert stream(change(client, models["t"], {"value": "h\u00e4 \"\n"})) == "7\t20.5\t1.0\th\u00e4 \"\n\tfalse\n"
    asked = tell(client, "comm_msg", {"comm_id": models["n"]["comm_id"], "data": {"method": "request_state"}})
    assert asked[0][1]["data"]["method"] == "update" and asked[0][1]["data"]["state"]["value"] == 7
    asked = tell(client, "comm_msg", {"comm_id": models["VBoxModel"]["comm_id"], "data": {"method": "request_state"}})
    assert asked[0][1]["data"]["state"] == models["VBoxModel"]["data"]["state"]


def test_what_an_output_shows_is_kept_for_a_page_that_is_opened_later(client, controls):
    """As JupyterLab tells it after each message that it has drawn there."""
    id = controls[0]["OutputModel"]["comm_id"]
    shown = [{"output_type": "stream", "name": "stdout", "text": "\u00e4\n"},
             {"output_type": "display_data", "data": {"text/plain": "x"}, "metadata": {}},
             {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}]
    for outputs in (shown, []):
        told = tell(client, "comm_msg", {"comm_id": id, "data": {"method": "update", "state": {"outputs": outputs}, "buffer_paths": []}})
        assert told == []
        told = tell(client, "comm_msg", {"comm_id": id, "data": {"method": "request_state"}})
        assert kinds(told) == ["comm_msg"] and told[0][1]["data"]["method"] == "update"
        assert told[0][1]["data"]["state"]["outputs"] == outputs
    for state in ({"outputs": "x"}, {"msg_id": "x"}, {}, 5):
        assert change(client, controls[0]["OutputModel"], state) == []
    told = tell(client, "comm_msg", {"comm_id": id, "data": {"method": "request_state"}})
    assert (told[0][1]["data"]["state"]["outputs"], told[0][1]["data"]["state"]["msg_id"]) == ([], "")


def ask_for_states(client, id):
    """What a page that is opened anew does: the data of the answer, or None where the comm is closed."""
    seen = tell(client, "comm_open", {"comm_id": id, "target_name": "jupyter.widget.control", "data": {}})
    if kinds(seen) == ["comm_close"]:
        return None
    assert seen == []
    (kind, told), = tell(client, "comm_msg", {"comm_id": id, "data": {"method": "request_states"}})
    assert (kind, told["comm_id"]) == ("comm_msg", id)
    assert tell(client, "comm_close", {"comm_id": id, "data": {}}) == []
    assert tell(client, "comm_msg", {"comm_id": id, "data": {"method": "request_states"}}) == []
    return told["data"]


def test_the_states_of_all_models_at_once(client, controls):
    models, _ = controls
    change(client, models["n"], {"value": 7})
    for i in range(40):
        told = ask_for_states(client, f"page {i}")
    assert (told["method"], told["buffer_paths"]) == ("update_states", [])
    assert set(told["states"]) >= {m["comm_id"] for m in models.values()}  # and those of other tests
    for m in models.values():
        state = told["states"][m["comm_id"]]
        first = m["data"]["state"]
        assert [state["model_" + k] for k in ("name", "module", "module_version")] == [
            first["_model_" + k] for k in ("name", "module", "module_version")]
        assert {k: v for k, v in state["state"].items() if k not in ("msg_id", "value")} == {
            k: v for k, v in first.items() if k not in ("msg_id", "value")}
    assert told["states"][models["n"]["comm_id"]]["state"]["value"] == 7
    client.execute("other = comm.open('jupyter.widget')")  # which only its own function can tell of
    assert ask_for_states(client, "refused") is None
    client.execute("other:close()")
    assert ask_for_states(client, "p" * 63) and ask_for_states(client, "p" * 64) is None and ask_for_states(client, "") is None
    assert tell(client, "comm_open", {"comm_id": "odd", "target_name": "jupyter.widget.control"}) == []
    for data in ({"method": "request_state"}, {"method": 5}, {}, [], None):
        assert tell(client, "comm_msg", {"comm_id": "odd", "data": data}) == []
    assert "odd" not in client.ask("comm_info_request")[0]["comms"]


def test_an_error_of_interact_is_shown_in_its_place(client, controls):
    models, _ = controls
    seen = change(client, models["n"], {"value": 13})
    assert kinds(seen) == ["comm_msg", "comm_msg", "clear_output", "stream", "error"]
    assert "thirteen" in seen[-1][1]["evalue"]
    assert stream(change(client, models["n"], {"value": 14})).startswith("14\t")


def test_interact_takes_no_values_that_a_control_cannot_have(client, controls):
    models, _ = controls
    for name, state in (("n", {"value": "x"}), ("n", {"value": None}), ("n", {}), ("n", 5), ("c", {"index": 2}), ("c", {"index": -1}),
                        ("c", {"index": 0.5}), ("c", {"value": 1}), ("on", {"value": 1}), ("t", {"value": ["x"]})):
        assert change(client, models[name], state) == [], (name, state)
    for data in ({"method": 5}, {"method": "custom", "content": {}}, {}):
        assert tell(client, "comm_msg", {"comm_id": models["n"]["comm_id"], "data": data}) == []
    assert stream(change(client, models["n"], {"value": 1000})).startswith("100\t")
    assert stream(change(client, models["x"], {"value": -5})).split("\t")[2] == "0.0"


def test_what_interact_refuses(client):
    for f, specs, why in (("print", "{}", "written in Lua"), ("5", "{}", "function"), ("function(a) end", "{}", "a has no control"),
                          ("function(a) end", "{a = 1, b = 2}", "no parameter b"), ("function(a) end", "{a = {}}", "no choices"),
                          ("function(a) end", "{a = {3, 1}}", "min is above"), ("function(a) end", "{a = {1, 2, 0}}", "not above 0"),
                          ("function(a) end", "{a = print}", "another type"),
                          ("function(a) end", "{a = {1, 9, default = 3}}", "the field 'default'"),
                          ("function(a) end", "{a = {choices = {1, 2}, value = 3}}", "none of its choices"), ("function(a) end", "5", "table")):
        content, between = client.execute(f"interact({f}, {specs})", silent=False)
        assert content["status"] == "error" and why in content["evalue"], content
        assert "display_data" not in kinds(between)
    content, _ = client.execute("interact(function() error('at once') end, {})", silent=False)
    assert content["status"] == "error" and "at once" in content["evalue"]
    content, between = client.execute("h = interact(function(a) end, {a = {1, 5}}) return h.values.a")
    assert dict(between)["execute_result"]["data"]["text/plain"] == "3"
    begins = "{a = {1, 9, value = 2}, b = {0, 1, step = 0.5, value = 0.5}, c = {'x', 'y', value = 'y'}, d = {choices = {4, 5}, value = 5}}"
    content, between = client.execute(f"return interact(function(a, b, c, d) print(a, b, c, d) end, {begins}).values.c")
    assert stream(between) == "2\t0.5\ty\t5\n" and dict(between)["execute_result"]["data"]["text/plain"] == '"y"'
