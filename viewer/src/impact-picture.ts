// The bodies as they move freely before and after the impact, their contacts, arrows of velocities.
import type { Body, Impact, Vec } from './impact-data';

const SVG = 'http://www.w3.org/2000/svg';
const ARROW = 0.2;   // of the picture's extent: the longest arrow
const TRAVEL = 0.55; // of the extent: how far the fastest body goes before the animation ends
const TURN = 0.9;    // [rad] how far links turn

const add = (a: Vec, b: Vec, s = 1): Vec => [a[0] + s * b[0], a[1] + s * b[1], (a[2] ?? 0) + s * (b[2] ?? 0)];
const dot = (a: Vec, b: Vec): number => a[0] * b[0] + a[1] * b[1] + (a[2] ?? 0) * (b[2] ?? 0);
const norm = (a: Vec): number => Math.sqrt(dot(a, a));
const cross = (a: Vec, b: Vec): Vec => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const apply = (R: Vec, p: Vec): Vec => [0, 1, 2].map((i) => R[3 * i] * p[0] + R[3 * i + 1] * p[1] + R[3 * i + 2] * (p[2] ?? 0));
const multiply = (A: Vec, B: Vec): Vec =>
  Array.from({ length: 9 }, (_, k) => [0, 1, 2].reduce((s, j) => s + A[3 * Math.floor(k / 3) + j] * B[3 * j + (k % 3)], 0));
