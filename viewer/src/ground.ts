// The environment: planes, boxes and terrain with a checker pattern that shows how far the robot moves over them.
import * as THREE from 'three';
import { cssColour } from './colour';
import type { Solid, Vec3 } from './data';
import { fadingDisc } from './shapes';

const UP = new THREE.Vector3(0, 0, 1);

const vector = (v: Vec3 | undefined): THREE.Vector3 => new THREE.Vector3(...(v ?? [0, 0, 0]));

// Two by two squares, lighter and darker; multiplies the colour of its material.
function checkerTexture(): THREE.DataTexture {
  const light = [255, 255, 255, 255], dark = [222, 224, 227, 255];
  const texture = new THREE.DataTexture(new Uint8Array([...light, ...dark, ...dark, ...light]), 2, 2);
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.magFilter = THREE.NearestFilter;
  texture.minFilter = THREE.LinearMipmapLinearFilter;
  texture.generateMipmaps = true;
  texture.anisotropy = 8;
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.needsUpdate = true;
  return texture;
}

// Texture coordinates from two coordinates of the vertices.
function setChecker(geometry: THREE.BufferGeometry, square: number, u: (i: number) => number, v: (i: number) => number): void {
  const count = geometry.getAttribute('position').count;
  const uv = new Float32Array(2 * count);
  for (let i = 0; i < count; ++i) uv.set([u(i) / (2 * square), v(i) / (2 * square)], 2 * i);
  geometry.setAttribute('uv', new THREE.BufferAttribute(uv, 2));
}

// A plane has no end: a disc that fades out and stays below the robot.
class GroundDisc {
  readonly object: THREE.Mesh<THREE.BufferGeometry, THREE.MeshBasicMaterial>;
  private readonly point: THREE.Vector3;
  private readonly texture = checkerTexture();

  constructor(solid: Solid, radius: number, private readonly square: number) {
    this.point = vector(solid.point);
    // Behind the grid, which may lie in it; hides what other planes have below it.
    const behind = { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1, side: THREE.DoubleSide };
    const geometry = fadingDisc(radius);
    const position = geometry.getAttribute('position');
    setChecker(geometry, square, (i) => position.getX(i), (i) => position.getY(i));
    this.object = new THREE.Mesh(geometry, new THREE.MeshBasicMaterial({
      ...behind, map: this.texture, transparent: true, opacity: 0.75, vertexColors: true,
    }));
    this.object.quaternion.setFromUnitVectors(UP, vector(solid.normal));
    this.object.position.copy(this.point);
    const shadow = new THREE.Mesh(geometry, new THREE.ShadowMaterial({ ...behind, depthWrite: false }));
    shadow.receiveShadow = true;
    this.object.add(shadow);
  }

  // Moves below `centre`; the pattern stays where it is.
  follow(centre: THREE.Vector3): void {
    const local = centre.clone().sub(this.point).applyQuaternion(this.object.quaternion.clone().invert());
    this.object.position.set(local.x, local.y, 0).applyQuaternion(this.object.quaternion).add(this.point);
    this.texture.offset.set((local.x / (2 * this.square)) % 1, (local.y / (2 * this.square)) % 1);
  }
}

// Squares on top and bottom, plain sides.
function boxGeometry(size: Vec3, square: number): THREE.BufferGeometry {
  const geometry = new THREE.BoxGeometry(...size);
  const position = geometry.getAttribute('position'), normal = geometry.getAttribute('normal');
  const across = (i: number, x: number) => (Math.abs(normal.getZ(i)) > 0.5 ? x : 0.5 * square);
  setChecker(geometry, square, (i) => across(i, position.getX(i) + size[0] / 2), (i) => across(i, position.getY(i) + size[1] / 2));
  return geometry;
}

function terrainGeometry(solid: Solid, square: number): THREE.BufferGeometry {
  const [nx, ny] = solid.counts ?? [0, 0], [x0, y0] = solid.origin ?? [0, 0], [lx, ly] = solid.size ?? [0, 0];
  const vertices = new Float32Array(3 * nx * ny);
  const triangles: number[] = [];
  for (let i = 0; i < nx; ++i)
    for (let j = 0; j < ny; ++j) {
      const k = i * ny + j;
      vertices.set([x0 + (lx * i) / (nx - 1), y0 + (ly * j) / (ny - 1), solid.heights![k]], 3 * k);
      if (i + 1 < nx && j + 1 < ny) triangles.push(k, k + ny, k + 1, k + 1, k + ny, k + ny + 1);
    }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(vertices, 3));
  geometry.setIndex(triangles);
  geometry.computeVertexNormals();
  setChecker(geometry, square, (i) => vertices[3 * i], (i) => vertices[3 * i + 1]);
  return geometry;
}

export class Ground {
  readonly objects = new THREE.Group();
  readonly height: number | undefined;  // [m] of the first level plane: where the grid belongs
  readonly hasPlane: boolean;
  readonly hasTerrain: boolean;
  private readonly discs: GroundDisc[] = [];
  private readonly materials: (THREE.MeshBasicMaterial | THREE.MeshStandardMaterial)[] = [];
  private readonly edges = new THREE.LineBasicMaterial({ transparent: true, opacity: 0.6 });

  constructor(solids: Solid[], radius: number, square: number) {
    const planes = solids.filter((s) => s.type === 'plane');
    const level = planes.find((s) => vector(s.normal).z > 1 - 1e-9);
    this.height = level && vector(level.point).z;
    this.hasPlane = planes.length > 0;
    this.hasTerrain = solids.some((s) => s.type === 'height_field');
    for (const solid of solids) {
      if (solid.type === 'plane') {
        const disc = new GroundDisc(solid, radius, square);
        disc.object.renderOrder = solid === level ? -2 : -1;  // transparent: drawn first, it hides what lies below it
        this.discs.push(disc);
        this.materials.push(disc.object.material);
        this.objects.add(disc.object);
        continue;
      }
      const material = new THREE.MeshStandardMaterial({
        map: checkerTexture(), roughness: 0.9, metalness: 0, side: THREE.DoubleSide,
        // Steps nested into each other and boxes on a plane share faces.
        polygonOffset: true, polygonOffsetFactor: 0.5 * (this.materials.length % 4), polygonOffsetUnits: this.materials.length % 4,
      });
      const box = solid.type === 'box';
      const object = new THREE.Mesh(box ? boxGeometry(solid.size as Vec3, square) : terrainGeometry(solid, square), material);
      if (box) {
        object.position.copy(vector(solid.position));
        object.quaternion.fromArray(solid.quaternion ?? [0, 0, 0, 1]);
        object.add(new THREE.LineSegments(new THREE.EdgesGeometry(object.geometry), this.edges));
      }
      object.receiveShadow = true;
      object.castShadow = box;
      this.materials.push(material);
      this.objects.add(object);
    }
  }

  follow(centre: THREE.Vector3): void {
    for (const disc of this.discs) disc.follow(centre);
  }

  applyTheme(): void {
    for (const material of this.materials) material.color = cssColour('--ground');
    this.edges.color = cssColour('--grid');
  }
}
