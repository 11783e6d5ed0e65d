// Planes of contact velocities as the papers draw them: courses of samples light grey, their ends dark, sequences red and
// yellow, all contacts at once blue.
import { cleaned, decodeFloats, digits, Impact, lawColour, pretty, Quantity, Shown, Vec, velocityOf } from './impact-data';
import { css } from './theme';

const GRID = 100;  // end points are thinned to one a cell
const HEIGHT = 270;
const MARGIN = { left: 52, right: 10, top: 8, bottom: 34 };

export interface Layer { key: string; name: string; colour: string; kind: 'line' | 'dots' | 'area' | 'dash' | 'mark'; on: boolean }

interface Mark { x: number; y: number; name: string; layer: string; index: number }

// Convex hull, anticlockwise: Andrew's monotone chain.
function hull(points: [number, number][]): [number, number][] {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o: Vec, a: Vec, b: Vec) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const chain = (list: [number, number][]) => {
    const out: [number, number][] = [];
    for (const p of list) {
      while (out.length > 1 && turn(out[out.length - 2], out[out.length - 1], p) <= 0) out.pop();
      out.push(p);
    }
    out.pop();
    return out;
  };
  return [...chain(sorted), ...chain(sorted.reverse())];
}

// Round numbers, about `count` of them.
function ticks(low: number, high: number, count: number): number[] {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
  const list: number[] = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; ++k) list.push(k * step);
  return list;
}
const tickText = (value: number, step: number): string => {
  if (Math.abs(value) < 1e-9 * step) return '0';
  if (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5) return value.toExponential(Math.abs(value / step) > 9.5 ? 1 : 0);
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
};

// What all planes share.
export class PlaneData {
  readonly points: Float32Array;
  readonly paths: Float32Array;
  readonly count: number;
  readonly layers: Layer[] = [];
  selected = 0;

  constructor(readonly data: Impact, readonly shown: Shown[]) {
    this.count = data.quantities.length;
    this.points = data.set ? decodeFloats(data.set.points) : new Float32Array();
    this.paths = data.set ? decodeFloats(data.set.paths) : new Float32Array();
    const layer = (key: string, name: string, colour: string, kind: Layer['kind'], on = true) =>
      this.layers.push({ key, name, colour, kind, on });
    if (data.set) {
      layer('paths', 'courses of samples', '--path', 'line');
      layer('samples', 'outcomes of samples', '--sample', 'dots');
      layer('hull', 'their convex hull', '--accent', 'area', false);
      layer('bound', 'bound from outside', '--accent', 'dash', false);
    }
    layer('before', 'before', '--text', 'mark');
    for (const law of new Set(data.outcomes.map((o) => o.law))) layer(law, law, lawColour(law, 0), 'mark');
  }

  on(key: string): boolean {
    return this.layers.find((l) => l.key === key)?.on ?? false;
  }

  // Among outcomes of its law.
  rank(index: number): number {
    return this.data.outcomes.slice(0, index).filter((o) => o.law === this.data.outcomes[index].law).length;
  }
}

export class Plane {
  private readonly canvas = document.createElement('canvas');
  private readonly readout = document.createElement('div');
  private readonly selects: HTMLSelectElement[] = [];
  private view: { x: [number, number]; y: [number, number] } = { x: [0, 1], y: [0, 1] };
  private ends = false;  // fit the ends only, not the whole courses
  drawn = { points: 0, paths: 0, marks: 0 };

