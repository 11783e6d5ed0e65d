// The study page: what a paper reports next to what scree finds, and the figures.
import uPlot from 'uplot';
import { curveColour, format, padded, plainAxis, tickTexts } from './charts';
import { css, Theme } from './theme';

interface Row { quantity: string; unit: string; paper: string; scree: number | string | null; goal: string; verdict: string }
interface Axis { label: string; unit: string; log: boolean }
interface Series { name: string; x: number[]; y: (number | null)[]; dashed: boolean }
interface Figure { title: string; x: Axis; y: Axis; series: Series[]; notes: string[] }
interface Study {
  name: string;
  title: string;
  summary: string;
  rows: Row[];
  figures: Figure[];
  settings: [string, string][];
}

const HEIGHT = 250;
const FEW_POINTS = 60;  // up to here every point of a series is marked

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

const named = (axis: Axis): string => (axis.unit ? `${axis.label} [${axis.unit}]` : axis.label);

// Four digits; a number that is not one was written as null.
const number = (value: number | string | null): string => {
  if (typeof value === 'string') return value;
  if (value === null) return '\u2013';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return String(value);
  return size < 1e-3 || size >= 1e6 ? value.toExponential(3) : String(Number(value.toPrecision(4)));
};

// On a logarithmic axis plain numbers around 1, powers of ten beyond; uPlot also has a tick where the axis begins.
const texts = (ticks: (number | null)[], log: boolean): string[] => {
  if (!log) return tickTexts(ticks, false);
  const round = (v: number) => Math.abs(Number(v.toPrecision(1)) - v) < 1e-6 * v;
  return ticks.map((v) => {
    if (v === null || !round(v)) return '';
    return v >= 0.009 && v < 1e3 ? String(Number(v.toPrecision(1))) : v.toExponential(0).replace('+', '');
  });
};

function fillTable(rows: Row[]): void {
  const body = element('rows').querySelector('tbody')!;
  const heads = Array.from(document.querySelectorAll('#rows thead th'), (th) => th.textContent ?? '');
  for (const row of rows) {
    const line = body.insertRow();
    const scree = number(row.scree);
    [row.quantity, row.unit, row.paper, scree, row.goal].forEach((text, k) => {
      const cell = line.insertCell();
      cell.dataset.name = heads[k];
      cell.textContent = text;
    });
    const badge = Object.assign(document.createElement('span'), { className: 'badge', textContent: row.verdict });
    badge.dataset.verdict = row.verdict;
    line.insertCell().append(badge);
  }
  element('rows').hidden = rows.length === 0;
}

class Chart {
  private readonly plot: uPlot;
  private readonly swatches: HTMLElement[] = [];
  private readonly readouts: HTMLElement[] = [];

  constructor(root: HTMLElement, private readonly figure: Figure) {
    const frame = document.createElement('figure');
    root.append(frame);
    frame.append(this.legend());
    const holder = document.createElement('div');
    holder.className = 'plot';
    holder.setAttribute('role', 'img');
    holder.setAttribute('aria-label', `${figure.title}: ${figure.y.label} over ${figure.x.label}`);
    frame.append(holder);
    if (figure.notes.length > 0) {
      const caption = document.createElement('figcaption');
      caption.append(...figure.notes.map((textContent) => Object.assign(document.createElement('p'), { textContent })));
      frame.append(caption);
    }
    this.plot = new uPlot(this.options(Math.max(holder.clientWidth, 120)), this.data(), holder);
    new ResizeObserver(() => this.plot.setSize({ width: Math.max(holder.clientWidth, 120), height: HEIGHT })).observe(holder);
  }

  redraw(): void {
    this.plot.redraw(false);
    this.paintSwatches();
  }

  // One column of x for all series. A point another series has at an x of its own is no gap in this one.
  private data(): uPlot.AlignedData {
    const { series, y } = this.figure;
    const usable = (v: number | null) => v !== null && (!y.log || v > 0);
    const tables = series.filter((s) => s.x.length > 0)
      .map((s) => [s.x, s.y.map((v) => (usable(v) ? v : null))] as uPlot.AlignedData);
    const joined = tables.length > 0 ? Array.from(uPlot.join(tables)) : [[]];
    const columns = joined.slice(1);
    return [joined[0], ...series.map((s) => (s.x.length > 0 ? columns.shift()! : Array.from(joined[0], () => null)))] as uPlot.AlignedData;
  }

