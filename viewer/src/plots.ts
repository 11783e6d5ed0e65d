// Plots over time: a line at the current time in each, click to seek, drag to zoom all of them.
import uPlot from 'uplot';
import { curveColour, format, padded, plainAxis, tickTexts } from './charts';
import { nearestIndex, type Column, type Events, type Replay, type RunData } from './data';
import { css } from './theme';

interface Curve {
  label: string;
  values: Column;
  colour: number;
  ghost?: Column;  // the same quantity of the second run, on its own times
}

interface PlotOptions {
  title: string;
  unit: string;
  curves: Curve[];
  log?: boolean;
  steps?: boolean;  // values that hold for a whole step
}

const HEIGHT = 150;
const CLICK_DISTANCE = 4;  // [px] a pointer that moved further dragged
const SHORT_LABEL = 9;     // [letters] that leave room for three columns in a legend
const FIRST_SHOWN = 8;     // positions drawn before the user picks

const DASH = [5, 4];       // [px] of the second run
const EVENT_STRENGTH = 0.35;
const ROUNDING = 1e-6;     // of the length: accumulated times of runs that end together

const colour = (curve: Curve): string => curveColour(curve.colour);

// Lines at impacts and lift-offs, behind the curves. What falls on the same pixel is drawn once.
function drawEvents(plot: uPlot, events: Events): void {
  const { left, top, width, height } = plot.bbox;
  const context = plot.ctx;
  context.save();
  context.globalAlpha = EVENT_STRENGTH;
  for (const [kind, name] of [[1, '--event-lift-off'], [0, '--event-impact']] as const) {
    const places = new Set<number>();
    for (let k = 0; k < events.time.length; ++k)
      if (events.kind[k] === kind) places.add(Math.round(plot.valToPos(events.time[k], 'x', true)));
    context.fillStyle = css(name);
    for (const x of places) if (x >= left && x <= left + width) context.fillRect(x, top, Math.max(1, uPlot.pxRatio), height);
  }
  context.restore();
}

// The series' times of both runs. The plots end where the first run does.
class Times {
  readonly ghost: Column | undefined;
  private readonly from: number = 0;
  private readonly end: number = 0;

  constructor(readonly run: Column, ghost?: Column) {
    if (!ghost) return;
    const room = ROUNDING * (run[run.length - 1] - run[0]);
    while (this.from < ghost.length && ghost[this.from] < run[0] - room) ++this.from;
    this.end = this.from;
    while (this.end < ghost.length && ghost[this.end] <= run[run.length - 1] + room) ++this.end;
    if (this.end > this.from) this.ghost = this.shown(ghost);
  }

  // The part of one of the ghost's columns that lies within the plots.
  shown(values: Column): Column {
    return values.subarray(this.from, this.end);
  }
}

class TimePlot {
  private readonly plot: uPlot;
  private readonly line = document.createElement('div');
  private readonly readouts: HTMLElement[] = [];
  private readonly ghosts: { curve: number; values: Column; readout: HTMLElement }[] = [];  // their series follow the curves'
  private ghostShown: boolean;
  private time = 0;

  constructor(readonly root: HTMLElement, private readonly options: PlotOptions, private readonly times: Times,
              seek: (t: number) => void, ghostShown: boolean, private readonly events: Events | undefined) {
    this.ghostShown = ghostShown;
    root.append(this.legend());
    const holder = document.createElement('div');
    holder.className = 'plot';
    holder.setAttribute('role', 'img');
    holder.setAttribute('aria-label', `${options.title} over time`);
    root.append(holder);
    this.plot = new uPlot(this.uplotOptions(Math.max(holder.clientWidth, 120)), this.data(), holder);
    this.line.className = 'now';
    this.plot.over.append(this.line);
    this.listenForClicks(seek);
    new ResizeObserver(() => {
      this.plot.setSize({ width: Math.max(holder.clientWidth, 120), height: HEIGHT });
      this.moveLine();
    }).observe(holder);
  }

  setTime(t: number): void {
    this.time = t;
    const i = nearestIndex(this.times.run, t);
    this.options.curves.forEach((curve, k) => { this.readouts[k].textContent = format(curve.values[i]); });
    this.updateGhosts();
    this.moveLine();
  }

  showGhost(on: boolean): void {
    this.ghostShown = on;
    this.ghosts.forEach((_, g) => this.plot.setSeries(this.ghostSeries(g), { show: this.showsGhost(g) }));
    this.updateGhosts();
  }

  redraw(): void {
    this.plot.redraw(false);
    this.root.querySelectorAll<HTMLElement>('.swatch').forEach((swatch, k) => {
      swatch.style.background = colour(this.options.curves[k]);
    });
  }

  destroy(): void {
    this.plot.destroy();
    this.root.replaceChildren();
  }

  private data(): uPlot.AlignedData {
    const usable = (v: number) => Number.isFinite(v) && (!this.options.log || v > 0);
    const table = (times: Column, columns: Column[]) =>
      [Array.from(times), ...columns.map((c) => Array.from(c, (v) => (usable(v) ? v : null)))] as uPlot.AlignedData;
    const own = table(this.times.run, this.options.curves.map((c) => c.values));
    if (this.ghosts.length === 0) return own;
    return uPlot.join([own, table(this.times.ghost!, this.ghosts.map((g) => g.values))]);
  }

