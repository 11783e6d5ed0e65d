// The fan as the C++ side wrote it (src/pages/fan_page.cpp), and where the bodies of a branch are.
import { Quaternion, Vector3 } from 'three';
import { Arrays, type ArrayRef, type Body, type ContactPoint, type MeshRef, type Replay, type RunData, type Shape, type Solid, type SolidOf, type Vec3 } from './data';
import { Motion } from './motion';

interface Joint {
  type: 'fixed' | 'revolute' | 'continuous' | 'prismatic' | 'planar' | 'ball' | 'floating';
  position: Vec3;  // of the joint frame in the parent's
  quaternion: [number, number, number, number];  // x y z w
  axis: Vec3;
  q: number;  // first entry in q
  multiplier?: number;  // of a joint that follows another: its position is multiplier * q + offset
  offset?: number;
  u1?: Vec3;  // planar: directions in the plane
  u2?: Vec3;
}

export interface Coordinate { name: string; unit: string; velocity: boolean; low: number; high: number }

export interface Cluster {
  modes: string[];      // the first ones
  mode_count: number;
  count: number;
  representative: number;  // number of the branch
}

export interface Split {
  modes: { mode: string; count: number; lost: [number, number] }[];
  mode_count: number;
  missing: number;  // branches that have no impact there
  velocities: { before: number | null; after: [number, number, number] }[];
}

interface Header {
  title: string;
  model: string;
  bodies: Body[];
  shapes: Shape[];
  meshes: MeshRef[];
  note: string;
  joints: Joint[];
  environment?: SolidOf<ArrayRef>[];
  contact_points?: ContactPoint[];
  coordinates: Coordinate[];
  branches: number;
  failed: number;
  failures: { branch: number; end: number; reason: string }[];
  interrupted: boolean;
  wall_time: number;
  first_split: number | null;
  split: Split | null;
  recorded_rows: number;
  stride: number;
  clusters: Cluster[];
  cluster_count: number;
  typical: number;
  modes: string[];
  ends: ArrayRef;
  time: ArrayRef;
  spread: ArrayRef;
  quantiles: ArrayRef;
  shown: ArrayRef;
  cluster: ArrayRef;
  reached: ArrayRef;
  final_energy: ArrayRef;
  penetration: ArrayRef;
  impacts: { limit: number; count: ArrayRef; first: ArrayRef; time: ArrayRef; contacts: ArrayRef; mode: ArrayRef; before: ArrayRef; after: ArrayRef; flags: ArrayRef };
  values: ArrayRef;
  data: string;
}

export interface Impact {
  time: number;
  contacts: number;
  mode: string;
  before: number;  // [J] kinetic
  after: number;
  ambiguous: boolean;    // branches with the same past did something else
  collision: boolean;    // false: an impulse without approach
}

export const LEVELS = 65534;      // codes 0 ... LEVELS from low to high
const NO_SAMPLE = 65535;          // rows that a branch did not reach
const NO_CLUSTER = 0xffffffff;
const NOISE = 1e-9;               // of a coordinate's range: shown as zero
const COLOURS = 7;                // clusters with one of their own
export const PROBABILITIES = [5, 25, 50, 75, 95];  // [%]

// Branches are counted in two ways: by number, as in the fan, and by index among those on the page.
export class Fan {
  readonly time: Float64Array;
  readonly spread: Float32Array;
  readonly numbers: Uint32Array;  // by index
  readonly reached: Uint32Array;  // rows of the page
  readonly reasons: Map<number, string>;
  private readonly values: Uint16Array;  // by coordinate, index, row
  private readonly bands: Float32Array;  // by coordinate, probability, row
  private readonly ends: Float32Array;   // by cluster, coordinate: 5, 50, 95 %
  private readonly cluster: Uint32Array;
  private readonly energy: Float32Array;
  private readonly depth: Float32Array;
  private readonly impactCount: Uint32Array;
  private readonly impactFirst: Uint32Array;
  private readonly impactTime: Float64Array;
  private readonly impactContacts: Uint32Array;
  private readonly impactMode: Uint32Array;
  private readonly impactBefore: Float32Array;
  private readonly impactAfter: Float32Array;
  private readonly impactFlags: Uint32Array;
  private readonly arrays: Arrays;

