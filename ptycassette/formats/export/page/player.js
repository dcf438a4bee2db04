'use strict';
/* The player of recordings.

   Every recording of the page has its film beside it, as JSON (see film.py): distinct rows once, and
   frames as changes of row numbers. They are put together when the recording is first shown, so that
   seeking is one look-up. There is no emulator here, and no text of a recording ever becomes markup:
   it goes into the page as text nodes only. */

const SPEEDS = [0.5, 1, 2, 4, 8];

class Film {
  constructor(data) {
    Object.assign(this, data);
    this.times = [];
    this.shown = []; // of each frame the numbers of its rows
    let rows = [];
    for (const frame of this.frames) {
      const height = this.sizes[frame[2]][0];
      rows = rows.slice(0, height);
      for (let at = 4; at < frame.length; at += 3) {
        for (let n = 0; n < frame[at + 2]; n++) rows[frame[at] + n] = frame[at + 1] + n;
      }
      this.times.push(frame[0]);
      this.shown.push(rows);
    }
    this.texts = this.rows.map(row => row.filter((_, at) => at % 2 === 0).join(''));
  }

  /* The last frame at or before a time. */
  at(time) {
    return Math.max(0, after(this.times, time) - 1);
  }

  /* The frames at which a row with this text appeared. */
  find(query) {
    const found = new Set();
    this.texts.forEach((text, number) => { if (lower(text).includes(query)) found.add(number); });
    const hits = [];
    if (!found.size) return hits;
    this.shown.forEach((rows, frame) => {
      const before = frame ? this.shown[frame - 1] : [];
      if (rows.some(row => found.has(row) && !before.includes(row))) hits.push(this.times[frame]);
    });
    return hits;
  }
}

/* How many of the sorted numbers are not above a value. */
function after(numbers, value) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}

function lower(text) {
  const small = text.toLowerCase();
  return small.length === text.length ? small : text;
}

function clock(ms) {
  const minutes = Math.floor(ms / 60000), rest = (Math.floor(ms / 10) / 100) % 60;
  return minutes ? `${minutes}:${rest.toFixed(2).padStart(5, '0')}` : rest.toFixed(2);
}

class Player {
  constructor(root) {
    this.root = root;
    this.player = root.querySelector('.player');
    this.film = new Film(JSON.parse(root.querySelector('.film').textContent));
    this.end = Math.max(Number(root.dataset.end), this.film.times.at(-1) ?? 0);
    this.idle = Number(root.dataset.idle);
    this.time = 0;
    this.frame = -1;
    this.query = '';
    this.hits = [];
    this.painted = [];
    this.lines = [];
    this.playing = false;
    this.links = [...root.querySelectorAll('.beside a')];
    this.moments = this.links.map(link => Number(link.dataset.t));
    this.inputs = this.links.filter(one => one.matches('.input')).map(one => Number(one.dataset.t));
    for (const name of ['screen', 'view', 'title', 'seek', 'marks', 'time', 'speed', 'query', 'keys']) {
      this[name + 'Part'] = this.player.querySelector('.' + name);
    }
    this.cursor = document.createElement('span');
    this.cursor.className = 'cursor';
    this.idlePart = this.player.querySelector('input.idle');
    this.hitsPart = this.player.querySelector('.hits');
    this.player.hidden = false;
    root.classList.add('live');
    const stills = root.querySelector('.stills');
    if (stills) stills.open = false;
    this.addFilters();
    this.listen();
    this.mark();
    const first = this.film.shown.findIndex(rows => rows.some(row => this.film.texts[row].trim()));
    const asked = /^#t=(\d+(?:\.\d+)?)$/.exec(location.hash);
    this.seek(asked ? asked[1] * 1000 : this.film.times[Math.max(0, first)] ?? 0);
  }

  /* -- the screen -- */

  seek(time) {
    this.time = Math.min(this.end, Math.max(0, time));
    this.from = this.time;
    this.base = performance.now();
    this.show();
  }

