"""What comes from elsewhere and goes elsewhere: import, export, backup (row X12)."""
