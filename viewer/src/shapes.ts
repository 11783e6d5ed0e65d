// Shapes of the model as three.js objects.
import * as THREE from 'three';
import { toCreasedNormals } from 'three/addons/utils/BufferGeometryUtils.js';
import type { MeshData, Paint, RunData, Shape } from './data';

const CREASE = THREE.MathUtils.degToRad(35);  // edges sharper than this stay sharp
const LARGE_MESH = 40000;                     // triangles; creases take too long to find beyond

function meshGeometry(data: MeshData): THREE.BufferGeometry {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(data.vertices, 3));
  geometry.setIndex(new THREE.BufferAttribute(data.triangles, 1));
  const small = data.triangles.length / 3 < LARGE_MESH;
  if (!small) geometry.computeVertexNormals();
  const shaded = small ? toCreasedNormals(geometry, CREASE) : geometry;
  return data.colours ? paint(shaded, data.colours) : shaded;
}

// Colours of triangles as colours of their corners, and groups of opaque and translucent triangles.
function paint(shaded: THREE.BufferGeometry, paints: Paint[]): THREE.BufferGeometry {
  const geometry = shaded.index ? shaded.toNonIndexed() : shaded;
  const colours = new Float32Array(4 * geometry.getAttribute('position').count);
  const colour = new THREE.Color();
  let corner = 0, opaque = 0;
  for (const [triangles, red, green, blue, alpha] of paints) {
    colour.setRGB(red / 255, green / 255, blue / 255, THREE.SRGBColorSpace);
    for (const end = corner + 3 * triangles; corner < end; ++corner)
      colours.set([colour.r, colour.g, colour.b, alpha / 255], 4 * corner);
    if (alpha === 255) opaque = corner;
  }
  geometry.setAttribute('color', new THREE.BufferAttribute(colours, 4));
  if (opaque > 0) geometry.addGroup(0, opaque, 0);
  if (opaque < corner) geometry.addGroup(opaque, corner - opaque, 1);
  return geometry;
}

// A plane has no end: a disc that fades out instead of an edge.
export function fadingDisc(radius: number): THREE.BufferGeometry {
  const geometry = new THREE.RingGeometry(0, radius, 64, 24);
  const position = geometry.getAttribute('position');
  const colour = new Float32Array(4 * position.count).fill(1);
  for (let i = 0; i < position.count; ++i) {
    const share = Math.hypot(position.getX(i), position.getY(i)) / radius;
    colour[4 * i + 3] = (1 - share) ** 2;
  }
  geometry.setAttribute('color', new THREE.BufferAttribute(colour, 4));
  return geometry;
}

export class ShapeFactory {
  private readonly meshes: THREE.BufferGeometry[];

  constructor(run: RunData, private readonly planeSize: number) {
    this.meshes = run.meshes.map(meshGeometry);
  }

  // Capsules and cylinders point along z here, along y in three.js.
  geometry(shape: Shape): THREE.BufferGeometry {
    const radius = shape.radius ?? 0, length = shape.length ?? 0;
    switch (shape.type) {
      case 'sphere': return new THREE.SphereGeometry(radius, 40, 24);
      case 'box': return new THREE.BoxGeometry(...(shape.size ?? [1, 1, 1]));
      case 'capsule': return new THREE.CapsuleGeometry(radius, length, 12, 32).rotateX(Math.PI / 2);
      case 'cylinder': return new THREE.CylinderGeometry(radius, radius, length, 48).rotateX(Math.PI / 2);
      case 'plane': return fadingDisc(this.planeSize);
      case 'mesh': return this.meshes[shape.mesh ?? 0];
    }
  }

  viewObject(shape: Shape, colour: THREE.Color): THREE.Mesh {
    if (shape.type === 'plane') return this.planeObject(shape, colour);
    const opacity = shape.rgba[3];
    const make = (translucent: boolean) => new THREE.MeshStandardMaterial({
      color: shape.painted ? 0xffffff : colour, vertexColors: shape.painted ?? false,
      roughness: 0.62, metalness: 0.05, opacity, transparent: translucent, depthWrite: !translucent,
      side: shape.type === 'mesh' ? THREE.DoubleSide : THREE.FrontSide,
      // Neighbouring links often share a round cap: without an order of depth the two flicker.
      polygonOffset: shape.body > 0, polygonOffsetFactor: 2 * (shape.body % 3), polygonOffsetUnits: 8 * (shape.body % 3),
    });
    const object = this.place(shape, shape.painted ? [make(opacity < 1), make(true)] : make(opacity < 1));
    object.castShadow = object.receiveShadow = true;
    return object;
  }

  // A tint, and the shadows that fall on it; behind the grid, which may lie in it.
  private planeObject(shape: Shape, colour: THREE.Color): THREE.Mesh {
    const behind = { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1, depthWrite: false,
                     side: THREE.DoubleSide };
    const object = this.place(shape, new THREE.MeshBasicMaterial({
      ...behind, color: colour, opacity: 0.2 * shape.rgba[3], transparent: true, vertexColors: true,
    }));
    const shadow = new THREE.Mesh(object.geometry, new THREE.ShadowMaterial(behind));
    shadow.receiveShadow = true;
    object.add(shadow);
    return object;
  }

  collisionObject(shape: Shape, colour: THREE.Color): THREE.Object3D {
    const group = new THREE.Group();
    const fill = { color: colour, transparent: true, depthWrite: false };
    group.add(this.place(shape, new THREE.MeshBasicMaterial({ ...fill, opacity: 0.14, side: THREE.DoubleSide })));
    group.add(this.place(shape, new THREE.MeshBasicMaterial({ ...fill, opacity: 0.16, wireframe: true })));
    return group;
  }

  place(shape: Shape, material: THREE.Material | THREE.Material[]): THREE.Mesh {
    const object = new THREE.Mesh(this.geometry(shape), material);
    object.position.fromArray(shape.position);
    object.quaternion.fromArray(shape.quaternion);
    if (shape.scale) object.scale.fromArray(shape.scale);
    return object;
  }
}

// What stands for each body: its view shapes, or the collision shapes of a body that has none.
export function visibleShapes(run: RunData): Shape[] {
  const viewed = new Set(run.shapes.filter((s) => s.role === 'view').map((s) => s.body));
  return run.shapes.filter((s) => s.role === 'view' || !viewed.has(s.body));
}

const UNPAINTED = 0.7;  // the grey of a shape whose file gives no colour
const PALETTE = ['#8fa3b8', '#5d7ea6', '#c08a5a', '#7d9a86', '#a8839b', '#b7a873'];

// Colours as given; a model that gives none at all gets quiet ones, so that neighbouring bodies can be told apart.
export function shapeColours(shapes: Shape[]): THREE.Color[] {
  const unpainted = shapes.every((s) => !s.painted && s.rgba.slice(0, 3).every((c) => Math.abs(c - UNPAINTED) < 1e-6));
  return shapes.map((s) => {
    if (unpainted && s.body >= 0) return new THREE.Color(PALETTE[s.body % PALETTE.length]);
    return new THREE.Color().setRGB(s.rgba[0], s.rgba[1], s.rgba[2], THREE.SRGBColorSpace);
  });
}
