// The ground grid: thin lines that fade out with distance, every tenth stronger, the x axis red, y green.
import * as THREE from 'three';

const VERTEX = `
  varying vec2 ground;
  void main() {
    vec4 world = modelMatrix * vec4(position, 1.0);
    ground = world.xy;
    gl_Position = projectionMatrix * viewMatrix * world;
  }`;

const FRAGMENT = `
  varying vec2 ground;
  uniform vec3 ink;
  uniform vec2 centre;
  uniform float cell, reach, strength;
  float lines(vec2 p) {  // each direction fades on its own where its lines get closer than the pixels
    vec2 width = fwidth(p);
    vec2 line = (1.0 - min(abs(fract(p - 0.5) - 0.5) / width, 1.0)) * (1.0 - smoothstep(0.15, 0.7, width));
    return max(line.x, line.y);
  }
  void main() {
    float fade = 1.0 - smoothstep(0.25, 1.0, distance(ground, centre) / reach);
    float shade = max(0.45 * lines(ground / cell), lines(ground / (10.0 * cell)));
    vec2 axis = 1.0 - min(abs(ground) / (1.5 * fwidth(ground)), 1.0);
    vec3 colour = mix(mix(ink, vec3(0.10, 0.35, 0.14), axis.x), vec3(0.62, 0.10, 0.08), axis.y);
    float alpha = max(shade * strength, 0.8 * max(axis.x, axis.y)) * fade;
    if (alpha < 0.004) discard;
    gl_FragColor = vec4(colour, alpha);
    #include <colorspace_fragment>
  }`;

// Grid cells are a power of ten below the size of what is shown [m].
export const cellSize = (scale: number): number => 10 ** Math.floor(Math.log10(scale / 3));

export function makeGrid(centre: THREE.Vector3, scale: number): THREE.Mesh<THREE.PlaneGeometry, THREE.ShaderMaterial> {
  const reach = 8 * scale;
  const material = new THREE.ShaderMaterial({
    vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: true, depthWrite: false, side: THREE.DoubleSide,
    uniforms: {
      ink: { value: new THREE.Color() }, centre: { value: new THREE.Vector2(centre.x, centre.y) },
      cell: { value: cellSize(scale) }, reach: { value: reach }, strength: { value: 0.5 },
    },
  });
  const grid = new THREE.Mesh(new THREE.PlaneGeometry(2 * reach, 2 * reach), material);
  grid.position.copy(centre);
  grid.renderOrder = 1;
  return grid;
}
