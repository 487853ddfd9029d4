"""The same plan on tables larger than memory.

A table is read once, in chunks of a fixed number of records, into Parquet parts of its own; what a part cannot know of
itself (means, spreads, categories, how often values occur) is gathered on the way. A step is then carried out part by
part, in processes side by side, by the very code that works on a table in memory: row by row, or in blocks of records
that lie near one another. What comes out is written, and judged class by class from the files as written.

Nothing depends on the number of processes, on the memory given or on the order in which parts are finished: sums are
taken chunk by chunk in order, and each part has random numbers of its own. A part that is finished stays finished, so a
run that was killed goes on where it was.
"""
