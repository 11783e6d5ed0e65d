// The fan of one coordinate: every branch as a thin line, quantile bands and median over them, the chosen branch on top.
import uPlot from 'uplot';
import { format, padded, plainAxis, tickTexts } from './charts';
import { clusterColour, named, PROBABILITIES, type Fan } from './fan-data';
import { css } from './theme';

const CLICK_DISTANCE = 4;   // [px] a pointer that moved further dragged
const REACH = 24;           // [px] from a branch to the pointer that picks it
const SLICE = 12;           // [ms] of drawing branches before the page may do something else
const MOST_OPAQUE = 0.9, LEAST_OPAQUE = 0.05;

export interface PlotEvents {
  seek(t: number): void;
  select(index: number): void;
}

export class FanPlot {
  coordinate = 0;
  selected = 0;
  drawn = 0;  // branches in the picture
  private hovered: number | undefined;
  private pointer: number | undefined;  // [s] under it
  private time: number;
  private readonly plot: uPlot;
  private readonly holder = document.createElement('div');
  private readonly overlay = document.createElement('canvas');
  private readonly layer = document.createElement('canvas');  // the branches, drawn piece by piece
  private readonly order: number[];  // large clusters first: rare ones stay visible
  private readonly hidden = new Set<number>();  // clusters
  private job = 0;
  private layerKey = '';

