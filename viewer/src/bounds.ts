// Boxes around a moving model.
import * as THREE from 'three';
import type { RunData } from './data';
import { Motion } from './motion';
import { ShapeFactory, visibleShapes } from './shapes';

const MOST_SAMPLES = 100;  // frames looked at to frame the motion

export class Bounds {
  private readonly corners: THREE.Vector3[][];  // by body, in its axes

  // Of the bodies' shapes (planes are endless and do not count), or their origins where there is none.
  constructor(run: RunData, private readonly motion: Motion) {
    const factory = new ShapeFactory(run, 0);
    this.corners = run.bodies.map(() => [new THREE.Vector3()]);
    for (const shape of visibleShapes(run)) {
      if (shape.body < 0 || shape.type === 'plane') continue;
      const object = factory.viewObject(shape, new THREE.Color());
      object.updateMatrix();
      object.geometry.computeBoundingBox();
      const { min, max } = object.geometry.boundingBox!;
      if (!(max.x >= min.x)) continue;  // a shape of nothing has no box
      for (const x of [min.x, max.x])
        for (const y of [min.y, max.y])
          for (const z of [min.z, max.z]) this.corners[shape.body].push(new THREE.Vector3(x, y, z).applyMatrix4(object.matrix));
    }
  }

  at(times: number[]): THREE.Box3 {
    const box = new THREE.Box3();
    const point = new THREE.Vector3();
    for (const t of times)
      this.motion.at(t, (i, position, quaternion) => {
        for (const corner of this.corners[i]) box.expandByPoint(point.copy(corner).applyQuaternion(quaternion).add(position));
      });
    if (box.isEmpty()) box.expandByPoint(new THREE.Vector3());
    return box.getSize(point).length() < 1e-6 ? box.expandByScalar(0.5) : box;
  }
}

// Times of at most about a hundred frames, the last one included.
export function sampleTimes(run: RunData): number[] {
  const time = run.frames.time;
  const every = Math.ceil(time.length / MOST_SAMPLES);
  const times = Array.from(time).filter((_, i) => i % every === 0);
  return [...times, time[time.length - 1]];
}
