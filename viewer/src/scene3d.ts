// The 3-D view: bodies, ground, light, camera. Draws only when something changed.
import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { Bounds, sampleTimes } from './bounds';
import { cssColour } from './colour';
import { ContactLayer, type ShownContact } from './contacts';
import type { Replay, Shape } from './data';
import { GhostLayer } from './ghost';
import { cellSize, makeGrid } from './grid';
import { Ground } from './ground';
import { Motion } from './motion';
import { ShapeFactory, shapeColours, visibleShapes } from './shapes';

export type Layer = 'collision' | 'frames' | 'trail' | 'forces';

const VIEW_DIRECTION = new THREE.Vector3(0.75, -1.35, 0.6).normalize();  // planar models move in the x-z plane
const LIGHT_DIRECTION = new THREE.Vector3(-0.45, -0.6, 1.3).normalize();
const FAR_TRAVEL = 3;  // a motion this much larger than the model is followed instead of framed whole
const LEAST_SIZE = 1e-6;    // [m] of what is looked at
const MARGIN = 1.2;        // room around what is framed
const HOVER_DISTANCE = 14;  // [px] from a contact to the pointer that asks for it
const SQUARE = 5;          // grid cells along a square of the checkered ground

function makeAxes(length: number): THREE.AxesHelper {
  return new THREE.AxesHelper(length).setColors('#cc4b41', '#4a9c5d', '#3f76c4');
}

// z = 0, or below what hangs under it: a pendulum is not looked at through the floor.
function groundHeight(box: THREE.Box3, cell: number): number {
  const sunk = box.min.z < -0.1 * box.getSize(new THREE.Vector3()).length();
  return sunk ? Math.floor(box.min.z / cell) * cell : 0;
}

export class View {
  private readonly renderer: THREE.WebGLRenderer;
  private readonly scene = new THREE.Scene();
  private readonly camera = new THREE.PerspectiveCamera(35, 1, 0.01, 1000);
  private readonly orbit: OrbitControls;
  private readonly bodies: THREE.Group[];
  private readonly layers: Record<Layer, THREE.Group>;
  private readonly sun = new THREE.DirectionalLight(0xffffff, 2.1);
  private readonly grid: ReturnType<typeof makeGrid>;
  private readonly comMarker: THREE.Mesh;
  private readonly trailLine: THREE.Line<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  private readonly sticks: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  private readonly ground: Ground | undefined;
  private readonly contacts: ContactLayer | undefined;
  private readonly ghost: GhostLayer | undefined;
  private companions: GhostLayer[] = [];  // further motions, beside the ghost of a second run
  private readonly factory: ShapeFactory;
  private readonly bounds: Bounds;
  private readonly centre = new THREE.Vector3();
  private readonly motionBox: THREE.Box3;
  private readonly modelSize: number;  // [m] diameter of the model at the start
  private time: number;
  private following = false;
  private pending = false;
  readonly startsFollowing: boolean;
  readonly groundHeight: number;  // [m] z of the grid
  readonly cell: number;          // [m] of the grid
  readonly hasGrid: boolean;      // not where the environment has no level plane for it to lie in

  // Throws if the browser has no WebGL.
  constructor(private readonly canvas: HTMLCanvasElement, private readonly replay: Replay, readonly motion: Motion,
              ghostMotion?: Motion) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.time = replay.frames.time[0];

    const shapes = visibleShapes(replay);
    this.bounds = new Bounds(replay, motion);
    const first = this.bounds.at([this.time]);
    this.motionBox = this.bounds.at(sampleTimes(replay));
    this.modelSize = Math.max(first.getSize(new THREE.Vector3()).length(), LEAST_SIZE);
    const travel = this.motionBox.getSize(new THREE.Vector3()).length();
    this.startsFollowing = travel > FAR_TRAVEL * this.modelSize;
    const scale = this.startsFollowing ? this.modelSize : travel;
    const shown = this.startsFollowing ? first : this.motionBox;
    this.cell = cellSize(scale);
    this.ground = replay.contact && new Ground(replay.contact.environment, 12 * scale, SQUARE * this.cell);
    this.contacts = replay.contact && new ContactLayer(replay, this.modelSize);
    const hasPlane = shapes.some((s) => s.type === 'plane');
    this.groundHeight = this.ground?.height ?? (hasPlane ? 0 : groundHeight(shown, this.cell));
    this.hasGrid = !this.ground || this.ground.height !== undefined;
    const middle = shown.getCenter(new THREE.Vector3()).setZ(this.groundHeight);