  private ghostSeries(g: number): number {
    return 1 + this.options.curves.length + g;
  }

  private showsGhost(g: number): boolean {
    return this.ghostShown && this.plot.series[1 + this.ghosts[g].curve].show !== false;
  }

  private updateGhosts(): void {
    const times = this.times.ghost;
    if (!times) return;
    const i = nearestIndex(times, this.time);
    const over = this.time < times[0] || this.time > times[times.length - 1] + ROUNDING * (times[times.length - 1] - times[0]);
    for (const { values, readout } of this.ghosts) {
      readout.hidden = !this.ghostShown;
      readout.textContent = over ? '\u2013' : format(values[i]);
    }
  }

  private moveLine(): void {
    const x = this.plot.valToPos(this.time, 'x');
    const width = this.plot.over.clientWidth;
    this.line.hidden = !(x >= -1 && x <= width + 1);
    this.line.style.transform = `translateX(${x}px)`;
  }

  // Names, colours and values at the current time; a button hides and shows its curve.
  private legend(): HTMLElement {
    const legend = document.createElement('div');
    const ghosts = this.times.ghost !== undefined && this.options.curves.some((c) => c.ghost);
    legend.className = ghosts || this.options.curves.some((c) => c.label.length > SHORT_LABEL) ? 'legend wide' : 'legend';
    const heading = document.createElement('h2');
    heading.textContent = this.options.unit ? `${this.options.title} [${this.options.unit}]` : this.options.title;
    legend.append(heading);
    this.options.curves.forEach((curve, k) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.setAttribute('aria-pressed', 'true');
      button.title = `Show or hide ${curve.label}`;
      const swatch = document.createElement('span');
      swatch.className = 'swatch';
      swatch.style.background = colour(curve);
      const name = document.createElement('span');
      name.textContent = curve.label;
      const value = document.createElement('span');
      value.className = 'value';
      this.readouts.push(value);
      button.append(swatch, name, value);
      if (curve.ghost && this.times.ghost) {
        const readout = document.createElement('span');
        readout.className = 'value of-ghost';
        readout.title = `${curve.label} of the ghost`;
        button.append(readout);
        this.ghosts.push({ curve: k, values: this.times.shown(curve.ghost), readout });
      }
      button.addEventListener('click', () => {
        const show = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(show));
        this.plot.setSeries(k + 1, { show });
        const g = this.ghosts.findIndex((ghost) => ghost.curve === k);
        if (g >= 0) this.plot.setSeries(this.ghostSeries(g), { show: this.showsGhost(g) });
      });
      legend.append(button);
    });
    return legend;
  }

  private uplotOptions(width: number): uPlot.Options {
    const { curves, log, steps } = this.options;
    const times = this.times.run;
    const axis = plainAxis();
    const paths = steps ? uPlot.paths.stepped?.({ align: -1 }) : undefined;
    return {
      width, height: HEIGHT, pxAlign: false, legend: { show: false }, padding: [6, 8, 0, 0],
      cursor: {
        sync: { key: 'scree', setSeries: false }, y: false, points: { show: false },
        drag: { x: true, y: false, dist: CLICK_DISTANCE },
      },
      scales: {
        x: { time: false, ...(times.length < 2 && { range: [times[0] - 0.5, times[0] + 0.5] }) },
        y: log ? { distr: 3 } : { range: (_, low, high) => padded(low, high) },
      },
      axes: [
        { ...axis, size: 24, gap: 3, values: (_, ticks) => ticks.map((t, i) => (i === 0 ? `${t} s` : `${t}`)) },
        {
          ...axis, gap: 4, values: (_, ticks) => tickTexts(ticks, log === true),
          size: (_, texts) => Math.max(54, 14 + 6.5 * Math.max(0, ...(texts ?? []).map((t) => t.length))),
        },
      ],
      series: [{}, ...curves.map((c) => ({
        label: c.label, stroke: () => colour(c), width: 1.5, paths, points: { show: times.length < 2 },
      })), ...this.ghosts.map((g) => ({
        label: `${curves[g.curve].label}, ghost`, stroke: () => colour(curves[g.curve]), width: 1.25, dash: DASH, paths,
        points: { show: g.values.length < 2 }, show: this.ghostShown,
      }))],
      hooks: {
        setScale: [() => { if (this.plot) this.moveLine(); }],
        drawAxes: this.events ? [(plot) => drawEvents(plot, this.events!)] : [],
      },
    };
  }

  private listenForClicks(seek: (t: number) => void): void {
    const over = this.plot.over;
    let start = 0;
    over.addEventListener('pointerdown', (event) => { start = event.clientX; });
    over.addEventListener('click', (event) => {
      if (Math.abs(event.clientX - start) > CLICK_DISTANCE) return;
      seek(this.plot.posToVal(event.clientX - over.getBoundingClientRect().left, 'x'));
    });
  }
}