  show() {
    const frame = this.film.at(this.time);
    if (frame !== this.frame) this.draw(frame);
    const seek = this.seekPart;
    seek.max = this.end;
    seek.value = this.time;
    this.timePart.textContent = `${clock(this.time)} / ${clock(this.end)} s`;
    seek.setAttribute('aria-valuetext', `${clock(this.time)} of ${clock(this.end)} seconds`);
    this.follow();
  }

  draw(frame) {
    const film = this.film, [, cursor, size, title] = film.frames[frame] ?? [0, -1, 0, 0];
    const [height, width] = film.sizes[size] ?? [0, 80];
    const rows = film.shown[frame] ?? [];
    this.frame = frame;
    this.screenPart.style.setProperty('--cols', width);
    while (this.lines.length < height) {
      const line = document.createElement('div');
      this.lines.push(line);
      this.painted.push(-1);
      this.screenPart.append(line);
    }
    while (this.lines.length > height) {
      this.lines.pop().remove();
      this.painted.pop();
    }
    for (let at = 0; at < height; at++) {
      if (this.painted[at] === rows[at]) continue;
      this.painted[at] = rows[at];
      this.lines[at].replaceChildren(...this.pieces(rows[at]));
    }
    if (cursor < 0) {
      this.cursor.remove();
    } else {
      this.cursor.style.setProperty('--row', Math.floor(cursor / 1000));
      this.cursor.style.setProperty('--col', cursor % 1000);
      this.screenPart.append(this.cursor);
    }
    this.titlePart.textContent = film.titles[title] ?? '';
  }

  /* The nodes of a row, with what is searched for marked. */
  pieces(number) {
    const row = this.film.rows[number] ?? [], nodes = [];
    const text = lower(this.film.texts[number] ?? ''), cuts = [];
    if (this.query) {
      for (let at = text.indexOf(this.query); at >= 0; at = text.indexOf(this.query, at + this.query.length)) {
        cuts.push([at, at + this.query.length]);
      }
    }
    let start = 0;
    for (let at = 0; at < row.length; at += 2) {
      const piece = row[at], end = start + piece.length;
      const names = [this.film.styles[Math.floor(row[at + 1] / 3)]];
      if (row[at + 1] % 3) names.push('c' + row[at + 1] % 3);
      let from = start;
      for (const [low, high] of cuts) {
        if (high <= from || low >= end) continue;
        if (low > from) nodes.push(styled('span', piece.slice(from - start, low - start), names));
        nodes.push(styled('mark', piece.slice(Math.max(from, low) - start, Math.min(end, high) - start), names));
        from = Math.min(end, high);
      }
      if (from < end) nodes.push(styled('span', piece.slice(from - start), names));
      start = end;
    }
    return nodes;
  }

  repaint() {
    this.painted.fill(-1);
    this.draw(this.frame);
  }

  /* -- time -- */

  toggle() {
    if (this.playing) return this.pause();
    if (this.time >= this.end) this.time = 0;
    this.playing = true;
    this.label('Pause', '‖');
    this.from = this.time;
    this.base = performance.now();
    requestAnimationFrame(now => this.tick(now));
  }

  pause() {
    this.playing = false;
    this.label('Play', '▶');
  }

  label(name, sign) {
    const button = this.player.querySelector('[data-do=play]');
    button.setAttribute('aria-label', name);
    button.textContent = sign;
  }

  tick(now) {
    if (!this.playing) return;
    let time = this.from + Math.max(0, now - this.base) * Number(this.speedPart.value);
    if (this.idlePart.checked) {
      const next = after(this.film.times, this.time);
      const until = this.film.times[next] ?? this.end;
      const since = this.film.times[next - 1] ?? 0;
      if (until - since > this.idle && time - since > this.idle && time < until) {
        time = until;
        this.from = time;
        this.base = now;
      }
    }
    this.time = Math.min(this.end, time);
    this.show();
    if (this.time >= this.end) this.pause();
    else requestAnimationFrame(later => this.tick(later));
  }

  step(count) {
    this.pause();
    const times = this.film.times, at = Math.min(times.length - 1, Math.max(0, this.frame + count));
    this.seek(times[at] ?? 0);
  }