// Rotation by the vector w, |w| its angle.
function rotation(w: Vec): Vec {
  const angle = norm(w);
  if (angle < 1e-12) return [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const [x, y, z] = w.map((c) => c / angle), c = Math.cos(angle), s = Math.sin(angle), d = 1 - c;
  return [c + d * x * x, d * x * y - s * z, d * x * z + s * y, d * x * y + s * z, c + d * y * y, d * y * z - s * x,
    d * x * z - s * y, d * y * z + s * x, c + d * z * z];
}

interface Motion { p: Vec; w: Vec }  // velocity of the centre, angular velocity
interface Frame { o: Vec; angle: number; v: Vec; w: number }  // of a link

function motionOf(data: Impact, body: Body, v: Vec): Motion {
  const u = v.slice(body.dof, body.dof + body.dofs);
  if (body.dofs === 0) return { p: [0, 0, 0], w: [0, 0, 0] };
  if (data.along) return { p: data.along.map((c) => c * u[0]), w: [0, 0, 0] };
  if (data.dimension === 2) return { p: [u[0], u[1], 0], w: [0, 0, body.rotates && body.shape !== 'links' ? u[2] : 0] };
  return { p: u.slice(0, 3), w: body.rotates ? u.slice(3, 6) : [0, 0, 0] };
}

const turned = (angle: number, p: Vec): Vec => [Math.cos(angle) * p[0] - Math.sin(angle) * p[1], Math.sin(angle) * p[0] + Math.cos(angle) * p[1], 0];

function framesOf(body: Body, v: Vec, t: number): Frame[] {
  const frames: Frame[] = [];
  const base: Frame = { o: add(body.p, [v[body.dof], v[body.dof + 1], 0], t), angle: 0, v: [v[body.dof], v[body.dof + 1], 0], w: 0 };
  body.links.forEach((link, k) => {
    const parent = link.parent < 0 ? base : frames[link.parent];
    const arm = turned(parent.angle, link.joint), rate = v[body.dof + 2 + k];
    frames.push({
      o: add(parent.o, arm), angle: parent.angle + link.angle + rate * t,
      v: add(parent.v, [-arm[1], arm[0], 0], parent.w), w: parent.w + rate,
    });
  });
  return frames;
}
const linkPoint = (frame: Frame, p: Vec): { p: Vec; v: Vec } => {
  const arm = turned(frame.angle, p);
  return { p: add(frame.o, arm), v: add(frame.v, [-arm[1], arm[0], 0], frame.w) };
};

export class Picture {
  span: number;  // [s] half the length of the animation
  private readonly box: { low: Vec; high: Vec };
  private readonly extent: number;
  private readonly tau: number;  // [s] arrows are what is travelled in this time
  private azimuth = -0.55;
  private elevation = 0.35;
  private after: Vec;
  private time = 0;

  constructor(private readonly svg: SVGSVGElement, private readonly data: Impact, velocities: Vec[]) {
    this.after = data.v;
    const box = this.bounds([0], [data.v]);
    this.extent = Math.max(box.high[0] - box.low[0], box.high[1] - box.low[1], box.high[2] - box.low[2], 1e-9);
    let speed = 0, rate = 0;
    for (const v of [data.v, ...velocities])
      for (const body of data.bodies) {
        if (body.dofs === 0) continue;
        if (body.shape === 'links') {
          for (const frame of framesOf(body, v, 0)) {
            speed = Math.max(speed, norm(frame.v));
            rate = Math.max(rate, Math.abs(frame.w));
          }
          for (const [k, link] of body.links.entries())
            for (const q of [link.com, link.foot])
              if (q) speed = Math.max(speed, norm(linkPoint(framesOf(body, v, 0)[k], q).v));
        } else {
          const m = motionOf(data, body, v);
          speed = Math.max(speed, norm(m.p), norm(m.w) * Math.max(body.radius, 0.5 * Math.max(...body.size)));
        }
      }
    this.span = Math.min(speed > 0 ? (TRAVEL * this.extent) / speed : 1, rate > 0 ? TURN / rate : Infinity);
    this.span = this.untilWalls(velocities);
    this.tau = speed > 0 ? (ARROW * this.extent) / speed : 0;
    this.box = this.bounds([-this.span, 0], [data.v]);
    const later = this.bounds([0, this.span], velocities.length > 0 ? velocities : [data.v]);
    for (const k of [0, 1, 2]) {
      this.box.low[k] = Math.min(this.box.low[k], later.low[k]);
      this.box.high[k] = Math.max(this.box.high[k], later.high[k]);
    }
    if (data.dimension === 3) this.turnByDragging();
  }

  // The animation ends before something is deep in a wall; that it touches is not computed.
  private untilWalls(velocities: Vec[]): number {
    const walls = this.data.bodies.filter((b) => b.shape === 'wall');
    const steps = 24;
    for (let k = 1; k <= steps; ++k) {
      const t = (this.span * k) / steps;
      const deep = velocities.some((v) => this.data.bodies.some((body) => walls.some((wall) =>
        this.outline(body, v, t).some(([p, r]) => dot(wall.normal, add(p, wall.p, -1)) - r < -0.02 * this.extent))));
      if (deep) return this.span * Math.max(0.25, (k - 1) / steps);
    }
    return this.span;
  }

  // Points of a body, with the radius of what is round about them.
  private outline(body: Body, v: Vec, t: number): [Vec, number][] {
    if (body.shape === 'wall') return [];
    if (body.shape === 'box') return this.corners(body, v, t).map((c) => [c, 0]);
    if (body.shape !== 'links') return [[add(body.p, motionOf(this.data, body, v).p, t), body.radius]];
    const frames = framesOf(body, v, t);
    return body.links.flatMap((link, k) => {
      const points: [Vec, number][] = [[frames[k].o, 0], [linkPoint(frames[k], link.com).p, 0]];
      if (link.foot) points.push([linkPoint(frames[k], link.foot).p, link.footRadius]);
      return points;
    });
  }

  show(after: Vec, time: number): void {
    this.after = after;
    this.time = time;
    this.draw();
  }

  // Corners of a box around everything at these times with these velocities.
  private bounds(times: number[], velocities: Vec[]): { low: Vec; high: Vec } {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    const take = (p: Vec, r: number) => [0, 1, 2].forEach((k) => {
      low[k] = Math.min(low[k], (p[k] ?? 0) - r);
      high[k] = Math.max(high[k], (p[k] ?? 0) + r);
    });
    for (const v of velocities)
      for (const t of times)
        for (const body of this.data.bodies) for (const [p, r] of this.outline(body, v, t)) take(p, r);
    for (const contact of this.data.contacts) if (contact.p) take(contact.p, 0);
    return { low, high };
  }

  private corners(body: Body, v: Vec, t: number): Vec[] {
    const m = motionOf(this.data, body, v), o = add(body.p, m.p, t);
    const R = multiply(rotation(m.w.map((w) => w * t)), body.R);
    const signs = this.data.dimension === 2 ? [[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]
      : Array.from({ length: 8 }, (_, k) => [k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1]);
    return signs.map((s) => add(o, apply(R, s.map((c, k) => (c * body.size[k]) / 2))));
  }

  // Axes of the picture in the world: right, up, towards the viewer.
  private axes(): [Vec, Vec, Vec] {
    if (this.data.dimension === 2) return [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    const [ca, sa, ce, se] = [Math.cos(this.azimuth), Math.sin(this.azimuth), Math.cos(this.elevation), Math.sin(this.elevation)];
    const right = [ca, sa, 0], back = [sa * ce, -ca * ce, se];
    return [right, cross(back, right), back];
  }

  private turnByDragging(): void {
    this.svg.style.cursor = 'grab';
    this.svg.addEventListener('pointerdown', (down) => {
      const start = [down.clientX, down.clientY, this.azimuth, this.elevation];
      const move = (e: PointerEvent) => {
        this.azimuth = start[2] - 0.008 * (e.clientX - start[0]);
        this.elevation = Math.min(1.5, Math.max(0.02, start[3] + 0.008 * (e.clientY - start[1])));
        this.draw();
      };
      const up = () => {
        window.removeEventListener('pointermove', move);
        window.removeEventListener('pointerup', up);
      };
      window.addEventListener('pointermove', move);
      window.addEventListener('pointerup', up);
    });
  }

  draw(): void {
    const { data } = this;
    const [right, up, back] = this.axes();
    // Bounds of the eight corners on the screen, with room for arrows.
    const flat = (p: Vec): Vec => [dot(right, p), dot(up, p)];
    let low = [Infinity, Infinity], high = [-Infinity, -Infinity];
    for (let k = 0; k < 8; ++k) {
      const p = flat([0, 1, 2].map((i) => (k & (1 << i) ? this.box.high[i] : this.box.low[i])));
      low = low.map((c, i) => Math.min(c, p[i]));
      high = high.map((c, i) => Math.max(c, p[i]));
    }
    const room = 0.09 * this.extent;
    const width = Math.max(this.svg.clientWidth, 280);
    const w = high[0] - low[0] + 2 * room, h = high[1] - low[1] + 2 * room;
    const height = Math.round(Math.min(Math.max((width * h) / w, 200), 460));
    const scale = Math.min(width / w, height / h);  // [px/m]
    const middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    const at = (p: Vec): [number, number] => {
      const q = flat(p);
      return [width / 2 + scale * (q[0] - middle[0]), height / 2 - scale * (q[1] - middle[1])];
    };
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.svg.setAttribute('preserveAspectRatio', 'none');
    this.svg.style.height = `${height}px`;
    const make = (name: string, attributes: Record<string, string | number>, parent: Element = this.svg): Element => {
      const e = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, String(value));
      parent.append(e);
      return e;
    };
    const path = (points: [number, number][], close = false): string =>
      points.map(([x, y], k) => `${k ? 'L' : 'M'}${x.toFixed(2)} ${y.toFixed(2)}`).join('') + (close ? 'Z' : '');
    this.svg.replaceChildren();

    const t = this.time, v = t < 0 ? data.v : this.after;
    for (const body of data.bodies) if (body.shape === 'wall') this.drawWall(body, width, height, at, make, path);

    // Far things first.
    const pieces: { depth: number; draw: () => void }[] = [];
    for (const body of data.bodies) {
      const className = `body${body.fixed ? ' fixed' : ''}`;
      const m = motionOf(data, body, v), o = add(body.p, m.p, t);
      if (body.shape === 'disk' || body.shape === 'ball') {
        pieces.push({ depth: dot(back, o), draw: () => {
          const [cx, cy] = at(o);
          const circle = make('circle', { cx, cy, r: scale * body.radius, class: className });
          make('title', {}, circle).textContent = body.name;
          if (!body.rotates || body.fixed || data.along) return;
          const R = multiply(rotation(m.w.map((c) => c * t)), body.R);
          if (body.shape === 'disk') {
            const tip = at(add(o, apply(R, [0, 0.85 * body.radius, 0])));
            make('path', { d: path([[cx, cy], tip]), class: 'spoke' });
          } else {
            // A great circle that turns with the ball; its front half.
            const ring = Array.from({ length: 49 }, (_, k) => apply(R, [Math.cos(k * Math.PI / 24), Math.sin(k * Math.PI / 24), 0]));
            let run: [number, number][] = [];
            const flush = () => { if (run.length > 1) make('path', { d: path(run), class: 'spoke' }); run = []; };
            for (const q of ring) if (dot(back, q) >= 0) run.push(at(add(o, q, body.radius))); else flush();
            flush();
          }
        } });
      } else if (body.shape === 'box') {
        const c = this.corners(body, v, t);
        if (data.dimension === 2) {
          pieces.push({ depth: 0, draw: () => {
            const polygon = make('path', { d: path(c.map(at), true), class: className });
            make('title', {}, polygon).textContent = body.name;
          } });
        } else {
          for (const [face, n] of [[[0, 2, 6, 4], [1, 0]], [[1, 5, 7, 3], [0, 1]], [[0, 4, 5, 1], [2, 0]], [[2, 3, 7, 6], [0, 2]], [[0, 1, 3, 2], [4, 0]], [[4, 6, 7, 5], [0, 4]]] as [number[], number[]][]) {
            const outward = add(c[n[1]], c[n[0]], -1);  // of the face
            if (dot(back, outward) <= 0) continue;
            const centre = face.reduce((s, k) => add(s, c[k], 0.25), [0, 0, 0]);
            pieces.push({ depth: dot(back, centre), draw: () => make('path', { d: path(face.map((k) => at(c[k])), true), class: className }) });
          }
        }
      } else if (body.shape === 'links') {
        pieces.push({ depth: 0, draw: () => this.drawLinks(body, v, t, scale, at, make, path) });
      }
    }
    pieces.sort((a, b) => a.depth - b.depth);
    for (const piece of pieces) piece.draw();
    this.drawArrows(at, make, path);
    this.drawContacts(t, at, make);
  }

  private drawWall(body: Body, width: number, height: number, at: (p: Vec) => [number, number],
    make: (n: string, a: Record<string, string | number>) => Element, path: (p: [number, number][], c?: boolean) => string): void {
    if (this.data.dimension === 2) {
      // The part of the picture behind the wall: the rectangle cut by a line, in pixels (y down).
      const [px, py] = at(body.p), n = [body.normal[0], -body.normal[1]];
      const side = ([x, y]: [number, number]) => n[0] * (x - px) + n[1] * (y - py);
      const rectangle: [number, number][] = [[0, 0], [width, 0], [width, height], [0, height]];
      const kept: [number, number][] = [], cut: [number, number][] = [];
      rectangle.forEach((p, k) => {
        const q = rectangle[(k + 1) % 4], a = side(p), b = side(q);
        if (a <= 0) kept.push(p);
        if ((a < 0 && b > 0) || (a > 0 && b < 0)) {
          const s = a / (a - b);
          const c: [number, number] = [p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])];
          kept.push(c);
          cut.push(c);
        }
      });
      make('path', { d: path(kept, true), class: 'wall' });
      if (cut.length === 2) make('path', { d: path(cut), class: 'surface' });
      return;
    }
    // A grid on the plane under the bodies.
    const n = body.normal, middle = [0, 1, 2].map((k) => (this.box.low[k] + this.box.high[k]) / 2);
    const o = add(middle, n, -dot(n, add(middle, body.p, -1)));
    const u = Math.abs(n[0]) > 0.9 ? [0, 1, 0] : [1, 0, 0];
    const e1 = add(u, n, -dot(u, n)), l = norm(e1), a = e1.map((c) => c / l), b = cross(n, a);
    const half = 0.75 * Math.max(...[0, 1, 2].map((k) => this.box.high[k] - this.box.low[k]));
    const point = (s: number, r: number) => at(add(add(o, a, s * half), b, r * half));
    make('path', { d: path([point(-1, -1), point(1, -1), point(1, 1), point(-1, 1)], true), class: 'wall' });
    for (let k = -4; k <= 4; ++k) {
      make('path', { d: path([point(k / 4, -1), point(k / 4, 1)]), class: 'grid' });
      make('path', { d: path([point(-1, k / 4), point(1, k / 4)]), class: 'grid' });
    }
  }

  private drawLinks(body: Body, v: Vec, t: number, scale: number, at: (p: Vec) => [number, number],
    make: (n: string, a: Record<string, string | number>) => Element, path: (p: [number, number][], c?: boolean) => string): void {
    const frames = framesOf(body, v, t);
    const line = (k: number, q: Vec) => make('path', { d: path([at(frames[k].o), at(linkPoint(frames[k], q).p)]), class: 'link' });
    body.links.forEach((link, k) => {
      const children = body.links.filter((l) => l.parent === k);
      for (const child of children) line(k, child.joint);
      if (link.foot) line(k, link.foot);
      if (!link.foot && children.length === 0) line(k, link.com);
    });
    body.links.forEach((link, k) => {
      const [x, y] = at(frames[k].o);
      if (Math.hypot(...link.com) > 1e-9 || link.parent >= 0) make('circle', { cx: x, cy: y, r: 3.5, class: 'joint' });
      const [mx, my] = at(linkPoint(frames[k], link.com).p);
      make('circle', { cx: mx, cy: my, r: 4.5, class: 'mass' });
      if (link.foot && link.footRadius > 0) {
        const [fx, fy] = at(linkPoint(frames[k], link.foot).p);
        make('circle', { cx: fx, cy: fy, r: Math.max(2, scale * link.footRadius), class: 'body' });
      }
    });
  }

  // Where arrows start now, with velocities before and after, and the spin where there is one.
  private arrows(): { p: Vec; before: Vec; after: Vec; spins: [number, number]; size: number }[] {
    const { data, time: t } = this, now = t < 0 ? data.v : this.after;
    const list: { p: Vec; before: Vec; after: Vec; spins: [number, number]; size: number }[] = [];
    for (const body of data.bodies) {
      if (body.dofs === 0) continue;
      if (body.shape === 'links') {
        const [here, f0, f1] = [framesOf(body, now, t), framesOf(body, data.v, 0), framesOf(body, this.after, 0)];
        body.links.forEach((link, k) => {
          for (const q of [link.com, link.foot]) {
            if (!q) continue;
            list.push({ p: linkPoint(here[k], q).p, before: linkPoint(f0[k], q).v, after: linkPoint(f1[k], q).v, spins: [0, 0], size: 0 });
          }
        });
        continue;
      }
      const [m0, m1, m] = [motionOf(data, body, data.v), motionOf(data, body, this.after), motionOf(data, body, now)];
      const size = body.radius || Math.max(body.size[0], body.size[1]) / 2;
      list.push({ p: add(body.p, m.p, t), before: m0.p, after: m1.p, spins: data.dimension === 2 ? [m0.w[2], m1.w[2]] : [0, 0], size });
    }
    return list;
  }

  private drawArrows(at: (p: Vec) => [number, number], make: (n: string, a: Record<string, string | number>) => Element,
    path: (p: [number, number][], c?: boolean) => string): void {
    const head = (tip: [number, number], dx: number, dy: number, kind: string, opacity: number, size: number) => {
      const l = Math.hypot(dx, dy) || 1, ux = dx / l, uy = dy / l;
      const base: [number, number] = [tip[0] - size * ux, tip[1] - size * uy];
      make('path', { d: path([tip, [base[0] - 0.5 * size * uy, base[1] + 0.5 * size * ux], [base[0] + 0.5 * size * uy, base[1] - 0.5 * size * ux]], true), class: `head ${kind}`, opacity });
    };
    for (const arrow of this.arrows())
      for (const kind of ['before', 'after'] as const) {
        const opacity = (kind === 'before') === (this.time < 0) || this.time === 0 ? 1 : 0.25;
        const from = at(arrow.p), to = at(add(arrow.p, arrow[kind], this.tau));
        const dx = to[0] - from[0], dy = to[1] - from[1], length = Math.hypot(dx, dy);
        if (length > 1.5) {
          const size = Math.min(9, Math.max(3.5, 0.4 * length));
          make('path', { d: path([from, [to[0] - 0.8 * size * dx / length, to[1] - 0.8 * size * dy / length]]), class: `arrow ${kind}`, opacity, 'data-arrow': kind });
          head(to, dx, dy, kind, opacity, size);
        }
        // The spin: an arc by the angle turned in the arrows' time, at most three quarters of a turn.
        const spin = arrow.spins[kind === 'before' ? 0 : 1], angle = Math.max(-4.7, Math.min(4.7, spin * this.tau));
        const r = 0.45 * arrow.size;
        if (Math.abs(angle) > 0.04 && r > 0) {
          const points = Array.from({ length: 25 }, (_, k) => {
            const a = Math.PI / 2 + (angle * k) / 24;
            return at(add(arrow.p, [r * Math.cos(a), r * Math.sin(a), 0]));
          });
          make('path', { d: path(points), class: `arrow ${kind}`, opacity, 'data-arrow': `${kind}-spin` });
          const [p, q] = [points[23], points[24]];
          head(q, q[0] - p[0], q[1] - p[1], kind, opacity, 6);
        }
      }
  }

  private drawContacts(t: number, at: (p: Vec) => [number, number],
    make: (n: string, a: Record<string, string | number>, parent?: Element) => Element): void {
    const near = Math.max(0, 1 - Math.abs(t) / (0.25 * this.span));
    if (near <= 0) return;
    const crowded = this.data.contacts.length > 12;
    const walls = new Set(this.data.bodies.filter((b) => b.shape === 'wall').map((b) => b.name));
    for (const contact of this.data.contacts) {
      if (!contact.p || !contact.n) continue;
      const group = make('g', { class: 'contact', opacity: near });
      const [x, y] = at(contact.p);
      make('circle', { cx: x, cy: y, r: 2, class: 'dot' }, group);
      // Into the wall, where there is nothing else; between bodies beside the point.
      const tip = at(add(contact.p, contact.n));
      const l = Math.hypot(tip[0] - x, tip[1] - y) || 1, ux = (tip[0] - x) / l, uy = (tip[1] - y) / l;
      const wall = walls.has(contact.a ?? '') ? -1 : walls.has(contact.b ?? '') ? 1 : 0;
      const r = crowded ? 6.5 : 8;
      const [lx, ly] = wall !== 0 ? [x + 14 * wall * ux, y + 14 * wall * uy] : crowded ? [x, y] : [x + 13 * uy, y - 13 * ux];
      make('circle', { cx: lx, cy: ly, r }, group);
      const text = make('text', { x: lx, y: ly }, group);
      text.textContent = contact.label;
      if (crowded) text.setAttribute('style', 'font-size: 7px');
    }
  }
}
