"""Which labels ask for a secret, and which only speak of one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import ptycassette.scrub.typed
from ptycassette.scrub.typed.secrets import asks_for_secret

TABLES = tomllib.loads(
    Path(ptycassette.scrub.typed.__file__).with_name("prompts.toml").read_text("utf-8")
)
NAMES = [
    name
    for table in ("names", "names-as-written", "names-unspaced")
    for words in TABLES[table].values()
    for name in " ".join(words.split()).split(", ")
]


ASKING = [
    "Password:",
    "password for me@host: ",
    "[sudo] password for user:",
    "Enter passphrase for key '/home/me/.ssh/id_ed25519':",
    "Enter your API key",
    "Paste your API key here",
    "? Password:",
    "PIN:",
    "Enter PIN (4 digits):",
    "One-time code >",
    "Verification code:",
    "Token (optional):",
    "New password",
    "Passwort eingeben:",
    "Geben Sie Ihr Passwort ein",
    "Mot de passe :",
    "Contraseña:",
    "Пароль:",
    "パスワード：",  # noqa: RUF001
    "请输入密码:",
    "비밀번호:",
    "كلمة المرور:",
    "Password: ****",
    "Paste code here if prompted >",
    "Enter the 6-digit code:",
    "Enter the code from your authenticator app:",
    "GitHub PAT:",
    "License key:",
    "Zugangstoken:",
    "Datenbankkennwort für alice:",
    "Entrez votre clé d’API :",  # noqa: RUF001
    "APIキー:",
    "? Enter it [input is masked]",
    "Answer (typing will be hidden)",
    "Your input will not be shown:",
    "Vault key for hermes: ",
    "Wi-Fi key>",
    "Unlock key: ",
    "Deploy key (read only): ",
    "Key for the archive:",
    "key (sk-...): ",
    "Pass: ",
    "Sudo pwd: ",
    "psk: ",
    "DB_PASSWORD: ",
    "ANTHROPIC_API_KEY=",
    "Access code: ",
    "Tresorschlüssel: ",
    "P A S S W O R D : ",
    "🔐 Passwort → ",
    "Schlüssel:",
    "Schlu\u0308ssel:",
    "Bitte Zugangscode eingeben",
    "Freischaltcode eingeben",
    "Code d’accès :",  # noqa: RUF001
    "Introduzca su clave de acceso",
    "Kod jednorazowy:",
    "Einmalkennwort:",
    "PIN-Code:",
    "Pin:",
    "2FA code:",
    "OTP: ",
    "Enter your pincode",
    "ﾊﾟｽﾜｰﾄﾞ：",  # noqa: RUF001
    "パスワードを入力してください",
    "確認コード：",  # noqa: RUF001
    "비밀번호를 입력하세요",
    "请输入访问令牌",
    "Одноразовый код: ",
    "Пин-код:",
    "رمز المرور:",
    "סיסמה:",
    "पासवर्ड दर्ज करें",
    "รหัสผ่าน: ",
    "Mật khẩu: ",
    "Şifre: ",
    "Κωδικός πρόσβασης: ",
    "Eingabe (Eingabe wird nicht angezeigt)",
]
SPEAKING = [
    "I changed the password handling in login.py",
    "12k tokens",
    "max tokens:",
    "Token limit:",
    "Password manager:",
    "Password file:",
    "Token name:",
    "Reset the password? [y/N]",
    "Are you sure that the token is right (yes/no)?",
    "user@host:~/password$",
    "Pin this message?",
    "Spinning:",
    "Area code:",
    "PATH:",
    "Path to the code:",
    "tokenizer:",
    "Name:",
    "Press any key:",
    "Sort key:",
    "Public key:",
    "Key:",
    "Key bindings:",
    "Primärschlüssel:",
    "Öffentlicher Schlüssel:",
    "Clé primaire :",
    "Mot clé :",
    "Palabra clave:",
    "Parola chiave:",
    "Публичный ключ:",
    "Pin code to the board",
    "Path to the ssh key:",
    "Pass 3 of 4:",
    "Pass the file to:",
    "opinion:",
    "$",
    "",
]


def test_a_prompt_that_names_a_secret_asks_for_it() -> None:
    """In several languages, with what stands around it; each name of the table before a colon."""
    prompts = [*ASKING, *(f"{name}: " for name in NAMES)]

    assert [prompt for prompt in prompts if not asks_for_secret(prompt)] == []


def test_a_label_that_only_speaks_of_one_does_not() -> None:
    """Else ordinary input would be masked."""
    assert [label for label in SPEAKING if asks_for_secret(label)] == []
