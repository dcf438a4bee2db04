"""Which labels ask for a secret, and which only speak of one."""

from __future__ import annotations

import pytest

from ptycassette.typed import asks_for_secret


@pytest.mark.parametrize(
    "label",
    [
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
    ],
)
def test_a_prompt_that_names_a_secret_asks_for_it(label: str) -> None:
    """In several languages, with what stands around it."""
    assert asks_for_secret(label)


@pytest.mark.parametrize(
    "label",
    [
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
        "Path to the ssh key:",
        "Pass 3 of 4:",
        "Pass the file to:",
        "opinion:",
        "$",
        "",
    ],
)
def test_a_label_that_only_speaks_of_one_does_not(label: str) -> None:
    """Else ordinary input would be masked."""
    assert not asks_for_secret(label)
