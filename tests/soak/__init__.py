"""The product against a plain model of the rules, under faults: a short run of it is a test, `make soak` a long one.

`records`, `board`, `reference`, `staged`, `people` and `recalled` are the model, made from the specification alone:
nothing in them comes from the product, so that a mistake would have to be made twice. `door`, `faults` and `stage` let
the product be called and fail; `episode`, `players` and `checks` play both and compare them; `running` repeats, counts
and shortens.
"""