  constructor(readonly header: Header) {
    const arrays = this.arrays = new Arrays(header.data);
    const { impacts } = header;
    this.time = arrays.f64(header.time);
    this.spread = arrays.f32(header.spread);
    this.numbers = arrays.u32(header.shown);
    this.reached = arrays.u32(header.reached);
    this.values = arrays.u16(header.values);
    this.bands = arrays.f32(header.quantiles);
    this.ends = arrays.f32(header.ends);
    this.cluster = arrays.u32(header.cluster);
    this.energy = arrays.f32(header.final_energy);
    this.depth = arrays.f32(header.penetration);
    this.impactCount = arrays.u32(impacts.count);
    this.impactFirst = arrays.u32(impacts.first);
    this.impactTime = arrays.f64(impacts.time);
    this.impactContacts = arrays.u32(impacts.contacts);
    this.impactMode = arrays.u32(impacts.mode);
    this.impactBefore = arrays.f32(impacts.before);
    this.impactAfter = arrays.f32(impacts.after);
    this.impactFlags = arrays.u32(impacts.flags);
    this.reasons = new Map(header.failures.map(({ branch, reason }) => [branch, reason]));
  }

  get rows(): number { return this.time.length; }
  get count(): number { return this.numbers.length; }
  get positions(): number { return this.header.coordinates.filter((c) => !c.velocity).length; }

  // The nearest one on the page.
  indexOf(number: number): number {
    let best = 0;
    for (let i = 1; i < this.count; ++i)
      if (Math.abs(this.numbers[i] - number) < Math.abs(this.numbers[best] - number)) best = i;
    return best;
  }

  value(c: number, index: number, row: number): number {
    const code = this.values[(c * this.count + index) * this.rows + row];
    if (code === NO_SAMPLE) return NaN;
    const { low, high } = this.header.coordinates[c];
    return low + (code / LEVELS) * (high - low);
  }

  // Straight between rows; NaN where the branch had ended.
  valueAt(c: number, index: number, t: number): number {
    const [row, u] = this.place(t);
    const a = this.value(c, index, row);
    return u === 0 ? a : a + u * (this.value(c, index, row + 1) - a);
  }

  // Without rounding errors around zero.
  clean(c: number, value: number): number {
    const { low, high } = this.header.coordinates[c];
    return Math.abs(value) < NOISE * Math.max(high - low, Math.abs(high)) ? 0 : value;
  }

  // To the digits that its 16 bits tell.
  rounded(c: number, value: number): number {
    const { low, high } = this.header.coordinates[c], step = (high - low) / LEVELS;
    if (!(step > 0) || !Number.isFinite(value)) return value;
    return Number(value.toFixed(Math.min(20, Math.max(0, -Math.ceil(Math.log10(step) - 1e-9)))));
  }