    this.bodies = replay.bodies.map(() => new THREE.Group());
    this.layers = { collision: new THREE.Group(), frames: new THREE.Group(), trail: new THREE.Group(),
                    forces: this.contacts?.arrows ?? new THREE.Group() };
    this.scene.add(...this.bodies, ...Object.values(this.layers));
    const factory = this.factory = new ShapeFactory(replay, 12 * scale);
    this.addShapes(shapes, factory);
    for (const layer of Object.values(this.layers)) layer.visible = false;
    this.layers.forces.visible = this.contacts !== undefined;
    if (this.ground) this.scene.add(this.ground.objects);
    if (this.contacts) this.scene.add(this.contacts.points);
    this.ghost = ghostMotion && new GhostLayer(ghostMotion, factory, first, this.modelSize);
    if (this.ghost) this.scene.add(this.ghost.objects);

    this.sticks = this.addSticks(shapes);
    this.addFrames();
    const mark = cssColour('--accent');
    this.comMarker = new THREE.Mesh(new THREE.SphereGeometry(0.012 * this.modelSize, 20, 14),
                                    new THREE.MeshBasicMaterial({ color: mark, depthTest: false, transparent: true }));
    this.trailLine = new THREE.Line(this.trailGeometry(),
                                    new THREE.LineBasicMaterial({ color: mark, depthTest: false, transparent: true }));
    this.comMarker.renderOrder = this.trailLine.renderOrder = 3;
    this.layers.trail.add(this.comMarker, this.trailLine);

    this.grid = makeGrid(middle, scale);
    this.grid.visible = this.hasGrid;
    this.scene.add(this.grid);
    if (!hasPlane && !this.ground) {  // a plane shows the shadow itself
      const floor = new THREE.Mesh(new THREE.PlaneGeometry(40 * scale, 40 * scale),
                                   new THREE.ShadowMaterial({ depthWrite: false }));  // the grid lies in it
      floor.position.copy(middle);
      floor.receiveShadow = true;
      this.scene.add(floor);
    }
    this.addLights(scale);

