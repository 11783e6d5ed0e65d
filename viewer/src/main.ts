// Puts the page together.
import { ComparePanel, Comparison } from './compare';
import { MOST_IDLE } from './contacts';
import { connectContacts, connectKeys, connectView, describeScale, element, markSteps, Timeline, toggleButton } from './controls';
import { decode, describeRows, lastTime, type Replay, type RunData } from './data';
import { EventTable, markEvents } from './events';
import { Motion } from './motion';
import { Player } from './player';
import { Plots } from './plots';
import { View } from './scene3d';
import { Theme } from './theme';

const STATUS: Record<string, string> = {
  complete: '',
  step_failed: 'This run stopped early: a step did not converge. The replay ends before it.',
  interrupted: 'This run was interrupted. The replay ends where it stopped.',
};

// Name and value; with a ghost its value in a second column, where it differs in full ink.
function fillSettings({ settings, ghost }: Replay): void {
  const body = element('settings').querySelector('tbody')!;
  const other = new Map(ghost?.settings);
  const names = [...settings.map(([name]) => name), ...[...other.keys()].filter((name) => !settings.some(([n]) => n === name))];
  const values = new Map(settings);
  const addRow = (name: string, cells: string[]): HTMLTableRowElement => {
    const row = body.insertRow();
    const head = document.createElement('th');
    head.scope = 'row';
    head.textContent = name;
    row.append(head);
    for (const cell of cells) row.insertCell().textContent = cell;
    return row;
  };
  if (!ghost) {
    for (const [name, value] of settings) addRow(name, [value]);
    return;
  }
  addRow('', ['run', 'ghost']).className = 'runs';
  for (const name of names) {
    const row = addRow(name, [values.get(name) ?? '\u2013', other.get(name) ?? '\u2013']);
    row.cells[2].classList.toggle('same', values.get(name) === other.get(name));
  }
}

function describeGhost(run: RunData, ghost: RunData): string[] {
  const rows = ghost.recorded_rows;
  const longer = lastTime(ghost) > lastTime(run) ? ' It goes on after the run; the timeline does not.' : '';
  return [
    `Ghost: 3\u2011D view ${describeRows(ghost.frames.stride, rows)}, plots ${describeRows(ghost.series.stride, rows)}.${longer}`,
    'The ghost is translucent in the 3\u2011D view, dashed in the plots and italic in their legends, where the quantity exists in both runs.',
    'Ground and forces are those of the run. Distances are those of the bodies as shown; the largest is taken over the frames of both, while both last.',
  ];
}

function fillTexts(replay: Replay): void {
  const { series, frames, bodies, recorded_rows: recorded } = replay;
  const length = frames.time[frames.time.length - 1] - frames.time[0];
  document.title = `${replay.title} \u2013 scree replay`;
  element('title').textContent = replay.title || replay.model;
  const shown = frames.stride === series.stride
    ? `showing ${describeRows(frames.stride, recorded)}`
    : `3\u2011D shows ${describeRows(frames.stride, recorded)}, plots ${describeRows(series.stride, recorded)}`;
  element('subtitle').textContent =
    `${replay.model} \u00b7 ${bodies.length} ${bodies.length === 1 ? 'body' : 'bodies'} \u00b7 ` +
    `${Number(length.toPrecision(6))} s \u00b7 ${shown}`;
  element('status').textContent = replay.status.replace('_', ' ');
  element('status').dataset.status = replay.status;
  const warning = STATUS[replay.status] ?? `Run status: ${replay.status}`;
  element('banner').textContent = warning;
  element('banner').hidden = warning === '';

  fillSettings(replay);
  const notes = [
    `3\u2011D view: ${describeRows(frames.stride, recorded)} (${frames.time.length} frames, at most 60 per second), first and last included; in between positions are interpolated.`,
    `Plots: ${describeRows(series.stride, recorded)} (${series.time.length} points), first and last included.`,
    series.stride > 1 ? `Iterations, substeps, rejected tries${replay.contact ? ', forces, penetration' : ''} and residual are the largest of the rows each point stands for.` : '',
    replay.events ? 'Marks above the slider: impacts (pink), lift\u2011off (blue-green), contacts that come to rest (grey). Lines in the plots: impacts and lift\u2011off.' : '',
    replay.contact && replay.contact.points.length > MOST_IDLE
      ? `Of the ${replay.contact.points.length} contact points those that touch are drawn.` : '',
    replay.note,
    ...(replay.ghost ? describeGhost(replay, replay.ghost) : []),
  ];
  for (const note of notes.filter((n) => n !== '')) element('notes').append(Object.assign(document.createElement('li'), { textContent: note }));
}

function makeView(replay: Replay, motion: Motion, ghost: Motion | undefined): View | undefined {
  try {
    return new View(element<HTMLCanvasElement>('view'), replay, motion, ghost);
  } catch (error) {
    const message = element('no-webgl');
    message.textContent = 'No 3\u2011D view: this browser does not offer WebGL 2. Plots, timeline and settings work as usual.';
    message.hidden = false;
    element('view').hidden = element('tools').hidden = true;
    console.warn(error);
    return undefined;
  }
}

const replay = decode(element('scree-data').textContent ?? '');
fillTexts(replay);
document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';

const motion = new Motion(replay), ghost = replay.ghost && new Motion(replay.ghost);
const comparison = ghost && new Comparison(motion, ghost);
const view = makeView(replay, motion, ghost);
const player = new Player(replay.frames.time, () => update());
const timeline = new Timeline(player);
markSteps(replay);
markEvents(replay);
const plots = new Plots(element('plots'), replay, (t) => player.seek(t));
const showContacts = view && connectContacts(view);
const eventTable = replay.events && new EventTable(replay.events, (t) => player.seek(t));
const panel = comparison && new ComparePanel(replay, replay.ghost!, comparison, view?.ghostDistance);
const theme = new Theme((dark) => {
  element('theme').setAttribute('aria-pressed', String(dark));
  view?.applyTheme(dark);
  plots.redraw();
});

function update(): void {
  timeline.update();
  plots.setTime(player.time);
  view?.setTime(player.time);
  showContacts?.();
  panel?.setTime(player.time);
  eventTable?.setTime(player.time);
}

function connectGhost(): void {
  for (const id of ['ghost', 'beside', 'ghost-keys', 'ghost-keys-text']) element(id).hidden = false;
  element('beside').title = `Draw the ghost ${view?.ghostDistance ?? 0} m beside the run, along y (B)`;
  toggleButton('ghost', (on) => {
    view?.setGhost(on);
    plots.showGhost(on);
  });
  toggleButton('beside', (on) => {
    view?.setBeside(on);
    panel?.setBeside(on);
  });
}

element('theme').addEventListener('click', () => theme.toggle());
if (view) {
  connectView(view);
  element('scale').textContent = describeScale(view);
}
if (ghost) connectGhost();
connectKeys(player, timeline, theme, { g: () => element('ghost').click(), b: () => element('beside').click() });
theme.apply();
update();

// For tests and for the curious at the console.
Object.assign(window, {
  scree: { replay, player, view, plots, comparison, seriesLength: replay.series.time.length, frameCount: replay.frames.time.length },
});
