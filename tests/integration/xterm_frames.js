// Plays a recording into xterm.js (headless) and tells what it shows at each frame.
//
// stdin: one JSON object {rows, cols, steps}, where a step is {feed: base64}, {resize: [rows, cols]}
// or {frame: seq}. stdout: one JSON object per frame {seq, rows, cursor: [row, column]}.
const { Terminal } = require('@xterm/headless');
const { UnicodeGraphemesAddon } = require('@xterm/addon-unicode-graphemes');

async function main() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  const { rows, cols, steps } = JSON.parse(Buffer.concat(chunks).toString());
  const terminal = new Terminal({ rows, cols, allowProposedApi: true, scrollback: 1000 });
  terminal.loadAddon(new UnicodeGraphemesAddon());
  terminal.unicode.activeVersion = '15-graphemes';
  const told = [];
  for (const step of steps) {
    if (step.feed !== undefined) {
      const bytes = new Uint8Array(Buffer.from(step.feed, 'base64'));
      await new Promise((done) => terminal.write(bytes, done));
    } else if (step.resize !== undefined) {
      terminal.resize(step.resize[1], step.resize[0]);
    } else {
      const buffer = terminal.buffer.active;
      const shown = [];
      for (let row = 0; row < terminal.rows; row += 1) {
        shown.push(buffer.getLine(buffer.baseY + row).translateToString(true, 0, terminal.cols));
      }
      told.push({ seq: step.frame, rows: shown, cursor: [buffer.cursorY, buffer.cursorX] });
    }
  }
  process.stdout.write(told.map((one) => JSON.stringify(one) + '\n').join(''));
}

main();
