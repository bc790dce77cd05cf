"""`skymem top`: a home as it lives, on a terminal.

`watch` reads, `rows` says what of it is shown (no I/O, no clock), the rest draws it and hears keys.
Textual is imported by `view`, `panes` and `dialogs` alone, and those by the verb when it is called.
"""