  private legend(): HTMLElement {
    const legend = document.createElement('div');
    legend.className = 'legend';
    legend.append(Object.assign(document.createElement('h2'), { textContent: this.figure.title }));
    this.figure.series.forEach((series, k) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.setAttribute('aria-pressed', 'true');
      button.title = `Show or hide ${series.name}`;
      const swatch = Object.assign(document.createElement('span'), { className: series.dashed ? 'swatch dashed' : 'swatch' });
      const name = Object.assign(document.createElement('span'), { textContent: series.name });
      const value = Object.assign(document.createElement('span'), { className: 'value' });
      this.swatches.push(swatch);
      this.readouts.push(value);
      button.append(swatch, name, value);
      button.addEventListener('click', () => {
        const show = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(show));
        this.plot.setSeries(k + 1, { show });
      });
      legend.append(button);
    });
    this.paintSwatches();
    return legend;
  }

  private paintSwatches(): void {
    this.swatches.forEach((swatch, k) => {
      swatch.style.background = curveColour(k);
      swatch.style.setProperty('--dash', curveColour(k));
    });
  }

  private options(width: number): uPlot.Options {
    const { x, y, series } = this.figure;
    const label = { labelFont: '11px system-ui, sans-serif', labelGap: 0, labelSize: 18, gap: 4 };
    return {
      width, height: HEIGHT, pxAlign: false, legend: { show: false }, padding: [8, 12, 0, 0],
      cursor: { y: false, drag: { x: true, y: false }, points: { size: 6 } },
      scales: {
        x: x.log ? { time: false, distr: 3, range: logRange } : { time: false, range: (_, low, high) => padded(low, high) },
        y: y.log ? { distr: 3, range: logRange } : { range: (_, low, high) => padded(low, high) },
      },
      axes: [
        { ...plainAxis(), ...label, label: named(x), size: 26, values: (_, ticks) => texts(ticks, x.log) },
        {
          ...plainAxis(), ...label, label: named(y), values: (_, ticks) => texts(ticks, y.log),
          size: (_, shown) => Math.max(40, 14 + 6.5 * Math.max(0, ...(shown ?? []).map((t) => t.length))),
        },
      ],
      series: [{}, ...series.map((s, k) => ({
        label: s.name, stroke: () => curveColour(k), width: 1.6, dash: s.dashed ? [6, 4] : undefined,
        points: { show: !s.dashed && s.x.length <= FEW_POINTS, size: 5, fill: () => css('--panel') },
      }))],
      hooks: { setCursor: [(plot) => this.showValues(plot)] },
    };
  }

  private showValues(plot: uPlot): void {
    const i = plot.cursor.idx;
    this.readouts.forEach((readout, k) => {
      const value = i === null || i === undefined ? undefined : plot.data[k + 1][i];
      readout.textContent = value === null || value === undefined ? '' : format(value);
    });
  }
}

// A little room on a logarithmic axis; at least a decade, and from a round number on, which uPlot counts its ticks from.
function logRange(_: uPlot, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !(low > 0)) return [1, 10];
  const room = Math.max((high / low) ** 0.05, 1.05);
  const widen = Math.max(1, Math.sqrt(10 / ((high / low) * room ** 2)));
  const start = low / (room * widen), decade = 10 ** Math.floor(Math.log10(start));
  return [Math.floor(start / decade) * decade, high * room * widen];
}

const study = JSON.parse(element('scree-data').textContent ?? '') as Study;
document.title = `${study.title} \u2013 scree study`;
element('title').textContent = study.title;
const counts = ['reproduced', 'differs', 'reported'].map((v) => [study.rows.filter((r) => r.verdict === v).length, v] as const);
element('subtitle').textContent = [study.name, ...counts.filter(([n]) => n > 0).map(([n, v]) => `${n} ${v}`)].join(' \u00b7 ');
element('summary').textContent = study.summary;
fillTable(study.rows);
const settings = element('settings').querySelector('tbody')!;
for (const [name, value] of study.settings) {
  const row = settings.insertRow();
  row.append(Object.assign(document.createElement('th'), { scope: 'row', textContent: name }));
  row.insertCell().textContent = value;
}
element('settings').hidden = study.settings.length === 0;

document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
const charts = study.figures.map((figure) => new Chart(element('figures'), figure));
const theme = new Theme((dark) => {
  element('theme').setAttribute('aria-pressed', String(dark));
  for (const chart of charts) chart.redraw();
});
element('theme').addEventListener('click', () => theme.toggle());
theme.apply();

// For tests and for the curious at the console.
Object.assign(window, { scree: { study, charts } });
