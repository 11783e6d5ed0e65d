// Plots over time: a line at the current time in each, click to seek, drag to zoom all of them.
import uPlot from 'uplot';
import { curveColour, format, padded, plainAxis, tickTexts } from './charts';
import { nearestIndex, type Column, type Replay } from './data';

interface Curve { label: string; values: Column; colour: number }

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

const colour = (curve: Curve): string => curveColour(curve.colour);

class TimePlot {
  private readonly plot: uPlot;
  private readonly line = document.createElement('div');
  private readonly readouts: HTMLElement[] = [];
  private time = 0;

  constructor(readonly root: HTMLElement, private readonly options: PlotOptions, private readonly times: Column,
              seek: (t: number) => void) {
    const usable = (v: number) => Number.isFinite(v) && (!options.log || v > 0);
    const data = [Array.from(times), ...options.curves.map((c) => Array.from(c.values, (v) => (usable(v) ? v : null)))];
    root.append(this.legend());
    const holder = document.createElement('div');
    holder.className = 'plot';
    holder.setAttribute('role', 'img');
    holder.setAttribute('aria-label', `${options.title} over time`);
    root.append(holder);
    this.plot = new uPlot(this.uplotOptions(Math.max(holder.clientWidth, 120)), data as uPlot.AlignedData, holder);
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
    const i = nearestIndex(this.times, t);
    this.options.curves.forEach((curve, k) => { this.readouts[k].textContent = format(curve.values[i]); });
    this.moveLine();
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

  private moveLine(): void {
    const x = this.plot.valToPos(this.time, 'x');
    const width = this.plot.over.clientWidth;
    this.line.hidden = !(x >= -1 && x <= width + 1);
    this.line.style.transform = `translateX(${x}px)`;
  }

  // Names, colours and values at the current time; a button hides and shows its curve.
  private legend(): HTMLElement {
    const legend = document.createElement('div');
    legend.className = this.options.curves.some((c) => c.label.length > SHORT_LABEL) ? 'legend wide' : 'legend';
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
      button.addEventListener('click', () => {
        const show = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(show));
        this.plot.setSeries(k + 1, { show });
      });
      legend.append(button);
    });
    return legend;
  }

  private uplotOptions(width: number): uPlot.Options {
    const { curves, log, steps } = this.options;
    const axis = plainAxis();
    const paths = steps ? uPlot.paths.stepped?.({ align: -1 }) : undefined;
    return {
      width, height: HEIGHT, pxAlign: false, legend: { show: false }, padding: [6, 8, 0, 0],
      cursor: {
        sync: { key: 'scree', setSeries: false }, y: false, points: { show: false },
        drag: { x: true, y: false, dist: CLICK_DISTANCE },
      },
      scales: {
        x: { time: false, ...(this.times.length < 2 && { range: [this.times[0] - 0.5, this.times[0] + 0.5] }) },
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
        label: c.label, stroke: () => colour(c), width: 1.5, paths, points: { show: this.times.length < 2 },
      }))],
      hooks: { setScale: [() => { if (this.plot) this.moveLine(); }] },
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

  constructor(root: HTMLElement, private readonly title: string, private readonly unit: string,
              private readonly curves: Curve[], private readonly replay: Replay, private readonly seek: (t: number) => void) {
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
                             this.replay.series.time, this.seek);
    this.plot.setTime(this.time);
  }
}

export class Plots {
  private readonly plots: (TimePlot | PositionPlots)[] = [];

  constructor(root: HTMLElement, replay: Replay, seek: (t: number) => void) {
    const s = replay.series;
    const add = (options: Omit<PlotOptions, 'curves'>, columns: [string, Column][]) => {
      const curves = columns.map(([label, values], k) => ({ label, values, colour: k }));
      this.plots.push(new TimePlot(section(root), { ...options, curves }, s.time, seek));
    };
    const total = s.kinetic_energy.map((k, i) => k + s.potential_energy[i]) as Column;
    add({ title: 'Energy', unit: 'J' },
        [['kinetic', s.kinetic_energy], ['potential', s.potential_energy], ['total', total]]);
    const addPositions = (title: string, unit: string) => {
      const curves = replay.positions.flatMap((p, k) =>
        p.unit === unit ? [{ label: p.name, values: s.positions[k], colour: 0 }] : []);
      if (curves.length > 0) this.plots.push(new PositionPlots(section(root), title, unit, curves, replay, seek));
    };
    const single = (title: string, unit: string, label: string, values: Column | undefined, steps = false) => {
      if (values) add({ title, unit, steps }, [[label, values]]);
    };
    single('Base height', 'm', 'world z', s.base_height);
    single('Base tilt from vertical', 'rad', 'angle', s.base_tilt);
    single('Travelled along x', 'm', 'base', s.base_travel);
    single('Total normal force', 'N', 'force', s.normal_force);
    single('Deepest penetration', 'm', 'depth', s.penetration);
    single('Outer iterations, per recorded row', '', 'iterations', s.outer, true);
    addPositions('Joint angles', 'rad');
    addPositions('Joint positions', 'm');
    add({ title: 'Solver, per recorded row', unit: '', steps: true },
        [['iterations', s.iterations], ['substeps', s.substeps], ['rejected', s.rejected]]);
    if (s.residual.some((r) => r > 0))
      add({ title: 'Residual', unit: 'm/s\u00b2, rad/s\u00b2', log: true }, [['residual', s.residual]]);
    addPositions('Joint quaternions', '');
  }

  setTime(t: number): void {
    for (const plot of this.plots) plot.setTime(t);
  }

  redraw(): void {
    for (const plot of this.plots) plot.redraw();
  }
}

function section(root: HTMLElement): HTMLElement {
  const element = document.createElement('section');
  root.append(element);
  return element;
}
