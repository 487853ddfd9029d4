"""The studio: a page in the browser, on this machine only, on which a person protects a table without writing code.

It calls what a Python user calls (read, draft, protect, assess, explore, publish, the registry of methods) and nothing
of the package needs it. The text of the plan is the one truth: forms are views of it, each change is a change of the
text, and what is run and handed over is the text as it stands.

`session` is the state and what may become of it, without any input or output; `plans` reads and edits the text;
`forms` and `profile` say what screens show; `desk` and `worker` are the processes that hold the table; `guard`,
`api` and `serve` are the only code that knows of HTTP.
"""
