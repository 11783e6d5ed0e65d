// Contact points and the forces on them, between the frames of the replay.
import * as THREE from 'three';
import { cssColour } from './colour';
import { indexAt, type Replay } from './data';

// One contact at the time shown.
export interface ShownContact {
  point: number;
  name: string;
  solid: string;
  position: THREE.Vector3;
  force: THREE.Vector3;
  depth: number;  // [m]
}

const USUAL = 0.95;        // share of all contact forces that get an arrow of at most LONGEST
const LONGEST = 0.4;       // of the size of the model
const THICKNESS = 0.006;   // of the size of the model: radius of an arrow's shaft
const POINT_SIZE = 0.011;  // of the size of the model, of a few points; of more each is smaller, down to a quarter
const FEW = 24;
export const MOST_IDLE = 200;  // where there are more, only those that touch are drawn

// 1, 2 or 5 times a power of ten, at least `value`.
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5].find((m) => m * power >= value * (1 - 1e-12)) ?? 10);
}

export class ContactLayer {
  readonly arrows = new THREE.Group();
  readonly points = new THREE.Group();
  readonly newtonsPerMetre: number;
  shown: ShownContact[] = [];
  private readonly shafts: THREE.InstancedMesh<THREE.CylinderGeometry, THREE.MeshBasicMaterial>;
  private readonly heads: THREE.InstancedMesh<THREE.ConeGeometry, THREE.MeshBasicMaterial>;
  private readonly idle: THREE.InstancedMesh<THREE.SphereGeometry, THREE.MeshBasicMaterial>;
  private readonly touching: THREE.InstancedMesh<THREE.SphereGeometry, THREE.MeshBasicMaterial>;
  private readonly matrix = new THREE.Matrix4();