  constructor(root: HTMLElement, private readonly shared: PlaneData, private x: number, private y: number) {
    const frame = document.createElement('div');
    frame.className = 'plane';
    const bar = document.createElement('div');
    bar.className = 'bar';
    this.readout.className = 'readout';
    const choose = (current: number, set: (k: number) => void, label: string) => {
      const select = document.createElement('select');
      select.setAttribute('aria-label', label);
      shared.data.quantities.forEach((q, k) => select.append(new Option(pretty(q.name), String(k), false, k === current)));
      select.addEventListener('change', () => { set(Number(select.value)); this.fit(); });
      this.selects.push(select);
      return select;
    };
    const fit = Object.assign(document.createElement('button'), { type: 'button', textContent: 'ends' });
    fit.setAttribute('aria-pressed', 'false');
    fit.title = 'Fit where courses end';
    fit.addEventListener('click', () => {
      this.ends = !this.ends;
      fit.setAttribute('aria-pressed', String(this.ends));
      this.fit();
    });
    bar.append(choose(y, (k) => { this.y = k; }, 'Upwards'), document.createTextNode('over'), choose(x, (k) => { this.x = k; }, 'To the right'),
      Object.assign(document.createElement('span'), { className: 'space' }), fit);
    this.canvas.setAttribute('role', 'img');
    frame.append(bar, this.canvas, this.readout);
    root.append(frame);
    this.listen();
    this.fit();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  private get quantities(): [Quantity, Quantity] {
    const { quantities } = this.shared.data;
    return [quantities[this.x], quantities[this.y]];
  }

  private marks(): Mark[] {
    const { data, shown, selected } = this.shared, [qx, qy] = this.quantities;
    const list: Mark[] = [];
    shown.forEach((s, index) => {
      if (!s.outcome && index !== selected) return;  // extremes of the set only when chosen
      list.push({ x: velocityOf(qx, s.v), y: velocityOf(qy, s.v), name: s.name, layer: s.outcome ? s.law : 'samples', index });
    });
    list.push({ x: velocityOf(qx, data.v), y: velocityOf(qy, data.v), name: 'before', layer: 'before', index: -1 });
    return list;
  }

  // Shows all ends of courses, or all of the courses.
  fit(): void {
    const { points, count, paths, data } = this.shared;
    const range = (k: number, q: Quantity): [number, number] => {
      let low = 0, high = 0;
      const take = (v: number) => { low = Math.min(low, v); high = Math.max(high, v); };
      for (let i = k; i < points.length; i += count) take(points[i]);
      for (const outcome of data.outcomes) take(velocityOf(q, outcome.v));
      if (!this.ends) {
        take(velocityOf(q, data.v));
        for (let i = k; i < paths.length; i += count) take(paths[i]);
        for (const outcome of data.outcomes) for (const v of outcome.path) take(velocityOf(q, v));
      }
      const scale = Math.max(1e-12, Math.abs(velocityOf(q, data.v)), ...data.v.map(Math.abs));
      if (high - low < 1e-9 * scale) return [low - 0.05 * scale, high + 0.05 * scale];
      const room = 0.08 * (high - low);
      return [low - room, high + room];
    };
    const [qx, qy] = this.quantities;
    this.view = { x: range(this.x, qx), y: range(this.y, qy) };
    this.draw();
  }

  private size(): [number, number] {
    return [Math.max(this.canvas.clientWidth, 160), HEIGHT];
  }
  private toPixel(x: number, y: number): [number, number] {
    const [w, h] = this.size(), { left, right, top, bottom } = MARGIN, { view } = this;
    return [left + ((x - view.x[0]) / (view.x[1] - view.x[0])) * (w - left - right),
      h - bottom - ((y - view.y[0]) / (view.y[1] - view.y[0])) * (h - top - bottom)];
  }
  private toValue(px: number, py: number): [number, number] {
    const [w, h] = this.size(), { left, right, top, bottom } = MARGIN, { view } = this;
    return [view.x[0] + ((px - left) / (w - left - right)) * (view.x[1] - view.x[0]),
      view.y[0] + ((h - bottom - py) / (h - top - bottom)) * (view.y[1] - view.y[0])];
  }

  private listen(): void {
    const here = (e: MouseEvent): [number, number] => {
      const box = this.canvas.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    };
    this.canvas.addEventListener('wheel', (e) => {
      e.preventDefault();
      const [x, y] = this.toValue(...here(e)), f = Math.exp(0.0015 * e.deltaY);
      this.view = { x: [x + f * (this.view.x[0] - x), x + f * (this.view.x[1] - x)], y: [y + f * (this.view.y[0] - y), y + f * (this.view.y[1] - y)] };
      this.draw();
    }, { passive: false });
    this.canvas.addEventListener('dblclick', () => this.fit());
    this.canvas.addEventListener('pointerdown', (down) => {
      const from = this.toValue(...here(down)), start = this.view;
      const move = (e: PointerEvent) => {
        this.view = start;
        const to = this.toValue(...here(e));
        this.view = { x: [start.x[0] + from[0] - to[0], start.x[1] + from[0] - to[0]], y: [start.y[0] + from[1] - to[1], start.y[1] + from[1] - to[1]] };
        this.draw();
      };
      const up = () => {
        window.removeEventListener('pointermove', move);
        window.removeEventListener('pointerup', up);
      };
      window.addEventListener('pointermove', move);
      window.addEventListener('pointerup', up);
    });
    this.canvas.addEventListener('pointermove', (e) => this.read(...here(e)));
    this.canvas.addEventListener('pointerleave', () => { this.readout.textContent = ''; });
  }

  // The nearest mark or sample within a few pixels, else the place itself.
  private read(px: number, py: number): void {
    const { points, count } = this.shared, [qx, qy] = this.quantities;
    let best = 9, name = '', at = this.toValue(px, py);
    const take = (x: number, y: number, what: string) => {
      const [ax, ay] = this.toPixel(x, y), distance = Math.hypot(ax - px, ay - py);
      if (distance < best) { best = distance; name = what; at = [x, y]; }
    };
    for (const mark of this.marks()) if (this.shared.on(mark.layer)) take(mark.x, mark.y, mark.name);
    if (this.shared.on('samples') && best === 9)
      for (let i = 0; i < points.length; i += count) take(points[i + this.x], points[i + this.y], 'sample');
    const scale = Math.max(...this.shared.data.v.map(Math.abs));
    this.readout.textContent = `${pretty(qx.name)} ${digits(cleaned(at[0], scale))}, ${pretty(qy.name)} ${digits(cleaned(at[1], scale))} m/s${name ? `: ${name}` : ''}`;
  }

  draw(): void {
    const [w, h] = this.size(), ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = `${h}px`;
    this.canvas.width = Math.round(w * ratio);
    this.canvas.height = Math.round(h * ratio);
    const c = this.canvas.getContext('2d');
    if (!c) return;
    c.scale(ratio, ratio);
    const [qx, qy] = this.quantities;
    this.canvas.setAttribute('aria-label', `${pretty(qy.name)} over ${pretty(qx.name)}`);
    this.axes(c, w, h);
    c.save();
    c.beginPath();
    c.rect(MARGIN.left, MARGIN.top, w - MARGIN.left - MARGIN.right, h - MARGIN.top - MARGIN.bottom);
    c.clip();
    this.drawn = { points: 0, paths: 0, marks: 0 };
    this.paths(c);
    this.bound(c);
    this.samples(c);
    this.laws(c);
    c.restore();
  }

  private axes(c: CanvasRenderingContext2D, w: number, h: number): void {
    const { left, right, top, bottom } = MARGIN, { view } = this;
    c.font = '11px system-ui, sans-serif';
    const [qx, qy] = this.quantities;
    const xs = ticks(view.x[0], view.x[1], Math.max(2, (w - left - right) / 75)), ys = ticks(view.y[0], view.y[1], 5);
    c.lineWidth = 1;
    for (const [list, vertical] of [[xs, true], [ys, false]] as [number[], boolean][]) {
      const step = list.length > 1 ? list[1] - list[0] : 1;
      for (const v of list) {
        const [x, y] = this.toPixel(vertical ? v : 0, vertical ? 0 : v);
        c.strokeStyle = css(Math.abs(v) < 1e-9 * step ? '--grid' : '--rule');
        c.beginPath();
        if (vertical) { c.moveTo(x, top); c.lineTo(x, h - bottom); } else { c.moveTo(left, y); c.lineTo(w - right, y); }
        c.stroke();
        c.fillStyle = css('--muted');
        c.textAlign = vertical ? 'center' : 'right';
        c.textBaseline = vertical ? 'top' : 'middle';
        if (vertical) c.fillText(tickText(v, step), x, h - bottom + 4);
        else c.fillText(tickText(v, step), left - 5, y);
      }
    }
    c.strokeStyle = css('--muted');
    c.strokeRect(left, top, w - left - right, h - top - bottom);
    c.fillStyle = css('--text');
    c.textAlign = 'center';
    c.textBaseline = 'bottom';
    c.fillText(`${pretty(qx.name)} [m/s]`, left + (w - left - right) / 2, h - 2);
    c.save();
    c.translate(10, top + (h - top - bottom) / 2);
    c.rotate(-Math.PI / 2);
    c.textBaseline = 'middle';
    c.fillText(`${pretty(qy.name)} [m/s]`, 0, 0);
    c.restore();
  }

  private paths(c: CanvasRenderingContext2D): void {
    const { data, paths, count } = this.shared;
    if (!data.set || !this.shared.on('paths')) return;
    c.strokeStyle = css('--path');
    c.lineWidth = 1;
    let at = 0;
    for (const length of data.set.pathLengths) {
      c.beginPath();
      for (let k = 0; k < length; ++k, at += count) {
        const [x, y] = this.toPixel(paths[at + this.x], paths[at + this.y]);
        if (k === 0) c.moveTo(x, y); else c.lineTo(x, y);
      }
      c.stroke();
      this.drawn.paths += 1;
    }
  }

  private bound(c: CanvasRenderingContext2D): void {
    const { data } = this.shared;
    if (!data.set || !this.shared.on('bound')) return;
    const far = (v: number | null, k: number, axis: 'x' | 'y') => v ?? this.view[axis][k] + (k ? 1 : -1) * (this.view[axis][1] - this.view[axis][0]);
    const [bx, by] = [data.set.ranges[this.x].bound, data.set.ranges[this.y].bound];
    const a = this.toPixel(far(bx[0], 0, 'x'), far(by[0], 0, 'y')), b = this.toPixel(far(bx[1], 1, 'x'), far(by[1], 1, 'y'));
    c.strokeStyle = css('--accent');
    c.lineWidth = 1.3;
    c.setLineDash([6, 4]);
    c.strokeRect(a[0], b[1], b[0] - a[0], a[1] - b[1]);
    c.setLineDash([]);
  }

  // One a cell of a grid over the view.
  private samples(c: CanvasRenderingContext2D): void {
    const { points, count } = this.shared, { view } = this;
    if (points.length === 0) return;
    if (this.shared.on('hull')) {
      const all: [number, number][] = [];
      for (let i = 0; i < points.length; i += count) all.push([points[i + this.x], points[i + this.y]]);
      c.beginPath();
      hull(all).forEach(([x, y], k) => (k ? c.lineTo(...this.toPixel(x, y)) : c.moveTo(...this.toPixel(x, y))));
      c.closePath();
      c.strokeStyle = css('--accent');
      c.fillStyle = css('--accent-soft');
      c.globalAlpha = 0.5;
      c.fill();
      c.globalAlpha = 1;
      c.lineWidth = 1.3;
      c.stroke();
    }
    if (!this.shared.on('samples')) return;
    const taken = new Uint8Array(GRID * GRID);
    c.fillStyle = css('--sample');
    for (let i = 0; i < points.length; i += count) {
      const x = points[i + this.x], y = points[i + this.y];
      const a = Math.floor(((x - view.x[0]) / (view.x[1] - view.x[0])) * GRID), b = Math.floor(((y - view.y[0]) / (view.y[1] - view.y[0])) * GRID);
      if (a < 0 || b < 0 || a >= GRID || b >= GRID || taken[a * GRID + b]) continue;
      taken[a * GRID + b] = 1;
      const [px, py] = this.toPixel(x, y);
      c.beginPath();
      c.arc(px, py, 1.9, 0, 2 * Math.PI);
      c.fill();
      this.drawn.points += 1;
    }
  }

  private laws(c: CanvasRenderingContext2D): void {
    const { data, selected, shown } = this.shared, [qx, qy] = this.quantities;
    data.outcomes.forEach((outcome, index) => {
      if (!this.shared.on(outcome.law) || outcome.path.length < 2) return;
      c.strokeStyle = css(lawColour(outcome.law, this.shared.rank(index)));
      c.lineWidth = shown[selected]?.outcome === outcome ? 2.6 : 1.5;
      c.beginPath();
      outcome.path.forEach((v, k) => {
        const p = this.toPixel(velocityOf(qx, v), velocityOf(qy, v));
        if (k) c.lineTo(...p); else c.moveTo(...p);
      });
      c.stroke();
    });
    for (const mark of this.marks()) {
      if (!this.shared.on(mark.layer)) continue;
      const [x, y] = this.toPixel(mark.x, mark.y);
      const outcome = shown[mark.index]?.outcome;
      const colour = css(mark.index < 0 ? '--text' : lawColour(outcome?.law ?? 'set', outcome ? this.shared.rank(data.outcomes.indexOf(outcome)) : 0));
      c.strokeStyle = colour;
      c.fillStyle = mark.index < 0 ? css('--panel') : colour;
      c.lineWidth = 1.6;
      c.beginPath();
      const r = 4.2;
      if (mark.index < 0) c.arc(x, y, r, 0, 2 * Math.PI);
      else if (outcome?.law === 'anitescu-potra') { c.moveTo(x, y - 6); c.lineTo(x + 6, y); c.lineTo(x, y + 6); c.lineTo(x - 6, y); c.closePath(); }
      else if (outcome?.law === 'sequential') c.rect(x - 3.6, y - 3.6, 7.2, 7.2);
      else c.arc(x, y, r, 0, 2 * Math.PI);
      c.fill();
      c.stroke();
      if (mark.index === selected) {
        c.strokeStyle = css('--text');
        c.lineWidth = 1.4;
        c.beginPath();
        c.arc(x, y, 9, 0, 2 * Math.PI);
        c.stroke();
      }
      this.drawn.marks += 1;
    }
  }
}