  constructor(root: HTMLElement, private readonly readout: HTMLElement, private readonly fan: Fan, private readonly events: PlotEvents) {
    this.time = fan.time[0];
    this.order = Array.from(fan.numbers, (_, i) => i).sort((a, b) => (fan.clusterOf(a) ?? -1) - (fan.clusterOf(b) ?? -1) || a - b);
    this.holder.className = 'plot';
    this.holder.setAttribute('role', 'img');
    root.append(this.holder);
    this.plot = new uPlot(this.options(), this.data(), this.holder);
    this.overlay.className = 'overlay';
    this.plot.over.append(this.overlay);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.holder);
    this.resize();
    this.describe();
  }

  setCoordinate(c: number): void {
    this.coordinate = c;
    this.plot.setData(this.data(), false);
    this.plot.setScale('x', this.fullRange());
    this.describe();
    this.update();
  }

  setSelected(index: number): void {
    this.selected = index;
    this.update();
  }

  setTime(t: number): void {
    this.time = t;
    this.update();
  }

  showCluster(cluster: number, on: boolean): void {
    if (on) this.hidden.delete(cluster);
    else this.hidden.add(cluster);
    this.plot.setScale('x', { min: this.plot.scales.x.min!, max: this.plot.scales.x.max! });  // y follows
    this.plot.redraw(false, true);
  }

  redraw(): void {
    this.layerKey = '';
    this.plot.redraw(false);
    this.update();
  }

  private visible(index: number): boolean {
    return !this.hidden.has(this.fan.clusterOf(index) ?? -1);
  }

  private describe(): void {
    this.holder.setAttribute('aria-label', `${named(this.fan.header.coordinates[this.coordinate])} of ${this.fan.count} branches over time`);
  }

  private data(): uPlot.AlignedData {
    const columns = this.fan.quantiles(this.coordinate).map((q) => Array.from(q, (v) => (Number.isFinite(v) ? v : null)));
    return [Array.from(this.fan.time), ...columns] as uPlot.AlignedData;
  }

  private fullRange(): { min: number; max: number } {
    const { time } = this.fan;
    const first = time[0], last = time[time.length - 1];
    return last > first ? { min: first, max: last } : { min: first - 0.5, max: first + 0.5 };
  }

  private options(): uPlot.Options {
    const axis = plainAxis();
    const quantile = (p: number): uPlot.Series => p === 50
      ? { label: 'median', stroke: () => css('--median'), width: 1.75, points: { show: this.fan.rows < 2 } }
      : { label: `${p} %`, stroke: () => css('--band-edge'), width: 1, points: { show: false } };
    const full = this.fullRange();
    return {
      width: 400, height: 300, pxAlign: false, legend: { show: false }, padding: [8, 10, 0, 0],
      cursor: { sync: { key: 'scree', setSeries: false }, y: false, points: { show: false }, drag: { x: true, y: false, dist: CLICK_DISTANCE } },
      scales: {
        x: { time: false, range: (_, low, high) => (low === null || high === null || !(high > low) ? [full.min, full.max] : [low, high]) },
        y: { range: (u) => this.valueRange(u) },
      },
      axes: [
        { ...axis, size: 24, gap: 3, values: (_, ticks) => ticks.map((t, i) => (i === 0 ? `${t} s` : `${t}`)) },
        { ...axis, gap: 4, values: (_, ticks) => tickTexts(ticks, false),
          size: (_, texts) => Math.max(46, 14 + 6.5 * Math.max(0, ...(texts ?? []).map((t) => t.length))) },
      ],
      series: [{}, ...PROBABILITIES.map(quantile)],
      bands: [{ series: [5, 1], fill: () => css('--band-outer') }, { series: [4, 2], fill: () => css('--band-inner') }],
      hooks: { drawAxes: [(u) => this.blit(u)], setScale: [() => this.update()], draw: [() => this.update()] },
    };
  }

  // Of the branches that are shown, within the times that are.
  private valueRange(u: uPlot): [number, number] {
    const { fan } = this, full = this.fullRange();
    const from = u.scales.x.min ?? full.min, to = u.scales.x.max ?? full.max;
    const [first] = fan.place(from), [last] = fan.place(to);
    let low = Infinity, high = -Infinity;
    for (let i = 0; i < fan.count; ++i) {
      if (!this.visible(i)) continue;
      for (let row = first; row <= Math.min(last + 1, fan.reached[i] - 1); ++row) {
        const v = fan.value(this.coordinate, i, row);
        if (v < low) low = v;
        if (v > high) high = v;
      }
    }
    return low > high ? padded(null, null) : padded(low, high);
  }

  // Puts the branches drawn so far into the picture; begins anew where they do not fit it any more.
  private blit(u: uPlot): void {
    const { left, top, width, height } = u.bbox;
    const { x, y } = u.scales;
    const key = [this.coordinate, x.min, x.max, y.min, y.max, width, height, ...this.hidden].join();
    if (key !== this.layerKey) {
      this.layerKey = key;
      this.layer.width = Math.max(1, Math.round(width));
      this.layer.height = Math.max(1, Math.round(height));
      this.drawn = 0;
      this.drawBranches(++this.job);
    }
    u.ctx.drawImage(this.layer, left, top);
  }

  private colour(index: number): string {
    return css(this.fan.failed(index) ? '--failed' : clusterColour(this.fan.clusterOf(index)));
  }

  private drawBranches(job: number): void {
    if (job !== this.job) return;
    const { x, y } = this.plot ? this.plot.scales : { x: undefined, y: undefined };
    if (x?.min === undefined || y?.min === undefined) {  // uPlot is still being made
      requestAnimationFrame(() => this.drawBranches(job));
      return;
    }
    // In main memory: a graphics card, or its emulation, is slower at thousands of long thin strokes and hides their cost.
    const context = this.layer.getContext('2d', { willReadFrequently: true })!;
    const end = performance.now() + SLICE;
    context.globalAlpha = Math.min(MOST_OPAQUE, Math.max(LEAST_OPAQUE, 4 / Math.sqrt(this.order.length)));
    context.lineWidth = Math.max(1, uPlot.pxRatio);
    context.lineJoin = 'round';
    const colours = new Map<string, string>();
    do {
      if (this.drawn >= this.order.length) break;
      const index = this.order[this.drawn++];
      if (!this.visible(index)) continue;
      const failed = this.fan.failed(index), name = failed ? '--failed' : clusterColour(this.fan.clusterOf(index));
      if (!colours.has(name)) colours.set(name, css(name));
      context.strokeStyle = colours.get(name)!;
      context.setLineDash(failed ? [5 * uPlot.pxRatio, 3 * uPlot.pxRatio] : []);
      context.beginPath();
      this.trace(context, index, this.layer.width, this.layer.height);
      context.stroke();
    } while (performance.now() < end);
    if (this.drawn < this.order.length) requestAnimationFrame(() => this.drawBranches(job));
    this.plot.redraw(false, false);
  }

  private trace(context: CanvasRenderingContext2D, index: number, width: number, height: number): void {
    const { fan } = this, { x, y } = this.plot.scales;
    const sx = width / (x.max! - x.min!), sy = height / (y.max! - y.min!);
    const [first] = fan.place(x.min!), [last] = fan.place(x.max!);
    const rows = Math.min(fan.reached[index], last + 2);
    for (let row = first; row < rows; ++row) {
      const px = (fan.time[row] - x.min!) * sx, py = height - (fan.value(this.coordinate, index, row) - y.min!) * sy;
      if (row === first) context.moveTo(px, py);
      else context.lineTo(px, py);
    }
    if (rows - first === 1) context.lineTo((fan.time[first] - x.min!) * sx + 4, height - (fan.value(this.coordinate, index, first) - y.min!) * sy);
  }

  private resize(): void {
    const width = Math.max(this.holder.clientWidth, 160), height = Math.max(this.holder.clientHeight, 160);
    if (width !== this.plot.width || height !== this.plot.height) this.plot.setSize({ width, height });
    this.update();
  }

  // What changes with the time, the pointer and the branch; and the numbers at that time.
  private update(): void {
    if (!this.plot) return;
    const { over, scales } = this.plot;
    const width = over.clientWidth, height = over.clientHeight, ratio = uPlot.pxRatio;
    if (this.overlay.width !== Math.round(width * ratio) || this.overlay.height !== Math.round(height * ratio)) {
      this.overlay.width = Math.round(width * ratio);
      this.overlay.height = Math.round(height * ratio);
    }
    if (scales.x.min === undefined || scales.y.min === undefined) return;
    const context = this.overlay.getContext('2d')!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.drawMarks(context, width, height);
    if (this.hovered !== undefined && this.hovered !== this.selected) this.drawBranch(context, this.hovered, 1.75, width, height);
    this.drawBranch(context, this.selected, 2.5, width, height);
    this.drawNow(context, height);
    this.showValues();
  }

  private drawMarks(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { header } = this.fan;
    const line = (t: number) => {
      const x = this.plot.valToPos(t, 'x');
      if (x < -1 || x > width + 1) return;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height);
      context.stroke();
    };
    context.save();
    context.strokeStyle = css('--event-impact');
    context.globalAlpha = 0.45;
    for (const impact of this.fan.impacts(this.selected)) line(impact.time);
    context.restore();
    if (header.first_split === null) return;
    context.save();
    context.strokeStyle = context.fillStyle = css('--text');
    context.setLineDash([4, 3]);
    line(header.first_split);
    context.restore();
    const x = this.plot.valToPos(header.first_split, 'x'), text = 'first split';
    context.save();
    context.font = '11px system-ui, sans-serif';
    const room = context.measureText(text).width + 8, left = x + room > width;
    if (x >= 0 && x <= width) {
      context.fillStyle = css('--panel');
      context.globalAlpha = 0.8;
      context.fillRect(left ? x - room : x + 1, 1, room - 1, 15);
      context.globalAlpha = 1;
      context.fillStyle = css('--text');
      context.fillText(text, left ? x - room + 4 : x + 4, 12);
    }
    context.restore();
  }

  private drawBranch(context: CanvasRenderingContext2D, index: number, thickness: number, width: number, height: number): void {
    context.save();
    context.beginPath();
    this.trace(context, index, width, height);
    context.lineJoin = 'round';
    context.strokeStyle = css('--panel');
    context.lineWidth = thickness + 2.5;
    context.globalAlpha = 0.85;
    context.stroke();
    context.globalAlpha = 1;
    context.strokeStyle = this.colour(index);
    context.lineWidth = thickness;
    context.stroke();
    context.restore();
  }

  private drawNow(context: CanvasRenderingContext2D, height: number): void {
    const x = this.plot.valToPos(this.time, 'x');
    context.save();
    context.globalAlpha = 0.75;
    context.fillStyle = css('--text');
    context.fillRect(x - 0.5, 0, 1, height);
    context.restore();
    const value = this.fan.valueAt(this.coordinate, this.selected, this.time);
    if (Number.isNaN(value)) return;
    context.beginPath();
    context.arc(x, this.plot.valToPos(value, 'y'), 4, 0, 2 * Math.PI);
    context.fillStyle = this.colour(this.selected);
    context.strokeStyle = css('--panel');
    context.lineWidth = 1.5;
    context.fill();
    context.stroke();
  }

  private showValues(): void {
    const { fan } = this, t = this.pointer ?? this.time;
    const [row, u] = fan.place(t);
    const branch = this.hovered ?? this.selected;
    const at = (q: Float32Array) => (u === 0 ? q[row] : q[row] + u * (q[row + 1] - q[row]));
    const items: [string, string][] = [['time', `${t.toFixed(4)} s`], [`branch ${fan.numbers[branch]}`, format(fan.rounded(this.coordinate, fan.valueAt(this.coordinate, branch, t)))]];
    fan.quantiles(this.coordinate).forEach((q, p) => items.push([PROBABILITIES[p] === 50 ? 'median' : `${PROBABILITIES[p]} %`, format(fan.clean(this.coordinate, at(q)))]));
    this.readout.replaceChildren(...items.map(([name, value]) => {
      const item = document.createElement('span');
      item.append(Object.assign(document.createElement('span'), { className: 'name', textContent: name }),
                  Object.assign(document.createElement('span'), { className: 'value', textContent: value }));
      return item;
    }));
  }

  // The branch drawn nearest to a place in the plot [px], if within reach.
  private branchAt(x: number, y: number): number | undefined {
    const t = this.plot.posToVal(x, 'x');
    let nearest: number | undefined, least = REACH;
    for (let i = 0; i < this.fan.count; ++i) {
      if (!this.visible(i)) continue;
      const value = this.fan.valueAt(this.coordinate, i, t);
      if (Number.isNaN(value)) continue;
      const distance = Math.abs(this.plot.valToPos(value, 'y') - y);
      if (distance < least) [nearest, least] = [i, distance];
    }
    return nearest;
  }

  private listen(): void {
    const over = this.plot.over;
    let start = 0;
    const place = (event: MouseEvent): [number, number] => {
      const box = over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    over.addEventListener('pointermove', (event) => {
      const [x, y] = place(event);
      this.pointer = Math.min(this.fan.time[this.fan.rows - 1], Math.max(this.fan.time[0], this.plot.posToVal(x, 'x')));
      this.hovered = this.branchAt(x, y);
      this.update();
    });
    over.addEventListener('pointerleave', () => {
      this.pointer = this.hovered = undefined;
      this.update();
    });
    over.addEventListener('pointerdown', (event) => { start = event.clientX; });
    over.addEventListener('click', (event) => {
      if (Math.abs(event.clientX - start) > CLICK_DISTANCE) return;
      const [x, y] = place(event);
      const picked = this.branchAt(x, y);
      if (picked !== undefined) this.events.select(picked);
      this.events.seek(this.plot.posToVal(x, 'x'));
    });
  }
}

