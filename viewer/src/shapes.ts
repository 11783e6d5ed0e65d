// Shapes of the model as three.js objects.
import * as THREE from 'three';
import { toCreasedNormals } from 'three/addons/utils/BufferGeometryUtils.js';
import type { MeshData, Replay, Shape } from './data';

const CREASE = THREE.MathUtils.degToRad(35);  // edges sharper than this stay sharp
const LARGE_MESH = 40000;                     // triangles; creases take too long to find beyond

function meshGeometry(data: MeshData): THREE.BufferGeometry {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(data.vertices, 3));
  geometry.setIndex(new THREE.BufferAttribute(data.triangles, 1));
  if (data.triangles.length / 3 < LARGE_MESH) return toCreasedNormals(geometry, CREASE);
  geometry.computeVertexNormals();
  return geometry;
}

export class ShapeFactory {
  private readonly meshes: THREE.BufferGeometry[];

  constructor(replay: Replay, private readonly planeSize: number) {
    this.meshes = replay.meshes.map(meshGeometry);
  }

  // Capsules and cylinders point along z here, along y in three.js.
  geometry(shape: Shape): THREE.BufferGeometry {
    const radius = shape.radius ?? 0, length = shape.length ?? 0;
    switch (shape.type) {
      case 'sphere': return new THREE.SphereGeometry(radius, 40, 24);
      case 'box': return new THREE.BoxGeometry(...(shape.size ?? [1, 1, 1]));
      case 'capsule': return new THREE.CapsuleGeometry(radius, length, 12, 32).rotateX(Math.PI / 2);
      case 'cylinder': return new THREE.CylinderGeometry(radius, radius, length, 48).rotateX(Math.PI / 2);
      case 'plane': return new THREE.PlaneGeometry(this.planeSize, this.planeSize);
      case 'mesh': return this.meshes[shape.mesh ?? 0];
    }
  }

  viewObject(shape: Shape, colour: THREE.Color): THREE.Mesh {
    const plane = shape.type === 'plane';
    const opacity = plane ? Math.min(0.35, shape.rgba[3]) : shape.rgba[3];
    const material = new THREE.MeshStandardMaterial({
      color: colour, roughness: 0.62, metalness: 0.05, opacity, transparent: opacity < 1, depthWrite: opacity >= 1,
      side: plane || shape.type === 'mesh' ? THREE.DoubleSide : THREE.FrontSide,
      polygonOffset: plane, polygonOffsetFactor: 1, polygonOffsetUnits: 1,  // the grid may lie in a plane
    });
    const object = this.place(shape, material);
    object.castShadow = !plane;
    object.receiveShadow = true;
    return object;
  }

  collisionObject(shape: Shape, colour: THREE.Color): THREE.Object3D {
    const group = new THREE.Group();
    const fill = { color: colour, transparent: true, depthWrite: false };
    group.add(this.place(shape, new THREE.MeshBasicMaterial({ ...fill, opacity: 0.18, side: THREE.DoubleSide })));
    group.add(this.place(shape, new THREE.MeshBasicMaterial({ ...fill, opacity: 0.3, wireframe: true })));
    return group;
  }

  private place(shape: Shape, material: THREE.Material): THREE.Mesh {
    const object = new THREE.Mesh(this.geometry(shape), material);
    object.position.fromArray(shape.position);
    object.quaternion.fromArray(shape.quaternion);
    if (shape.scale) object.scale.fromArray(shape.scale);
    return object;
  }
}

// What stands for each body: its view shapes, or the collision shapes of a body that has none.
export function visibleShapes(replay: Replay): Shape[] {
  const viewed = new Set(replay.shapes.filter((s) => s.role === 'view').map((s) => s.body));
  return replay.shapes.filter((s) => s.role === 'view' || !viewed.has(s.body));
}

const UNPAINTED = 0.7;  // the grey of a shape whose file gives no colour
const PALETTE = ['#8fa3b8', '#5d7ea6', '#c08a5a', '#7d9a86', '#a8839b', '#b7a873'];

// Colours as given; a model that gives none at all gets quiet ones, so that neighbouring bodies can be told apart.
export function shapeColours(shapes: Shape[]): THREE.Color[] {
  const unpainted = shapes.every((s) => s.rgba.slice(0, 3).every((c) => Math.abs(c - UNPAINTED) < 1e-6));
  return shapes.map((s) => {
    if (unpainted && s.body >= 0) return new THREE.Color(PALETTE[s.body % PALETTE.length]);
    return new THREE.Color().setRGB(s.rgba[0], s.rgba[1], s.rgba[2], THREE.SRGBColorSpace);
  });
}
