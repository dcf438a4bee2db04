"""Whether a label asks for a secret: the words by which programs ask for one, in some languages.

The words are data; add one, and ``asks_for_secret`` knows it. A word alone does not make a
prompt: "I changed the password handling" and "12k tokens" ask for nothing. A label asks when
nothing but punctuation follows the word (``Password``), when it ends as prompts do
(``Passphrase for key '/home/me/.ssh/id':``), when it begins as a request does (``Paste your
API key here``), or when it says that what is typed is hidden (``[input is masked]``). Questions
to be answered with yes or no ask for no secret.
"""

from __future__ import annotations

import re

SECRETS = (
    # English
    "password", "passwd", "passphrase", "pass phrase", "pass-phrase", "passcode", "pass code",
    "password again", "token", "api key", "api-key", "api_key", "apikey", "access key",
    "secret key", "private key", "encryption key", "recovery key", "recovery phrase",
    "seed phrase", "master key", "client secret", "shared secret", "secret", "one-time code",
    "one time code", "one-time password", "verification code", "authentication code",
    "authenticator code", "auth code", "authorization code", "confirmation code", "security code",
    "two-factor code", "2fa code", "mfa code", "login code", "sms code", "recovery code",
    "backup code", "pin code", "pin number", "credentials", "digit code",
    "4-digit code", "6-digit code", "8-digit code", "six-digit code", "enter code",
    "enter the code", "paste code", "paste the code", "license key", "licence key", "auth key",
    "authentication key", "signing key", "account key", "storage key", "connection string",
    "access code", "unlock code", "activation code", "invite code", "code word", "codeword",
    "secret word", "magic word", "security answer", "secret answer", "recovery words", "seed words",
    "mnemonic", "bearer", "jwt", "session cookie", "credential", "master pass", "user pass",
    # German, Dutch, Swedish, Danish, Norwegian
    "passwort", "kennwort", "geheimnis", "geheimzahl", "zugangscode", "einmalcode",
    "einmalpasswort", "bestätigungscode", "sicherheitscode", "api-schlüssel", "zugriffsschlüssel",
    "wachtwoord", "wachtwoordzin", "toegangscode", "lösenord", "lösenfras", "adgangskode",
    "kodeord", "passord",
    # French, Spanish, Portuguese, Italian, Romanian, Catalan
    "mot de passe", "phrase secrète", "phrase de passe", "code secret", "code de vérification",
    "code de confirmation", "jeton", "clé api", "clé d'api", "clé secrète", "contraseña",
    "clé d'accès",
    "frase de contraseña", "frase de paso", "clave", "clave api", "clave de api",
    "clave secreta", "código de verificación", "código de seguridad", "senha", "palavra-passe",
    "frase secreta", "chave api", "chave de api", "chave secreta", "código de verificação",
    "parola d'ordine", "parola", "parolă", "chiave api", "chiave segreta", "codice di verifica",
    "codice di sicurezza", "contrasenya",
    # Polish, Czech, Slovak, Hungarian, Finnish, Estonian, Turkish, Croatian, Slovene
    "hasło", "klucz api", "kod weryfikacyjny", "heslo", "přístupová fráze", "jelszó",
    "jelmondat", "salasana", "tunnuslause", "parool", "şifre", "parolanız",  # noqa: RUF001
    "şifreniz",
    "lozinka", "zaporka", "geslo",
    # Russian, Ukrainian, Bulgarian, Serbian, Greek
    "пароль", "парольная фраза", "ключ api", "api-ключ", "токен", "код подтверждения",
    "секрет", "секретный ключ", "парола", "лозинка", "κωδικός", "κωδικός πρόσβασης",
    "συνθηματικό",
    # Indonesian, Malay, Vietnamese
    "kata sandi", "kata laluan", "mật khẩu", "mã xác minh",
    # Arabic, Hebrew, Persian, Hindi
    "كلمة المرور", "كلمة السر", "رمز التحقق", "סיסמה", "סיסמא", "رمز عبور", "گذرواژه",
    "पासवर्ड", "कूटशब्द",
)  # fmt: skip
"""Names of secrets, in lower case."""

SHORT_NAMES = (
    "PAT", "PIN", "TAN", "OTP", "TOTP", "CVV", "CVC", "PUK", "PSK", "PWD", "2FA", "MFA",
    "pin", "otp", "totp", "psk", "pwd", "Pwd",
)  # fmt: skip
"""Names that are also words or parts of other names: they count as they are written here."""

LAST_WORDS = (
    "passwort", "kennwort", "token", "wachtwoord", "lösenord", "adgangskode", "passord",
    "schlüssel", "sleutel", "nyckel", "nøgle", "_password", "_passwd", "_secret", "_token",
    "_api_key", "_access_key", "_secret_key",
)  # fmt: skip
"""With these end words that name one: ``Zugangstoken``, ``Datenbankpasswort``."""

NO_SECRET_KEYS = (
    "a", "any", "another", "arrow", "cache", "column", "config", "control", "ctrl", "dictionary",
    "each", "enter", "esc", "escape", "first", "foreign", "function", "group", "hash", "hot",
    "index", "json", "leader", "lookup", "map", "modifier", "next", "object", "other", "partition",
    "prefix", "press", "primary", "public", "registry", "return", "row", "search", "shortcut",
    "sort", "space", "tab", "unique", "which",
)  # fmt: skip
"""Words before "key" that make it none of a lock. With any other word it opens something."""

