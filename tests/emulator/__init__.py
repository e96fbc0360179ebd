"""AWS on this machine, as far as ministack goes: the deployment is put into it and called over signed HTTP."""