// The joint positions of one unit, with a picker where there are more than fit in a plot.
class PositionPlots {
  private plot: TimePlot | undefined;
  private readonly place = document.createElement('div');
  private readonly picker = document.createElement('details');
  private time = 0;
  private ghostShown = true;

  constructor(root: HTMLElement, private readonly title: string, private readonly unit: string,
              private readonly curves: Curve[], private readonly times: Times, private readonly seek: (t: number) => void,
              private readonly events: Events | undefined) {
    this.picker.className = 'picker';
    root.append(this.place, this.picker);
    this.picker.hidden = curves.length <= FIRST_SHOWN;
    this.picker.append(document.createElement('summary'), this.checkboxes());
    this.update();
  }

  setTime(t: number): void {
    this.time = t;
    this.plot?.setTime(t);
  }

  redraw(): void {
    this.plot?.redraw();
  }

  showGhost(on: boolean): void {
    this.ghostShown = on;
    this.plot?.showGhost(on);
  }

  private checkboxes(): HTMLElement {
    const list = document.createElement('div');
    list.className = 'choices';
    this.curves.forEach((curve, k) => {
      const label = document.createElement('label');
      const box = document.createElement('input');
      box.type = 'checkbox';
      box.checked = k < FIRST_SHOWN;
      box.addEventListener('change', () => this.update());
      label.append(box, document.createTextNode(curve.label));
      list.append(label);
    });
    return list;
  }

  private update(): void {
    const boxes = this.picker.querySelectorAll('input');
    const chosen = this.curves.filter((_, k) => boxes[k].checked).map((c, k) => ({ ...c, colour: k }));
    this.picker.firstElementChild!.textContent = `Showing ${chosen.length} of ${this.curves.length}: choose`;
    this.plot?.destroy();
    this.plot = new TimePlot(this.place, { title: this.title, unit: this.unit, curves: chosen },
                             this.times, this.seek, this.ghostShown, this.events);
    this.plot.setTime(this.time);
  }
}

type SingleColumn = 'base_height' | 'base_tilt' | 'base_travel' | 'normal_force' | 'penetration' | 'outer';

const totalEnergy = ({ series }: RunData): Column =>
  series.kinetic_energy.map((k, i) => k + series.potential_energy[i]) as Column;

export class Plots {
  private readonly plots: (TimePlot | PositionPlots)[] = [];

  constructor(root: HTMLElement, replay: Replay, seek: (t: number) => void) {
    const s = replay.series, ghost = replay.ghost, g = ghost?.series;
    const times = new Times(s.time, g?.time);
    const add = (options: Omit<PlotOptions, 'curves'>, columns: [string, Column, Column | undefined][]) => {
      const curves = columns.map(([label, values, other], k) => ({ label, values, colour: k, ghost: other }));
      this.plots.push(new TimePlot(section(root), { ...options, curves }, times, seek, true, replay.events));
    };
    add({ title: 'Energy', unit: 'J' },
        [['kinetic', s.kinetic_energy, g?.kinetic_energy], ['potential', s.potential_energy, g?.potential_energy],
         ['total', totalEnergy(replay), ghost && totalEnergy(ghost)]]);
    const addPositions = (title: string, unit: string) => {
      const same = (name: string) => ghost?.positions.findIndex((p) => p.name === name && p.unit === unit) ?? -1;
      const curves = replay.positions.flatMap((p, k) =>
        p.unit === unit ? [{ label: p.name, values: s.positions[k], colour: 0, ghost: g?.positions[same(p.name)] }] : []);
      if (curves.length > 0) this.plots.push(new PositionPlots(section(root), title, unit, curves, times, seek, replay.events));
    };
    const single = (title: string, unit: string, label: string, name: SingleColumn, steps = false) => {
      const values = s[name];
      if (values) add({ title, unit, steps }, [[label, values, g?.[name]]]);
    };
    single('Base height', 'm', 'world z', 'base_height');
    single('Base tilt from vertical', 'rad', 'angle', 'base_tilt');
    single('Travelled along x', 'm', 'base', 'base_travel');
    single('Total normal force', 'N', 'force', 'normal_force');
    single('Deepest penetration', 'm', 'depth', 'penetration');
    single('Outer iterations, per recorded row', '', 'iterations', 'outer', true);
    addPositions('Joint angles', 'rad');
    addPositions('Joint positions', 'm');
    add({ title: 'Solver, per recorded row', unit: '', steps: true },
        [['iterations', s.iterations, g?.iterations], ['substeps', s.substeps, g?.substeps],
         ['rejected', s.rejected, g?.rejected]]);
    if (s.residual.some((r) => r > 0))
      add({ title: 'Residual', unit: 'm/s\u00b2, rad/s\u00b2', log: true }, [['residual', s.residual, g?.residual]]);
    addPositions('Joint quaternions', '');
  }

  setTime(t: number): void {
    for (const plot of this.plots) plot.setTime(t);
  }

  redraw(): void {
    for (const plot of this.plots) plot.redraw();
  }

  showGhost(on: boolean): void {
    for (const plot of this.plots) plot.showGhost(on);
  }
}

function section(root: HTMLElement): HTMLElement {
  const element = document.createElement('section');
  root.append(element);
  return element;
}
