// The impact page: bodies that move before and after, planes of contact velocities, a table of outcomes.
import { cleaned, digits, Impact, lawColour, Outcome, pretty, Shown, velocityOf } from './impact-data';
import { Picture } from './impact-picture';
import { Layer, Plane, PlaneData } from './impact-planes';
import { css, Theme } from './theme';

const PLAY_SECONDS = 3.2;  // from one end to the other
const MOST_COLUMNS = 8;    // velocities of contacts in the table
const MOST_PLANES = 6;

const element = <T extends Element = HTMLElement>(id: string): T => document.getElementById(id) as unknown as T;
const data = JSON.parse(element('scree-data').textContent ?? '') as Impact;
const { quantities } = data;
const speed = Math.max(1e-300, ...data.v.map(Math.abs));
const value = (v: number): string => digits(cleaned(v, speed));

document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
document.title = `${data.title} \u2013 scree impact`;
element('title').textContent = data.title;
element('subtitle').textContent =
  `${data.scene} \u00b7 ${data.dofs.length} degrees of freedom \u00b7 ${data.contacts.length} contact${data.contacts.length === 1 ? '' : 's'}`;

// --- What can be looked at ------------------------------------------------------------------------------------------

const ratioOf = (o: Outcome): string => (o.before > 0 ? value(o.after / o.before) : '\u2013');
const shown: Shown[] = data.outcomes.map((outcome, k) => ({
  name: `${k + 1}: ${outcome.law}${outcome.note ? `, ${outcome.note}` : ''}`, group: 'Laws', law: outcome.law, v: outcome.v, outcome,
}));
for (const extreme of data.set?.extremes ?? [])
  shown.push({ name: `${pretty(extreme.name.replace(/^(\S+) /, ''))} ${extreme.name.split(' ')[0]}: ${value(extreme.value)} m/s`, group: 'Extremes found in the set', law: 'set', v: extreme.v, outcome: null });
if (shown.length === 0) shown.push({ name: 'before', group: 'Laws', law: 'set', v: data.v, outcome: null });

let selected = Math.max(0, data.outcomes.findIndex((o) => o.law === data.law));
let time = 0;
let playing = false;

const select = element<HTMLSelectElement>('outcome');
for (const group of new Set(shown.map((s) => s.group))) {
  const holder = document.createElement('optgroup');
  holder.label = group;
  shown.forEach((s, k) => { if (s.group === group) holder.append(new Option(s.name, String(k))); });
  select.append(holder);
}
select.addEventListener('change', () => choose(Number(select.value)));

// --- Picture --------------------------------------------------------------------------------------------------------

const picture = data.dimension > 0 ? new Picture(element<SVGSVGElement>('scene'), data, shown.map((s) => s.v)) : null;
element('picture').hidden = !picture;
const scrub = element<HTMLInputElement>('scrub');

function drawPicture(): void {
  if (!picture) return;
  picture.show(shown[selected].v, time * picture.span);
  const seconds = time * picture.span;
  element('clock').textContent = `${seconds > 0 ? '+' : ''}${seconds === 0 ? '0' : seconds.toPrecision(3)} s`;
  scrub.value = String(time);
}