  /* To the moment before or after this one in a sorted list. */
  jump(moments, forward) {
    const at = forward ? after(moments, this.time) : after(moments, this.time - 1) - 1;
    if (moments[at] !== undefined) this.seek(moments[at]);
  }

  faster(count) {
    const at = SPEEDS.indexOf(Number(this.speedPart.value)) + count;
    if (SPEEDS[at]) {
      this.from = this.time;
      this.base = performance.now();
      this.speedPart.value = SPEEDS[at];
    }
  }

  /* -- the list -- */

  follow() {
    const at = after(this.moments, this.time) - 1;
    if (at === this.here) return;
    this.links[this.here]?.classList.remove('here');
    this.links[this.here]?.removeAttribute('aria-current');
    this.here = at;
    const link = this.links[at];
    if (!link) return;
    link.classList.add('here');
    link.setAttribute('aria-current', 'true');
    if (!link.getClientRects().length) return; // its kind is hidden
    const list = link.closest('.beside'), outer = list.getBoundingClientRect();
    const inner = link.getBoundingClientRect();
    const bottom = Math.min(outer.bottom, innerHeight); // the list may reach below the window
    // So that its last rows can be scrolled above the window's edge, too.
    list.style.paddingBottom = `${outer.bottom - bottom}px`;
    if (list.scrollHeight > list.clientHeight && (inner.top < outer.top + 80 || inner.bottom > bottom)) {
      list.scrollTop += inner.top - outer.top - list.clientHeight / 3;
    }
  }

  addFilters() {
    const kinds = new Map();
    for (const link of this.links) if (!kinds.has(link.className)) kinds.set(link.className, link);
    const bar = document.createElement('div');
    bar.className = 'filters';
    bar.setAttribute('role', 'group');
    bar.setAttribute('aria-label', 'Kinds that are listed');
    for (const kind of kinds.keys()) {
      if (kind === 'start') continue;
      const button = styled('button', kind, []);
      button.type = 'button';
      const list = on => {
        button.setAttribute('aria-pressed', String(on));
        for (const link of this.links) {
          if (link.classList.contains(kind)) (link.closest('.turn > ol > li') ?? link).hidden = !on;
        }
      };
      button.addEventListener('click', () => list(button.getAttribute('aria-pressed') === 'false'));
      list(kind !== 'terminal'); // its answers are no news to people
      bar.append(button);
    }
    this.root.querySelector('.beside').prepend(bar);
  }

  /* Ticks above the bar: inputs, models and tools, divergences, hits. */
  mark() {
    const svg = this.marksPart;
    svg.setAttribute('viewBox', '0 0 1000 9');
    svg.replaceChildren();
    const add = (time, kind) => {
      const tick = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
      tick.setAttribute('x', 998 * time / Math.max(1, this.end));
      tick.setAttribute('width', kind === 'hit' ? 3 : 2);
      tick.setAttribute('height', kind === 'input' || kind === 'divergence' ? 9 : 6);
      tick.setAttribute('class', kind);
      svg.append(tick);
    };
    this.links.slice(0, 2000).forEach((link, at) => add(this.moments[at], link.classList[0]));
    this.hits.slice(0, 2000).forEach(time => add(time, 'hit'));
  }

  /* -- search -- */

  search(words) {
    this.query = words.toLowerCase();
    const moments = new Set(this.query ? this.film.find(this.query) : []);
    this.links.forEach((link, at) => {
      const found = this.query && lower(link.textContent).includes(this.query);
      link.classList.toggle('found', Boolean(found));
      if (found) moments.add(this.moments[at]);
    });
    this.hits = [...moments].sort((one, other) => one - other);
    this.mark();
    this.repaint();
    if (this.hits.length) this.hit(Math.min(after(this.hits, this.time - 1), this.hits.length - 1));
    else this.hitsPart.textContent = this.query ? 'not found' : '';
  }

  hit(at) {
    this.pause();
    this.at = at;
    this.hitsPart.textContent = `${at + 1} of ${this.hits.length}`;
    this.seek(this.hits[at]);
  }

