"""What a recording could do to the terminal, the page or the parser of who looks at it.

One entry for each way in: ``name -> bytes``. Sources: xterm's "Control
Sequences", ECMA-48, the documents of kitty, iTerm2, WezTerm, ConEmu, rxvt,
Windows Terminal and tmux, UAX #9 (bidirectional text), UTS #39 (confusables).
"""

from __future__ import annotations

__all__ = ["VECTORS"]

_ESC, _ST, _BEL = b"\x1b", b"\x1b\\", b"\x07"


def _csi(*bodies: str) -> dict[str, bytes]:
    return {f"csi {body}": f"\x1b[{body}".encode() for body in bodies}


def _osc(*bodies: str) -> dict[str, bytes]:
    return {f"osc {body[:24]}": f"\x1b]{body}".encode() + _BEL for body in bodies}


def _string(introducer: str, *bodies: str) -> dict[str, bytes]:
    return {
        f"{introducer} {body[:24]}": f"\x1b{introducer}{body}".encode() + _ST for body in bodies
    }


VECTORS: dict[str, bytes] = {
    # The clipboard.
    **_osc("52;c;ZXZpbA==", "52;c;?", "52;p;ZXZpbA==", "52;;ZXZpbA==", "1337;Copy=:ZXZpbA=="),
    "clipboard, ended by ST": b"\x1b]52;c;ZXZpbA==" + _ST,
    "clipboard, eight-bit": b"\x9d52;c;ZXZpbA==\x9c",
    "clipboard, C1 in UTF-8": b"\xc2\x9d52;c;ZXZpbA==\xc2\x9c",
    "clipboard, never ended": b"\x1b]52;c;ZXZpbA==",
    "clipboard, through tmux": b"\x1bPtmux;\x1b\x1b]52;c;ZXZpbA==\x07" + _ST,
    "clipboard, through screen": b"\x1bP\x1b]52;c;ZXZpbA==\x07" + _ST,
    # Titles, and what reads them back as if it had been typed.
    **_osc("0;evil", "1;evil", "2;evil", "l evil", "L evil", "0;\nrm -rf ~\n"),
    **_csi("21t", "20t", "22;0t", "23;0t", ">2t", "11t", "13t", "14t", "16t", "18t", "19t"),
    "title, old sun": b"\x1b]levil" + _ST,
    "title, tmux": b"\x1bkevil" + _ST,
    # The window.
    **_csi("1t", "2t", "3;0;0t", "4;9999;9999t", "5t", "6t", "8;9999;9999t", "9;1t", "10;1t"),
    # Questions whose answers would be typed into the shell.
    **_csi("c", "0c", ">c", "=c", "5n", "6n", "?6n", "?15n", "?25n", "?26n", "?55n", "?996n"),
    **_csi(">q", "?u", "?4m", "x", "1x", "?1$p", "?2004$p", "4$p", "1;1;1;1;1;1*y", "&w"),
    **_string("P", "$qm", "$qr", "$q q", "+q544e", "+Q", "$t", "1$tx"),
    **_osc("4;1;?", "10;?", "11;?", "12;?", "17;?", "19;?", "5;0;?", "50;?", "60;?", "702;?"),
    "identify, DECID": b"\x1bZ",
    "answerback, ENQ": b"\x05",
    "checksum of a rectangle": b"\x1b[1;1;1;1;24;80*y",
    # Modes that outlive the playback.
    **_csi("?9h", "?1000h", "?1001h", "?1002h", "?1003h", "?1005h", "?1006h", "?1015h", "?1016h"),
    **_csi("?1004h", "?2004h", "?2026h", "?2031h", "?2048h", "?1h", "?66h", "?67h", "?7l", "?6h"),
    **_csi(">1u", "=31;1u", "<9u", ">4;2m", ">4m", "4h", "20h", "?5h", "?25l", "?1049h", "?47h"),
    **_csi("?3h", "?40h", "?45h", "?69h", "?1034h", "?1035l", "?1036h", "?1039h", "?9001h"),
    "keypad": b"\x1b=",
    # Character sets, resets, regions, tabs.
    "line drawing, G0": b"\x1b(0lqqk",
    "line drawing, G1 and SO": b"\x1b)0\x0elqqk",
    "national set": b"\x1b(K[\\]",
    "UTF-8 off": b"\x1b%@",
    "locking shift": b"\x1bn\x1bo\x1b|\x1b}\x1b~",
    "single shift": b"\x1bN\x1bO\x8e\x8f",
    "reset, RIS": b"\x1bc",
    "reset, DECSTR": b"\x1b[!p",
    "alignment, DECALN": b"\x1b#8",
    "double height": b"\x1b#3evil\x1b#6",
    "level, DECSCL": b'\x1b[61"p',
    "eight-bit controls, S8C1T": b"\x1b G\x1b F",
    **_csi("5;10r", "5;10s", "3g", "0*|", "2 q", "?5W", "!p", "1 D", "5i", "4i", "?5i"),
    "memory lock": b"\x1bl\x1bm",
    "media copy": b"\x1b[5ievil | sh\x1b[4i",
    # Colours of the terminal itself, fonts, the pointer, files.
    **_osc("4;1;#ff0000", "10;#000000", "11;#000000", "12;#ff0000", "104", "110", "50;evil-font"),
    **_osc("22;wait", "46;/tmp/log", "3;PROP=x", "6;1;bg;red;brightness;255", "P0ff0000", "R"),
    **_osc(
        "1337;File=name=ZXZpbA==;inline=0:ZXZpbA==", "1337;SetProfile=evil", "1337;ReportCellSize"
    ),
    **_osc("1337;RequestAttention=fireworks", "1337;ClearScrollback", "1337;StealFocus"),
    "log file, vt": b"\x1b[?46h\x1b[?46i",
    # Links and notifications.
    **_osc("8;;javascript:alert(1)", "8;;file:///etc/passwd", "8;id=x;ssh://x@-oProxyCommand=sh"),
    "link with text": b"\x1b]8;;https://evil.example/\x07https://good.example/\x1b]8;;\x07",
    **_osc("9;evil", "9;4;1;50", "9;1;9999", "9;7;C:\\evil.exe", "777;notify;t;b", "777;preexec"),
    **_osc("99;i=1;evil", "7;file://evil/etc", "133;A", "133;C;evil", "633;E;rm -rf ~"),
    # Pictures.
    **_string("P", "q#0;2;0;0;0~~", "0;1;0q~", "1;1|17/17", "0!zevil"),
    **_string("_", "Ga=T,f=100;ZXZpbA==", "Ga=t,t=f;L2V0Yy9wYXNzd2Q=", "Ga=q,i=1;AAAA", "evil"),
    **_string("^", "evil", "rm -rf ~"),
    **_string("X", "evil"),
    # Raw and encoded C1, cut-off and nested sequences.
    "C1, raw CSI": b"\x9b21t",
    "C1, raw DCS": b"\x90$qm\x9c",
    "C1, raw APC": b"\x9fGa=q;\x9c",
    "C1, all raw": bytes(range(0x80, 0xA0)),
    "C1, all in UTF-8": "".join(map(chr, range(0x80, 0xA0))).encode(),
    "C0, all": bytes(range(0x20)) + b"\x7f",
    "cut CSI": b"\x1b[",
    "cut OSC": b"\x1b]0;",
    "cut UTF-8": b"\xf0\x9f\x92",
    "overlong UTF-8": b"\xc0\x9b21t\xe0\x80\x9b",
    "surrogates": b"\xed\xa0\x80\xed\xb0\x80",
    "aborted": b"\x1b[3\x18\x1b]0;x\x1a21t",
    "nested": b"\x1b]0;\x1b]52;c;ZXZpbA==\x07\x07",
    "ESC ESC": b"\x1b\x1b[21t",
    "in the middle of one": b"\x1b[2\x1b[1t1t",
    "parameters without end": b"\x1b[" + b";" * 3000 + b"t",
    "digits without end": b"\x1b[" + b"9" * 3000 + b"A",
    "colons": b"\x1b[4:3:::::::m\x1b[58:2::1:2:3m",
    "repeat": b"x\x1b[99999999b",
    "scroll": b"\x1b[99999999S\x1b[99999999T\x1b[99999999L",
    # Text that is not what it looks like.
    "bidi override": "\u202egnp.exe\u202c".encode(),
    "bidi isolate": "\u2066evil\u2069\u2067x\u2068".encode(),
    "bidi marks": "a\u200eb\u200fc\u061cd".encode(),
    "zero width": "a\u200bb\u2060c\ufeffd\u180ee".encode(),
    "joiners": "a\u200cb\u200dc".encode(),
    "tags": "".join(map(chr, range(0xE0061, 0xE006B))).encode(),
    "line separators": "a\u2028b\u2029c\u0085d".encode(),
    "annotations": "\ufff9a\ufffab\ufffb".encode(),
    "fillers": "\u115f\u1160\u3164\uffa0".encode(),
    "combining": ("a" + "\u0301" * 300).encode(),
    "variations": "a\ufe00b\ufe0fc\U000e0100".encode(),
    "not a character": "\ufffe\uffff\U0010ffff".encode(),
    # What a renderer, a page or a log would take for its own.
    "rich markup": b"[bold red]x[/] [link=https://evil.example]y[/link] [@click=app.bell]z[/]",
    "textual markup": b"[$error on red]x[/]",
    "html": b"</pre><script>alert(1)</script><img src=x onerror=alert(1)>",
    "html attribute": b'" onload=\'alert(1)\' style="background:url(https://evil.example)"',
    "svg": b"]]></text></svg><script>alert(1)</script><svg>",
    "entity": b"&lt;script&gt; &#27;[31m &amp;",
    "format": b"%s%n{0.__class__} ${HOME} $(id) `id`",
    "log lines": b"ok\r\n::error::evil\r\n##[error]evil\r\n::set-output name=x::y",
    "carriage return": b"good\revil",
    "backspaces": b"evil\b\b\b\bgood",
}