function setPlaying(on: boolean): void {
  playing = on;
  element('play').textContent = on ? 'Pause' : 'Play';
  element('play').setAttribute('aria-label', on ? 'Pause' : 'Play');
  if (!on) return;
  if (time >= 1) time = -1;
  let last = performance.now();
  const tick = (now: number) => {
    if (!playing) return;
    time += (2 * Math.max(0, now - last)) / (1000 * PLAY_SECONDS);
    last = now;
    if (time >= 1) {
      if (element<HTMLInputElement>('loop').checked) time = -1;
      else { time = 1; setPlaying(false); }
    }
    drawPicture();
    if (playing) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}
element('play').addEventListener('click', () => {
  if (!playing && time === 0) time = -1;
  setPlaying(!playing);
});
scrub.addEventListener('input', () => {
  setPlaying(false);
  time = Math.abs(Number(scrub.value)) < 0.012 ? 0 : Number(scrub.value);
  drawPicture();
});
if (picture) {
  element('picture-note').textContent = 'Grey arrows: velocities before the impact, at time 0. Orange arrows: after. '
    + 'Between impacts bodies move freely, without gravity; what would touch later is not looked at.'
    + (data.dimension === 3 ? ' Drag to turn the view.' : '');
  new ResizeObserver(() => drawPicture()).observe(element('scene'));
}

// --- Planes ---------------------------------------------------------------------------------------------------------

const shared = new PlaneData(data, shown);
const planes: Plane[] = [];

function firstPlanes(): [number, number][] {
  const find = (contact: number, tangent: number) => quantities.findIndex((q) => q.contact === contact && q.tangent === tangent);
  const list: [number, number][] = [];
  const contacts = data.contacts.length;
  for (let i = 0; i + 1 < contacts && list.length < 3; i += 2) list.push([find(i, -1), find(i + 1, -1)]);
  if (contacts === 3) list.push([find(0, -1), find(2, -1)]);
  for (let i = 0; i < contacts && list.length < MOST_PLANES; ++i)
    if (find(i, 0) >= 0) list.push([find(i, 0), find(i, -1)]);
  if (list.length === 0 && quantities.length > 0) list.push([0, 0]);
  return list;
}
for (const [x, y] of firstPlanes()) planes.push(new Plane(element('planes'), shared, x, y));
element('planes-section').hidden = planes.length === 0;

function drawKey(canvas: HTMLCanvasElement, layer: Layer): void {
  canvas.width = 28;
  canvas.height = 20;
  const c = canvas.getContext('2d');
  if (!c) return;
  c.scale(2, 2);
  c.clearRect(0, 0, 14, 10);
  c.strokeStyle = c.fillStyle = css(layer.colour);
  c.lineWidth = 1.6;
  if (layer.kind === 'dash') c.setLineDash([3, 2]);
  c.beginPath();
  if (layer.kind === 'line' || layer.kind === 'dash') { c.moveTo(0, 5); c.lineTo(14, 5); c.stroke(); return; }
  if (layer.kind === 'area') { c.rect(1.5, 1.5, 11, 7); c.stroke(); return; }
  if (layer.key === 'anitescu-potra') { c.moveTo(7, 0.5); c.lineTo(11.5, 5); c.lineTo(7, 9.5); c.lineTo(2.5, 5); c.closePath(); }
  else if (layer.key === 'sequential') c.rect(4, 2, 6, 6);
  else c.arc(7, 5, layer.kind === 'dots' ? 2 : 3.4, 0, 2 * Math.PI);
  if (layer.key === 'before') c.stroke(); else c.fill();
}
const keys: [HTMLCanvasElement, Layer][] = [];
for (const layer of shared.layers) {
  const button = document.createElement('button');
  button.type = 'button';
  button.setAttribute('aria-pressed', String(layer.on));
  button.title = `Show or hide ${layer.name}`;
  const key = document.createElement('canvas');
  key.className = 'key';
  keys.push([key, layer]);
  button.append(key, Object.assign(document.createElement('span'), { textContent: layer.name }));
  button.addEventListener('click', () => {
    layer.on = !layer.on;
    button.setAttribute('aria-pressed', String(layer.on));
    for (const plane of planes) plane.draw();
  });
  element('plane-legend').append(button);
}
{
  const parts = ['Wheel: zoom, drag: move, double click: fit.'];
  if (data.set) {
    parts.push(`${data.set.shown} of ${data.set.finished} outcomes of samples are on this page, at most one a cell of a 100 by 100 grid in each plane;`
      + ` courses are those of the first ${data.set.pathLengths.length}.`);
  }
  const strides = data.outcomes.filter((o) => o.stride > 1);
  if (strides.length > 0) parts.push(`Of long courses of laws every ${Math.max(...strides.map((o) => o.stride))}th point is drawn.`);
  element('planes-note').textContent = parts.join(' ');
}

// --- Tables ---------------------------------------------------------------------------------------------------------

function fillSet(): void {
  const { set } = data;
  element('set-section').hidden = !set;
  if (!set) return;
  const percent = (n: number, of: number) => (of > 0 ? `${((100 * n) / of).toFixed(2)} %` : '\u2013');
  element('set-facts').textContent = `${set.samples} samples (${set.sampler}), ${percent(set.finished, set.samples)} finished within ${set.maxSteps} increments `
    + `of at most ${digits(set.step)} N s; ${digits(set.increments / Math.max(1, set.samples))} increments an impact, at most ${set.mostIncrements}. `
    + `Energy ratio ${value(set.energy[0])} to ${value(set.energy[1])}. Total normal impulse at most ${digits(set.largestImpulse)} N s`
    + (set.impulseBound === null ? '.' : `, by the bound ${digits(set.impulseBound)} N s.`);
  const shares = element('shares').querySelector('tbody')!;
  const most = Math.max(1, ...set.modes.map((m) => m.count));
  for (const mode of set.modes) {
    const row = shares.insertRow();
    row.insertCell().textContent = percent(mode.count, set.finished);
    const bar = Object.assign(document.createElement('div'), { className: 'share' });
    bar.style.width = `${(100 * mode.count) / most}%`;
    row.insertCell().append(bar);
    row.insertCell().textContent = mode.name;
  }
  if (set.modeCount > set.modes.length) {
    const row = shares.insertRow();
    row.insertCell();
    row.insertCell();
    row.insertCell().textContent = `${set.modeCount - set.modes.length} more`;
  }
  const ranges = element('ranges').querySelector('tbody')!;
  quantities.forEach((q, k) => {
    const row = ranges.insertRow();
    const { range, bound } = set.ranges[k];
    for (const text of [pretty(q.name), value(velocityOf(q, data.v)), ...[...range, ...bound].map((x) => (x === null ? '\u2013' : value(x)))])
      row.insertCell().textContent = text;
  });
}

function certificateText(o: Outcome): string {
  const c = o.certificate;
  if (!c) return '';
  const drift = Math.max(Math.abs(c.energy[0] - 1), Math.abs(c.energy[1] - 1));
  return [c.holds ? 'holds' : 'does not hold', c.w > 0 ? `margin ${digits(1 / c.w)}` : '', c.cap === null ? '' : `at most ${digits(c.cap)} steps`,
    drift < 0.1 ? `energy kept to ${drift.toExponential(0)}` : `energy ratio in [${digits(c.energy[0])}, ${digits(c.energy[1])}]`,
    `${c.bits} bits`, c.jammed.length > 0 ? `jammed: ${c.jammed.join(', ')}` : ''].filter(Boolean).join(', ');
}

const columns = quantities.filter((q) => 2 * data.contacts.length <= MOST_COLUMNS || q.tangent < 0).slice(0, MOST_COLUMNS);
const rows: HTMLTableRowElement[] = [];
function fillOutcomes(): void {
  const table = element<HTMLTableElement>('outcomes');
  const certified = data.outcomes.some((o) => o.certificate);
  const heads = ['', 'law', 'status', 'steps', 'energy ratio', ...columns.map((q) => pretty(q.name)), ...(certified ? ['certificate'] : []), 'note'];
  const head = table.tHead!.insertRow();
  for (const text of heads) head.append(Object.assign(document.createElement('th'), { scope: 'col', textContent: text }));
  data.outcomes.forEach((o, k) => {
    const row = table.tBodies[0].insertRow();
    row.tabIndex = 0;
    const cell = (text: string, className = '') => { const c = row.insertCell(); c.textContent = text; if (className) c.className = className; return c; };
    cell(String(k + 1));
    const law = cell('');
    const dot = Object.assign(document.createElement('span'), { className: 'dot' });
    dot.style.background = `var(${lawColour(o.law, shared.rank(k))})`;
    law.append(dot, o.law);
    cell(o.status, o.status === 'resolved' ? '' : 'bad');
    cell(String(o.steps));
    cell(ratioOf(o));
    for (const q of columns) cell(value(velocityOf(q, o.v)));
    if (certified) cell(certificateText(o), o.certificate ? 'note-cell wide' : 'note-cell');
    cell(o.note, 'note-cell');
    row.addEventListener('click', () => choose(k));
    row.addEventListener('keydown', (e) => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); choose(k); } });
    rows.push(row);
  });
  element('outcomes-section').hidden = data.outcomes.length === 0;
  element('notes').append(...data.notes.map((textContent) => Object.assign(document.createElement('p'), { textContent })));
}

