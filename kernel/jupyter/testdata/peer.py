"""The peer suite of all kernels (jupyter_kernel_test), for the tiny language of the Go tests."""

import jupyter_kernel_test as jkt


class TinyTests(jkt.KernelTests):
    kernel_name = "tiny"
    language_name = "tiny"
    file_extension = ".tiny"
    code_hello_world = "print hello, world"
    code_stderr = "warn oops"
    code_page_something = "page help"
    code_generate_error = "fail x"
    code_clear_output = "clear"
    completion_samples = [{"text": "pri", "matches": {"print"}}, {"text": "zzz", "matches": set()}]
    complete_code_samples = ["print a"]
    incomplete_code_samples = ["{"]
    invalid_code_samples = ["}"]
    code_execute_result = [
        {"code": "value 2", "result": "2", "mime": "text/plain"},
        {"code": "value 3", "result": "3"},
    ]
    code_display_data = [{"code": "show a", "mime": "text/plain"}]
    code_inspect_sample = "print"
    code_history_pattern = "val?e 3*"
    supported_history_operations = ("tail", "search", "range")


class Welcome(jkt.IopubWelcomeTests):
    kernel_name = "tiny"
    support_iopub_welcome = True