  constructor(private readonly replay: Replay, private readonly modelSize: number) {
    const { points, contacts } = replay.contact!;
    this.newtonsPerMetre = this.chooseScale();
    let most = 1;
    const frames = contacts.first.length - 1;
    for (let k = 0; k < frames; ++k)  // two neighbouring frames may have no contact in common
      most = Math.max(most, contacts.first[Math.min(k + 2, frames)] - contacts.first[k]);
    const through = { depthTest: false, transparent: true };  // seen through the body
    const instanced = <G extends THREE.BufferGeometry>(geometry: G, options: THREE.MeshBasicMaterialParameters, count: number) => {
      const mesh = new THREE.InstancedMesh(geometry, new THREE.MeshBasicMaterial(options), count);
      mesh.frustumCulled = false;
      mesh.count = 0;
      return mesh;
    };
    this.shafts = instanced(new THREE.CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0), through, most);
    this.heads = instanced(new THREE.ConeGeometry(1, 1, 20).translate(0, 0.5, 0), through, most);
    const radius = POINT_SIZE * modelSize * Math.min(1, Math.max(0.25, Math.sqrt(FEW / points.length)));
    this.idle = instanced(new THREE.SphereGeometry(radius, 16, 12), {}, points.length);
    this.idle.visible = points.length <= MOST_IDLE;
    this.touching = instanced(new THREE.SphereGeometry(radius, 16, 12), through, Math.max(points.length, most));
    this.shafts.renderOrder = this.heads.renderOrder = 5;
    this.touching.renderOrder = 4;
    this.arrows.add(this.shafts, this.heads);
    this.points.add(this.idle, this.touching);
  }

  // `bodies` are where they are at time t.
  setTime(t: number, bodies: THREE.Object3D[]): void {
    this.shown = this.contactsAt(t);
    this.placePoints(bodies);
    this.shafts.count = this.heads.count = 0;
    for (const contact of this.shown) this.addArrow(contact);
    for (const mesh of [this.shafts, this.heads, this.idle, this.touching]) mesh.instanceMatrix.needsUpdate = true;
  }

  applyTheme(): void {
    for (const mesh of [this.shafts, this.heads, this.touching]) mesh.material.color = cssColour('--force');
    this.idle.material.color = cssColour('--muted');
  }

  // Forces and places on straight lines between the two frames around t. A contact that only one of them has grows from
  // nothing or fades away.
  private contactsAt(t: number): ShownContact[] {
    const { time } = this.replay.frames, { points, environment, contacts } = this.replay.contact!;
    const i = indexAt(time, t), j = Math.min(i + 1, time.length - 1);
    const u = j > i ? Math.min(1, Math.max(0, (t - time[i]) / (time[j] - time[i]))) : 0;
    const merged = new Map<string, { contact: ShownContact; weight: number }>();
    const add = (frame: number, weight: number) => {
      if (weight === 0) return;
      for (let c = contacts.first[frame]; c < contacts.first[frame + 1]; ++c) {
        const key = `${contacts.point[c]} ${contacts.solid[c]}`;
        let entry = merged.get(key);
        if (!entry) {
          const contact = { point: contacts.point[c], name: points[contacts.point[c]].name, solid: environment[contacts.solid[c]].name,
                            position: new THREE.Vector3(), force: new THREE.Vector3(), depth: 0 };
          merged.set(key, entry = { contact, weight: 0 });
        }
        entry.weight += weight;
        entry.contact.position.addScaledVector(new THREE.Vector3().fromArray(contacts.position, 3 * c), weight);
        entry.contact.force.addScaledVector(new THREE.Vector3().fromArray(contacts.force, 3 * c), weight);
        entry.contact.depth += weight * contacts.depth[c];
      }
    };
    add(i, 1 - u);
    if (j > i) add(j, u);
    return Array.from(merged.values(), ({ contact, weight }) => {
      contact.position.divideScalar(weight);
      contact.depth /= weight;
      return contact;
    });
  }

  private placePoints(bodies: THREE.Object3D[]): void {
    const touching = new Set(this.shown.map((c) => c.point));
    this.idle.count = this.touching.count = 0;
    const put = (mesh: THREE.InstancedMesh, at: THREE.Vector3) => mesh.setMatrixAt(mesh.count++, this.matrix.makeTranslation(at));
    const { points } = this.replay.contact!;
    points.forEach((point, k) => {
      if (point.body === undefined || !point.position) return;
      const at = new THREE.Vector3(...point.position);
      if (point.body >= 0) at.applyQuaternion(bodies[point.body].quaternion).add(bodies[point.body].position);
      put(touching.has(k) ? this.touching : this.idle, at);
    });
    for (const contact of this.shown) if (points[contact.point].body === undefined) put(this.touching, contact.position);
  }

  private addArrow(contact: ShownContact): void {
    const length = contact.force.length() / this.newtonsPerMetre;
    if (length < 1e-3 * this.modelSize) return;
    const radius = THICKNESS * this.modelSize;
    const head = Math.min(5 * radius, 0.5 * length);
    const along = contact.force.clone().normalize();
    const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), along);
    const k = this.shafts.count++;
    this.heads.count = this.shafts.count;
    this.shafts.setMatrixAt(k, this.matrix.compose(contact.position, turn, new THREE.Vector3(radius, length - head, radius)));
    const tip = contact.position.clone().addScaledVector(along, length - head);
    const width = Math.min(2.4 * radius, 0.6 * head);
    this.heads.setMatrixAt(k, this.matrix.compose(tip, turn, new THREE.Vector3(width, head, width)));
  }

  // So that nearly all arrows are shorter than LONGEST: an impact must not shrink every other force to a dot.
  private chooseScale(): number {
    const { force } = this.replay.contact!.contacts;
    const sizes: number[] = [];
    for (let k = 0; k < force.length; k += 3) {
      const size = Math.hypot(force[k], force[k + 1], force[k + 2]);
      if (size > 0) sizes.push(size);
    }
    sizes.sort((a, b) => a - b);
    const usual = sizes.length > 0 ? sizes[Math.floor(USUAL * (sizes.length - 1))] : 1;
    return roundUp(usual / (LONGEST * this.modelSize));
  }
}
