// A small agent in JavaScript for the tests of forks: asks a model over the Messages API, streamed,
// and calls its one tool, which reads note.txt. Prompts come from its terminal until /quit.
"use strict";
const fs = require("fs");
const http = require("http");
const readline = require("readline");

const TOOL = { name: "read_note", description: "note.txt", input_schema: { type: "object" } };
const said = [];

// The blocks of the answer; its text is shown as it comes.
function ask() {
  const url = new URL(process.env.ANTHROPIC_BASE_URL);
  const body = JSON.stringify({ model: "m-1", max_tokens: 99, stream: true, messages: said, tools: [TOOL] });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const where = { host: url.hostname, port: url.port, path: `${url.pathname.replace(/\/$/, "")}/v1/messages` };
  return new Promise((done) => {
    const request = http.request({ ...where, method: "POST", headers }, (answer) => {
      const blocks = [];
      const lines = readline.createInterface({ input: answer });
      lines.on("line", (line) => {
        if (answer.statusCode !== 200) console.log(`error ${answer.statusCode}: ${line}`);
        if (answer.statusCode !== 200 || !line.startsWith("data: ")) return;
        const event = JSON.parse(line.slice(6));
        if (event.type === "content_block_start") blocks[event.index] = { ...event.content_block, json: "" };
        if (event.type !== "content_block_delta") return;
        blocks[event.index].json += event.delta.partial_json || "";
        if (event.delta.text) {
          blocks[event.index].text += event.delta.text;
          process.stdout.write(event.delta.text);
        }
      });
      lines.on("close", () => {
        if (blocks.some((block) => block.text)) console.log();
        done(blocks.map(({ json, ...block }) => (block.type === "text" ? block : { ...block, input: JSON.parse(json || "{}") })));
      });
    });
    request.on("error", (broken) => { console.log(`error ${broken.code}`); done([]); });
    request.end(body);
  });
}

async function turn(prompt) {
  said.push({ role: "user", content: prompt });
  for (;;) {
    const blocks = await ask();
    said.push({ role: "assistant", content: blocks });
    const calls = blocks.filter((block) => block.type === "tool_use");
    if (!calls.length) return;
    const note = fs.readFileSync("note.txt", "utf8").trim();
    console.log(`[read note.txt: ${note}]`);
    said.push({ role: "user", content: calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: note })) });
  }
}

async function main() {
  process.stdout.write("> ");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    if (line === "/quit") break;
    await turn(line);
    process.stdout.write("> ");
  }
  console.log("bye");
  process.exit(0);
}

main();
