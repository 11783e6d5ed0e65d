// The fan page: branches over time and in space, and what a controller has to reckon with.
import { format } from './charts';
import { connectKeys, connectView, element, metres, Timeline, toggleButton } from './controls';
import { describeRows } from './data';
import { clusterColour, decodeFan, LEVELS, named } from './fan-data';
import { FanPlot, SpreadPlot } from './fan-plot';
import { ClusterTable, fillFailures, fillImpacts, fillSplit } from './fan-tables';
import { Motion } from './motion';
import { Player } from './player';
import { View } from './scene3d';
import { Theme } from './theme';

const MOST_GHOSTS = 8;

const fan = decodeFan(element('scree-data').textContent ?? '');
const { header } = fan;
document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';

function fillTexts(): void {
  document.title = `${header.title} \u2013 scree fan`;
  element('title').textContent = header.title || header.model;
  const split = header.first_split === null ? 'no split' : `first split at ${Number(header.first_split.toPrecision(6))} s`;
  element('subtitle').textContent = [
    header.model, `${header.branches} ${header.branches === 1 ? 'branch' : 'branches'}${fan.count < header.branches ? ` (${fan.count} drawn)` : ''}`, split,
    header.cluster_count > 1 ? `${header.cluster_count} clusters` : '',
    header.failed === 0 ? 'none failed' : `${header.failed} failed`, `computed in ${format(header.wall_time)} s`,
  ].filter((text) => text !== '').join(' \u00b7 ');
  const banner = element('banner');
  banner.hidden = !header.interrupted;
  banner.textContent = 'This fan was interrupted: it has the branches that were done by then.';
  const shown = fan.count < header.branches ? `Lines and replays: ${fan.count} of ${header.branches} branches, among them those that stand for clusters. Quantiles, counts and shares are of all.` : '';
  const notes = [
    `Rows: ${describeRows(header.stride, header.recorded_rows)}, first and last included; in between lines are straight.`,
    shown,
    'Quantiles are of the branches that reached the time, computed from the full data at the rows shown.',
    'Lines and replays have 16 bits per coordinate, from its smallest to its largest value: <RESOLUTION>.',
    'The median branch and the one that stands for a cluster are those nearest to the median motion of all, or of the cluster: least sum of squares over rows and positions, each divided by its range.',
    header.impacts.limit < Math.max(0, ...Array.from(fan.numbers, (_, i) => fan.impactTotal(i))) ? `Impacts: the first ${header.impacts.limit} of every branch.` : '',
    'Clusters are branches that do the same at every impact where others with the same past do something else; of those impacts the first few count.',
    header.note,
  ];
  for (const note of notes.filter((n) => n !== '')) element('notes').append(Object.assign(document.createElement('li'), { textContent: note }));
}
fillTexts();
const resolutionNote = Array.from(element('notes').children).find((li) => li.textContent!.includes('<RESOLUTION>'))!;

// --- 3-D view ---

const replay = fan.run(fan.poses(fan.indexOf(header.typical)));
const motion = new Motion(replay);
const ghosts = header.clusters.slice(0, MOST_GHOSTS)
  .map(({ representative }, k) => ({ motion: fan.motion(fan.indexOf(representative)), colour: clusterColour(k) }));

function makeView(): View | undefined {
  try {
    const made = new View(element<HTMLCanvasElement>('view'), replay, motion);
    made.frame(ghosts.map((ghost) => ghost.motion));
    made.fit();
    return made;
  } catch (error) {
    const message = element('no-webgl');
    message.textContent = 'No 3\u2011D view: this browser does not offer WebGL 2. Plots and tables work as usual.';
    message.hidden = false;
    element('view').hidden = element('tools').hidden = true;
    console.warn(error);
    return undefined;
  }
}
const view = makeView();
const player = new Player(fan.time, () => update());
const timeline = new Timeline(player);

// --- the chosen branch and coordinate ---

let selected = fan.indexOf(header.typical);
const seek = (t: number): void => player.seek(t);
const selectNumber = (number: number): void => select(fan.indexOf(number));
const plot = new FanPlot(element('fan'), element('readout'), fan, { seek, select });
const spread = new SpreadPlot(element('spread'), fan, seek);
const clusters = new ClusterTable(fan, selectNumber, (k, on) => plot.showCluster(k, on));
const field = element<HTMLInputElement>('branch');
const coordinate = element<HTMLSelectElement>('coordinate');
const clusterChoice = element<HTMLSelectElement>('cluster');

function describeBranch(): void {
  const number = fan.numbers[selected], cluster = fan.clusterOf(selected), facts = element('facts');
  const reason = fan.reasons.get(number), impacts = fan.impactTotal(selected);
  const parts = [
    cluster === undefined ? '' : `cluster ${cluster + 1}`, `${impacts} ${impacts === 1 ? 'impact' : 'impacts'}`,
    `final energy ${format(fan.finalEnergy(selected))} J`, `deepest ${metres(fan.penetration(selected))}`,
  ];
  facts.textContent = parts.filter((text) => text !== '').join(' \u00b7 ');
  const failure = element('failure');
  failure.hidden = !fan.failed(selected);
  const end = fan.time[Math.max(1, fan.reached[selected]) - 1];
  failure.textContent = `Branch ${number} ended early, after ${Number(end.toPrecision(6))} s${reason ? `: ${reason}` : ''}. It stays at its last pose.`;
}