// How far apart the branches are, over time.
export class SpreadPlot {
  private readonly plot: uPlot;
  private readonly line = document.createElement('div');
  private time = 0;

  constructor(root: HTMLElement, private readonly fan: Fan, seek: (t: number) => void) {
    const holder = document.createElement('div');
    holder.className = 'plot';
    holder.setAttribute('role', 'img');
    holder.setAttribute('aria-label', 'Spread of the branches over time');
    root.append(holder);
    const axis = plainAxis(), { time } = fan;
    const size = () => ({ width: Math.max(holder.clientWidth, 160), height: 190 });
    this.plot = new uPlot({
      ...size(), pxAlign: false, legend: { show: false }, padding: [8, 10, 0, 0],
      cursor: { sync: { key: 'scree', setSeries: false }, y: false, points: { show: false }, drag: { x: true, y: false, dist: CLICK_DISTANCE } },
      scales: { x: { time: false, ...(time.length < 2 && { range: [time[0] - 0.5, time[0] + 0.5] }) },
                y: { range: (_, low, high) => (high !== null && high > 0 ? [0, 1.08 * high] : padded(low, high)) } },
      axes: [
        { ...axis, size: 24, gap: 3, values: (_, ticks) => ticks.map((t, i) => (i === 0 ? `${t} s` : `${t}`)) },
        { ...axis, gap: 4, values: (_, ticks) => tickTexts(ticks, false),
          size: (_, texts) => Math.max(46, 14 + 6.5 * Math.max(0, ...(texts ?? []).map((t) => t.length))) },
      ],
      series: [{}, { label: 'spread', stroke: () => css('--accent'), fill: () => css('--accent-soft'), width: 1.75, points: { show: time.length < 2 } }],
      hooks: { setScale: [() => { if (this.plot) this.moveLine(); }] },
    }, [Array.from(time), Array.from(fan.spread, (v) => (Number.isFinite(v) ? v : null))], holder);
    this.line.className = 'now';
    this.plot.over.append(this.line);
    this.plot.over.addEventListener('click', (event) => {
      seek(this.plot.posToVal(event.clientX - this.plot.over.getBoundingClientRect().left, 'x'));
    });
    new ResizeObserver(() => {
      this.plot.setSize(size());
      this.moveLine();
    }).observe(holder);
  }

  // The spread there.
  setTime(t: number): number {
    this.time = t;
    this.moveLine();
    const [row, u] = this.fan.place(t), { spread } = this.fan;
    return u === 0 ? spread[row] : spread[row] + u * (spread[row + 1] - spread[row]);
  }

  redraw(): void {
    this.plot.redraw(false);
  }

  private moveLine(): void {
    const x = this.plot.valToPos(this.time, 'x');
    this.line.hidden = !(x >= -1 && x <= this.plot.over.clientWidth + 1);
    this.line.style.transform = `translateX(${x}px)`;
  }
}
