// The replay as the C++ side wrote it (src/pages/replay_data.cpp), decoded into typed arrays.

export type Vec3 = [number, number, number];

export interface ArrayRef { type: 'f32' | 'f64' | 'u32' | 'u16'; offset: number; count: number }

export interface Body { name: string; parent: number; mass: number; com: Vec3 }

export interface Shape {
  body: number;  // -1: the world
  role: 'view' | 'collision';
  type: 'sphere' | 'box' | 'capsule' | 'cylinder' | 'plane' | 'mesh';
  position: Vec3;
  quaternion: [number, number, number, number];  // x y z w
  rgba: [number, number, number, number];
  radius?: number;
  length?: number;
  size?: Vec3;
  mesh?: number;
  painted?: boolean;  // shown in the colours of the mesh
  scale?: Vec3;
}

// A solid of the environment.
export interface SolidOf<Array> {
  name: string;
  type: 'plane' | 'box' | 'height_field';
  point?: Vec3;   // plane
  normal?: Vec3;
  position?: Vec3;  // box
  quaternion?: [number, number, number, number];
  size?: number[];  // box: 3, height field: 2 [m]
  origin?: [number, number];  // height field: its corner of least x and y
  counts?: [number, number];
  heights?: Array;  // x-major
}
export type Solid = SolidOf<Float32Array>;

export interface ContactPoint {
  name: string;
  body?: number;  // absent: its place on the model is not known
  position?: Vec3;
}

interface ContactTable<Indices, Numbers> {
  first: Indices;  // frame k has contacts [first[k], first[k + 1])
  point: Indices;
  solid: Indices;
  position: Numbers;  // 3 each, world
  force: Numbers;     // 3 each, world, on the robot
  depth: Numbers;
}
export type Contacts = ContactTable<Uint32Array, Float32Array>;

export interface EventRow {
  time: number;
  kind: string;
  contacts: { point: string; solid: string; normal: number; tangential: number }[];  // impulses [N s]
  more?: number;          // contacts not listed
  bounces_end?: number;   // [s]
  // of impacts
  law?: string;
  status?: string;
  steps?: number;
  energy?: [number, number];  // [J] before, after
  certificate?: { holds: boolean; cap: number | null };
}

interface EventList<Times, Kinds> {
  count: number;
  time: Times;  // of the first ones
  kind: Kinds;  // 0 impact, 1 lift-off, 2 rest
  table: EventRow[];
}
export type Events = EventList<Float64Array, Uint32Array>;

interface SeriesTable<Array> {
  stride: number;
  time: Array;
  kinetic_energy: Array;
  potential_energy: Array;
  residual: Array;
  iterations: Array;
  substeps: Array;
  rejected: Array;
  positions: Array[];
  // runs with an environment
  normal_force?: Array;
  penetration?: Array;
  outer?: Array;
  base_height?: Array;
  base_travel?: Array;
  base_tilt?: Array;
}

// One run as it was written; a replay has a second one when it shows a ghost.
interface RunHeader {
  title: string;
  model: string;
  status: string;
  settings: [string, string][];
  bodies: Body[];
  shapes: Shape[];
  positions: { name: string; unit: string }[];
  recorded_rows: number;
  series: SeriesTable<ArrayRef>;
  frames: { stride: number; time: ArrayRef; poses: ArrayRef };
}

interface Header extends RunHeader {
  version: number;
  meshes: MeshRef[];
  note: string;
  ghost?: RunHeader;
  environment?: SolidOf<ArrayRef>[];  // absent: a run without contact
  contact_points?: ContactPoint[];
  contacts?: ContactTable<ArrayRef, ArrayRef>;
  events?: EventList<ArrayRef, ArrayRef>;
  data: string;
}

export type Column = Float32Array | Float64Array;

// Triangles of one colour after another: how many, red, green, blue, opacity (0 to 255).
export type Paint = [number, number, number, number, number];

export interface MeshRef { vertices: ArrayRef; triangles: ArrayRef; colours?: Paint[] }

export interface MeshData { vertices: Float32Array; triangles: Uint32Array; colours?: Paint[] }