    this.camera.up.set(0, 0, 1);
    this.orbit = new OrbitControls(this.camera, canvas);
    this.orbit.addEventListener('change', () => this.requestRender());
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement ?? canvas);
    this.resize();
    this.setTime(this.time);
    this.fit();
  }

  setTime(t: number): void {
    this.time = t;
    this.motion.at(t, (i, position, quaternion) => {
      this.bodies[i].position.copy(position);
      this.bodies[i].quaternion.copy(quaternion);
    });
    const before = this.centre.clone();
    this.motion.centre(t, this.centre);
    this.comMarker.position.copy(this.centre);
    if (this.following) {
      const moved = this.centre.clone().sub(before);
      this.camera.position.add(moved);
      this.orbit.target.add(moved);
    }
    if (this.ground && this.startsFollowing) {  // the ground reaches as far as the robot walks
      this.ground.follow(this.centre);
      this.grid.position.setX(this.centre.x).setY(this.centre.y);
      this.grid.material.uniforms.centre.value.set(this.centre.x, this.centre.y);
    }
    this.contacts?.setTime(t, this.bodies);
    this.ghost?.setTime(t);
    for (const companion of this.companions) companion.setTime(t);
    this.updateSticks();
    this.requestRender();
  }

  get shownContacts(): ShownContact[] {
    return this.contacts?.shown ?? [];
  }

  get newtonsPerMetre(): number | undefined {
    return this.contacts?.newtonsPerMetre;
  }

  // The contact drawn nearest to a place on the canvas [px from its corner], if within reach of a pointer.
  contactAt(x: number, y: number): ShownContact | undefined {
    const point = new THREE.Vector3();
    let nearest: ShownContact | undefined, least = HOVER_DISTANCE;
    for (const contact of this.shownContacts) {
      point.copy(contact.position).project(this.camera);
      const distance = Math.hypot((0.5 + 0.5 * point.x) * this.canvas.clientWidth - x,
                                  (0.5 - 0.5 * point.y) * this.canvas.clientHeight - y);
      if (point.z < 1 && distance < least) [nearest, least] = [contact, distance];
    }
    return nearest;
  }

  setFollow(on: boolean): void {
    this.following = on;
  }

  setLayer(layer: Layer, on: boolean): void {
    this.layers[layer].visible = on;
    if (layer === 'trail') for (const ghost of [this.ghost, ...this.companions]) ghost?.showPath(on);
    this.requestRender();
  }

  setGhost(on: boolean): void {
    if (this.ghost) this.ghost.objects.visible = on;
    this.requestRender();
  }

  // Motions of the same model, translucent, each in a colour of the style sheet; in place of those before.
  setCompanions(motions: { motion: Motion; colour: string }[]): void {
    for (const companion of this.companions) this.scene.remove(companion.objects);
    const start = this.bounds.at([this.time]);
    this.companions = motions.map(({ motion, colour }, k) => new GhostLayer(motion, this.factory, start, this.modelSize, colour, k));
    for (const companion of this.companions) {
      companion.applyTheme();
      companion.setTime(this.time);
      companion.showPath(this.layers.trail.visible);
      this.scene.add(companion.objects);
    }
    this.requestRender();
  }

  get companionCount(): number {
    return this.companions.length;
  }

  // What Fit frames contains these motions, too.
  frame(motions: Motion[]): void {
    for (const motion of motions) this.motionBox.union(new Bounds(this.replay, motion).at(sampleTimes(this.replay)));
  }

  // The poses of the motion were replaced by others.
  motionChanged(): void {
    this.trailLine.geometry.dispose();
    this.trailLine.geometry = this.trailGeometry();
    this.setTime(this.time);
  }

  // Beside the run, or at its own place; a ghost that went out of sight is brought back into it.
  setBeside(on: boolean): void {
    if (!this.ghost) return;
    this.ghost.setBeside(on);
    const middle = this.ghost.boundsAt([this.time]).getCenter(new THREE.Vector3()).project(this.camera);
    if (on && Math.max(Math.abs(middle.x), Math.abs(middle.y)) > 0.9) this.fit();
    this.requestRender();
  }

  get ghostDistance(): number | undefined {
    return this.ghost?.distance;
  }

  // Frames the whole motion or, while following, the model where it is.
  fit(): void {
    const box = this.framed();
    const target = box.getCenter(new THREE.Vector3());
    const distance = this.fitDistance(box);
    this.orbit.target.copy(target);
    this.camera.position.copy(target).addScaledVector(VIEW_DIRECTION, distance);
    this.camera.near = distance / 200;
    this.camera.far = distance * 100;
    this.camera.updateProjectionMatrix();
    this.orbit.update();
    this.requestRender();
  }

  applyTheme(dark: boolean): void {
    this.scene.background = cssColour('--stage');
    this.grid.material.uniforms.ink.value = cssColour('--grid');
    this.grid.material.uniforms.strength.value = dark ? 0.55 : 0.6;
    this.scene.traverse((object) => {
      const material = (object as THREE.Mesh).material;
      if (material instanceof THREE.ShadowMaterial) material.opacity = dark ? 0.45 : 0.2;
    });
    this.ground?.applyTheme();
    this.contacts?.applyTheme();
    this.ghost?.applyTheme();
    for (const companion of this.companions) companion.applyTheme();
    this.sticks.material.color = cssColour('--muted');
    const mark = cssColour('--accent');
    this.trailLine.material.color = mark;
    (this.comMarker.material as THREE.MeshBasicMaterial).color = mark;
    this.requestRender();
  }

  requestRender(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => this.render());
  }

  render(): void {
    this.pending = false;
    this.sun.target.position.copy(this.centre);
    this.sun.position.copy(this.centre).addScaledVector(LIGHT_DIRECTION, 4 * this.modelSize);
    this.renderer.render(this.scene, this.camera);
  }

  // How far back along VIEW_DIRECTION every corner of the box is in sight: |x| <= (d - depth) tan(fov / 2).
  private fitDistance(box: THREE.Box3): number {
    const right = new THREE.Vector3().crossVectors(this.camera.up, VIEW_DIRECTION).normalize();
    const up = new THREE.Vector3().crossVectors(VIEW_DIRECTION, right);
    const tangent = Math.tan(THREE.MathUtils.degToRad(this.camera.fov) / 2);
    const half = box.getSize(new THREE.Vector3()).multiplyScalar(0.5);
    let distance = 0;
    for (const x of [-1, 1])
      for (const y of [-1, 1])
        for (const z of [-1, 1]) {
          const corner = new THREE.Vector3(x, y, z).multiply(half);
          const across = Math.max(Math.abs(corner.dot(right)) / this.camera.aspect, Math.abs(corner.dot(up)));
          distance = Math.max(distance, across / tangent + corner.dot(VIEW_DIRECTION));
        }
    return MARGIN * Math.max(distance, LEAST_SIZE);
  }

  private resize(): void {
    const box = (this.canvas.parentElement ?? this.canvas).getBoundingClientRect();
    if (box.width < 1 || box.height < 1) return;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(box.width, box.height, false);
    this.camera.aspect = box.width / box.height;
    this.camera.updateProjectionMatrix();
    this.render();
  }

  // With the ghost, unless that is so far away that the run would be a dot.
  private framed(): THREE.Box3 {
    const now = this.following || this.startsFollowing;
    const box = now ? this.bounds.at([this.time]) : this.motionBox.clone();
    if (!this.ghost?.objects.visible) return box;
    const size = (b: THREE.Box3) => b.getSize(new THREE.Vector3()).length();
    const both = box.clone().union(this.ghost.boundsAt(now ? [this.time] : sampleTimes(this.replay)));
    return size(both) > FAR_TRAVEL * Math.max(size(box), this.modelSize) ? box : both;
  }

  private addShapes(shapes: Shape[], factory: ShapeFactory): void {
    const colours = shapeColours(shapes);
    const parent = (shape: Shape) => (shape.body < 0 ? this.scene : this.bodies[shape.body]);
    shapes.forEach((shape, i) => parent(shape).add(factory.viewObject(shape, colours[i])));
    const mark = new THREE.Color('#d4703a');
    for (const shape of this.replay.shapes) {
      if (shape.role !== 'collision' || shape.type === 'plane') continue;
      const object = factory.collisionObject(shape, mark);
      this.attach('collision', object, shape.body);
    }
  }

  // Puts an object that moves with a body on a layer that can be shown and hidden.
  private attach(layer: Layer, object: THREE.Object3D, body: number): void {
    const holder = new THREE.Group();
    holder.add(object);
    this.layers[layer].add(holder);
    if (body < 0) return;
    holder.matrixAutoUpdate = false;
    holder.matrix = this.bodies[body].matrix;  // shared: moves when the body does
  }

  private addFrames(): void {
    this.bodies.forEach((_, i) => {
      const axes = makeAxes(0.08 * this.modelSize);
      (axes.material as THREE.Material).depthTest = false;  // seen through the body
      axes.renderOrder = 2;
      this.attach('frames', axes, i);
    });
  }

  // A model without shapes is drawn as a stick figure: a ball at every body's origin, a line to its parent's.
  private addSticks(shapes: Shape[]): THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial> {
    const needed = !shapes.some((s) => s.body >= 0);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(6 * this.bodies.length), 3));
    const sticks = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial());
    sticks.visible = needed;
    sticks.frustumCulled = false;
    this.scene.add(sticks);
    if (needed) {
      const ball = new THREE.SphereGeometry(0.03 * this.modelSize, 24, 16);
      const material = new THREE.MeshStandardMaterial({ color: '#5d7ea6', roughness: 0.6 });
      for (const body of this.bodies) {
        const mesh = new THREE.Mesh(ball, material);
        mesh.castShadow = true;
        body.add(mesh, makeAxes(0.08 * this.modelSize));
      }
    }
    return sticks;
  }

  private updateSticks(): void {
    if (!this.sticks.visible) return;
    const position = this.sticks.geometry.getAttribute('position');
    this.replay.bodies.forEach((body, i) => {
      const from = body.parent < 0 ? this.bodies[i].position : this.bodies[body.parent].position;
      const to = this.bodies[i].position;
      position.setXYZ(2 * i, from.x, from.y, from.z);
      position.setXYZ(2 * i + 1, to.x, to.y, to.z);
    });
    position.needsUpdate = true;
  }

  private trailGeometry(): THREE.BufferGeometry {
    const points = Array.from(this.replay.frames.time, (t) => this.motion.centre(t, new THREE.Vector3()));
    return new THREE.BufferGeometry().setFromPoints(points);
  }

  private addLights(scale: number): void {
    const fill = new THREE.DirectionalLight(0xdfe8ff, 0.5);
    fill.position.set(1, 0.6, 0.4);
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0xa8a49c, 2.0), fill, this.sun, this.sun.target);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.normalBias = 0.004 * scale;
    const camera = this.sun.shadow.camera;
    const reach = 1.2 * this.modelSize;
    camera.left = camera.bottom = -reach;
    camera.right = camera.top = reach;
    camera.near = 0.1 * this.modelSize;
    camera.far = 30 * this.modelSize;
  }
}
