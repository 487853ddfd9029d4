"""The studio: a page in the browser, on this machine only, on which a person protects a table without writing code.

It calls the functions that a Python user calls (read, draft, protect, assess, explore, publish, and the registry),
and nothing in the package needs it. The text of the plan is the only source: forms are views of it, each change is a
change of the text, and the text as it stands is run and handed over.

`session` has the state and its transitions, without any input or output; `plans` reads and edits the text; `forms` and
`profile` make the content of screens; `holders`, `parcels` and `worker` are the processes that hold the table; `guard`,
`api` and `serve` are the only code that knows HTTP.
"""