export interface RunData extends Omit<RunHeader, 'series' | 'frames'> {
  meshes: MeshData[];  // of both runs
  series: SeriesTable<Column>;
  frames: { stride: number; time: Float64Array; poses: Float32Array };  // 7 numbers per body: x y z, qx qy qz qw
}

export interface Replay extends RunData {
  version: number;
  note: string;
  contact?: { environment: Solid[]; points: ContactPoint[]; contacts: Contacts };
  events?: Events;
  ghost?: RunData;
}

// The base64 block of arrays of a page.
export class Arrays {
  private readonly buffer: ArrayBuffer;

  constructor(base64: string) {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    this.buffer = bytes.buffer;
  }

  f32(ref: ArrayRef): Float32Array { return new Float32Array(this.buffer, ref.offset, ref.count); }
  f64(ref: ArrayRef): Float64Array { return new Float64Array(this.buffer, ref.offset, ref.count); }
  u32(ref: ArrayRef): Uint32Array { return new Uint32Array(this.buffer, ref.offset, ref.count); }
  mesh(ref: MeshRef): MeshData { return { ...ref, vertices: this.f32(ref.vertices), triangles: this.u32(ref.triangles) }; }
  u16(ref: ArrayRef): Uint16Array { return new Uint16Array(this.buffer, ref.offset, ref.count); }
}

export function decode(json: string): Replay {
  const header = JSON.parse(json) as Header;
  const arrays = new Arrays(header.data);
  const f32 = (ref: ArrayRef) => arrays.f32(ref);
  const f64 = (ref: ArrayRef) => arrays.f64(ref);
  const u32 = (ref: ArrayRef) => arrays.u32(ref);
  const column = (ref: ArrayRef): Column => (ref.type === 'f64' ? f64(ref) : f32(ref));

  const maybe = (ref: ArrayRef | undefined) => (ref ? column(ref) : undefined);

  const { meshes: stored, series: _series, frames: _frames, environment, contact_points: points, contacts, events, ghost, data: _data, ...rest } = header;
  const meshes = stored.map((m) => arrays.mesh(m));
  const motion = ({ series, frames }: RunHeader) => ({
    meshes,
    series: {
      stride: series.stride,
      time: column(series.time),
      kinetic_energy: column(series.kinetic_energy),
      potential_energy: column(series.potential_energy),
      residual: column(series.residual),
      iterations: column(series.iterations),
      substeps: column(series.substeps),
      rejected: column(series.rejected),
      positions: series.positions.map(column),
      normal_force: maybe(series.normal_force),
      penetration: maybe(series.penetration),
      outer: maybe(series.outer),
      base_height: maybe(series.base_height),
      base_travel: maybe(series.base_travel),
      base_tilt: maybe(series.base_tilt),
    },
    frames: { stride: frames.stride, time: f64(frames.time), poses: f32(frames.poses) },
  });
  return {
    ...rest,
    ...motion(header),
    contact: environment && points && contacts && {
      environment: environment.map((s) => ({ ...s, heights: s.heights && f32(s.heights) })),
      points,
      contacts: {
        first: u32(contacts.first), point: u32(contacts.point), solid: u32(contacts.solid),
        position: f32(contacts.position), force: f32(contacts.force), depth: f32(contacts.depth),
      },
    },
    events: events && { ...events, time: f64(events.time), kind: u32(events.kind) },
    ghost: ghost && { ...ghost, ...motion(ghost) },
  };
}

// The last index whose time is not after t; 0 before the first.
export function indexAt(time: Column, t: number): number {
  let low = 0, high = time.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (time[middle] <= t) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function nearestIndex(time: Column, t: number): number {
  const i = indexAt(time, t);
  return i + 1 < time.length && time[i + 1] - t < t - time[i] ? i + 1 : i;
}

export const lastTime = (run: RunData): number => run.frames.time[run.frames.time.length - 1];

// "every 4th of 4000 recorded rows", or "all 400 recorded rows".
export function describeRows(stride: number, recorded: number): string {
  const suffix = stride % 100 >= 11 && stride % 100 <= 13 ? 'th' : ['th', 'st', 'nd', 'rd'][stride % 10] ?? 'th';
  if (recorded === 1) return 'the one recorded row';
  return stride === 1 ? `all ${recorded} recorded rows` : `every ${stride}${suffix} of ${recorded} recorded rows`;
}