  // The row before t and how far it is to the next one.
  place(t: number): [number, number] {
    let low = 0, high = this.rows - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.time[middle] <= t) low = middle;
      else high = middle - 1;
    }
    if (low === this.rows - 1) return [low, 0];
    return [low, Math.min(1, Math.max(0, (t - this.time[low]) / (this.time[low + 1] - this.time[low])))];
  }

  quantiles(c: number): Float32Array[] {
    return PROBABILITIES.map((_, p) => this.bands.subarray((c * PROBABILITIES.length + p) * this.rows, (c * PROBABILITIES.length + p + 1) * this.rows));
  }

  endQuantiles(cluster: number, c: number): Float32Array {
    const at = 3 * (cluster * this.header.coordinates.length + c);
    return this.ends.subarray(at, at + 3);
  }

  clusterOf(index: number): number | undefined {
    return this.cluster[index] === NO_CLUSTER ? undefined : this.cluster[index];
  }

  failed(index: number): boolean { return this.reached[index] < this.rows || this.reasons.has(this.numbers[index]); }
  finalEnergy(index: number): number { return this.energy[index]; }
  penetration(index: number): number { return this.depth[index]; }
  impactTotal(index: number): number { return this.impactCount[index]; }

  impacts(index: number): Impact[] {
    const out: Impact[] = [];
    for (let k = this.impactFirst[index]; k < this.impactFirst[index + 1]; ++k)
      out.push({ time: this.impactTime[k], contacts: this.impactContacts[k], mode: this.header.modes[this.impactMode[k]],
                 before: this.impactBefore[k], after: this.impactAfter[k],
                 ambiguous: (this.impactFlags[k] & 1) !== 0, collision: (this.impactFlags[k] & 2) === 0 });
    return out;
  }

  // Poses of all bodies at all rows: 7 numbers each. After its end a branch stays where it was.
  poses(index: number): Float32Array {
    const { bodies } = this.header;
    const out = new Float32Array(7 * bodies.length * this.rows);
    const size = 7 * bodies.length;
    const q = new Float64Array(this.positions);
    for (let row = 0; row < this.rows; ++row) {
      if (row >= this.reached[index] && row > 0) {
        out.copyWithin(size * row, size * (row - 1), size * row);
        continue;
      }
      for (let c = 0; c < q.length; ++c) q[c] = this.value(c, index, row);
      placeBodies(this.header, q, out.subarray(size * row, size * (row + 1)));
    }
    return out;
  }

  motion(index: number): Motion {
    return new Motion(this.run(this.poses(index)));
  }

  // As the 3-D view of replays wants it; without plots, forces or settings.
  run(poses: Float32Array): Replay {
    const { header } = this;
    const none = new Float32Array(0);
    const stored = header.meshes.map((m) => this.arrays.mesh(m));
    const run: RunData = {
      title: header.title, model: header.model, status: 'complete', settings: [], bodies: header.bodies, shapes: header.shapes,
      positions: [], recorded_rows: header.recorded_rows, meshes: stored,
      series: { stride: 1, time: none, kinetic_energy: none, potential_energy: none, residual: none, iterations: none,
                substeps: none, rejected: none, positions: [] },
      frames: { stride: header.stride, time: this.time, poses },
    };
    const solids = header.environment?.map((s): Solid => ({ ...s, heights: s.heights && this.arrays.f32(s.heights) }));
    return {
      ...run, version: 1, note: header.note,
      contact: solids && {
        environment: solids, points: header.contact_points ?? [],
        contacts: { first: new Uint32Array(this.rows + 1), point: new Uint32Array(0), solid: new Uint32Array(0), position: none, force: none, depth: none },
      },
    };
  }
}

// The style sheet's name of a cluster's colour.
export function clusterColour(cluster: number | undefined): string {
  const k = cluster ?? 0;
  return k < COLOURS ? `--curve-${k}` : '--others';
}

// X_WB = X_WP X_PJ motion(q), parents before children; docs/conventions.md, Joints.
function placeBodies(header: Header, q: Float64Array, out: Float32Array): void {
  const position = new Vector3(), turn = new Quaternion(), offset = new Vector3(), own = new Quaternion();
  header.joints.forEach((joint, i) => {
    const at = joint.q, axis = new Vector3(...joint.axis);
    const x = joint.multiplier === undefined ? q[at] : joint.multiplier * q[at] + (joint.offset ?? 0);
    offset.set(0, 0, 0);
    own.identity();
    switch (joint.type) {
      case 'revolute': case 'continuous': own.setFromAxisAngle(axis, x); break;
      case 'prismatic': offset.copy(axis).multiplyScalar(x); break;
      case 'planar':
        offset.fromArray(joint.u1!).multiplyScalar(q[at]).addScaledVector(new Vector3(...joint.u2!), q[at + 1]);
        own.setFromAxisAngle(axis, q[at + 2]);
        break;
      case 'ball': own.set(q[at + 1], q[at + 2], q[at + 3], q[at]).normalize(); break;
      case 'floating':
        offset.set(q[at], q[at + 1], q[at + 2]);
        own.set(q[at + 4], q[at + 5], q[at + 6], q[at + 3]).normalize();
        break;
    }
    position.fromArray(joint.position);
    turn.fromArray(joint.quaternion);
    position.add(offset.applyQuaternion(turn));
    turn.multiply(own);
    const parent = header.bodies[i].parent;
    if (parent >= 0) {
      const p = new Vector3().fromArray(out, 7 * parent), r = new Quaternion().fromArray(out, 7 * parent + 3);
      position.applyQuaternion(r).add(p);
      turn.premultiply(r);
    }
    position.toArray(out, 7 * i);
    turn.normalize().toArray(out, 7 * i + 3);
  });
}

export const decodeFan = (json: string): Fan => new Fan(JSON.parse(json) as Header);

// "base.x [m]"
export const named = ({ name, unit }: Coordinate): string => (unit ? `${name} [${unit}]` : name);
