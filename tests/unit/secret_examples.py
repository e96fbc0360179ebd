"""What the rules on secrets must find, and what they must leave alone: the regression set (GT-4).

None is anybody's: all are made up, and put together here so that no scanner of a repository takes them for real.
"""

from __future__ import annotations

_JUMBLE = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"  # 40 letters and digits
_HEX = "9fceb02d0ae598e95dc970b74767f19372d61af8"
_UUID = "123e4567-e89b-12d3-a456-426614174000"
_AWS = "AKIA" + "Q3EGRRD5WJ7MNBZK"
_PEM = "-----{} RSA PRIVATE KEY-----"
_LINE = "MIIEowIBAAKCAQEAyx" + _JUMBLE

BLOCK = f"{_PEM.format('BEGIN')}\n{_LINE}\n{_LINE}\nabc=\n{_PEM.format('END')}"

SECRETS: list[tuple[str, str, str]] = [
    # kind, the text, the secret in it
    ("private_key", f"Here it is:\n{BLOCK}\nKeep it.", BLOCK),
    ("private_key", "key: " + BLOCK.replace("\n", "\\n"), BLOCK.replace("\n", "\\n")),
    ("private_key", f"{_PEM.format('BEGIN')}\n{_LINE}\n{_LINE}", f"{_PEM.format('BEGIN')}\n{_LINE}\n{_LINE}"),
    ("aws_key", f"The key is {_AWS}.", _AWS),
    ("aws_key", f"密钥{_AWS}请保存", _AWS),
    ("aws_key", f"キーは{_AWS}です。", _AWS),
    ("github_token", f"push with ghp_{_JUMBLE}", f"ghp_{_JUMBLE}"),
    ("github_token", f"github_pat_{_JUMBLE}_{_JUMBLE}", f"github_pat_{_JUMBLE}_{_JUMBLE}"),
    ("gitlab_token", f"glpat-{_JUMBLE[:20]} works", f"glpat-{_JUMBLE[:20]}"),
    ("slack_token", f"xoxb-1234567890-{_JUMBLE[:24]}", f"xoxb-1234567890-{_JUMBLE[:24]}"),
    ("slack_webhook", f"https://hooks.slack.com/services/T00AA/B00BB/{_JUMBLE[:24]}", f"T00AA/B00BB/{_JUMBLE[:24]}"),
    ("stripe_key", f"sk_live_{_JUMBLE[:24]}", f"sk_live_{_JUMBLE[:24]}"),
    ("anthropic_key", f"sk-ant-api03-{_JUMBLE}", f"sk-ant-api03-{_JUMBLE}"),
    ("openai_key", f"use sk-proj-{_JUMBLE} now", f"sk-proj-{_JUMBLE}"),
    ("openai_key", f"sk-{_JUMBLE}", f"sk-{_JUMBLE}"),
    ("google_key", f"AIza{_JUMBLE[:35]}", f"AIza{_JUMBLE[:35]}"),
    ("npm_token", f"npm_{_JUMBLE[:36]}", f"npm_{_JUMBLE[:36]}"),
    ("sendgrid_key", f"SG.{_JUMBLE[:22]}.{_JUMBLE}abc", f"SG.{_JUMBLE[:22]}.{_JUMBLE}abc"),
    ("telegram_token", f"123456789:AA{_JUMBLE[:33]}", f"123456789:AA{_JUMBLE[:33]}"),
    ("azure_key", f"AccountKey={_JUMBLE}{_JUMBLE}==;Endpoint=x", f"{_JUMBLE}{_JUMBLE}=="),
    ("jwt", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{_JUMBLE}", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{_JUMBLE}"),
    ("authorization", f"Authorization: Bearer {_HEX}", _HEX),
    ("authorization", f"-H 'Authorization: Token {_JUMBLE}'", _JUMBLE),
    ("authorization", "Authorization: Basic Ym9iOmh1bnRlcjI=", "Ym9iOmh1bnRlcjI="),
    ("connection_string", "postgres://app:s3cr3tPw@db.internal:5432/orders", "s3cr3tPw"),
    ("connection_string", "redis://:p4ssw0rdLong@cache:6379", "p4ssw0rdLong"),
    ("password", "password: hunter2", "hunter2"),
    ("password", "My password is Sommer2024!", "Sommer2024!"),
    ("password", "the password for the guest wifi is Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("password", "DB_PASSWORD=correcthorsebatterystaple", "correcthorsebatterystaple"),
    ("password", '{"password": "hunter2x"}', "hunter2x"),
    ("password", "<password>hunter22</password>", "hunter22"),
    ("password", "**Password:** hunter22", "hunter22"),
    ("password", "PASSWORD: 12345678", "12345678"),
    ("password", "mysql --password=hunter22 -h db", "hunter22"),
    ("password", "curl -u bob:hunter22 https://x.test", "hunter22"),
    ("password", "密码：abc123XYZ，谢谢", "abc123XYZ"),
    ("password", "密码是hunter22。", "hunter22"),
    ("password", "パスワードはhunter22です", "hunter22"),
    ("password", "пароль: Qwerty123", "Qwerty123"),
    ("password", "Das Passwort ist Winter!2025", "Winter!2025"),
    ("api_key", f"api_key = '{_HEX[:32]}'", _HEX[:32]),
    ("api_key", f"X-API-Key: {_JUMBLE[:20]}", _JUMBLE[:20]),
    ("api_key", f"client_secret: {_JUMBLE[:32]}", _JUMBLE[:32]),
    ("api_key", f"aws_secret_access_key = {_JUMBLE}", _JUMBLE),
    ("token", f"https://x.test/?token={_JUMBLE}&page=2", _JUMBLE),
    ("card_number", "Card 4111 1111 1111 1111, valid", "4111 1111 1111 1111"),
    ("card_number", "卡号4242424242424242吗", "4242424242424242"),
    ("card_number", "3782-822463-10005", "3782-822463-10005"),
]

HARMLESS: list[str] = [
    "No Firebase API key in the build at all.",
    "apiKey: import.meta.env.VITE_KEY",
    "Use AKIA" + "IOSFODNN7EXAMPLE as the sample key.",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "The password policy changed in May.",
    "password=<your password>",
    f"Fixed in commit {_HEX}.",
    f"The request was {_UUID}.",
    f"token={_UUID}",
    "Tokens are counted as characters divided by four.",
    "max_tokens: 20000",
    "The secret of the soup is time.",
    f"sha256: {_HEX}{_HEX[:24]}",
    "password: required",
    "The password is incorrect, and case-sensitive!",
    "password: 8-20 characters",
    "password: must be at least 8 characters",
    "password: ********",
    "Password reset: 2026-05-12T10:00:00Z",
    "The password is rotated every 90days.",
    "The password for the portal is on the intranet.",
    "password = os.environ['DB2']",
    "password = getenv2('x')",
    "password: ${DB_PASSWORD2}",
    "secret: ${{ secrets.TOKEN2 }}",
    "token: process.env.TOKEN2",
    "TOKEN = SERVICE_TOKEN_2",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN2",
    "Basic understanding of bearer bonds.",
    "postgres://user:password@localhost/db",
    "https://example.com:8080/a@b",
    "密码是什么？",
    "请不要告诉任何人你的密码。",
    "ghp_" + "x" * 36,
    "Order 1234567890123456, phone +49 30 901820.",
    "At 1717430400000 it was 4111 1111 1111 1112.",
    f"{_PEM.format('BEGIN')} and {_PEM.format('END')} frame a key.",
    "[removed: password]",
    "password: [removed: password]",
]
