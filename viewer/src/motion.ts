// Where every body and the centre of mass are at any time, between the frames of the replay.
import { Quaternion, Vector3 } from 'three';
import { indexAt, type RunData } from './data';

export class Motion {
  readonly frameCount: number;
  private readonly bodyCount: number;
  private readonly a = new Quaternion();
  private readonly b = new Quaternion();
  private readonly v = new Vector3();

  constructor(readonly run: RunData) {
    this.frameCount = run.frames.time.length;
    this.bodyCount = run.bodies.length;
  }

  // Straight line and shortest arc between the two frames around t; calls `visit` for every body. Before the first frame
  // and after the last nothing moves.
  at(t: number, visit: (body: number, position: Vector3, quaternion: Quaternion) => void): void {
    const { time, poses } = this.run.frames;
    const i = indexAt(time, t);
    const j = Math.min(i + 1, this.frameCount - 1);
    const u = j > i ? Math.min(1, Math.max(0, (t - time[i]) / (time[j] - time[i]))) : 0;
    for (let body = 0; body < this.bodyCount; ++body) {
      const p = 7 * (i * this.bodyCount + body), n = 7 * (j * this.bodyCount + body);
      this.v.set(poses[p] + u * (poses[n] - poses[p]), poses[p + 1] + u * (poses[n + 1] - poses[p + 1]),
                 poses[p + 2] + u * (poses[n + 2] - poses[p + 2]));
      this.a.fromArray(poses, p + 3).slerp(this.b.fromArray(poses, n + 3), u);
      visit(body, this.v, this.a);
    }
  }

  // Origin of the first body.
  root(t: number, out: Vector3): Vector3 {
    this.at(t, (i, position) => { if (i === 0) out.copy(position); });
    return out;
  }

  // Mean of the bodies' centres of mass weighted by mass; without any mass, of their origins.
  centre(t: number, out: Vector3): Vector3 {
    const bodies = this.run.bodies;
    const massless = bodies.every((body) => body.mass === 0);
    const point = new Vector3();
    let total = 0;
    out.set(0, 0, 0);
    this.at(t, (i, position, quaternion) => {
      const weight = massless ? 1 : bodies[i].mass;
      point.fromArray(bodies[i].com).applyQuaternion(quaternion).add(position);
      out.addScaledVector(point, weight);
      total += weight;
    });
    return total > 0 ? out.divideScalar(total) : out;
  }
}
