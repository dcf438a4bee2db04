# What a picture must be able to show: lines, other scripts, emoji, styles, colours.
printf '%b\n' '\e[1mboxes\e[0m  ┌─┬┐ ╔═╦╗ ╓─╥╖ ╒═╤╕ ┏━┳┓ ╭─┬╮ ▁▂▃▄▅▆▇█ ▏▎▍▌▋▊▉█
       ├─┼┤ ╠═╬╣ ╟─╫╢ ╞═╪╡ ┣━╋┫ ├─┼┤ ░░▒▒▓▓██ ▖▗▘▙▚▛▜▝▞▟
       └─┴┘ ╚═╩╝ ╙─╨╜ ╘═╧╛ ┗━┻┛ ╰─┴╯ ⠋⠙⠹⠸⠼⠴⠦⠧ ⣿⣷⣯⣟⡿⢿⣻⣽
\e[1mwide\e[0m   日本語 中文字 한국어 │ 🎉 🚀 ✅ ❌ ⚠️ 👩‍💻 🇯🇵 👍🏽 │
       123456789012345678901│123456789012345678901234│
\e[1magents\e[0m ⏺ ⎿ ✻ ❯ › • ✓ ✔ ✗ … → ← ↑ ↓ ✶ ◐ ☐ ☒ │ é ä ñ λ Привет
\e[1mstyles\e[0m \e[1mbold\e[0m \e[2mdim\e[0m \e[3mitalic\e[0m \e[4munder\e[0m \e[4:2mdouble\e[0m \e[4:3;58;2;255;80;80mcurly\e[0m \e[9mstrike\e[0m \e[7mreverse\e[0m'
printf '       '
for n in $(seq 0 63); do printf '\e[48;2;%d;80;%dm ' $((n * 4)) $((255 - n * 4)); done
printf '\e[0m\e[?25l'