function fillVelocities(): void {
  const body = element('velocities').querySelector('tbody')!;
  body.replaceChildren();
  data.dofs.forEach((dof, k) => {
    const row = body.insertRow();
    row.insertCell().textContent = dof.unit ? `${dof.name} [${dof.unit}]` : dof.name;
    row.insertCell().textContent = value(data.v[k]);
    row.insertCell().textContent = value(shown[selected].v[k]);
  });
}

function choose(k: number): void {
  selected = k;
  shared.selected = k;
  select.value = String(k);
  const s = shown[k];
  element('facts').textContent = s.outcome
    ? `${s.outcome.status}, ${s.outcome.steps} step${s.outcome.steps === 1 ? '' : 's'}, kinetic energy ${digits(s.outcome.before)} J before, ${ratioOf(s.outcome)} of it after`
    : '';
  rows.forEach((row, i) => row.setAttribute('aria-selected', String(i === k)));
  fillVelocities();
  drawPicture();
  for (const plane of planes) plane.draw();
}

fillSet();
fillOutcomes();
choose(selected);
const theme = new Theme((dark) => {
  element('theme').setAttribute('aria-pressed', String(dark));
  for (const [canvas, layer] of keys) drawKey(canvas, layer);
  for (const plane of planes) plane.draw();
});
element('theme').addEventListener('click', () => theme.toggle());
theme.apply();

// For tests and for the curious at the console.
Object.assign(window, { scree: { data, shown, choose, planes, picture } });
