// Another motion in the 3-D view, such as a second run: all its bodies translucent, in one colour, without shadows.
import * as THREE from 'three';
import { Bounds } from './bounds';
import { cssColour } from './colour';
import { Motion } from './motion';
import { visibleShapes, type ShapeFactory } from './shapes';

const OPACITY = 0.42;
const BALL = 0.024;   // of the size of the model: radius of a body without shapes
const SPACING = 1.15;  // beside: of the width of both, so that there is a gap
const LEAST_SPACING = 0.5;  // of the size of the model: flat models need room, too

// The next number with one digit.
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return Number((Math.ceil((value / power) * (1 - 1e-12)) * power).toPrecision(1));
}

export class GhostLayer {
  readonly objects = new THREE.Group();
  readonly meshes: THREE.Mesh[] = [];  // one per shape of a body
  readonly distance: number;           // [m] along y when it stands beside the run
  private readonly bounds: Bounds;
  private readonly bodies: THREE.Group[];
  private readonly path: THREE.Line<THREE.BufferGeometry, THREE.LineDashedMaterial>;
  private readonly sticks: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  private readonly colours: { color: THREE.Color }[] = [];

  constructor(private readonly motion: Motion, factory: ShapeFactory, start: THREE.Box3, modelSize: number,
              private readonly colour = '--ghost', private readonly rank = 0) {
    const { run } = motion;
    this.bounds = new Bounds(run, motion);
    const size = (box: THREE.Box3) => box.getSize(new THREE.Vector3());
    const own = this.bounds.at([run.frames.time[0]]);
    const width = (size(start).y + size(own).y) / 2;
    this.distance = roundUp(Math.max(SPACING * width, LEAST_SPACING * modelSize));

    this.bodies = run.bodies.map(() => new THREE.Group());
    if (this.bodies.length > 0) this.objects.add(...this.bodies);
    const shapes = visibleShapes(run).filter((s) => s.body >= 0 && s.type !== 'plane');
    for (const shape of shapes) this.addMesh(shape.body, (material) => factory.place(shape, material));
    const ball = new THREE.SphereGeometry(BALL * modelSize, 24, 16);
    if (shapes.length === 0) run.bodies.forEach((_, i) => this.addMesh(i, (material) => new THREE.Mesh(ball, material)));
    this.sticks = this.addSticks(shapes.length === 0);
    this.path = this.addPath(modelSize);
  }

  setTime(t: number): void {
    this.motion.at(t, (i, position, quaternion) => {
      this.bodies[i].position.copy(position);
      this.bodies[i].quaternion.copy(quaternion);
    });
    if (!this.sticks.visible) return;
    const position = this.sticks.geometry.getAttribute('position');
    this.motion.run.bodies.forEach((body, i) => {
      const to = this.bodies[i].position, from = body.parent < 0 ? to : this.bodies[body.parent].position;
      position.setXYZ(2 * i, from.x, from.y, from.z);
      position.setXYZ(2 * i + 1, to.x, to.y, to.z);
    });
    position.needsUpdate = true;
  }

  setBeside(on: boolean): void {
    this.objects.position.set(0, on ? this.distance : 0, 0);
  }

  showPath(on: boolean): void {
    this.path.visible = on;
  }

  // Where it is drawn at these times.
  boundsAt(times: number[]): THREE.Box3 {
    return this.bounds.at(times).translate(this.objects.position);
  }

  applyTheme(): void {
    for (const material of this.colours) material.color = cssColour(this.colour);
  }

  // Depth first, then colour: what lies behind its own front is not seen, so that overlapping links do not add up. Where
  // it coincides with the run it lies behind it, whose own offsets reach 4 and 16; behind ghosts of lower rank, too.
  private addMesh(body: number, make: (material: THREE.Material) => THREE.Mesh): void {
    const place = 3 + (body % 3) + 3 * this.rank;
    const behind = { polygonOffset: true, polygonOffsetFactor: 2 * place, polygonOffsetUnits: 8 * place,
                     transparent: true, side: THREE.DoubleSide };
    const depth = make(new THREE.MeshBasicMaterial({ ...behind, colorWrite: false }));
    const material = new THREE.MeshStandardMaterial({ ...behind, roughness: 0.8, metalness: 0, opacity: OPACITY, depthWrite: false });
    const mesh = make(material);
    depth.renderOrder = 1.4;  // after the grid
    mesh.renderOrder = 1.5;
    this.colours.push(material);
    this.meshes.push(mesh);
    this.bodies[body].add(depth, mesh);
  }

  // A model without shapes is a stick figure here, too.
  private addSticks(needed: boolean): THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial> {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(6 * this.bodies.length), 3));
    const sticks = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ transparent: true, opacity: 0.7 }));
    sticks.visible = needed;
    sticks.frustumCulled = false;
    this.colours.push(sticks.material);
    this.objects.add(sticks);
    return sticks;
  }

  private addPath(modelSize: number): THREE.Line<THREE.BufferGeometry, THREE.LineDashedMaterial> {
    const points = Array.from(this.motion.run.frames.time, (t) => this.motion.centre(t, new THREE.Vector3()));
    const material = new THREE.LineDashedMaterial({ dashSize: 0.03 * modelSize, gapSize: 0.02 * modelSize, depthTest: false,
                                                    transparent: true });
    const path = new THREE.Line(new THREE.BufferGeometry().setFromPoints(points), material);
    path.computeLineDistances();
    path.renderOrder = 3;
    path.visible = false;
    this.colours.push(material);
    this.objects.add(path);
    return path;
  }
}
