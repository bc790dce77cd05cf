"""What other rules would have done: the recorded past, lived once more in a home of its own (X8).

The jobs are the very ones that run every day, under the clock of then (promise 3): lines come in
at the moments the ledger says, jobs run when they ran. Of the home nothing but reading is done.
"""
