"""The Lambda functions, one folder each.

Python's collector is off while one of them starts in Lambda: it would walk again and again through modules that stay,
for a tenth of the product's own share of the start. `runtime.lambda_handler` switches it on.
"""

import gc
import os

if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
    gc.disable()
