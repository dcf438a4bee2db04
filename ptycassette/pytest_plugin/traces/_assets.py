"""The script of the page of a trace."""

from __future__ import annotations

SCRIPT = """
for (const run of document.querySelectorAll('.timeline')) {
  const frames = [...run.querySelectorAll('.frame')];
  const shots = [...run.querySelectorAll('.shot')];
  const slider = run.querySelector('input');
  const only = one => { for (const each of [...frames, ...shots]) each.hidden = each !== one; };
  const mark = cell => {
    for (const each of run.querySelectorAll('.here')) each.classList.remove('here');
    if (cell) cell.classList.add('here');
  };
  slider.hidden = frames.length < 2;
  slider.addEventListener('input', () => { only(frames[slider.value]); mark(null); });
  run.addEventListener('click', event => {
    const button = event.target.closest('button');
    if (!button) return;
    const shot = shots[button.dataset.shot];
    const frame = frames[button.dataset.frame];
    if (frame) slider.value = button.dataset.frame;
    if (shot || frame) { only(shot || frame); mark(button.closest('td')); }
  });
}
"""