UNSPACED = (
    "密码", "密碼", "口令", "密钥", "密鑰", "金鑰", "令牌", "验证码", "驗證碼", "授权码",
    "パスワード", "APIキー", "アクセスキー", "秘密鍵",
    "パスフレーズ", "暗証番号", "トークン", "認証コード", "シークレット", "비밀번호", "암호",
    "토큰", "API 키", "인증 코드", "인증번호", "รหัสผ่าน",
)  # fmt: skip
"""Names in scripts that put no blanks between words."""

REQUESTS = (
    "enter", "please enter", "type", "please type", "paste", "please paste", "input", "provide",
    "please provide", "insert", "give", "confirm", "repeat", "retype", "re-enter", "reenter",
    "set", "choose", "create", "your", "new", "current", "old", "verify", "what is your",
    "geben sie", "bitte", "ihr", "neues", "altes", "wiederholen", "entrez", "saisissez", "votre",
    "nouveau", "introduzca", "introduce", "ingrese", "escriba", "su", "nueva", "digite",
    "introduza", "insira", "sua", "nova", "inserisci", "immettere", "nuova", "voer", "uw",
    "nieuw", "ange", "indtast", "skriv inn", "podaj", "wprowadź", "zadejte", "введите",
    "вставьте", "повторите", "новый", "ваш", "masukkan", "nhập", "girin",
)  # fmt: skip
"""How requests begin."""

OF_SOMETHING = (
    "limit", "limits", "count", "counts", "budget", "usage", "name", "names", "length", "policy",
    "manager", "managers", "file", "path", "id", "hint", "expiry", "type", "field", "store",
    "storage", "rotation", "generator", "strength", "handling", "reset", "count:", "url",
)  # fmt: skip
"""What follows the name of a secret where something else is asked for: its length, its file."""

_LONGEST = 160
_ENDS = ":?>=]›❯»：？＞…"  # noqa: RUF001 - full-width forms are meant
_CLOSING = " \t:?>=])}›❯»：？＞….*_`'\"|"  # noqa: RUF001
_YES_OR_NO = re.compile(r"\by(?:es)?\s?/\s?n(?:o)?\b|\bj/n\b|\bo/n\b|\bs/n\b", re.IGNORECASE)
# What one types is not shown, say @inquirer/prompts, inquirer, and programs by hand.
_UNSEEN = re.compile(
    r"\b(?:input|typing|keystrokes|characters)(?: (?:is|are|will be))? "
    r"(?:masked|hidden|invisible)\b"
    r"|\b(?:input|typing|keystrokes|characters) (?:is not|are not|will not be|won't be) "
    r"(?:shown|displayed|echoed|visible)\b",
    re.IGNORECASE,
)
_BEFORE = r"(?:^|(?<=[\s\"'`(\[{<*_]))"
_NAMED = re.compile(
    _BEFORE
    + "(?:(?i:"
    + "|".join(map(re.escape, sorted(SECRETS, key=len, reverse=True)))
    + "|\\w+(?:"
    + "|".join(LAST_WORDS)
    + "))|"
    + "|".join(map(re.escape, SHORT_NAMES))
    + r")(?![\w-])"
)
# "Vault key for hermes:", "Wi-Fi key>", "Key for the archive:", "key (sk-...):", and "Pass:".
_KEY = re.compile(
    r"(?!.*\b(?:file|name|path)\b)"
    r"(?:(?:.*\s)?(?!(?:" + "|".join(NO_SECRET_KEYS) + r")\s)[^\W\d_][\w.-]*\s+keys?"
    r"(?=\s*[(\[:?>=]|\s+(?:for|of|to|on)\s)"
    r"|\W*key(?=\s+(?:for|to)\s|\s*\([^)]*(?:\.\.|…|sk-))"
    r"|\W*pass(?=\s*[:?>=]))"
    r".*[:?>=›❯»]\s*$",  # noqa: RUF001
    re.IGNORECASE,
)
_UNSPACED = re.compile("|".join(map(re.escape, UNSPACED)))
_REQUEST = re.compile(
    r"\W*(?:" + "|".join(map(re.escape, sorted(REQUESTS, key=len, reverse=True))) + r")\b",
    re.IGNORECASE,
)


def asks_for_secret(label: str) -> bool:
    """Whether ``label``, the text of a prompt in one row, asks for a secret."""
    label = label.strip()[-_LONGEST:].replace("’", "'")  # noqa: RUF001 - both are written
    if _YES_OR_NO.search(label):
        return False
    if _UNSEEN.search(label) or _KEY.match(label):
        return True
    named = [*_NAMED.finditer(label), *_UNSPACED.finditer(label)]
    return any(_asks(label, label[match.end() :]) for match in named)


def _asks(label: str, rest: str) -> bool:
    """Whether it is asked for what is named before ``rest``."""
    if not rest.strip(_CLOSING):
        return True
    words = rest.strip(_CLOSING).split()
    if words and words[0].lower().strip(_CLOSING) in OF_SOMETHING:
        return False
    return label.rstrip()[-1:] in _ENDS or _REQUEST.match(label) is not None
