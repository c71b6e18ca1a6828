"""The Jupyter project's own suite for kernels, against the installed kernelspec."""
import jupyter_kernel_test

PATIENCE = 240  # seconds until a message that does not come counts as missing


def wait_longer(channel):
    """The suite gives up on some messages after a tenth of a second, which a busy machine may need."""
    get = channel.get_msg
    channel.get_msg = lambda timeout=None: get(timeout=PATIENCE)


class LunarrayTests(jupyter_kernel_test.KernelTests):
    kernel_name = "lunarray"
    language_name = "lua"
    file_extension = ".lua"
    code_hello_world = "print('hello, world')"
    code_stderr = "io.stderr:write('to stderr\\n')"
    completion_samples = [
        {"text": "string.fo", "matches": {"format"}},
        {"text": "x = math.ma", "matches": {"max", "maxinteger"}},
        {"text": "retur", "matches": {"return"}},
        {"text": "gpu.linsp", "matches": {"linspace"}},
    ]
    complete_code_samples = ["1", "print('hello, world')", "function f(x)\n  return x * 2\nend"]
    incomplete_code_samples = ["print(", "function f(x)\n  return", "x = {1,\n"]
    invalid_code_samples = ["import = 7q", "print('", "end end"]
    code_page_something = "?string.format"
    code_generate_error = "error('as asked')"
    code_execute_result = [
        {"code": "1 + 2 + 3", "result": "6"},
        {"code": "return 'x'", "result": '"x"'},
        {"code": "'caf\u00e9'", "result": '"caf\u00e9"'},
        {"code": "gpu.ones(2, 2)", "mime": "text/html"},
    ]
    code_display_data = [
        {"code": "display.html('<b>bold</b>')", "mime": "text/html"},
        {"code": "display.svg('<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>')", "mime": "image/svg+xml"},
    ]
    code_history_pattern = "1 [+]*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "string.format"
    code_clear_output = "display.clear()"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        wait_longer(cls.kc.shell_channel)
        wait_longer(cls.kc.iopub_channel)

    def flush_channels(self):
        """Reads up to the end of a request of its own, before which everything else has come."""
        sent = self.kc.kernel_info()
        for get in self.kc.shell_channel.get_msg, self.kc.iopub_channel.get_msg:
            ended = False
            while not ended:
                message = get()
                jupyter_kernel_test.validate_message(message)
                ended = message["parent_header"].get("msg_id") == sent and (
                    message["msg_type"] == "kernel_info_reply" or message["content"].get("execution_state") == "idle")


class LunarrayWelcomeTests(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "lunarray"
    support_iopub_welcome = True


# The classes they are derived from are not tests of this kernel.
del jupyter_kernel_test.KernelTests, jupyter_kernel_test.IopubWelcomeTests
