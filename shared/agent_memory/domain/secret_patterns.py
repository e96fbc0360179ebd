"""What secrets look like: data, in RE2 syntax, each with a kind and the test that what it caught has to pass besides.

The secret is the last named group that took part in a match, where there is none all of it; a group `said` marks a
sentence and no assignment. `secrets.py` knows the tests by their names. Borders of words are those of ASCII, so that a
key between Chinese characters is found. `tests/unit/secret_examples.py` holds examples of each, and of what must pass.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Test = Literal["shape", "block", "token", "key", "password", "login", "address", "card"]


class SecretPattern(NamedTuple):
    """kind: as a refusal and a removal name it. pattern: RE2. test: what a match must be to count."""

    kind: str
    pattern: str
    test: Test = "shape"


# ---------------------------------------------------------------- labels and values

_PASSWORD = (
    r"(?i:pass(?:word|wd|phrase|code)|\bpwd|kennwort|passwort|mot de passe|contraseña|senha|wachtwoord|парол[ья]"
    r"|密码|密碼|口令|パスワード|暗証番号|비밀번호|كلمة المرور|mật khẩu|รหัสผ่าน)"
)
_KEY = (
    r"(?i:(?:api|access|secret|private|account|signing|encryption|master|storage|subscription|consumer)[ _-]?key"
    r"|(?:client|app|consumer|signing|webhook|shared)[ _-]?secret|(?:auth|access|refresh|bearer|api|session|bot)"
    r"[ _-]?token|credentials?|密钥|密鑰|秘钥|访问令牌|シークレット|アクセスキー|비밀키)"
)
_TOKEN = r"(?i:secret|token|令牌|トークン|토큰|токен)"
_ASSIGNED = r"""(?:[0-9]?\\?["'`*]{0,3}\s{0,4}(?:=>|:=|={1,3}|[:：＝>])[*]{0,2}\s{0,4})"""
_OF_WHAT = r"(?:\s(?:for|to|of|on|für|zu|de|du)\s[^\n.:;!?=]{1,60})?"
_SAID = rf"(?P<said>{_OF_WHAT}\s(?:is|ist|est|es|è|é)\s|是|为|為|は|는|은)"
_QUOTED = r"""\\?"(?P<a>[^"\\\r\n]{4,})\\?"|'(?P<b>[^'\r\n]{4,})'|`(?P<c>[^`\r\n]{4,})`"""
_LETTERS = r"*+\--:=?-Z^_a-z|~\x{c0}-\x{52f}"  # of a value without quotes: no brackets, commas and semicolons
_SECRET_WORD = rf"(?:{_ASSIGNED}|{_SAID})(?:{_QUOTED}|(?P<d>[!#-&{_LETTERS}]{{4,}}))"
_SECRET_KEY = rf"(?:{_ASSIGNED}|{_SAID})(?:{_QUOTED}|(?P<d>[!#-%{_LETTERS}]{{4,}}))"  # in an address, & ends it
_OPTION = r"""--?(?:[a-z]+-)*(?i:password|passwd|token|api-?key|secret)[ =]["']?(?P<a>[^\s"'<>]{4,})"""

_BEGIN = r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
_BREAK = r"(?:\s|\\[nr])+"  # of a line, also as JSON spells it
_END = r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"

# ---------------------------------------------------------------- the table

SECRETS: tuple[SecretPattern, ...] = (
    SecretPattern("private_key", rf"{_BEGIN}(?s:.*?){_END}", "block"),
    SecretPattern("private_key", rf"{_BEGIN}(?:{_BREAK}[A-Za-z0-9+/=]{{32,}})+(?:{_BREAK}[A-Za-z0-9+/=]+)?"),  # cut off
    SecretPattern("private_key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    SecretPattern("aws_key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    SecretPattern("github_token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"),
    SecretPattern("github_token", r"\bgithub_pat_[A-Za-z0-9_]{50,}\b"),
    SecretPattern("gitlab_token", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_-]{20,}"),
    SecretPattern("slack_token", r"\bxox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}"),
    SecretPattern("slack_token", r"\bxapp-[0-9]-[A-Za-z0-9]+-[0-9]+-[A-Za-z0-9]{20,}"),
    SecretPattern("slack_webhook", r"\bhooks\.slack\.com/(?:services|workflows)/(?P<a>T[A-Z0-9]+/[A-Za-z0-9/]{16,})"),
    SecretPattern("stripe_key", r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}\b"),
    SecretPattern("stripe_key", r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    SecretPattern("anthropic_key", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    SecretPattern("openai_key", r"\bsk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,}"),
    SecretPattern("openai_key", r"\bsk-[A-Za-z0-9]{20,}\b", "token"),
    SecretPattern("google_key", r"\bAIza[0-9A-Za-z_-]{35}"),
    SecretPattern("google_key", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    SecretPattern("google_token", r"\bya29\.[A-Za-z0-9_-]{20,}"),
    SecretPattern("huggingface_token", r"\bhf_[A-Za-z0-9]{34}\b"),
    SecretPattern("npm_token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    SecretPattern("pypi_token", r"\bpypi-AgEI[A-Za-z0-9_-]{50,}"),
    SecretPattern("sendgrid_key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    SecretPattern("telegram_token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    SecretPattern("discord_token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}\b"),
    SecretPattern("twilio_key", r"\bSK[0-9a-f]{32}\b"),
    SecretPattern("mailgun_key", r"\bkey-[0-9a-f]{32}\b"),
    SecretPattern("digitalocean_token", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    SecretPattern("shopify_token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    SecretPattern("databricks_token", r"\bdapi[a-f0-9]{32}\b"),
    SecretPattern("vault_token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
    SecretPattern("notion_token", r"\bntn_[A-Za-z0-9]{40,}\b"),
    SecretPattern("linear_key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}\b"),
    SecretPattern("azure_key", r"(?i:AccountKey|SharedAccessKey)=(?P<a>[A-Za-z0-9+/]{40,}={0,2})"),
    SecretPattern("azure_key", r"[?&]sig=(?P<a>[A-Za-z0-9%+/]{40,}=?)"),
    SecretPattern("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,})+"),
    SecretPattern("authorization", r"""(?i)\bbearer\s{1,4}["']?(?P<a>[A-Za-z0-9._~+/-]{16,}={0,3})""", "key"),
    SecretPattern("authorization", r"""(?i)\bbasic\s{1,4}["']?(?P<a>[A-Za-z0-9+/]{8,}={0,2})""", "login"),
    SecretPattern(
        "authorization",
        r"""(?i)\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:[a-z-]{3,20}\s{1,4})?(?P<a>[A-Za-z0-9._~+/=-]{16,})""",
        "key",
    ),
    SecretPattern(
        "connection_string",
        r"""\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@"'<>]{0,100}:(?P<a>[^\s"'<>/]+)@[^\s"'<>@]""",
        "address",
    ),
    SecretPattern("password", rf"{_PASSWORD}{_SECRET_WORD}", "password"),
    SecretPattern("password", _OPTION, "password"),
    SecretPattern("password", r"""\s(?:-u|--user)[ =]["']?[^\s:'"]{1,60}:(?P<a>[^\s'"]{4,})""", "password"),
    SecretPattern("api_key", rf"{_KEY}{_SECRET_KEY}", "key"),
    SecretPattern("token", rf"{_TOKEN}{_SECRET_KEY}", "token"),
    SecretPattern("card_number", r"\b[2-6][0-9]{3}(?:[ -]?[0-9]){9,15}\b", "card"),
)
"""Where two catch the same text, the earlier match counts, of those the longer, of those the one that stands first."""
