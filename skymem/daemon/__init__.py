"""The process that schedules, watches and reports."""
