// What an impact page is given, and contact velocities from generalized ones.

export type Vec = number[];

export interface Link { name: string; parent: number; joint: Vec; com: Vec; angle: number; foot: Vec | null; footRadius: number }
export interface Body {
  name: string; shape: 'disk' | 'box' | 'wall' | 'ball' | 'links'; fixed: boolean;
  p: Vec; R: Vec;  // R by rows
  radius: number; size: Vec; normal: Vec; dof: number; dofs: number; rotates: boolean; links: Link[];
}
export interface Contact { label: string; a?: string; b?: string; p?: Vec; n?: Vec }
export interface Certificate {
  holds: boolean; tolerance: number; w: number; cap: number | null; energy: [number, number]; bits: number; jammed: string[];
}
export interface Outcome {
  law: string; note: string; status: string; steps: number; v: Vec; normal: Vec; tangential: Vec;
  before: number; after: number; path: Vec[]; stride: number; certificate: Certificate | null;
}
export interface Quantity { name: string; contact: number; tangent: number; row: [number, number][] }
export interface Range { range: [number | null, number | null]; bound: [number | null, number | null] }
export interface OutcomeSet {
  sampler: string; samples: number; finished: number; unfinished: number; failed: number; step: number; maxSteps: number;
  increments: number; mostIncrements: number; energy: [number, number]; largestImpulse: number; impulseBound: number | null;
  modes: { name: string; count: number }[]; modeCount: number; ranges: Range[];
  extremes: { name: string; value: number; v: Vec }[];
  shown: number; points: string; pathLengths: number[]; paths: string; pathsFound: number;
}
export interface Impact {
  title: string; scene: string; dimension: number; law: string; along: Vec | null; v: Vec; notes: string[];
  bodies: Body[]; contacts: Contact[]; dofs: { name: string; unit: string }[]; quantities: Quantity[];
  outcomes: Outcome[]; set: OutcomeSet | null;
}

// Something to look at: the outcome of a law, or an extreme of the set.
export interface Shown { name: string; group: string; law: string; v: Vec; outcome: Outcome | null }

export function decodeFloats(text: string): Float32Array {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

export const velocityOf = (quantity: Quantity, v: Vec): number =>
  quantity.row.reduce((sum, [k, value]) => sum + value * v[k], 0);

// What rounding left of a zero is no number to show.
export const cleaned = (value: number, scale: number): number => (Math.abs(value) <= 1e-12 * scale ? 0 : value);

export const digits = (value: number | null): string => {
  if (value === null || !Number.isFinite(value)) return '\u2013';
  const size = Math.abs(value);
  if (value === 0) return '0';
  if (Number.isInteger(value) && size < 1e6) return String(value);
  return size < 1e-4 || size >= 1e6 ? value.toExponential(3) : String(Number(value.toPrecision(5)));
};

// vn_A as people write it.
export const pretty = (name: string): string => name.replace(/^v(n|t1|t2|t)_/, (_, k: string) => `v${k} `);

export function lawColour(law: string, index: number): string {
  if (law === 'anitescu-potra') return '--potra';
  if (law === 'sequential') return `--sequential-${index % 3}`;
  return ({
    'gs-first': '--curve-3', 'gs-cyclic': '--curve-6', 'gs-max': '--curve-4', reflections: '--curve-2',
    'restitution-blend': '--curve-5', moreau: '--curve-7', poisson: '--curve-1', routh: '--curve-5', set: '--sample',
  } as Record<string, string>)[law] ?? '--curve-7';
}
