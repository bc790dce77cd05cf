"""What a home did in some weeks: facts, and one page of them without a script or a network.

Of the home nothing but reading is done. Facts are values (`figures`); the page is made of them
alone, so that whoever has the facts has the page.
"""