// Above the slider: impacts of the branch.
function markImpacts(index: number): void {
  const length = player.end - player.first;
  const lines = length > 0 ? fan.impacts(index).map(({ time }) => `M${((1000 * (time - player.first)) / length).toFixed(2)} 0V1`) : [];
  element('event-marks').querySelector('.impact')!.setAttribute('d', lines.join(''));
}

function select(index: number): void {
  selected = index;
  field.value = String(fan.numbers[index]);
  const cluster = fan.clusterOf(index);
  clusterChoice.value = cluster !== undefined && cluster < header.clusters.length ? String(cluster) : '';
  replay.frames.poses.set(fan.poses(index));
  view?.motionChanged();
  plot.setSelected(index);
  clusters.setSelected(index);
  fillImpacts(fan, index, seek);
  markImpacts(index);
  describeBranch();
}

function setCoordinate(c: number): void {
  const { low, high, unit } = header.coordinates[c];
  coordinate.value = String(c);
  plot.setCoordinate(c);
  clusters.setCoordinate(c);
  resolutionNote.textContent = `Lines and replays have 16 bits per coordinate, from its smallest to its largest value: ${header.coordinates[c].name} within ${((high - low) / LEVELS / 2).toExponential(1)}${unit ? ` ${unit}` : ''}.`;
}

// The position whose branches part most, for its range: 5 to 95 %.
function widest(): number {
  const parts = header.coordinates.map(({ low, high, velocity }, c) => {
    if (velocity || !(high > low)) return 0;
    const [q05, , , , q95] = fan.quantiles(c);
    return q95.reduce((most, v, row) => (v - q05[row] > most ? v - q05[row] : most), 0) / (high - low);
  });
  return Math.max(0, parts.indexOf(Math.max(...parts)));
}

function connectChoice(): void {
  const group = (label: string, velocity: boolean) => {
    const list = Object.assign(document.createElement('optgroup'), { label });
    header.coordinates.forEach((c, k) => { if (c.velocity === velocity) list.append(new Option(named(c), String(k))); });
    if (list.childElementCount > 0) coordinate.append(list);
  };
  group('Positions', false);
  group('Velocities', true);
  coordinate.addEventListener('change', () => setCoordinate(Number(coordinate.value)));
  const last = Math.max(...fan.numbers, header.branches - 1);
  field.max = String(last);
  field.addEventListener('change', () => {
    const wanted = Math.round(Number(field.value));
    const index = fan.indexOf(Math.min(last, Math.max(0, wanted)));
    field.value = String(fan.numbers[index]);
    if (index !== selected) select(index);  // leaving the field by a click in a table must not rebuild that table
  });
  header.clusters.forEach(({ count }, k) => clusterChoice.append(new Option(`${k + 1} (${count} ${count === 1 ? 'branch' : 'branches'})`, String(k))));
  clusterChoice.disabled = header.clusters.length === 0;
  clusterChoice.addEventListener('change', () => selectNumber(header.clusters[Number(clusterChoice.value)].representative));
  const next = (by: number) => select((selected + by + fan.count) % fan.count);
  element('previous-branch').addEventListener('click', () => next(-1));
  element('next-branch').addEventListener('click', () => next(1));
  element('random').addEventListener('click', () => select(Math.floor(Math.random() * fan.count)));
  element('median').addEventListener('click', () => selectNumber(header.typical));
  for (const id of ['random', 'previous-branch', 'next-branch']) element<HTMLButtonElement>(id).disabled = fan.count === 1;
}

function connectGhosts(): void {
  element('ghost').hidden = header.clusters.length < 2 || !view;
  const note = header.clusters.length > MOST_GHOSTS ? ` (the ${MOST_GHOSTS} largest)` : '';
  element('ghost').title = `The branches that stand for the clusters${note}, translucent, in the colours of the plot (G)`;
  toggleButton('ghost', (on) => {
    view?.setCompanions(on ? ghosts : []);
    if (on) view?.fit();
  });
}

const theme = new Theme((dark) => {
  element('theme').setAttribute('aria-pressed', String(dark));
  view?.applyTheme(dark);
  plot.redraw();
  spread.redraw();
  clusters.paint();
});

function update(): void {
  timeline.update();
  plot.setTime(player.time);
  const apart = spread.setTime(player.time);
  element('spread-now').textContent = `${format(apart)} m at ${player.time.toFixed(3)} s`;
  view?.setTime(player.time);
}

connectChoice();
connectGhosts();
fillSplit(fan, seek);
fillFailures(fan, selectNumber);
element('clusters-section').hidden = header.clusters.length === 0;
element('theme').addEventListener('click', () => theme.toggle());
if (view) {
  connectView(view);
  element('scale').textContent = view.hasGrid ? `Grid at z = ${metres(view.groundHeight)}, cells ${metres(view.cell)}` : '';
}
const click = (id: string) => () => element(id).click();
connectKeys(player, timeline, theme, { g: click('ghost'), r: click('random'), m: click('median'), ',': click('previous-branch'), '.': click('next-branch') });
theme.apply();
setCoordinate(widest());
select(selected);
update();

// For tests and for the curious at the console.
Object.assign(window, { scree: { fan, player, view, plot, spread, get selected() { return selected; } } });