  otherHit(count) {
    if (this.hits.length) this.hit((this.at + count + this.hits.length) % this.hits.length);
  }

  /* -- what people do -- */

  do(what) {
    const play = {
      play: () => this.toggle(),
      previous: () => this.jump(this.inputs, false),
      next: () => this.jump(this.inputs, true),
      nextHit: () => this.otherHit(1),
      lastHit: () => this.otherHit(-1),
      zoom: () => this.press('zoom', this.player.classList.toggle('zoomed'), 'aria-pressed'),
      help: () => this.press('help', this.keysPart.toggleAttribute('hidden') === false, 'aria-expanded'),
      theme: () => {
        const now = getComputedStyle(this.screenPart).getPropertyValue('--bg').trim();
        const dark = now === '#ffffff';
        this.root.classList.toggle('dark', dark);
        this.root.classList.toggle('light', !dark);
      },
    };
    play[what]?.();
  }

  press(name, on, state) {
    this.player.querySelector(`[data-do=${name}]`).setAttribute(state, String(on));
  }

  listen() {
    this.player.addEventListener('click', event => {
      const button = event.target.closest('button[data-do]');
      if (button) this.do(button.dataset.do);
    });
    this.seekPart.addEventListener('input', () => this.seek(Number(this.seekPart.value)));
    this.speedPart.addEventListener('change', () => { this.from = this.time; this.base = performance.now(); });
    this.queryPart.addEventListener('input', () => this.search(this.queryPart.value));
    this.queryPart.form.addEventListener('submit', event => {
      event.preventDefault();
      this.otherHit(1);
    });
    this.root.addEventListener('click', event => {
      const link = event.target.closest('.beside a');
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.seek(Number(link.dataset.t));
    });
  }

  key(event) {
    const key = event.key, seconds = event.shiftKey ? 30000 : 5000;
    const keys = {
      ' ': () => this.toggle(),
      ArrowLeft: () => this.seek(this.time - seconds),
      ArrowRight: () => this.seek(this.time + seconds),
      ',': () => this.step(-1),
      '.': () => this.step(1),
      '[': () => this.do('previous'),
      ']': () => this.do('next'),
      Home: () => this.seek(0),
      End: () => this.seek(this.end),
      '/': () => this.queryPart.focus(),
      n: () => this.otherHit(1),
      N: () => this.otherHit(-1),
      '+': () => this.faster(1),
      '-': () => this.faster(-1),
      i: () => this.idlePart.click(),
      z: () => this.do('zoom'),
      t: () => this.do('theme'),
      '?': () => this.do('help'),
    };
    const act = /^[0-9]$/.test(key) ? () => this.seek(this.end * key / 10) : keys[key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

function styled(name, text, names) {
  const element = document.createElement(name);
  element.textContent = text;
  element.className = names.filter(Boolean).join(' ');
  return element;
}

const players = new Map(); // by the element of the recording

function playerOf(root) {
  if (!players.has(root)) players.set(root, new Player(root));
  return players.get(root);
}

/* Of a page with more recordings, each is put together when its fold is opened. */
for (const root of document.querySelectorAll('.recording')) {
  if (!root.querySelector('.film')) continue;
  const fold = root.closest('details');
  if (!fold || fold.open) playerOf(root);
  else fold.addEventListener('toggle', () => { if (fold.open) playerOf(root); });
}

let current = null;
document.addEventListener('pointerdown', event => {
  current = event.target.closest('.recording') ?? current;
}, true);

document.addEventListener('keydown', event => {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches('input[type=search]')) {
    if (event.key === 'Escape') target.blur();
    return;
  }
  if (target.matches('select, textarea') || (target.matches('button, a, summary, input') && event.key === ' ')) return;
  const visible = [...players.keys()].filter(root => root.isConnected && root.getClientRects().length);
  const root = target.closest('.recording') ?? (visible.includes(current) ? current : visible[0]);
  if (players.has(root)) players.get(root).key(event);
});

addEventListener('beforeprint', () => {
  for (const stills of document.querySelectorAll('.stills')) stills.open = true;
});
